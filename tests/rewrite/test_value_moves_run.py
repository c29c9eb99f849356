"""The rewritten programs, run: eager gives what it gave, and export and a full graph take them and agree."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from control_flow import applied, candidates, context_of, load  # noqa: E402

from ddelint.nouns.diagnostics import TypeFact  # noqa: E402

INDEX = TypeFact("tensor", "int64", ())
INTEGERS = TypeFact("tensor", "int64", ("3",))
FLOAT = TypeFact("tensor", "float32", ())
ROWS = TypeFact("tensor", "float32", ("8", "2"))
VECTOR = TypeFact("tensor", "float32", ("8",))
MASK = TypeFact("tensor", "bool", ("8",))
TENSORS = TypeFact("list", length=3, element=TypeFact("tensor", "float32", ("8",)))

T = torch.tensor
Inputs = Callable[[], list[tuple[Any, ...]]]


def vector() -> Any:
    return torch.linspace(-1.0, 2.5, 8)


def rows() -> Any:
    return torch.linspace(-1.0, 2.5, 16).reshape(8, 2)


def numbers(*values: float) -> Inputs:
    return lambda: [(vector(), T(value)) for value in values]


def masks(*counts: int) -> Inputs:
    return lambda: [(rows(), torch.arange(8) < count) for count in counts]


@dataclass(frozen=True)
class Program:
    move: str
    text: str
    asking: str
    types: dict[str, TypeFact]
    inputs: Inputs
    which: int = 0
    code: str = "DDE101"
    asks: bool = True
    """Whether the original is refused by plain export."""
    prelude: str = ""


PROGRAMS = {
    "int": Program(
        "item_instead_of_cast",
        "def fn(x, k):\n    return x.new_ones(int(k) + 1).sum()\n",
        "int(k)",
        {"k": INDEX},
        numbers(2, 0, 5),
    ),
    "int of a float": Program(
        "item_instead_of_cast",
        "def fn(x, k):\n    return x.new_ones(int(k) + 1).sum()\n",
        "int(k)",
        {"k": FLOAT},
        numbers(2.7, 0.2, 5.0),
    ),
    "int of a quotient": Program(
        "item_instead_of_cast",
        "def fn(x, m):\n    y = x[m]\n    return x.new_ones(int(y.shape[0] / 2)).sum()\n",
        "int(y.shape[0] / 2)",
        {"x": ROWS, "m": MASK},
        masks(4, 0, 7),
    ),
    "bool": Program(
        "item_instead_of_cast",
        "def fn(x, k):\n    return x * bool(k > 1)\n",
        "bool(k > 1)",
        {"k": INDEX},
        numbers(2, 0),
    ),
    "len": Program(
        "shape_instead_of_len",
        "def fn(x, m):\n    y = x[m]\n    return y.sum() * len(y)\n",
        "len(y)",
        {"x": ROWS, "m": MASK},
        masks(4, 0, 7),
    ),
    "list of numbers": Program(
        "stack_and_index",
        "GAINS = [0.1, 1, 2.5]\n\n\ndef fn(x, k):\n    return x * GAINS[k.item()]\n",
        "GAINS[k.item()]",
        {"k": INDEX, "x": VECTOR},
        numbers(2, 0, 1),
    ),
    "list of tensors": Program(
        "stack_and_index",
        "def fn(x, k):\n    table = [x, x + 1, x * 2]\n    return table[k.item()]\n",
        "table[k.item()]",
        {"k": INDEX, "table": TENSORS},
        numbers(2, 0, 1),
    ),
    "math": Program(
        "symbolic_function",
        "def fn(x, k):\n    n = k.item()\n    return x * math.sqrt(n)\n",
        "math.sqrt(n)",
        {},
        numbers(2, 0, 9),
        prelude="import math\n",
    ),
    "sorted": Program(
        "symbolic_function",
        "def fn(x, k):\n    a, b = sorted(torch.stack([k, k - 1]).tolist())\n    return x * a - b\n",
        "sorted(torch.stack([k, k - 1]).tolist())",
        {},
        numbers(2, 0, 9),
    ),
    "max pooling": Program(
        "equivalent_operator",
        "def fn(x, m):\n    y = x[m].T\n    return torch.nn.functional.max_pool1d(y, 2, stride=1).sum()\n",
        "torch.nn.functional.max_pool1d",
        {"y": ROWS},
        masks(4, 2, 7),
    ),
    "chunk": Program(
        "static_count",
        "def fn(x, m):\n    a, b = x[m].chunk(2)\n    return a.sum() - b.sum()\n",
        "x[m].chunk(2)",
        {"x": ROWS, "m": MASK},
        masks(4, 0, 7),
    ),
    "chunk of even size": Program(
        "static_count",
        "def fn(x, m):\n    a, b = x[m].chunk(2)\n    return a * b\n",
        "x[m].chunk(2)",
        {"x": ROWS, "m": MASK},
        masks(4, 0, 6),
        which=1,
    ),
    "chunk by three": Program(
        "static_count",
        "def fn(x, m):\n    y = x[m]\n    a, b, c = y.chunk(3)\n    return a.sum() - b.sum() + 2 * c.sum()\n",
        "y.chunk(3)",
        {"y": ROWS},
        masks(3, 6, 7),
    ),
    "split": Program(
        "static_count",
        "def fn(x, k):\n    a, b = x.split(k.item())\n    return a.sum() - b.sum()\n",
        "x.split(k.item())",
        {"x": VECTOR, "k": INDEX},
        numbers(4, 5, 7),
    ),
    "one_hot": Program(
        "static_count",
        "def fn(x, k):\n    return torch.nn.functional.one_hot(k).sum(0)\n",
        "torch.nn.functional.one_hot(k)",
        {"k": INTEGERS},
        lambda: [(vector(), T([0, 2, 1])), (vector(), T([4, 4, 4])), (vector(), T([0, 0, 0]))],
    ),
    "linspace": Program(
        "static_count",
        "def fn(x, k):\n    return torch.linspace(1, 3, k.item()).sum()\n",
        "torch.linspace(1, 3, k.item())",
        {"k": INDEX},
        numbers(4, 1, 7),
    ),
    "unfold": Program(
        "static_count",
        "def fn(x, k):\n    n = k.item()\n    return x.unfold(0, n, 2).amax(-1).sum()\n",
        "x.unfold(0, n, 2)",
        {"x": VECTOR},
        numbers(4, 1, 8),
    ),
    "adaptive pooling": Program(
        "static_count",
        "def fn(x, k):\n    n = k.item()\n    y = x.reshape(1, 1, 8)\n"
        "    return torch.nn.functional.adaptive_avg_pool1d(y, n).amax(-1)\n",
        "torch.nn.functional.adaptive_avg_pool1d(y, n)",
        {"x": VECTOR, "y": ROWS},
        numbers(4, 1, 3, 8),
    ),
    "unpacking": Program(
        "static_count",
        "def fn(x, m):\n    a, b = x[m]\n    return a @ b\n",
        "x[m]",
        {"x": ROWS, "m": MASK},
        masks(2),
    ),
    "mean of nothing": Program(
        "clamp_divisor",
        "def fn(x, m):\n    y = x[m]\n    if y.shape[0] == 0:\n        return x.new_zeros(2)\n    return y.mean(0)\n",
        "y.shape[0] == 0",
        {"x": ROWS, "m": MASK},
        masks(4, 0, 7),
    ),
    "cached": Program(
        "bypass_cache",
        "@functools.lru_cache(maxsize=None)\ndef ramp(n):\n    return torch.arange(n)\n\n\n"
        "def fn(x, m):\n    y = x[m]\n    return y.sum(1) + ramp(y.shape[0])\n",
        "ramp(y.shape[0])",
        {},
        masks(4, 0, 7),
        prelude="import functools\n",
    ),
    "view of strides": Program(
        "explicit_size",
        "def fn(x, m):\n    y = x[m]\n    return y.t().contiguous().t().view(-1).sum()\n",
        "y.t().contiguous().t().view(-1)",
        {"y": ROWS},
        masks(1),
    ),
    "narrow": Program(
        "narrow",
        "def fn(x, k):\n    n = k.item()\n    return x[:n] + x.new_ones(n)\n",
        "x[:n]",
        {"x": VECTOR, "n": TypeFact("symint")},
        numbers(4, 0, 8),
        asks=False,
    ),
    "lengths": Program(
        "lengths",
        "def fn(x, k):\n    ends = k.cumsum(0).tolist()\n    starts = [0] + ends[:-1]\n"
        "    parts = [x[s:e] for s, e in zip(starts, ends)]\n    return torch.cat([parts[2], parts[0], parts[1]])\n",
        "[x[s:e] for s, e in zip(starts, ends)]",
        {"x": VECTOR, "k": INTEGERS},
        lambda: [(vector(), T([3, 2, 3])), (vector(), T([0, 8, 0])), (vector(), T([1, 1, 1]))],
        asks=False,
    ),
    "cuts": Program(
        "split_by_lengths",
        "def fn(x, k):\n    parts = torch.tensor_split(x, k)\n    return torch.stack([p.sum() for p in parts])\n",
        "torch.tensor_split(x, k)",
        {"x": VECTOR, "k": INTEGERS},
        lambda: [(vector(), T([3, 5])), (vector(), T([0, 8])), (vector(), T([1, 1]))],
        asks=False,
    ),
    "arithmetic": Program(
        "arithmetic_before_item",
        "def fn(x, k):\n    return x.narrow(0, 0, k.item() // 2).sum()\n",
        "k.item() // 2",
        {"k": INDEX},
        numbers(4, 1, 9),
        asks=False,
    ),
    "hoisted": Program(
        "hoist_item",
        "def fn(x, k):\n    a = x.narrow(0, 0, (k + 1).item())\n    return a + torch.ones((k + 1).item())\n",
        "a + torch.ones((k + 1).item())",
        {},
        numbers(4, 0, 7),
        asks=False,
    ),
    "logic": Program(
        "symbolic_logic",
        "def fn(x, k):\n    n = k.item()\n    torch._check(n > 0 and n < 8)\n    return x.narrow(0, 0, n).sum()\n",
        "n > 0 and n < 8",
        {"n": TypeFact("symint")},
        numbers(4, 1, 7),
    ),
    "logic of a helper": Program(
        "symbolic_logic",
        "def empty(m):\n    return not m.any()\n\n\ndef fn(x, k):\n"
        "    return torch.where(torch.full((), empty(x > k)), x, x * 2).sum()\n",
        "not m.any()",
        {"m": MASK},
        numbers(4, 0, 9),
    ),
    "maximum": Program(
        "symbolic_minmax",
        "def fn(x, k):\n    sizes = torch.stack([k, k + 1]).tolist()\n    return x.new_ones(max(sizes)).sum()\n",
        "max(sizes)",
        {"sizes": TypeFact("list")},
        numbers(4, 1, 7),
        asks=False,
    ),
}


def rewritten_text(program: Program) -> tuple[str, str]:
    """The original and the rewritten text, imports added."""
    text = f"{program.prelude}import torch\n\n\n{program.text}"
    context = context_of(text, program.asking, program.types, program.code)
    candidate = candidates(program.move, context)[program.which]
    return text, applied({"model.py": context.site.source}, candidate)["model.py"]


def as_module(function: Callable[..., Any]) -> Any:
    class Wrapper(torch.nn.Module):
        def forward(self, *arguments: Any) -> Any:
            return function(*arguments)

    return Wrapper()


def assert_same(expected: Any, got: Any) -> None:
    assert type(got) is type(expected)
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(got, expected)
    else:
        assert got == expected


@pytest.fixture(autouse=True)
def _settings() -> Any:
    import torch._dynamo as dynamo

    dynamo.reset()
    with (
        dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rewritten_program_is_taken_and_agrees(name: str) -> None:
    program = PROGRAMS[name]
    before, after = rewritten_text(program)
    original, rewritten = load(before), load(after)
    assert callable(original)
    assert callable(rewritten)
    samples = program.inputs()
    expected = [original(*sample) for sample in samples]
    for want, sample in zip(expected, program.inputs()):
        assert_same(want, rewritten(*sample))
    exported = torch.export.export(as_module(rewritten), samples[0], strict=False).module()
    for want, sample in zip(expected, program.inputs()):
        assert_same(want, exported(*sample))

    def fresh(*arguments: Any) -> Any:
        # a 0-d argument is specialized where it is read; a clone of it is not
        return rewritten(*(argument.clone() for argument in arguments))

    compiled = torch.compile(fresh, fullgraph=True, backend="eager")
    for want, sample in zip(expected, program.inputs()):
        assert_same(want, compiled(*sample))
    if program.asks:
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            torch.export.export(as_module(original), samples[0], strict=False)


FAKE = """import torch


@torch.library.custom_op("valuemoves::kept_{kind}", mutates_args=())
def kept(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return {body}


def fn(x, m):
    return kept(x, m).sum(0)
"""


SIZE = "size = torch.library.get_ctx().new_dynamic_size()"


@pytest.mark.parametrize(
    ("kind", "body", "seen"),
    [
        ("rows", "x[m].clone()", (SIZE, "return x.new_empty((size, x.shape[1]))")),
        ("same", "x * m.unsqueeze(1)", ("return x.new_empty((x.shape[0], x.shape[1]))",)),
        (
            "where",
            "torch.nonzero(m.unsqueeze(1) & (x > 0))",
            (SIZE, "return x.new_empty((size, 2), dtype=torch.int64)"),
        ),
    ],
)
def test_a_generated_fake_kernel_is_taken(kind: str, body: str, seen: tuple[str, ...]) -> None:
    text = FAKE.format(kind=kind, body=body)
    asking = context_of(text, "kept(x, m).sum(0)", code="DDE801")
    asking = dataclasses.replace(asking, fake=seen, operator=f"valuemoves.kept_{kind}.default")
    after = applied({"model.py": asking.site.source}, candidates("fake_kernel", asking)[0])["model.py"]
    function = load(after)
    assert callable(function)
    exported = torch.export.export(as_module(function), (rows(), torch.arange(8) < 3), strict=False).module()
    for count in (3, 0, 8):
        sample = (rows(), torch.arange(8) < count)
        assert_same(function(*sample), exported(*sample))


@pytest.mark.parametrize("name", PROGRAMS)
def test_line_ends_and_tabs_are_kept(name: str) -> None:
    program = PROGRAMS[name]
    text = f"{program.prelude}import torch\n\n\n{program.text}"
    other = text.replace("    ", "\t").replace("\n", "\r\n")
    results = []
    for version in (text, other):
        context = context_of(version, program.asking, program.types, program.code)
        candidate = candidates(program.move, context)[program.which]
        results.append(applied({"model.py": context.site.source}, candidate)["model.py"])
    assert results[1] == results[0].replace("    ", "\t").replace("\n", "\r\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_comments_outside_the_edit_are_kept(name: str) -> None:
    program = PROGRAMS[name]
    text = f"{program.prelude}import torch  # the framework\n\n\n{program.text}\n# the end, without a line end"
    context = context_of(text, program.asking, program.types, program.code)
    for candidate in candidates(program.move, context):
        after = applied({"model.py": context.site.source}, candidate)["model.py"]
        assert "import torch  # the framework\n" in after
        assert after.endswith("\n\n# the end, without a line end")
