"""What is used as only tensors are, and functions of torch by their own names."""

from __future__ import annotations

import pytest

from ddelint.sources.source import SourceFile
from ddelint.static.checks import check_source

MODEL = """\
import torch
{imports}

class Model(torch.nn.Module):
    def forward(self, x, y, fn):
        {body}
        return x
"""


def found(body: str, imports: str = "") -> int:
    """How many errors the static pass finds in a `forward`."""
    return len(check_source(SourceFile("model.py", MODEL.format(imports=imports, body=body))))


@pytest.mark.parametrize(
    "body",
    [
        "if x.isneginf().all():\n            x = y",
        "f = fn(x)\n        if ~f.isfinite():\n            x = y",
        "r = y.dot(x)\n        if r <= 1e-10:\n            x = y",
        "f, g = fn(x)\n        if g.clamp(min=0).sum() > 1:\n            x = y",
        "f = fn(x)\n        f.copy_(y)\n        if f.max() > 3:\n            x = y",
        "g = fn(x)\n        while g.isnan():\n            g = g + 1",
    ],
)
def test_what_only_tensors_can_do(body: str) -> None:
    assert found(body) == 1


@pytest.mark.parametrize(
    "body",
    [
        "f = fn(x)\n        if f.dot(y) is None:\n            x = y",
        "f = fn(x)\n        f.copy()\n        if f > 3:\n            x = y",
        "f = fn.isfinite\n        if f:\n            x = y",
        "import math\n        if math.isfinite(3.0):\n            x = y",
    ],
)
def test_what_others_can_do_too(body: str) -> None:
    assert found(body) == 0


@pytest.mark.parametrize(
    "imports",
    [
        "from torch.linalg import norm",
        "from torch.linalg import vector_norm as norm",
        "from torch import Tensor, norm",
        "from torch.linalg import (\n    inv,\n    matrix_norm as norm,\n)",
        "from torch import trace as norm  # of a matrix",
    ],
)
def test_a_function_of_torch_by_its_own_name(imports: str) -> None:
    assert found("if norm(x) > 3:\n            x = y", imports) == 1


def test_a_layer_of_that_name_is_another() -> None:
    assert found("x = self.norm(x)", "from torch.linalg import norm") == 0


@pytest.mark.parametrize(
    "kinds",
    [
        "(numpy.ndarray, torch.Tensor)",
        "(torch.nn.Parameter, torch.Tensor)",
        "VECTOR",
        "local",
        "(torch.masked.MaskedTensor, torch.Tensor, numpy.ndarray)",
    ],
)
@pytest.mark.parametrize("asked", ["if fn.sum() > 1:", "while bool((fn > 0).any()):"])
def test_what_is_a_tensor_or_an_array_is_a_tensor(kinds: str, asked: str) -> None:
    body = f"local = (torch.Tensor, numpy.ndarray)\n        if isinstance(fn, {kinds}):\n            {asked}"
    assert found(f"{body}\n                x = y", "import numpy\n\nVECTOR = (numpy.ndarray, torch.Tensor)\n") == 1


@pytest.mark.parametrize("kinds", ["(float, torch.Tensor)", "numpy.ndarray", "KINDS", "(numpy.ndarray, list)"])
def test_what_may_be_a_number_is_none(kinds: str) -> None:
    body = f"if isinstance(fn, {kinds}):\n            if fn.sum() > 1:\n                x = y"
    assert found(body, "import numpy\n\nKINDS = (int, torch.Tensor)\n") == 0


@pytest.mark.parametrize(
    ("annotation", "errors"),
    [
        ("np.ndarray", 0),
        ("'np.ndarray'", 0),
        ("NDArray[np.float32]", 0),
        ("ndarray", 0),
        ("torch.Tensor", 1),
        ("np.ndarray | torch.Tensor", 1),
        ("object", 1),
    ],
)
def test_an_array_of_numpys_is_no_tensor_whoever_passes_it(annotation: str, errors: int) -> None:
    helper = f"""
import numpy as np
from numpy import ndarray
from numpy.typing import NDArray

def helper(rows: {annotation}):
    if rows.sum() > 0:
        return rows * 2
    return rows
"""
    assert found("x = helper(torch.relu(x))", helper) == errors


@pytest.mark.parametrize("annotation", ["np.ndarray", "Sequence[np.ndarray]", "list[NDArray[np.int64]]"])
def test_nor_is_what_a_sequence_of_arrays_holds(annotation: str) -> None:
    text = f"""
import numpy as np
from numpy.typing import NDArray

def fn(rows: {annotation}, x):
    for row in rows:
        if row[row > 1].sum() > 0:
            return x * 2
    return x
"""
    assert check_source(SourceFile("model.py", text), assume_compiled=True) == []
