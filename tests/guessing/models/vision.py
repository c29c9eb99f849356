import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.norm = nn.BatchNorm2d(cout)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


class Net(nn.Module):
    """A small classifier."""

    def __init__(self, in_channels, num_classes, width=8):
        super().__init__()
        self.stem = Block(in_channels, width)
        self.body = nn.Sequential(Block(width, width), nn.MaxPool2d(2), Block(width, 2 * width))
        self.head = nn.Linear(2 * width * 16 * 16, num_classes)

    def forward(self, x):
        x = self.body(self.stem(x))
        return self.head(x.flatten(1))
