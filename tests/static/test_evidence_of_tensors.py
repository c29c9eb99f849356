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
        "t = torch.minimum(y, x + x.sum().item())\n        if y > 3:\n            x = t",
    ],
)
def test_what_only_tensors_can_do(body: str) -> None:
    assert found(body) == 1


@pytest.mark.parametrize(
    "body",
    [
        "f, g = fn.build(x)\n        assert not (g == 3).any()",
        "n = self.state['offset'].item()\n        if n > 3:\n            x = y",
        "f = fn(x)\n        if f.sum() > 0:\n            x = y",
        "n = int(x.shape[0] * fn.ratio.item())\n        x = y",
        "f = fn(x)\n        if f.shape[0] > 2 and f.any():\n            x = y",
        "for n in self.sizes['all'].cumsum(0).unique():\n            x = y",
    ],
)
@pytest.mark.parametrize("imports", ["", "import numpy"])
def test_what_only_tensors_and_arrays_can_do(body: str, imports: str) -> None:
    assert found(body, imports) == 1


@pytest.mark.parametrize(
    "body",
    [
        "f = numpy.asarray(fn(x))\n        if (f == 3).any():\n            x = y",
        "f = fn(numpy.ones(3))\n        if (f == 3).any():\n            x = y",
        "self.sizes = fn.sizes\n        if self.sizes.dim() > 3:\n            x = y",
        "f = fn(x)\n        if f.sum > 0:\n            x = y",
        "f = fn(x)\n        if f.first().any is None:\n            x = y",
    ],
)
def test_where_arrays_are_meant_and_where_nothing_is_called(body: str) -> None:
    assert found(body, "import numpy") == 0


def test_what_an_array_of_the_constructor_gives_is_known() -> None:
    text = """
import numpy
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = numpy.arange(4)

    def forward(self, x):
        return x if self.sizes.max().item() > 2 else x + 1
"""
    assert check_source(SourceFile("model.py", text)) == []


@pytest.mark.parametrize("made", ["g = 1.0", "*, g=1.0", "h=None, g=0.5"])
def test_a_factor_may_be_given_as_a_tensor(made: str) -> None:
    text = f"""
import torch

def _number(g):
    return float(g.item()) if isinstance(g, torch.Tensor) else g

def scaled(x: torch.Tensor, {made}):
    return x * _number(g)
"""
    assert len(check_source(SourceFile("model.py", text), assume_compiled=True)) == 1


@pytest.mark.parametrize(
    ("state", "used", "errors"),
    [
        ("'total', default=torch.tensor(0.0)", "self.total > 3", 1),
        ("'total', torch.tensor(0.0), 'sum'", "self.total.item() > 3", 1),
        ("'total', default=[]", "self.total", 0),
        ("'total', default=[]", "(self.total[0] > 3).any()", 1),
    ],
)
def test_the_states_of_a_metric(state: str, used: str, errors: int) -> None:
    text = f"""
import torch
from torchmetrics import Metric

class Total(Metric):
    def __init__(self):
        super().__init__()
        self.add_state({state})

    def compute(self):
        if {used}:
            return 1
        return 0
"""
    assert len(check_source(SourceFile("model.py", text), assume_compiled=True)) == errors


@pytest.mark.parametrize(
    "body",
    [
        "f = fn(x)\n        if f.dot(y) is None:\n            x = y",
        "f = fn(x)\n        f.copy()\n        if f > 3:\n            x = y",
        "f = fn.isfinite\n        if f:\n            x = y",
        "import math\n        if math.isfinite(3.0):\n            x = y",
        "t = torch.pow(y, x + x.sum().item())\n        if y > 3:\n            x = t",
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
    body = f"if isinstance(fn, {kinds}):\n            if fn > 1:\n                x = y"
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


@pytest.mark.parametrize(
    "made",
    [
        "torch.arange(y[0])",
        "torch.zeros(y[0], 3).reshape(-1)",
        "torch.arange(2, y[0])",
        "x.reshape(y[0], 2).sum([1])",
        "torch.nn.functional.pad(torch.arange(y[0]), (0, 2))",
        "torch.arange(y[0]) * fn.scale + fn.last",
    ],
)
def test_a_size_that_an_element_gives_is_of_run_time(made: str) -> None:
    assert found(f"x, y = x.sum(), y.long()\n        for one in ({made}).tolist():\n            x = x + one") == 1


def test_a_size_that_a_number_gives_is_not() -> None:
    assert found("for one in torch.arange(len(fn)).tolist():\n            x = x + one") == 0


@pytest.mark.parametrize("chosen", ["Base = torch.nn.Module", "Base = other.Layer\nelse:\n    Base = torch.nn.Module"])
def test_a_base_class_that_is_a_module_in_one_setup(chosen: str) -> None:
    text = f"""
import torch
import other

if other.present:
    Base = object
if other.fast:
    {chosen}

class Model(Base):
    def __call__(self, x):
        return x + 1 if x.sum() > 0 else x
"""
    assert len(check_source(SourceFile("model.py", text))) == 1


@pytest.mark.parametrize(("assumed", "errors"), [(True, 1), (False, 0)])
def test_calling_an_object_of_any_class_where_all_is_compiled(assumed: bool, errors: int) -> None:
    text = """
import torch

class Hits(Counting):
    def __call__(self, given: torch.Tensor):
        if (given < 0).any():
            raise ValueError
"""
    assert len(check_source(SourceFile("model.py", text), assume_compiled=assumed)) == errors
