"""What goes in and out of an outlined region beside tensors: modules, dictionaries, numbers, state, early returns."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from control_flow import INTEGERS, SCALAR, TENSOR, context_of, load, rewritten

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import NotOffered
from ddelint.rewrite.reading.knowledge import knowledge

NUMBER = TypeFact("int", python_type="int")
NORM = TypeFact("module", role="buffer", python_type="torch.nn.BatchNorm1d")
STATS = TypeFact("dict", length=2, python_type="dict", items=(("mean", TENSOR), ("count", NUMBER)))
PAIR = TypeFact("tuple", length=2, python_type="tuple", items=(("", TENSOR), ("", STATS)))
IMPORTS = "import itertools\nimport weakref\n\nimport torch\n\n\n"

PROGRAMS = {
    "module": (
        "def fn(norm, x, t):\n    for _ in t.tolist():\n        x = norm(x)\n    return x * 2\n",
        {"norm": NORM, "x": TENSOR, "t": INTEGERS},
    ),
    "dictionary that comes out": (
        "def fn(norm, x, t):\n    stats = {}\n    for k in t.tolist():\n        stats['mean'] = x[:k].mean(0)\n"
        "        stats['count'] = k\n    return stats['mean'] * norm(x) + stats['count']\n",
        {"norm": NORM, "x": TENSOR, "t": INTEGERS, "stats": STATS},
    ),
    "dictionary that goes in": (
        "def fn(norm, x, t):\n    stats = {'mean': x.mean(0), 'count': 2}\n    for k in t.tolist():\n"
        "        x = x + stats['mean'] * k * stats['count']\n    return norm(x)\n",
        {"norm": NORM, "x": TENSOR, "t": INTEGERS, "stats": STATS},
    ),
    "argument that is changed": (
        "def fn(norm, x, t):\n    for k in t.tolist():\n        x[k] = x[0] * 2\n    return norm(x)\n",
        {"norm": NORM, "x": TENSOR, "t": INTEGERS},
    ),
    "number that grows backwards": (
        "def fn(norm, x, t):\n    sizes = t.tolist()\n    best = sizes.index(max(sizes))\n    return norm(x) * best\n",
        {"norm": NORM, "x": TENSOR, "t": INTEGERS, "best": NUMBER, "sizes": TypeFact("list", element=NUMBER)},
    ),
    "attribute that is assigned": (
        "def fn(norm, x, t):\n    norm.most = 0.0\n    for k in t.tolist():\n"
        "        norm.most = max(norm.most, k * 0.5)\n"
        "    return norm(x) * norm.most\n",
        {"norm": NORM, "norm.most": TypeFact("float", python_type="float"), "x": TENSOR, "t": INTEGERS},
    ),
    "number with all of its digits": (
        "def fn(norm, x, t):\n    best = 0.0\n    for k in t.tolist():\n        best = max(best, k / 3)\n"
        "    return norm(x), {'best': best}\n",
        {"norm": NORM, "best": TypeFact("float", python_type="float"), "x": TENSOR, "t": INTEGERS},
    ),
    "state alone": (
        "def fn(norm, x, t):\n    if t.tolist()[0] > 2:\n        norm(x)\n    return x * 2\n",
        {"norm": NORM, "x": TENSOR, "t": INTEGERS},
    ),
    "early return of a structure": (
        "def fn(norm, x, t):\n    y = norm(x)\n    if t.tolist()[0] > 2:\n"
        "        return y, {'mean': y.mean(0), 'count': 1}\n"
        "    k = int(t.max())\n    return y + k, {'mean': x.sum(0), 'count': k}\n",
        {"norm": NORM, "x": TENSOR, "y": TENSOR, "t": INTEGERS, "return": PAIR},
    ),
}


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        ("w = torch.tensor([norm.table[n] for n in t.tolist()])", "t.tolist()"),
        ("numbers = t.cpu().numpy().tolist()\n    w = torch.from_numpy(norm.table[numbers])", "t.cpu().numpy()"),
    ],
)
@pytest.mark.parametrize("requires_grad", [True, False])
def test_what_had_no_history_in_eager_gets_none_from_the_parameters_of_its_module(
    lines: str, asked: str, requires_grad: bool
) -> None:
    text = IMPORTS + f"def fn(norm, x, t):\n    {lines}\n    return norm(x) * w\n"
    facts = {"norm": NORM, "t": INTEGERS, "w": replace(TENSOR, requires_grad=requires_grad)}
    found, *_ = rewritten("outline", context_of(text, asked, facts, "DDE201"))
    assert ("[part.detach() for part in [*norm.parameters()]]" in found) == (not requires_grad)
    assert ("register_autograd" in found) == requires_grad


@pytest.mark.parametrize(
    "lines",
    [
        "w = torch.tensor([found.index(n) for n in t.tolist()])",
        "where = {n: k for k, n in enumerate(found)}\n    w = torch.tensor([where[n] for n in t.tolist()])",
        "rank = found.index(max(found))\n    found = [n + rank for n in found]\n    w = torch.tensor(found)",
    ],
)
def test_a_list_of_unknown_length_that_comes_out_is_not_the_last_word(lines: str) -> None:
    text = (
        IMPORTS + f"def fn(norm, x, t):\n    found = t.unique().tolist()\n    {lines}\n    return norm(x) * w.sum()\n"
    )
    numbers = TypeFact("list", length=3, element=NUMBER, python_type="list")
    facts = {"norm": NORM, "t": INTEGERS, "found": numbers, "rank": NUMBER, "w": INTEGERS}
    *_, last = rewritten("outline", context_of(text, "t.unique().tolist()", facts, "DDE206"))
    body = last[last.index("def fn(norm") :]
    assert "tolist()" not in body
    assert "w = (" in body


@pytest.mark.parametrize(
    ("read", "comes_out"),
    [
        ("rows[0]", "rows[:1], x"),
        ("rows[0] + rows[1]", "rows[:2], x"),
        ("rows[-1]", "rows[-1:], x"),
        ("rows[0] + rows[-1]", "x, y"),
        ("sum(rows)", "x, y"),
        ("rows[x.shape[0] - 2]", "x, y"),
    ],
)
def test_of_a_list_that_another_loop_fills_only_what_is_read_comes_out(read: str, comes_out: str) -> None:
    text = IMPORTS + (
        "def fn(norm, x, t):\n    rows = []\n    for k in range(4):\n        x = norm(x)\n        rows.append(x)\n"
        f"        if x.sum() > t.sum():\n            break\n    y = {read}\n    return norm(x + y)\n"
    )
    rows = TypeFact("list", length=4, element=TENSOR, python_type="list")
    facts = {"norm": NORM, "x": TENSOR, "t": INTEGERS, "rows": rows, "y": TENSOR}
    found, *_ = rewritten("outline", context_of(text, "x.sum() > t.sum()", facts, "DDE105"))
    helper = found[found.index("def _fn_") : found.index("@torch.library")]
    assert helper.rstrip().endswith(f"    return {comes_out}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_operator_gives_what_the_region_gives(name: str) -> None:
    body, facts = PROGRAMS[name]
    text = IMPORTS + body
    asked = "sizes.index(max(sizes))" if "sizes" in body else "int(t.max())" if "int(" in body else "t.tolist()"
    asked = "t.tolist()[0] > 2" if "early" in name else asked
    candidates = rewritten("outline", context_of(text, asked, facts, "DDE201"))
    outcomes = [outcome(load(text))]
    outcomes += [outcome(load(candidates[-1].replace("torch.compiler.is_compiling()", "True")))]
    assert "custom_op" in candidates[-1]
    assert outcomes[0] == outcomes[1]


RECORDS = {
    "named tuple": "import typing\n\n\nclass Found(typing.NamedTuple):\n    rows: torch.Tensor\n    count: int",
    "made by a function": "from collections import namedtuple\n\nFound = namedtuple('Found', ['rows', 'count'])",
    "dataclass": "import dataclasses\n\n\n@dataclasses.dataclass\nclass Found:\n    rows: torch.Tensor\n    count: int",
}


@pytest.mark.parametrize("definition", RECORDS.values(), ids=RECORDS)
def test_records_are_taken_apart_and_put_together(definition: str) -> None:
    text = (
        f"{IMPORTS}{definition}\n\n\ndef longest(x, t):\n    if t.tolist()[0] > 2:\n        return Found(x * 2, 1)\n"
        "    k = int(t.max())\n    return Found(x + k, count=k)\n\n\n"
        "def fn(norm, x, t):\n    found = longest(norm(x), t)\n    return found.rows * found.count\n"
    )
    record = TypeFact("tuple", python_type="model.Found", items=(("rows", TENSOR), ("count", NUMBER)))
    facts = {"x": TENSOR, "t": INTEGERS, "return": record}
    *_, last = rewritten("outline", context_of(text, "t.tolist()[0] > 2", facts, "DDE201"))
    assert "return Found(rows=result_rows, count=result_count" in last
    assert outcome(load(text)) == outcome(load(last.replace("torch.compiler.is_compiling()", "True")))


@pytest.mark.parametrize("compiled", ["True", "False"])
@pytest.mark.parametrize("asked", ["torch.compiler.is_compiling()", "is_compiling()"])
def test_what_asks_if_it_is_compiled_is_told_by_whom_it_is_called(asked: str, compiled: str) -> None:
    text = (
        f"{IMPORTS}from torch.compiler import is_compiling\n\n\ndef fn(norm, x, t):\n    for k in t.tolist():\n"
        f"        x = norm(x) + k if {asked} else norm(x) - k\n    return x * 2\n"
    )
    facts = {"norm": NORM, "x": TENSOR, "t": INTEGERS}
    *_, found = rewritten("outline", context_of(text, "t.tolist()", facts, "DDE201"))
    assert "compiled: bool = False" in found
    program = found.replace("torch.compiler.is_compiling()", compiled)
    assert outcome(load(program)) == outcome(load(text.replace(asked, compiled)))


def test_what_leaves_the_graph_is_told_too_whether_it_is_compiled() -> None:
    text = (
        f"{IMPORTS}def fn(norm, x, t):\n    for k in t.tolist():\n"
        "        x = norm(x) + k if torch.compiler.is_compiling() else norm(x) - k\n    return x * 2\n"
    )
    found, *_ = rewritten("graph_break", context_of(text, "t.tolist()", {"norm": NORM}, "DDE201"))
    assert "norm(x) + k if compiled else norm(x) - k" in found
    assert found.count("torch.compiler.is_compiling()") == 1
    for compiled in ("True", "False"):
        program = found.replace("torch.compiler.is_compiling()", compiled)
        assert outcome(load(program)) == outcome(load(text.replace("torch.compiler.is_compiling()", compiled)))


def test_a_record_whose_class_has_no_name_in_the_file_stays_inside() -> None:
    text = f"{IMPORTS}import made\n\n\ndef longest(x, t):\n    k = int(t.max())\n    return made.Found(x + k, k)\n"
    record = TypeFact("tuple", python_type="made.Found", items=(("rows", TENSOR), ("count", NUMBER)))
    context = context_of(text, "int(t.max())", {"x": TENSOR, "t": INTEGERS, "return": record}, "DDE201")
    with pytest.raises(NotOffered, match=r"`made.Found\(x \+ k, k\)` cannot come out"):
        rewritten("outline", context)


def outcome(program: Callable[..., Any]) -> list[Any]:
    """What comes out, the gradients, the argument and the buffers afterwards."""
    import torch

    found: list[Any] = []
    for sizes in ([1, 2, 1], [3, 1, 2]):
        torch.manual_seed(0)
        norm = torch.nn.BatchNorm1d(2)
        weights = torch.randn(4, 2, requires_grad=True)
        x = weights * 1.5
        result = program(norm, x, torch.tensor(sizes))
        tensors, further = (result[0], result[1]) if isinstance(result, tuple) else (result, {})
        total = tensors.sum() + sum(value.sum() for value in further.values() if isinstance(value, torch.Tensor))
        total.backward()
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in (weights, *norm.parameters())]
        kept = [tensors, x, *grads, *norm.buffers()]
        found += [[round(v, 4) for v in value.detach().flatten().double().tolist()] for value in kept]
        found.append({key: value for key, value in further.items() if not isinstance(value, torch.Tensor)})
    return found


FAKE = """

@_fn_total_op.register_fake
def _(numbers, parameters, buffers, t, total, x):
    states = [[part.new_empty(part.shape) for part in held] for held in (parameters, buffers)]
    return total.new_empty(()), *states, *[[part.clone() for part in held] for held in states]
"""


@pytest.mark.slow
def test_the_backward_sees_state_as_it_was_before_the_operator() -> None:
    """A compiled backward makes again what is cheap, of parameters and buffers that have changed by then."""
    import torch

    text = (
        f"{IMPORTS}def fn(teacher, x, t):\n    total = x.new_zeros(())\n    for k in t.tolist():\n"
        "        with torch.no_grad():\n            teacher.weight.mul_(0.5)\n            teacher.calls.add_(1)\n"
        "        total = total + (x * teacher(x).detach()).sum() * k * teacher.calls.clone()\n    return total\n"
    )
    facts = {"teacher": replace(NORM, frozen=True), "x": TENSOR, "t": INTEGERS, "total": SCALAR}
    unchanged, buffers, both = rewritten("outline", context_of(text, "t.tolist()", facts, "DDE201"))
    assert "copy_" not in unchanged
    assert "requires_grad:" not in buffers

    def outcome(program: Callable[..., Any]) -> list[float]:
        torch.manual_seed(0)
        teacher = torch.nn.Linear(2, 2).requires_grad_(False)
        teacher.weight.fill_(0.5)
        teacher.register_buffer("calls", torch.zeros(()))
        x = torch.arange(4.0).reshape(2, 2).requires_grad_()
        result = program(teacher, x, torch.tensor([1, 2]))
        (result * 2).backward()
        assert x.grad is not None
        found = [part.flatten() for part in (result, x.grad, teacher.weight, teacher.calls)]
        return torch.cat(found).tolist()

    expected = outcome(load(text))
    compiled = torch.compile(load(both + FAKE), fullgraph=True, backend="aot_eager_decomp_partition")
    assert outcome(compiled) == pytest.approx(expected)


def test_a_sparse_tensor_stays_inside() -> None:
    text = (
        "import torch\n\n\ndef fn(x, t):\n    m = torch.eye(4).to_sparse()[t.tolist()]\n    y = m @ x\n    return y\n"
    )
    sparse = TypeFact("tensor", "float32", ("4", "4"), python_type="torch.sparse_coo")
    found = rewritten("outline", context_of(text, "t.tolist()", {"x": TENSOR, "t": INTEGERS, "m": sparse, "y": SCALAR}))
    assert found
    assert all("    y = m @ x\n    return y\n\n\n@" in after for after in found)


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_program_keeps_its_modules(strict: bool) -> None:
    import torch

    numbered = "class Numbered(torch.nn.Module):\n    def forward(self, x):\n        return x + _number_of(self)\n"
    kept = load(f"{IMPORTS}{knowledge().outlining['modules']}\n\n{numbered}", "Numbered")
    numbers = sys.modules[kept.__module__]._numbers
    kept()(torch.zeros(2))
    gc.collect()
    assert len(numbers) == 0
    exported = torch.export.export(kept(), (torch.zeros(2),), strict=strict)
    gc.collect()
    assert len(numbers) == 1
    assert exported.module()(torch.zeros(2)).tolist() == [next(iter(numbers.values()))] * 2


BEST = replace(SCALAR, role="buffer", requires_grad=False)


@pytest.mark.parametrize(
    "change",
    [
        "self.best.copy_(torch.maximum(self.best, loss.detach()))",
        "self.best.mul_(0.9).add_(loss.detach())",
        "self.best += loss.item()",
        "self.best.fill_(max(self.best.item(), loss.item()))",
    ],
)
def test_a_buffer_that_comes_back_holds_on_to_no_graph(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's results require a gradient where its operands do: kept in a buffer, the graph of one call would be
    gone through again by the backward of the next."""
    import torch

    text = (
        "import torch\n\n\ndef update(self, x, t):\n    loss = x.sum()\n    for k in t.tolist():\n"
        f"        loss = loss + x[:k].pow(2).sum()\n        {change}\n    return loss * self.best\n"
    )
    types = {"self": TypeFact("other"), "self.best": BEST, "x": TENSOR, "t": INTEGERS, "loss": SCALAR}
    found = context_of(text, "t.tolist()", types)
    program = next(new for new in rewritten("outline", found) if "best_after" in new)
    states = [SimpleNamespace(best=torch.zeros(())), SimpleNamespace(best=torch.zeros(()))]
    results = []
    for function, state, compiling in (
        (load(text, "update"), states[0], False),
        (load(program, "update"), states[1], True),
    ):
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda compiling=compiling: compiling)
        for _ in range(3):
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            function(state, x, torch.tensor([1, 2])).backward()
            results.append((x.grad.tolist(), state.best.item(), state.best.requires_grad))
    assert results[:3] == results[3:]
