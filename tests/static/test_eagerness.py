"""What always trains, fits, reads files or hands tensors on to NumPy is compiled by nobody; what may do so is."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

from ddelint.static.program.always import reaching

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
        "for p in x:\n            for q in p:\n                break\n            p.sum().backward()",
        "for p in x:\n            p.sum().backward()\n            if p.dim() > 1:\n                break",
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
        ("y = x", "for p in x:\n            if p.dim() > 1:\n                continue\n            p.sum().backward()"),
        ("y = x", "for p in x:\n            if p.dim() > 1: break\n            p.sum().backward()"),
        ("y = x", "for p in x:\n            if p.dim() > 1: y = p; break\n            p.sum().backward()"),
        ("y = x", "if x.dim() > 1: y = x; return y\n        x.sum().backward()"),
    ],
)
def test_a_module_that_trains_on_request_alone_is_compiled(tmp_path: Path, before: str, behind: str) -> None:
    found = rows(tmp_path, {"a.py": MODULE.format(before=before, behind=behind)})
    assert found == [("a.py", 7)]


TRAINER = """
import torch
{head}

class Trainer({base}):
    def __init__(self, net):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x: torch.Tensor):
        {body}
        return x

    def one_step(self, x):
        if (x > 0).any():
            x = x + 1
        {deep}

    def update(self, x):
        {deepest}
"""
BACKWARD = "self.net(x).sum().backward()"


@pytest.mark.parametrize(
    ("body", "deep", "deepest"),
    [
        ("self.one_step(x)", BACKWARD, "pass"),
        ("while self.steps < 9:\n            self.one_step(x)", BACKWARD, "pass"),
        ("while True:\n            x = self.one_step(x)", "self.optim.step()", "pass"),
        ("for _ in range(3):\n            logs = self.one_step(x)", "return self.update(x)", BACKWARD),
        ("self.one_step(x)", "return self.update(x)", "trained(self.net, x)"),
        ("self.one_step(x)", "return super().update(x)", "pass"),
        ("self.one_step(x)", "return self.inherited(x)", "return self.one_step(x)"),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_module_whose_own_methods_train_is_silent(
    tmp_path: Path, body: str, deep: str, deepest: str, apart: bool
) -> None:
    base = "import torch\n\nclass Base(torch.nn.Module):\n"
    base += "".join(f"    def {name}(self, x):\n        {BACKWARD}\n\n" for name in ("update", "inherited"))
    base += "def trained(net, x):\n    net(x).sum().backward()\n"
    head = "from kit.base import Base, trained" if apart else base
    text = TRAINER.format(head=head, base="Base", body=body, deep=deep, deepest=deepest)
    assert rows(tmp_path, {"a.py": text} | ({"base.py": base} if apart else {})) == []


@pytest.mark.parametrize(
    ("body", "deep", "deepest", "head"),
    [
        ("if self.training:\n            self.one_step(x)", BACKWARD, "pass", ""),
        ("while self.adapting:\n            self.one_step(x)", BACKWARD, "pass", ""),
        ("self.one_step(x)", "if self.tuned:\n            self.update(x)", BACKWARD, ""),
        ("self.one_step(x)", "return self.flow.update(x)", BACKWARD, ""),
        ("self.one_step(x)", "return self.one_step(x)", BACKWARD, ""),
        ("self.one_step(x)", "return self.update(x)", "return self.one_step(x)", f"def trained(x): {BACKWARD}"),
        ("self.one_step(x)", "if x is None:\n            return 1\n        self.update(x)", BACKWARD, ""),
        ('y = "self.update(x)"\n        self.one_step(x)', "return x", BACKWARD, ""),
    ],
)
def test_a_module_whose_methods_train_on_request_alone_is_compiled(
    tmp_path: Path, body: str, deep: str, deepest: str, head: str
) -> None:
    text = TRAINER.format(head=head, base="torch.nn.Module", body=body, deep=deep, deepest=deepest)
    assert rows(tmp_path, {"a.py": text}) != []


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


OPTIONAL = "try:\n    from scipy.ndimage import label as LABEL\nexcept ImportError:\n    LABEL = None"
CHAIN = """
import torch
{head}

def clean(x: torch.Tensor) -> torch.Tensor:
    if (x > 0).any():
        x = x + 1
    {first}
    return x

def _second(x):
    {second}
    return x

def _third(x):
    {third}
    return x
"""


@pytest.mark.parametrize(
    ("head", "first", "second", "third", "found"),
    [
        ("", "x = _second(x)", "x = _third(x)", "return x.detach().numpy()", 0),
        ("from scipy.sparse import csr_matrix", "x = _second(x)", "x = _third(x)", "x = csr_matrix(x)", 0),
        ("import scipy.optimize as so", "x = _second(x)", "x = max(_third(y) for y in x)", "so.minimize(x)", 0),
        ("from sklearn import cluster", "_second(x)", "return _third(x)", "cluster.KMeans(3).fit(x)", 0),
        ("import scipy.stats", "x = _second(x)", "x = _third(x)", "x = x * scipy.stats.norm.cdf(1)", 0),
        ("", "x = _second(x)", "return clean(x), _third(x)", "return x.detach().numpy()", 0),
        ("from kit.deep import solve", "x = _second(x)", "x = _third(x)", "return solve(x)", 0),
        ("from kit import deep", "x = _second(x)", "x = deep.solve(x)", "return x", 0),
        ("from kit.deep import solve", "x = _second(x)", "x = _third(x)", "return solve", 1),
        ("from kit.deep import solve", "x = _second(x)", "x = _third(x) if x.is_cuda else x", "return solve(x)", 1),
        ("", "x = _second(x)", "return clean(x)", "return x.detach().numpy()", 1),
        ("", "x = _second(x)", "if x is None:\n        return 1\n    x = _third(x)", "return x.numpy()", 1),
        ("", "x = _second(x)", "x = _third(x)", "if x is None:\n        return 1\n    return x.numpy()", 1),
        ("from scipy.sparse import csr_matrix", "x = _second(x)", "x = _third(x)", "x = [csr_matrix, x][1]", 1),
        ("import numpy as np", "x = _second(x)", "x = _third(x)", "x = x * float(np.array([2.0])[0])", 1),
        ("import scipy", "x = _second(x)", "x = _third(x)", "for y in x: yield y", 1),
        (OPTIONAL, "x = _second(x)", "x = _third(x)", "if LABEL is not None:\n        return LABEL(x)", 0),
        (OPTIONAL, "x = _second(x)", "x = _third(x)", "if x is not None:\n        return LABEL(x)", 1),
        (OPTIONAL, "x = _second(x)", "x = _third(x)", "if LABEL is None:\n        return LABEL(x)", 1),
        (
            OPTIONAL,
            "x = _second(x)",
            "x = _third(x)",
            "LABEL = first\n    if LABEL is not None:\n        x = LABEL(x)",
            1,
        ),
    ],
)
def test_what_calls_what_is_eager_several_functions_down(
    tmp_path: Path, head: str, first: str, second: str, third: str, found: int
) -> None:
    text = CHAIN.format(head=head, first=first, second=second, third=third)
    deep = "def solve(x):\n    return further(x)\n\ndef further(x):\n    return x.numpy()\n"
    above = head.count("\n")
    in_file = [row - above for name, row in rows(tmp_path, {"ops.py": text, "deep.py": deep})]
    assert [row for row in in_file if row < 9] == [6] * found


@pytest.mark.parametrize(("method", "found"), [("deep", 0), ("inherited", 0), ("shallow", 1), ("other.deep", 1)])
def test_methods_that_always_do_what_is_eager(tmp_path: Path, method: str, found: int) -> None:
    base = "import torch\n\nclass Base(torch.nn.Module):\n    def inherited(self, x):\n        return x.numpy()\n"
    text = f"""
import torch
from kit.base import Base

class Codec(Base):
    def encode(self, x: torch.Tensor) -> torch.Tensor:
        if (x > 0).any():
            x = x + 1
        return self.{method}(x)

    def deep(self, x):
        return self.deeper(x)

    def deeper(self, x):
        return x.numpy()

    def shallow(self, x):
        return x if x is None else self.deeper(x)
"""
    assert [row for name, row in rows(tmp_path, {"a.py": text, "base.py": base}) if row < 10] == [7] * found


@pytest.mark.parametrize(
    ("edges", "does", "expected"),
    [
        ({1: [2], 2: [3], 3: []}, {3}, {1, 2, 3}),
        ({1: [2], 2: [1, 3], 3: []}, set(), set()),
        ({1: [2], 2: [3], 3: [1, 4], 4: []}, {4}, {1, 2, 3, 4}),
        ({1: [2, 3], 2: [1], 3: []}, {3}, {1, 2, 3}),
        ({1: [2, 5], 2: [3], 3: [2], 4: [], 5: [4]}, {4}, {1, 4, 5}),
        ({1: [1]}, set(), set()),
        ({1: [2], 2: [3, 4], 3: [1], 4: [2, 5], 5: []}, {5}, {1, 2, 3, 4, 5}),
    ],
)
def test_who_leads_to_what(edges: dict[int, list[int]], does: set[int], expected: set[int]) -> None:
    asked: list[int] = []

    def calls(node: int) -> list[int]:
        asked.append(node)
        return edges[node]

    found = reaching(1, does.__contains__, calls, {}.get)
    assert {node for node, answer in found.items() if answer} == expected & found.keys()
    assert len(asked) == len(set(asked))
    assert found[1] == (1 in expected)


def test_a_long_chain_of_calls() -> None:
    end = 50_000
    found = reaching(0, lambda node: node == end, lambda node: [node + 1], {}.get)
    assert all(found.values())
    assert len(found) == end + 1


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


CHOOSING = """import scipy.linalg
from torch import Tensor

def entry(x: Tensor{parameter}) -> Tensor:
    if (x > 0).any():
        x = x + 1
    {call}

def helper(x, exact=False):
    {helper}
    return y

def solve(x):
    return scipy.linalg.sqrtm(x)
"""


@pytest.mark.parametrize(
    ("helper", "found"),
    [
        ("y = solve(x)", 0),
        ("y = scipy.linalg.sqrtm(\n        x if exact else x + 1\n    )", 0),
        ("y = scipy.optimize.fmin(\n        lambda p: p or 1,\n        x\n    )", 0),
        ("return (\n        solve(x),\n        x\n    )", 0),
        ("if not exact: return x\n    y = solve(x)", 1),
        ("if not exact: return x\n    y = abs(solve(x))", 1),
        ("if not exact:\n        return abs(x)\n    return abs(scipy.linalg.sqrtm(x))", 1),
        ("if not exact:return x\n    y = scipy.linalg.sqrtm(x)", 1),
        ("if not exact: y = x\n    else: y = solve(x)", 1),
        ("try: y = x / 2\n    except RuntimeError: y = solve(x)", 1),
        ("while exact: y = solve(x)", 1),
        ("y = (\n        solve(x)\n        if exact\n        else x\n    )", 1),
        ("y = (\n        x\n        if not exact\n        else scipy.linalg.sqrtm(x)\n    )", 1),
        ("y = abs(\n        exact\n        and solve(x)\n    )", 1),
        ("y = [\n        solve(row)\n        for row in x\n        if exact\n    ]", 1),
        ("y = map(lambda row:\n        solve(row), x)", 1),
    ],
)
def test_what_is_called_at_times(tmp_path: Path, helper: str, found: int) -> None:
    text = CHOOSING.format(parameter="", call="return helper(x)", helper=helper)
    assert [row for _, row in rows(tmp_path, {"ops.py": text})] == [5] * found


@pytest.mark.parametrize(
    ("parameter", "call", "found"),
    [
        ("", "return solve(x)", 0),
        (", rate: float = 1", "solve(x)\n    return x", 0),
        (", solve", "return solve(x)", 1),
        (", *, solve: object = abs", "return solve(x)", 1),
        (",\n    solve=abs,\n", "return solve(x)", 1),
        ("", "solve = abs\n    return solve(x)", 1),
        ("", "rate, solve = 1, abs\n    return solve(x)", 1),
        ("", "solve: object = abs\n    return solve(x)", 1),
        ("", "def solve(y):\n        return y + 1\n    return solve(x)", 1),
        ("", "for solve in (abs, abs):\n        x = solve(x)\n    return x", 1),
        ("", "with x as solve:\n        x = solve(x)\n    return x", 1),
    ],
)
def test_a_name_of_the_functions_own(tmp_path: Path, parameter: str, call: str, found: int) -> None:
    text = CHOOSING.format(parameter=parameter, call=call, helper="y = x")
    assert len(rows(tmp_path, {"ops.py": text})) == found


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("return self.learn(x)", 0),
        ("if not self.training: return x\n        return self.learn(x)", 1),
        ("if not self.training: y = x\n        else: y = self.learn(x)\n        return y", 1),
        ("return (\n            self.learn(x)\n            if self.training\n            else x\n        )", 1),
    ],
)
def test_a_module_that_trains_at_times(tmp_path: Path, entry: str, found: int) -> None:
    text = f"""
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        {entry}

    def learn(self, x):
        loss = x.sum()
        loss.backward()
        return x
"""
    assert len(rows(tmp_path, {"model.py": text})) == found
