"""Tensors in a dictionary, a tuple, a list: specs in each of torch's spellings, `WRONG_<rule>_…` in one way."""

import torch
from torch.export import Dim
from torch.fx.experimental.dynamic_spec import DictSpec, ParamsSpec, SeqSpec, ShapesSpec, ShapeVar, TensorSpec


class Model(torch.nn.Module):
    def forward(self, batch, pair, *, scales):
        rows = batch["tokens"] * batch["mask"]
        if rows.shape[1] > 64:
            raise ValueError("too long")
        return rows.unflatten(1, (-1, 4)).sum(1), torch.cat([pair[0], pair[1]], 1), scales[0][: rows.shape[0]]


def make_inputs(seed):
    torch.manual_seed(seed)
    batch = {"tokens": torch.rand(3, 8), "mask": torch.rand(3, 8), "name": "a"}
    return (batch, (torch.rand(5, 2), torch.rand(5, 3))), {"scales": [torch.rand(6)]}


b, n, r = ShapeVar("batch"), ShapeVar("length", max=64), ShapeVar("rows")
p, q, s = ShapeVar("left"), ShapeVar("right"), ShapeVar("scales")
tokens = DictSpec({"tokens": TensorSpec([b, n]), "mask": TensorSpec([b, n])})
pair = SeqSpec([TensorSpec([r, p]), TensorSpec([r, q])])
scales = SeqSpec([TensorSpec([s])])
RIGHT = ShapesSpec({"batch": tokens, "pair": pair, "scales": scales}, assumptions=[n % 4 == 0])
RIGHT_params = ShapesSpec(ParamsSpec({"batch": tokens, "pair": pair, "scales": scales}), assumptions=[n % 4 == 0])

d = ShapeVar("longer", max=80)
longer = DictSpec({"tokens": TensorSpec([b, d]), "mask": TensorSpec([b, d])})
untied = SeqSpec([TensorSpec([r, p]), TensorSpec([s, q])])
WRONG_408_nothing_divides = {"batch": tokens, "pair": pair, "scales": scales}
WRONG_408_bound = ShapesSpec({"batch": longer, "pair": pair, "scales": scales}, assumptions=[d % 4 == 0])
WRONG_408_rows_not_tied = ShapesSpec({"batch": tokens, "pair": untied, "scales": scales}, assumptions=[n % 4 == 0])
WRONG_409_no_pair = ShapesSpec({"batch": tokens, "scales": scales}, assumptions=[n % 4 == 0])
WRONG_409_half_a_pair = ShapesSpec(
    {"batch": tokens, "pair": SeqSpec([TensorSpec([r, p]), TensorSpec([r, None])]), "scales": scales},
    assumptions=[n % 4 == 0],
)
WRONG_407_more_rows = ShapesSpec({"batch": tokens, "pair": pair, "scales": scales}, assumptions=[n % 4 == 0, s >= b])

rows, few, width, right = Dim("rows"), Dim("few"), Dim("width"), Dim("right")
quarter, five, some = Dim("quarter", max=16), Dim("five", max=5), Dim("some")
half, wide = Dim("half", max=32), Dim("wide", max=64)
ends = ({0: few, 1: width}, {0: few, 1: right})
RIGHT_dims = {
    "batch": {"tokens": {0: rows, 1: 4 * quarter}, "mask": {0: rows, 1: 4 * quarter}, "name": None},
    "pair": ends,
    "scales": [{0: some}],
}
RIGHT_dims_static = {**RIGHT_dims, "pair": ((few, Dim.DYNAMIC), [few, Dim.DYNAMIC])}
WRONG_408_dims_nothing_divides = {
    **RIGHT_dims,
    "batch": {"tokens": (rows, wide), "mask": (rows, wide), "name": None},
}
WRONG_408_dims_divisor = {
    **RIGHT_dims,
    "batch": {"tokens": {0: rows, 1: 2 * half}, "mask": {0: rows, 1: 2 * half}, "name": None},
}
WRONG_408_dims_auto = {**RIGHT_dims, "pair": ([Dim.AUTO, width], [Dim.AUTO, right])}
WRONG_410_dims_derived = {
    **RIGHT_dims,
    "batch": {"tokens": {0: rows, 1: 4 * quarter + 1}, "mask": {0: rows, 1: 4 * quarter + 1}, "name": None},
}
WRONG_409_dims_static = {**RIGHT_dims, "pair": ({0: few, 1: Dim.STATIC}, {0: few, 1: right})}
WRONG_407_dims_bound = {**RIGHT_dims, "pair": ({0: five, 1: width}, {0: five, 1: right})}
WRONG_407_dims_number = {**RIGHT_dims, "scales": [{0: 6}]}
