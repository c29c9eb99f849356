"""A mask over tokens, a limit on their length."""

import torch
from torch.fx.experimental.dynamic_spec import ShapesSpec, ShapeVar, TensorSpec


def fn(tokens, mask):
    if tokens.shape[1] > 64:
        raise ValueError("too long")
    return (tokens * mask).sum(1)


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.rand(3, 5), torch.rand(3, 5)


b, r = ShapeVar("batch"), ShapeVar("rows")
n, m = ShapeVar("length", max=64), ShapeVar("width", max=64)
RIGHT = ShapesSpec({"tokens": TensorSpec([b, n]), "mask": TensorSpec([b, n])})
RIGHT_in_other_words = ShapesSpec(
    {"tokens": TensorSpec([b, n]), "mask": TensorSpec([r, m])}, assumptions=[b == r, n == m]
)

long, short = ShapeVar("long", max=65), ShapeVar("short", max=63)
open_, low, some = ShapeVar("open"), ShapeVar("low", min=2, max=64), ShapeVar("some", min=1)
none, one = ShapeVar("none", min=70), ShapeVar("one", max=64)
WRONG_408_bound_one_too_many = ShapesSpec({"tokens": TensorSpec([b, long]), "mask": TensorSpec([b, long])})
WRONG_408_no_bound = ShapesSpec({"tokens": TensorSpec([b, open_]), "mask": TensorSpec([b, open_])})
WRONG_408_rows_not_tied = ShapesSpec({"tokens": TensorSpec([b, n]), "mask": TensorSpec([r, n])})
WRONG_408_length_not_tied = ShapesSpec({"tokens": TensorSpec([b, n]), "mask": TensorSpec([b, m])})
WRONG_408_nothing_tied = ShapesSpec({"tokens": TensorSpec([b, n]), "mask": TensorSpec([r, m])})
WRONG_407_bound_one_too_few = ShapesSpec({"tokens": TensorSpec([b, short]), "mask": TensorSpec([b, short])})
WRONG_407_least_length = ShapesSpec({"tokens": TensorSpec([b, low]), "mask": TensorSpec([b, low])})
WRONG_407_least_rows = ShapesSpec({"tokens": TensorSpec([some, n]), "mask": TensorSpec([some, n])})
WRONG_407_multiple = ShapesSpec({"tokens": TensorSpec([b, n]), "mask": TensorSpec([b, n])}, assumptions=[n % 5 == 0])
WRONG_407_number = ShapesSpec({"tokens": TensorSpec([3, n]), "mask": TensorSpec([3, n])})
WRONG_407_square = ShapesSpec({"tokens": TensorSpec([one, n]), "mask": TensorSpec([one, n])}, assumptions=[one <= n])
WRONG_409_rows_left_out = ShapesSpec({"tokens": TensorSpec([None, n]), "mask": TensorSpec([None, n])})
WRONG_409_length_left_out = ShapesSpec({"tokens": TensorSpec([b, None]), "mask": TensorSpec([b, None])})
WRONG_410_beyond_the_limit = ShapesSpec({"tokens": TensorSpec([b, none]), "mask": TensorSpec([b, none])})
WRONG_410_unlike_rows = ShapesSpec({"tokens": TensorSpec([b, n]), "mask": TensorSpec([b + 1, n])})
WRONG_410_unlike_numbers = ShapesSpec({"tokens": TensorSpec([3, n]), "mask": TensorSpec([4, n])})
WRONG_410_no_such_input = ShapesSpec(
    {"tokens": TensorSpec([b, n]), "mask": TensorSpec([b, n]), "bias": TensorSpec([b])}
)
WRONG_410_too_many_dimensions = ShapesSpec({"tokens": TensorSpec([b, n, r]), "mask": TensorSpec([b, n])})
