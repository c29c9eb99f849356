"""A branch on a size: one graph for each side."""

import torch
from torch.fx.experimental.dynamic_spec import ShapesSpec, ShapeVar, TensorSpec


def fn(x, y):
    if x.shape[0] > 6:
        return torch.cat([x, y])
    return torch.cat([x * 2, y]) + 1


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.rand(4, 3), torch.rand(2, 3)


few, many, all_ = ShapeVar("few", max=6), ShapeVar("many", min=7), ShapeVar("all")
m, w, v = ShapeVar("m"), ShapeVar("w"), ShapeVar("v")
RIGHT_few = ShapesSpec({"x": TensorSpec([few, w]), "y": TensorSpec([m, w])})
RIGHT_many = ShapesSpec({"x": TensorSpec([many, w]), "y": TensorSpec([m, w])})

fewer, seven, eight = ShapeVar("fewer", max=5), ShapeVar("seven", max=7), ShapeVar("eight", min=8)
six = ShapeVar("six", min=6)
WRONG_408_both_sides = ShapesSpec({"x": TensorSpec([all_, w]), "y": TensorSpec([m, w])})
WRONG_408_one_beyond = ShapesSpec({"x": TensorSpec([seven, w]), "y": TensorSpec([m, w])})
WRONG_408_one_below = ShapesSpec({"x": TensorSpec([six, w]), "y": TensorSpec([m, w])})
WRONG_407_one_short = ShapesSpec({"x": TensorSpec([fewer, w]), "y": TensorSpec([m, w])})
WRONG_407_one_late = ShapesSpec({"x": TensorSpec([eight, w]), "y": TensorSpec([m, w])})
WRONG_408_width_not_tied = ShapesSpec({"x": TensorSpec([few, w]), "y": TensorSpec([m, v])})
WRONG_407_rows_tied = ShapesSpec({"x": TensorSpec([few, w]), "y": TensorSpec([few, w])})
