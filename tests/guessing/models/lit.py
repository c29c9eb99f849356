import torch
import torch.nn.functional as F
from torch import nn


class LightningModule(nn.Module):
    pass


class Classifier(LightningModule):
    def __init__(self, hparams):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, hparams.hidden_dim), nn.ReLU(), nn.Linear(hparams.hidden_dim, 10))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)


if __name__ == "__main__":
    from types import SimpleNamespace

    model = Classifier(SimpleNamespace(hidden_dim=16))
    print(model(torch.randn(3, 1, 28, 28)).shape)
