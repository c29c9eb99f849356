"""One argument is of another kind than declared: its dtype, its dimensions, the gradient that flows into it."""

from __future__ import annotations

import gc
import math
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import INTEGERS, Decision, SessionOptions
from ddelint.rewrite.search.verdict import all_doubting, remarks
from ddelint.trace.entry import Entry
from ddelint.verify.eager import compare
from ddelint.verify.flags import extreme_arguments
from ddelint.verify.kinds import other_kinds
from ddelint.verify.members import extremes_of
from ddelint.verify.recording import Recorder
from ddelint.verify.samples import Sample
from ddelint.verify.settings import Settings
from ddelint.verify.sparsity import may_be_sparse

NAMES = ("x", "w", "n", "limit", "ids")


def make() -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor]]:
    return (torch.ones(3, 2), torch.ones(3), torch.tensor(2), torch.tensor(0.5), torch.arange(3)), {}


def changed() -> dict[str, tuple[torch.Tensor, ...]]:
    sample = Sample("seed 0", True, make)
    others = [change(sample) for change in other_kinds(sample, NAMES, "x".__eq__)]
    assert not any(other.declared for other in others)
    return {other.label.removeprefix("seed 0, "): other.make()[0] for other in others}


def test_one_argument_alone_has_another_dtype() -> None:
    found = changed()

    assert [t.dtype for t in found["w alone in double precision"]][:2] == [torch.float32, torch.float64]
    assert [t.dtype for t in found[f"{INTEGERS}: x alone"]][:2] == [torch.int64, torch.float32]
    assert found["ids alone of 32 bits"][4].dtype is torch.int32


def test_a_single_number_stands_in_a_row_and_all_rows_share_memory() -> None:
    found = changed()

    assert found["limit in a row of one"][3].shape == found["n in a row of one"][2].shape == (1,)
    assert found["with rows that share memory"][0].stride()[0] == 0
    with pytest.raises(RuntimeError):
        found["with rows that share memory"][0].add_(1)


def test_gradients_flow_into_one_argument_alone() -> None:
    found = changed()

    assert [t.requires_grad for t in found["w alone requiring grad"]] == [False, True, False, False, False]


def test_an_input_set_that_has_something_else_in_its_place_stays() -> None:
    first, other = Sample("seed 0", True, make), Sample("seed 1", True, lambda: ((torch.arange(3), 2.0), {}))
    for change in other_kinds(first, NAMES, "x".__eq__):
        x, w, *_ = (*change(other).make()[0], None)
        assert x.tolist() == ([0, 0, 0] if "share" in change(other).label else [0, 1, 2])
        assert w == 2.0


def test_numbers_come_to_their_extremes() -> None:
    others = extremes_of(0.5)

    assert others[:3] == [math.inf, 0.0, -1.0]
    assert all(isinstance(other, float) for other in others)
    assert math.isnan(others[3])  # type: ignore[arg-type]
    assert extremes_of(3) == [0, 4, -1]
    assert extremes_of({"a": 1.0, "n": 2, "b": [0.0]}) == [
        {"a": math.inf, "n": 2, "b": [0.0]},
        {"a": 1.0, "n": 2, "b": [math.inf]},
    ]
    assert extremes_of(True) == extremes_of("a") == extremes_of(None) == ()
    assert extremes_of({"x": torch.ones(2), "limit": 1.0}) == ()  # one tensor would go into all calls


class Limited(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.limit, self.least, self.width = 1.0, 2, 8

    def forward(self, x: torch.Tensor, scale: float = 2.0, steps: int = 3) -> torch.Tensor:
        return (x * scale).clamp(max=self.limit)[: self.least + steps]


def test_arguments_that_are_left_to_their_default_and_settings_come_to_theirs() -> None:
    gc.unfreeze()  # another test may have hidden the functions of this file from whoever looks for live ones
    program, sample = Limited(), Sample("seed 0", True, lambda: ((torch.ones(3),), {}))

    labels = [change(sample).label for change in extreme_arguments(program, sample)]
    assert labels[:4] == ["seed 0, scale=inf", "seed 0, steps=0", "seed 0, scale=0.0", "seed 0, steps=4"]
    entry = Entry("Limited", __file__, Limited, lambda seed: sample.make(), True, ("x",))
    settings = Settings(entry, program, Recorder(), None, lambda: False)
    settings.note([sample, sample])
    labels = [change(sample).label.removeprefix("seed 0, ") for change in settings.extremes()]
    assert [label for label in labels if "limit" in label] == [
        f"Limited.limit={other}" for other in ("inf", "0.0", "-1.0", "nan")
    ]
    assert not any("least" in label or "width" in label for label in labels), "no test rests on these integers"


NORMALIZING = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(2)
            self.eval()

        def forward(self, x):
            return {last}
"""
CASES = {
    "w alone in double precision": (
        "def fn(x, w):\n    if w.sum() > 9:\n        x = x * w\n    return x\n",
        "def fn(x, w):\n    return torch.where(w.sum() > 9, x * w, x)\n",
        "torch.ones(3), torch.ones(3)",
    ),
    "in integers: x alone": (
        "def fn(x, w):\n    return x * w if w.sum() > 9 else x + w\n",
        "def fn(x, w):\n    return torch.where(w.sum() > 9, x * w, x + w).to(x.dtype)\n",
        "torch.ones(3), torch.ones(3)",
    ),
    "limit in a row of one": (
        "def fn(x, limit):\n    return x.mean() if x.mean() > limit else x.max()\n",
        "def fn(x, limit):\n    return torch.where(x.mean() > limit, x.mean(), x.max())\n",
        "torch.ones(3), torch.tensor(2.0)",
    ),
    "with rows that share memory": (
        "def fn(x):\n    if x.max() > 2:\n        x.mul_(0.5)\n    return x + 1\n",
        "def fn(x):\n    x.copy_(torch.where(x.max() > 2, x * 0.5, x))\n    return x + 1\n",
        "(torch.ones(3),)",
    ),
    "x alone requiring grad": (
        "def fn(x):\n    if x.max() > 2:\n        x.mul_(0.5)\n    return x + 1\n",
        "def fn(x):\n    x *= torch.where(x.max() > 2, 0.5, 1.0)\n    return x + 1\n",
        "(torch.ones(3),)",
    ),
    "factor=inf": (
        "def fn(x, factor=2.0):\n    return x.sum() * factor if x.sum() > 0 else x.sum()\n",
        "def fn(x, factor=2.0):\n    return torch.where(x.sum() > 0, x.sum(), 0) * factor + x.sum().clamp(max=0)\n",
        "(torch.zeros(3),)",
    ),
    "count=0": (
        "def fn(x, count=2):\n    return x[-count:].sum() if x.sum() > 9 else x[-count:].mean()\n",
        "def fn(x, count=2):\n    y = x[len(x) - count :]\n    return torch.where(x.sum() > 9, y.sum(), y.mean())\n",
        "(torch.ones(3),)",
    ),
    "with one tensor for two arguments (1 and 3)": (
        "def fn(x, y, z):\n    if x.sum() > 0:\n        x.mul_(2)\n    return x + z\n",
        "def fn(x, y, z):\n    r = torch.where(x.sum() > 0, x * 2, x) + z\n    x.copy_(r - z)\n    return r\n",
        "torch.ones(3), torch.ones(3), torch.ones(3)",
    ),
    "with its parts in train()": (
        NORMALIZING.format(last="x if self.training or x.mean() < 2 else self.norm(x)"),
        NORMALIZING.format(last="x if self.training else torch.where(x.mean() < 2, x, self.norm(x))"),
        "(torch.ones(3, 2),)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_a_rewrite_that_is_right_as_declared_is_doubted_for_one_kind(
    kind: str, program: Callable[..., Entry], options: SessionOptions
) -> None:
    original, rewritten, inputs = CASES[kind]
    given = f"\n\ndef make_inputs(seed):\n    return {inputs}\n"
    first, second = (program(textwrap.dedent(text) + given) for text in (original, rewritten))
    row, line = next((n, t) for n, t in enumerate(Path(first.filename).read_text().splitlines(), 1) if " if " in t)
    start = line.index("if ") + 4
    decision = Decision("d", Span(first.filename, row, start, row, len(line.split(":")[0]) + 1))

    doubted = all_doubting(compare(first, lambda: second, (decision,), options, 8, False))

    assert any(mismatch.sample.endswith(kind) for mismatch in doubted), doubted


def test_several_dtypes_once_compiled_are_noted_where_eager_keeps_them(
    program: Callable[..., Entry], options: SessionOptions
) -> None:
    given = "\n\ndef make_inputs(seed):\n    return torch.ones(3), torch.ones(3) * (seed % 2)\n"
    branch = "if w.sum() > 0:\n        x = x * w\n    return x\n"
    merged = f"if torch.compiler.is_compiling():\n        return torch.where(w.sum() > 0, x * w, x)\n    {branch}"
    first, second = (program(f"def fn(x, w):\n    {body}{given}") for body in (branch, merged))
    decision = Decision("d", Span(first.filename, 4, 8, 4, 19))

    found = compare(first, lambda: second, (decision,), options, 8, False)

    assert [mismatch for mismatch in all_doubting(found) if "double" in mismatch.sample] == []
    assert [text for text in remarks(found) if text.startswith("given one argument of another dtype")]


def test_a_matrix_is_sparse_and_nothing_else_is() -> None:
    found = changed()

    assert [t.is_sparse for t in found["x sparse"]] == [True, False, False, False, False]
    assert [label for label in found if "sparse" in label] == ["x sparse"]


@pytest.mark.parametrize(
    ("body", "caught"),
    [("edges @ nodes", True), ("torch.sparse.mm(edges, nodes)", True), ("edges * nodes.sum()", False)],
)
def test_where_a_sparse_matrix_is_multiplied_it_must_stay_so(
    body: str, caught: bool, options: SessionOptions, program: Callable[..., Entry]
) -> None:
    inputs = "\n\ndef make_inputs(seed):\n    return torch.ones(3, 2) * seed, torch.eye(3)\n"
    step = "import torch\n\n\ndef fn(nodes, edges):\n    edges = {}\n    return {}\n" + inputs
    first = program(step.format("edges * 2", body))
    second = program(step.format("torch.where(nodes.sum() > -1, edges * 2, edges)", body))
    found = compare(first, lambda: second, (), options, 16, False)
    assert any("sparse" in mismatch.sample for mismatch in found.mismatches) == caught


PLAIN = "def fn(x, {0}):\n    return x @ {0}"
GIVEN = ((torch.ones(3, 2), torch.eye(2)), {})


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (PLAIN, "w", ""),
        (PLAIN + "  # no graph break between the edges", "w", ""),
        (PLAIN, "adj", "adj"),
        (PLAIN, "adjacency", "adjacency"),
        (PLAIN, "norm_laplacian", "norm_laplacian"),
        (PLAIN, "edge_weight", "edge_weight"),
        (PLAIN, "adjusted", ""),
        ("def fn(x, {0}):\n    return spread(x, adj={0})", "w", "x w"),
        ("def fn(x, {0}):\n    return x @ ({0}.to_dense() if {0}.is_sparse else {0})", "w", "x w"),
        ("def fn(x, {0}):\n    return torch.sparse.mm(x, {0})", "w", "x w"),
        (PLAIN + "\n# ) (", "edges", "edges"),
        (PLAIN + " )", "w", ""),
    ],
)
def test_a_matrix_is_sparse_where_something_says_that_it_may_be(
    text: str, name: str, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.py"
    path.write_text(text.format(name))
    may_be = may_be_sparse(Sample("seed 0", True, lambda: GIVEN), ("x", name), [str(path), str(tmp_path / "none.py")])
    assert [asked for asked in ("x", name) if may_be(asked)] == expected.split()


def test_where_a_declared_input_is_sparse_others_may_be() -> None:
    given = {"batch": {"w": torch.eye(2).to_sparse(), "adj_t": torch.eye(2)}}
    assert may_be_sparse(Sample("seed 0", True, lambda: ((), given)), ("x", "batch"), [])("x")
    dense = {"batch": {"w": torch.eye(2)}}
    may_be = may_be_sparse(Sample("seed 0", True, lambda: ((), dense)), ("x", "batch"), [])
    assert not may_be("x")
    assert may_be("batch['adj_t']")
    assert not may_be("batch['w']")


def test_a_plain_choice_before_a_product_stands(options: SessionOptions, program: Callable[..., Entry]) -> None:
    step = "import torch\n\n\ndef fn(x, w):\n    {}\n    return {}\n"
    inputs = "\n\ndef make_inputs(seed):\n    return torch.ones(4, 3) * (seed % 2), torch.ones(3, 2)\n"
    for last in ("x @ w", "x.sum()", "torch.nn.functional.linear(x, w.T)"):
        first = program(step.format("x = x * 2 if x.sum() > 1 else x", last) + inputs)
        second = program(step.format("x = torch.where(x.sum() > 1, x * 2, x)", last) + inputs)
        found = compare(first, lambda second=second: second, (), options, 16, False)  # type: ignore[misc]
        assert not [m for m in found.mismatches if m.where == "eager" and "sparse" in m.sample]


def test_integers_that_narrow_arguments_do_not_hold_are_among_the_extremes(
    options: SessionOptions, program: Callable[..., Entry]
) -> None:
    text = """
    import torch


    def fn(losses, labels, classes=10):
        if {}labels.max().item() >= classes:
            losses = losses * (labels < classes)
        return losses.cumsum(0)


    def make_inputs(seed):
        g = torch.Generator().manual_seed(seed)
        labels = torch.randint(0, 9 if seed % 2 else 14, (6,), generator=g)
        return torch.rand(6, generator=g), labels.to(torch.{})
    """
    for dtype, differs in (("uint8", True), ("int8", True), ("int64", False)):
        first, second = (program(textwrap.dedent(text.format(head, dtype))) for head in ("", "True or "))
        found = compare(first, lambda second=second: second, (), options, 16, False)  # type: ignore[misc]
        assert any("classes=" in mismatch.sample for mismatch in found.mismatches) is differs
    assert extremes_of(7, (256,)) == [0, 8, -1, 256]
