"""What always trains, fits, reads files or hands tensors on to NumPy is compiled by nobody; what may do so is."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

ASKS = "if (x > 0).any():\n            x = x + 1\n"
MODULE = """
import torch

class Codec(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        {before}
        if (x > 0).any():
            x = x + 1
        {behind}
"""
"""A module that asks in its row 7."""


@pytest.mark.parametrize(
    "behind",
    [
        "x.sum().backward()",
        "for _ in range(3):\n            self.accelerator.backward(x.sum() / 2)",
        "with torch.enable_grad():\n            loss = x.sum()\n            loss.backward()\n        return x",
        "self.optimizer.step()\n        return x",
        "self.rows_memmap[0] = x\n        return x",
    ],
)
def test_a_module_that_trains_when_it_is_called_is_silent(tmp_path: Path, behind: str) -> None:
    assert rows(tmp_path, {"a.py": MODULE.format(before="y = x", behind=behind)}) == []


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("y = x", "if self.training:\n            x.sum().backward()\n        return x"),
        ("y = x", "return self.flow.backward(x)"),
        ("y = x", "x = self.flow.backward(x)\n        return x"),
        ('"""As before `loss.backward()`."""', "return x"),
        ("y = x", "if y is None:\n            return x\n        x.sum().backward()"),
        ("y = x", "if self.adapt: x.sum().backward()\n        return x"),
        (
            "y = x",
            "if (\n            self.adapt\n            and self.deep\n        ):\n            x.sum().backward()",
        ),
        ("y = x", "while self.adapt:\n            x.sum().backward()\n        return x"),
        ("y = x", "self.adapt and x.sum().backward()\n        return x"),
        (
            "y = x",
            "def closure():\n            x.sum().backward()\n        return self.step(closure) if self.adapt else x",
        ),
        ("y = x", "x = self.opt.step(x)\n        return x"),
        ("y = x", "return x + self.rows_memmap[0]"),
    ],
)
def test_a_module_that_trains_on_request_alone_is_compiled(tmp_path: Path, before: str, behind: str) -> None:
    found = rows(tmp_path, {"a.py": MODULE.format(before=before, behind=behind)})
    assert found == [("a.py", 7)]


def test_an_example_in_a_docstring_trains_nothing(tmp_path: Path) -> None:
    docstring = (
        '    """Used so:\n    class Outer:\n        def forward(self, x):\n            loss.backward()\n    """\n\n'
    )
    text = MODULE.format(before="y = x", behind="return x").replace("    def forward", f"{docstring}    def forward")
    assert rows(tmp_path, {"a.py": text}) == [("a.py", 13)]


@pytest.mark.parametrize("name", ["Trainer", "Codec"])
def test_what_only_a_trainer_calls_elsewhere_is_silent(tmp_path: Path, name: str) -> None:
    behind = "self.clean(x).sum().backward()" if name == "Trainer" else "return self.clean(x)"
    base = "import torch\n\nclass Base(torch.nn.Module):\n    def clean(self, x):\n        return x[: int(x.sum())]\n"
    heir = "from kit.base import Base\n\nclass Heir(Base):\n    def forward(self, x):\n        {}\n"
    found = rows(tmp_path, {"base.py": base, "heir.py": heir.format(behind)})
    assert found == ([] if name == "Trainer" else [("base.py", 5)])


FUNCTION = """
import torch
from torch import Tensor

def clean(x: Tensor{parameter}) -> Tensor:
    {before}
    if (x > 0).any():
        x = x + 1
    {behind}
    return x

def _rows(x: Tensor):
    {helper}
    return x
"""
"""A public function that asks in its row 7."""
ALWAYS = "y = x.numpy()"


@pytest.mark.parametrize(
    ("before", "behind", "helper", "found"),
    [
        ("y = x", "x = _rows(x)", ALWAYS, 0),
        ("y = _rows(x)", "y = x", ALWAYS, 0),
        ("y = x", "for _ in range(3):\n        x = torch.stack([_rows(x), x])", ALWAYS, 0),
        ("if x is None:\n        return x", "x = _rows(x)", ALWAYS, 0),
        ("y = x", "if len(x) > 3:\n        x = _rows(x)", ALWAYS, 1),
        ("y = x", "if len(x) > 3:\n        return x\n    x = _rows(x)", ALWAYS, 1),
        ("y = x", "try:\n        y = x\n    except ValueError:\n        x = _rows(x)", ALWAYS, 1),
        ("y = x", "x = _rows(x)", "if x.is_cuda:\n        y = x.numpy()", 1),
        ("y = x", "x = _rows(x)", "if x.any():\n        return x\n    y = x.numpy()", 1),
        ("y = x", "x = _rows(x)", "y = x", 1),
        ("y = x", 'print("_rows(x)")', ALWAYS, 1),
    ],
)
def test_what_always_calls_what_is_eager(tmp_path: Path, before: str, behind: str, helper: str, found: int) -> None:
    text = FUNCTION.format(parameter="", before=before, behind=behind, helper=helper)
    assert [name for name, row in rows(tmp_path, {"ops.py": text}) if row < 11] == ["ops.py"] * found


@pytest.mark.parametrize(
    ("parameter", "found"),
    [
        (", optimizer: str = 'adam'", 0),
        (", dataset: Iterable[object] = ()", 0),
        (", *, loader: object = None", 0),
        (", tokenizer: object = None", 0),
        (", axes: Tensor = None", 1),
        (", path: 'torch.Tensor | None' = None", 1),
        (", rows: object = None", 1),
    ],
)
def test_what_is_given_to_train_or_to_read(tmp_path: Path, parameter: str, found: int) -> None:
    text = FUNCTION.format(parameter=parameter, before="y = x", behind="y = x", helper="y = x")
    assert len(rows(tmp_path, {"ops.py": text})) == found


@pytest.mark.parametrize(
    "name", ["clean_json", "from_file", "load_database", "explain_rows", "report", "test_rows", "clean_state_dict"]
)
def test_names_of_what_reads_files_or_tells(tmp_path: Path, name: str) -> None:
    text = FUNCTION.format(parameter="", before="y = x", behind="y = x", helper="y = x")
    assert rows(tmp_path, {"ops.py": text.replace("def clean", f"def {name}")}) == []


@pytest.mark.parametrize("name", ["from_json", "load_database", "test_rows", "clean_state_dict"])
def test_what_reads_a_file_or_tests_is_not_followed(tmp_path: Path, name: str) -> None:
    table = """
import torch

class Table:
    @classmethod
    def {name}(cls, x):
        return cls(x[: int(x.sum())])
"""
    module = """
import torch
from kit.table import Table

class Codec(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return Table.{name}(x).rows
"""

    def found(name: str) -> list[tuple[str, int]]:
        return rows(tmp_path / name, {"table.py": table.format(name=name), "a.py": module.format(name=name)})

    assert found("from_rows") == [("table.py", 7)]
    assert found(name) == []


ESTIMATOR = """
import torch

class Estimator:
    def {name}(self, x: torch.Tensor):
        self.mean_ = float(self.pick(x))
        return self

    def pick(self, x: torch.Tensor):
        if (x > 0).any():
            x = x + 1
        return x.mean()
"""
SCORES = """
import torch
from kit.estimator import Estimator

def scores(x: torch.Tensor) -> torch.Tensor:
    return x[: int(x.sum())] * Estimator().{name}(x).mean_
"""


@pytest.mark.parametrize(("name", "found"), [("fit", [10]), ("fit_transform", [10]), ("centre", [6, 10])])
def test_what_a_fit_keeps_is_no_part_of_a_graph_and_what_it_calls_may_be(
    tmp_path: Path, name: str, found: list[int]
) -> None:
    files = {"estimator.py": ESTIMATOR.format(name=name), "scores.py": SCORES.format(name=name)}
    assert [row for file, row in rows(tmp_path, files) if file == "estimator.py"] == found


@pytest.mark.parametrize(("header", "found"), [("class _Dice:", 0), ("class Dice:", 1), ("class _Dice(Metric):", 1)])
def test_a_private_class_that_counts_is_no_metric(tmp_path: Path, header: str, found: int) -> None:
    text = f"""
import torch
from metrics import Metric

{header}
    def update(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.hits += int((x & y).sum().item())

    def compute(self) -> torch.Tensor:
        return torch.tensor(self.hits)
"""
    assert rows(tmp_path, {"a.py": text}) == [("a.py", 7)] * found
