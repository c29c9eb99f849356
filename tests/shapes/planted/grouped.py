"""Rows in groups of eight, in heads of a weight's width."""

import torch
from torch.export import Dim
from torch.fx.experimental.dynamic_spec import ShapesSpec, ShapeVar, TensorSpec


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(6, 2)

    def forward(self, x):
        return self.out(x.view(-1, 8, x.shape[1]))


def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.rand(32, 6),)


n = ShapeVar("rows")
RIGHT = ShapesSpec({"x": TensorSpec([n, 6])}, assumptions=[n % 8 == 0])
RIGHT_dims = {"x": {0: 8 * Dim("groups", min=0)}}

WRONG_408_divisor_forgotten = ShapesSpec({"x": TensorSpec([n, 6])})
WRONG_408_divisor_too_small = ShapesSpec({"x": TensorSpec([n, 6])}, assumptions=[n % 4 == 0])
WRONG_408_other_divisor = ShapesSpec({"x": TensorSpec([n, 6])}, assumptions=[n % 12 == 0])
WRONG_407_divisor_too_many = ShapesSpec({"x": TensorSpec([n, 6])}, assumptions=[n % 16 == 0])
WRONG_407_two_divisors = ShapesSpec({"x": TensorSpec([n, 6])}, assumptions=[n % 8 == 0, n % 3 == 2])
WRONG_407_bound = ShapesSpec({"x": TensorSpec([n, 6])}, assumptions=[n % 8 == 0, n <= 100])
WRONG_410_remainder = ShapesSpec({"x": TensorSpec([n, 6])}, assumptions=[n % 8 == 3])
WRONG_410_no_such_number = ShapesSpec({"x": TensorSpec([n, 6])}, assumptions=[n % 8 == 4, n % 4 == 1])
WRONG_410_other_width = ShapesSpec({"x": TensorSpec([n, 7])}, assumptions=[n % 8 == 0])
WRONG_408_dims_divisor_forgotten = {"x": {0: Dim("rows", min=0)}}
WRONG_407_dims_divisor_too_many = {"x": {0: 16 * Dim("groups16", min=0)}}
WRONG_407_dims_bound = {"x": {0: 8 * Dim("groups8", min=0, max=10)}}
