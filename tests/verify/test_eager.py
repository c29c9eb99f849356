"""A rewrite that is right passes, and each kind of wrong one is caught."""

from __future__ import annotations

import contextlib
import itertools
import os
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddelint.nouns.diagnostics import Claim, Span
from ddelint.nouns.protocol import Comparison, Decision, Mismatch, SessionOptions
from ddelint.rewrite.search import verdict
from ddelint.trace.entry import Entry
from ddelint.verify import original as original_runs
from ddelint.verify import stopwatch
from ddelint.verify.eager import compare, hold_against, run_original
from ddelint.verify.mismatches import TRACED_PATH, with_what_varies_noted
from ddelint.verify.running import run_sample
from ddelint.verify.samples import Sample
from ddelint.verify.witness import Moved, Witness

Program = Callable[..., Entry]

INPUTS = """

def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(6, 3, generator=g), torch.rand(6, generator=g) > 0.3
"""


def judged(
    program: Program, options: SessionOptions, original: str, rewritten: str, inputs: str = INPUTS, samples: int = 32
) -> Comparison:
    first = program(textwrap.dedent(original) + textwrap.dedent(inputs))
    second = program(textwrap.dedent(rewritten) + textwrap.dedent(inputs))
    return compare(first, lambda: second, (), options, samples, False)


@contextlib.contextmanager
def monitored(module: Any) -> Iterator[list[str]]:
    """The labels of what a module runs meanwhile."""
    ran: list[str] = []

    def noted(entry: Entry, sample: Sample, **how: Any) -> object:
        ran.append(sample.label)
        return run_sample(entry, sample, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "run_sample", noted)
        yield ran


ORIGINAL = """
def fn(x, keep):
    if keep.any():
        return x[keep].sum(0)
    return x.new_zeros(3)
"""


def test_the_same_program_is_equal(program: Program, options: SessionOptions) -> None:
    found = judged(program, options, ORIGINAL, ORIGINAL)

    assert found.equal
    assert found.mismatches == ()
    assert found.samples == 32
    assert found.declared == 16


def test_an_equivalent_rewrite_is_equal(program: Program, options: SessionOptions) -> None:
    found = judged(program, options, ORIGINAL, "def fn(x, keep):\n    return x[keep].sum(0)\n")

    assert found.equal
    assert found.mismatches == ()


def test_the_input_set_that_shows_a_difference_shows_it_alone(program: Program, options: SessionOptions) -> None:
    wrong = "def fn(x, keep):\n    return x[keep].sum(0) * (x[0, 0] < 1)\n"
    everything = judged(program, options, ORIGINAL, wrong)
    shown = everything.mismatches[-1]
    first, second = (program(text + INPUTS) for text in (ORIGINAL, wrong))
    alone = compare(first, lambda: second, (), options, 32, False, only=frozenset((shown.base,)))

    assert alone.samples < everything.samples
    assert {mismatch.base for mismatch in alone.mismatches} == {shown.base}
    assert (shown.aspect, shown.expected, shown.got) in {(m.aspect, m.expected, m.got) for m in alone.mismatches}


def test_of_what_is_made_of_an_input_set_one_run_is_made_where_that_is_wanted(
    program: Program, options: SessionOptions
) -> None:
    """As where the original was run before; and all of it where there is no such run."""
    entry, other = (program(t + INPUTS) for t in (ORIGINAL, "def fn(x, keep):\n    return x[keep].sum(0).float()\n"))
    everything = compare(entry, lambda: other, (), options, 32, False)
    shown = next(m for m in everything.mismatches if m.sample != m.base)

    def asked(exactly: str) -> tuple[Comparison, int]:
        with monitored(original_runs) as ran:
            found = compare(entry, lambda: other, (), options, 32, False, frozenset((shown.base,)), exactly)
        return found, len(ran)

    (alone, few), (without_it, many) = asked(shown.sample), asked("seed 0, as nobody runs it")
    held = hold_against(
        run_original(entry, (), options, 32, False), lambda: other, (), frozenset((shown.base,)), shown.sample
    )
    assert alone.mismatches == held.mismatches
    assert {mismatch.sample for mismatch in alone.mismatches} == {shown.sample}
    assert len({mismatch.sample for mismatch in without_it.mismatches}) > 1
    assert few < many / 2


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    "rewritten",
    [
        "x[keep].sum(0)",
        "x[keep].sum(0) * 2",
        "x.sum(0) if not keep.any() else x[keep].sum(0)",
        "x[keep].sum(0).double()",
    ],
)
def test_one_run_of_the_original_serves_many_programs(
    program: Program, options: SessionOptions, rewritten: str, quick: bool
) -> None:
    entry, other = (program(text + INPUTS) for text in (ORIGINAL, f"def fn(x, keep):\n    return {rewritten}\n"))
    apart = compare(entry, lambda: other, (), options, 32, quick)
    originals = run_original(entry, (), options, 32, quick)
    same = hold_against(originals, lambda: other, ())

    assert replace(same, seconds=0.0, prepared=0.0) == replace(apart, seconds=0.0, prepared=0.0)
    for shown in apart.mismatches:
        alone = hold_against(originals, lambda: other, (), frozenset((shown.base,)), shown.sample)
        assert (alone.samples + alone.declared) < (apart.samples + apart.declared)
        assert {mismatch.sample for mismatch in alone.mismatches} == {shown.sample}


@pytest.mark.parametrize(
    ("rewritten", "asked"),
    [("x[keep].sum(0) + 1e5 - 1e5", True), ("x[keep].mean(0) * keep.sum()", False), ("keep.sum()", False)],
)
def test_the_original_is_moved_only_where_that_may_explain_a_difference(
    program: Program, options: SessionOptions, monkeypatch: pytest.MonkeyPatch, rewritten: str, asked: bool
) -> None:
    numbers = []

    def moved(witness: Witness, number: int, *, calls: int, fused: bool) -> Iterator[Moved]:
        assert not fused
        numbers.append(number)
        yield from ()

    monkeypatch.setattr(Witness, "moved", moved)
    found = judged(program, options, ORIGINAL, f"def fn(x, keep):\n    return {rewritten}\n")

    assert found.mismatches
    assert bool(numbers) is asked


def test_a_cast_to_half_precision_that_is_left_out_is_no_rounding(program: Program, options: SessionOptions) -> None:
    original = "def fn(x, keep):\n    return (x.bfloat16() * 3).float().sum(0)\n"
    assert not judged(program, options, original, "def fn(x, keep):\n    return (x * 3).sum(0)\n").equal


WRONG = {
    "swapped branch": (
        "value",
        ORIGINAL,
        """
        def fn(x, keep):
            if not keep.any():
                return x[keep].sum(0)
            return x.new_zeros(3)
        """,
    ),
    "narrow off by one": (
        "shape",
        "def fn(x, keep):\n    return x[: keep.sum().item()]\n",
        "def fn(x, keep):\n    return x.narrow(0, 0, max(keep.sum().item() - 1, 0))\n",
    ),
    "nan for empty": ("value", ORIGINAL, "def fn(x, keep):\n    return x[keep].mean(0) * keep.sum()\n"),
    "dropped clone": (
        "mutation",
        "def fn(x, keep):\n    y = x.clone()\n    y[keep] = 0\n    return y + 1\n",
        "def fn(x, keep):\n    x[keep] = 0\n    return x + 1\n",
    ),
    "result shares the argument's memory": (
        "alias",
        "def fn(x, keep):\n    return x.clone()\n",
        "def fn(x, keep):\n    return x\n",
    ),
    "lost dtype": ("dtype", ORIGINAL, "def fn(x, keep):\n    return x[keep].double().sum(0)\n"),
    "integers became floats": (
        "dtype",
        "def fn(x, keep):\n    return keep.sum()\n",
        "def fn(x, keep):\n    return keep.float().sum()\n",
    ),
    "lost dimension": ("shape", ORIGINAL, "def fn(x, keep):\n    return x[keep].sum(0, keepdim=True)\n"),
    "tensor for a number": (
        "type",
        "def fn(x, keep):\n    return int(keep.sum())\n",
        "def fn(x, keep):\n    return keep.sum()\n",
    ),
    "int for a bool": (
        "type",
        "def fn(x, keep):\n    return bool(keep.any())\n",
        "def fn(x, keep):\n    return int(keep.any())\n",
    ),
    "list for a tuple": (
        "type",
        "def fn(x, keep):\n    return x[keep], x\n",
        "def fn(x, keep):\n    return [x[keep], x]\n",
    ),
    "other keys": (
        "value",
        "def fn(x, keep):\n    return {'kept': x[keep]}\n",
        "def fn(x, keep):\n    return {'keep': x[keep]}\n",
    ),
    "gradient cut off": (
        "requires_grad",
        "def fn(x, keep):\n    return x * 2\n",
        "def fn(x, keep):\n    return x.detach() * 2\n",
    ),
    "other gradient": (
        "gradient",
        "def fn(x, keep):\n    return x * x\n",
        "def fn(x, keep):\n    return x * x.detach()\n",
    ),
    "nan gradient": (
        "gradient",
        "def fn(x, keep):\n    return torch.sqrt(x.abs() * keep[:, None] + (~keep)[:, None])\n",
        "def fn(x, keep):\n    k = keep[:, None]\n    return torch.where(k, torch.sqrt(x.abs() * k), 1 + 0 * x)\n",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_rewrite_is_caught(case: str, program: Program, options: SessionOptions) -> None:
    aspect, original, rewritten = WRONG[case]

    found = judged(program, options, original, rewritten)

    assert not found.equal
    assert aspect in {mismatch.aspect for mismatch in found.mismatches}, found.mismatches


def test_each_wrong_rewrite_is_caught_quickly_too(program: Program, options: SessionOptions) -> None:
    for case, (_, original, rewritten) in WRONG.items():
        first = program(textwrap.dedent(original) + INPUTS)
        second = program(textwrap.dedent(rewritten) + INPUTS)
        assert not compare(first, lambda second=second: second, (), options, 16, True).equal, case


RAISING = """
def fn(x, keep):
    if keep.sum() > 4:
        raise ValueError("too many")
    return x[keep]
"""


@pytest.mark.parametrize(
    ("body", "stops", "declared"),
    [("x + 2", True, True), ("x + 1 + (x == 40).any()", True, False), ("x + 1 + 0 * x", False, False)],
)
def test_an_input_with_another_result_is_the_last(
    program: Program, options: SessionOptions, body: str, stops: bool, declared: bool
) -> None:
    """But for what is made of an infinity that nobody declared: a candidate may answer for that."""
    text = "def fn(x):\n    return {}\n\n\ndef make_inputs(seed):\n    return (torch.full((3,), float(seed)),)\n"
    original = program(text.format("x + 1"))

    def built(rewritten: Entry) -> tuple[Comparison, int]:
        count = itertools.count()

        def build() -> Callable[..., Any]:
            next(count)
            return rewritten.build()

        return compare(original, lambda: replace(rewritten, build=build), (), options, 32, False), next(count)

    found, times = built(program(text.format(body)))
    assert not found.equal
    assert found.samples > 16
    assert (found.mismatches[0].aspect, found.mismatches[0].declared) == ("value", declared)
    assert (times < built(original)[1]) is stops


def test_another_exception_type_is_caught(program: Program, options: SessionOptions) -> None:
    found = judged(program, options, RAISING, RAISING.replace("ValueError", "RuntimeError"))

    assert not found.equal
    assert {(m.aspect, m.expected, m.got) for m in found.mismatches} == {
        ("exception", "ValueError: too many", "RuntimeError: too many")
    }


def test_another_message_is_caught(program: Program, options: SessionOptions) -> None:
    found = judged(program, options, RAISING, RAISING.replace("too many", "too few"))

    assert not found.equal
    assert "message" in {m.aspect for m in found.mismatches}


def test_an_equivalent_check_is_equal(program: Program, options: SessionOptions) -> None:
    checked = """
    def fn(x, keep):
        torch._check_value(keep.sum().item() <= 4, lambda: "too many")
        return x[keep]
    """

    assert judged(program, options, RAISING, checked).equal


def test_a_rewrite_that_forgets_to_raise_is_caught(program: Program, options: SessionOptions) -> None:
    found = judged(program, options, RAISING, "def fn(x, keep):\n    return x[keep]\n")

    assert not found.equal
    assert ("ValueError: too many", "a result") in {(m.expected, m.got) for m in found.mismatches}


def test_raising_on_inputs_of_our_own_making_is_only_narrower(program: Program, options: SessionOptions) -> None:
    promised = """
    def fn(x, keep):
        torch._check(keep.sum().item() > 0)
        return x[keep].sum(0)
    """

    found = judged(program, options, ORIGINAL, promised)

    assert found.equal
    assert {(m.aspect, m.narrower, m.declared) for m in found.mismatches} == {("exception", True, False)}
    assert "keep all false" in {m.sample for m in found.mismatches}


def test_raising_on_a_declared_input_is_not_equal(program: Program, options: SessionOptions) -> None:
    inputs = "\ndef make_inputs(seed):\n    return torch.ones(4, 3), torch.full((4,), seed % 2 == 0)\n"
    promised = "def fn(x, keep):\n    torch._check(keep.sum().item() > 0)\n    return x[keep].sum(0)\n"

    found = judged(program, options, ORIGINAL, promised, inputs)

    assert not found.equal
    assert found.mismatches[0].declared
    assert not found.mismatches[0].narrower


# ------------------------------------------------------------------------------------------------- modules and state

COUNTING = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0

    def forward(self, x, keep):
        self.seen += keep.sum()
        self.calls += 1
        return self.linear(x) * keep[:, None]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.seen += keep.sum()", "self.seen += 1"),
        ("self.seen += keep.sum()", "pass"),
        ("self.calls += 1", "pass"),
        ("self.linear(x) *", "(x @ self.linear.weight.T.detach() + self.linear.bias) *"),
    ],
)
def test_changed_state_and_gradients_of_a_module_are_caught(
    old: str, new: str, program: Program, options: SessionOptions
) -> None:
    assert judged(program, options, COUNTING, COUNTING).equal
    assert not judged(program, options, COUNTING, COUNTING.replace(old, new)).equal


def test_what_shows_only_on_the_second_call_is_caught(program: Program, options: SessionOptions) -> None:
    remembering = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = [None]

        def forward(self, x, keep):
            previous, self.last = self.last, [keep.clone()]
            return x * 2 if previous[0] is not None else x
    """

    found = judged(program, options, remembering, remembering.replace("x * 2", "x * 3"))

    assert not found.equal
    assert all("second call" in m.sample or ", then " in m.sample for m in found.mismatches)


def test_state_taken_from_one_input_is_caught_on_the_next(program: Program, options: SessionOptions) -> None:
    scaling = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.zeros(()))

        def forward(self, x, keep):
            if self.scale == 0:
                self.scale.copy_(x.abs().max())
            return x * self.scale
    """

    found = judged(program, options, scaling, scaling.replace("if self.scale == 0", "if True"))

    assert not found.equal
    assert any(", then " in m.sample for m in found.mismatches)
    # a scale that was loaded, or moved since, is none that has to be measured
    told = (", then ", "with other weights", "its state moved")
    assert all(any(word in m.sample for word in told) for m in found.mismatches)


AVERAGE = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("started", torch.tensor(False))

    def forward(self, x, mask):
        mean = x.mean(dim=0)
        if self.started:
            self.mean.lerp_({mean}, 0.1)
        else:
            self.mean.copy_(mean)
            self.started.fill_(True)
        return x - mean
"""


def test_an_average_that_is_there_already_may_move_by_a_rounding_error(
    program: Program, options: SessionOptions
) -> None:
    # in the second call the first stays to the last bit, and the other moves by one
    stays = AVERAGE.replace("{mean}", "mean")
    moves = AVERAGE.replace("{mean}", "(x.flip(0) / (3.0 * len(x))).sum(dim=0) * 3.0")
    assert not judged(program, options, stays, moves).mismatches
    assert not judged(program, options, moves, stays).mismatches
    further = AVERAGE.replace("{mean}", "(mean * 1.001)")
    wanted = {"mutation"}
    assert {m.aspect for m in judged(program, options, stays, further).mismatches} == wanted
    assert {m.aspect for m in judged(program, options, further, stays).mismatches} == wanted


def test_rounding_explains_a_difference_whatever_another_call_of_the_row_raises(
    program: Program, options: SessionOptions
) -> None:
    text = """
        def fn(x, few):
            if few:
                raise ValueError("too few")
            return {way} - (x * 9999).sum()
    """
    inputs = """

        def make_inputs(seed):
            g = torch.Generator().manual_seed(seed)
            return torch.randn(64, generator=g), seed % 2 == 1
    """
    ways = "(x * 1e4).sum()", "((x * 1e4)[:21].sum() + (x * 1e4)[21:].sum())"
    first, second = (text.replace("{way}", way) for way in ways)
    assert judged(program, options, first, second, inputs).equal


def test_a_buffer_that_becomes_another_tensor_is_caught(program: Program, options: SessionOptions) -> None:
    found = judged(
        program, options, COUNTING, COUNTING.replace("self.seen += keep.sum()", "self.seen = self.seen + keep.sum()")
    )

    assert not found.equal
    assert {m.expected for m in found.mismatches} == {"self.seen is the same tensor as before"}


def test_gradients_are_compared_on_each_side_of_a_decision(program: Program, options: SessionOptions) -> None:
    original = """
    def fn(x, keep):
        if not keep.any():
            return x.sum(0)
        return x.sum(0).abs().sqrt()
    """
    rewritten = """
    def fn(x, keep):
        y = (x.sum(0) * keep.any()).abs().sqrt()
        return torch.where(keep.any(), y, x.sum(0))
    """
    first = program(textwrap.dedent(original) + INPUTS)
    second = program(textwrap.dedent(rewritten) + INPUTS)

    found = compare(first, lambda: second, (decision(first, "not keep.any()"),), options, 32, False)

    # of integers, the side that takes a root made floats, and now both do: that is noted
    # and a NaN that is left unread reaches the gradients
    assert {m.aspect for m in found.mismatches} == {"gradient", "gradient of NaN", "dtype of integers"}
    assert "keep all false, requiring grad" in {m.sample for m in found.mismatches}
    assert found.samples == sum(found.sides["d"]) >= 32


def test_dropout_is_seeded_alike(program: Program, options: SessionOptions) -> None:
    dropping = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, x, keep):
            return self.drop(x)
    """

    assert judged(program, options, dropping, dropping).mismatches == ()


def test_an_extra_random_draw_is_caught(program: Program, options: SessionOptions) -> None:
    found = judged(program, options, ORIGINAL, ORIGINAL.replace("    if keep", "    torch.rand(3)\n    if keep"))

    assert not found.equal
    assert {m.aspect for m in found.mismatches} == {"random state"}


def test_a_gradient_of_nan_is_told_where_the_result_had_none_at_all(program: Program, options: SessionOptions) -> None:
    inputs = """
    def make_inputs(seed):
        x = torch.randn(4, generator=torch.Generator().manual_seed(seed))
        x[0] = float("inf") if seed % 2 else 0.0
        return (x,)
    """
    original = """
    def fn(x):
        loss = (x * x).mean()
        if not torch.isfinite(loss):
            loss = torch.zeros_like(loss)
        return loss
    """
    rewritten = """
    def fn(x):
        loss = (x * x).mean()
        return torch.where(torch.isfinite(loss), loss, 0.0)
    """
    first = program(textwrap.dedent(original) + textwrap.dedent(inputs))
    second = program(textwrap.dedent(rewritten) + textwrap.dedent(inputs))

    found = compare(first, lambda: second, (decision(first, "not torch.isfinite(loss)"),), options, 24, False)

    assert found.equal
    assert {mismatch.aspect for mismatch in found.mismatches} <= {"gradient of NaN", "gradient"}
    assert any(mismatch.got.startswith("NaN or infinity of argument 1") for mismatch in found.mismatches)
    assert all(found.sides["d"])


def test_a_side_on_which_torch_itself_raises_does_not_count(program: Program, options: SessionOptions) -> None:
    entry = program("def fn(x, keep):\n    if keep.any():\n        return x\n    return x[keep].amax(0)\n" + INPUTS)

    found = compare(entry, lambda: entry, (decision(entry, "keep.any()"),), options, 32, False)

    assert found.sides["d"][1] == 0
    assert found.sides["d"][0] > 0


def test_an_original_that_differs_from_itself_cannot_be_compared(program: Program, options: SessionOptions) -> None:
    original = """
    NUMBERS = iter(range(1_000_000))


    def fn(x, keep):
        return x + next(NUMBERS)
    """

    found = judged(program, options, original, original.replace("next(NUMBERS)", "2 * next(NUMBERS)"))

    assert found.failure is not None
    assert "twice" in found.failure.message


def test_an_original_that_returns_on_no_input_cannot_be_compared(program: Program, options: SessionOptions) -> None:
    original = "def fn(x, keep):\n    return x + keep.tolist()\n"

    found = judged(program, options, original, original.replace("+", "-"))

    assert not found.equal
    assert found.failure is not None
    assert "on no input, it raises TypeError" in found.failure.message


def test_results_of_many_kinds_are_compared(program: Program, options: SessionOptions) -> None:
    original = """
    import dataclasses
    import collections

    Pair = collections.namedtuple("Pair", "left right")


    @dataclasses.dataclass
    class Output:
        logits: torch.Tensor
        hidden: tuple
        extra: object = None


    def fn(x, keep):
        return Output(x[keep], (x, None, Pair(1, "a"), {"n": keep.sum().item()}), 1.5)
    """

    assert judged(program, options, original, original).equal
    for old, new in [("None,", "0,"), ('"a"', '"b"'), ("1.5", "2.5"), ("x[keep],", "x[keep] + 1,"), ("Pair(1", "(1")]:
        assert not judged(program, options, original, original.replace(old, new)).equal, new


# ------------------------------------------------------------------------------------------------------ the traced path


def test_the_wrong_general_path_is_caught_although_eager_agrees(program: Program, options: SessionOptions) -> None:
    rewritten = """
    def fn(x, keep):
        if torch.compiler.is_compiling() or keep.any():
            return x[keep].mean(0)
        return x.new_zeros(3)
    """

    found = judged(program, options, ORIGINAL.replace("sum(0)", "mean(0)"), rewritten)

    assert not found.equal
    assert {m.where for m in found.mismatches} == {"traced path"}
    assert "keep all false" in {m.sample for m in found.mismatches}


def test_the_right_general_path_is_equal(program: Program, options: SessionOptions) -> None:
    rewritten = """
    from torch.compiler import is_compiling


    def fn(x, keep):
        if is_compiling() or keep.any():
            return x[keep].sum(0)
        return x.new_zeros(3)
    """

    assert judged(program, options, ORIGINAL, rewritten).equal


SUMMED = """
def fn(x, keep):
    total = 0.0
    for row, kept in zip(x, keep):
        if kept:
            total = total + row.sum()
    return {"total": total, "rows": x}
"""
ALWAYS_A_NUMBER = "def fn(x, keep):\n    return x.sum().item(), x\n"
WHILE_COMPILING = "import torch\n\n\ndef fn(x, keep):\n    if torch.compiler.is_compiling():\n        return {}\n{}"


@pytest.mark.parametrize(
    ("original", "compiled", "aspect"),
    [
        (SUMMED, '{"total": torch.where(keep, x.sum(1), 0).sum() + 0.0, "rows": x}', "type of a number"),
        (SUMMED, '{"total": torch.where(keep, x.sum(1), 0).sum() + 1, "rows": x}', "value"),
        (ALWAYS_A_NUMBER, "x.sum().detach(), x", "type"),
    ],
)
def test_what_is_a_number_on_some_inputs_alone_may_be_a_tensor_once_compiled(
    original: str, compiled: str, aspect: str, program: Program, options: SessionOptions
) -> None:
    body = original.split("\n", 2)[2] if original.startswith("\n") else original.split("\n", 1)[1]
    found = judged(program, options, original, WHILE_COMPILING.format(compiled, body))

    assert aspect in {m.aspect for m in found.mismatches}
    is_doubtful = aspect == "type of a number"
    assert (verdict.refutation(found, Claim.RESTRUCTURED) == "") is is_doubtful
    assert bool(verdict.doubt(found)) or not is_doubtful


SQUARES = """
def fn(x, keep):
    total = x.new_zeros(())
    for row in x:
        loss = (row * row).sum()
        if loss > 0:
            total = total + loss
    return total
"""
BOTH = "total = torch.where(loss > 0, total + loss, total)"
KEPT = "if loss > 0:\n            total = total + loss"


@pytest.mark.parametrize("eager_keeps_its_branch", [True, False])
def test_a_gradient_that_a_nan_of_ours_spoils_where_nobody_chose_it_is_doubtful_once_compiled(
    eager_keeps_its_branch: bool, program: Program, options: SessionOptions
) -> None:
    beside = f"if torch.compiler.is_compiling():\n            {BOTH}\n        el{KEPT}"
    found = judged(program, options, SQUARES, SQUARES.replace(KEPT, beside if eager_keeps_its_branch else BOTH))

    assert {m.aspect for m in found.mismatches} == {"gradient of NaN" if eager_keeps_its_branch else "gradient"}
    assert (verdict.refutation(found, Claim.RESTRUCTURED) == "") is eager_keeps_its_branch
    assert bool(verdict.doubt(found)) is eager_keeps_its_branch


def test_guard_or_false_is_false_on_the_traced_path(program: Program, options: SessionOptions) -> None:
    original = """
    def fn(x, keep):
        hit = x[keep]
        if hit.shape[0] == 0:
            return x.new_zeros(3)
        return hit.amax(0)
    """
    rewritten = original.replace("if hit.shape[0] == 0:", "if guard_or_false(hit.shape[0] == 0):")
    rewritten = "    from torch.fx.experimental.symbolic_shapes import guard_or_false\n" + rewritten

    found = judged(program, options, original, rewritten)

    assert {(m.where, m.aspect) for m in found.mismatches} == {("traced path", "exception")}
    assert found.mismatches[0].got.startswith("IndexError")


@pytest.mark.parametrize(("raising", "found"), [("rows.amax(0)", True), ("rows.amax(9)", False)])
def test_what_raises_on_some_inputs_with_another_argument_is_no_refusal_to_compile(
    program: Program, options: SessionOptions, raising: str, found: bool
) -> None:
    """The largest of no rows raises when the program runs; a dimension that isn't there does so when it is traced."""
    original = """
    import torch


    def fn(x, keep, largest=False):
        if keep.any():
            rows = x[keep]
            return rows.amax(0) if largest else rows.sum(0)
        return x.new_zeros(3)
    """
    rewritten = original.replace("keep.any()", "torch.compiler.is_compiling() or keep.any()")
    rewritten = rewritten.replace(
        "rows.amax(0) if", f"({raising} if torch.compiler.is_compiling() else rows.amax(0)) if"
    )

    first, second = (program(textwrap.dedent(text) + textwrap.dedent(INPUTS)) for text in (original, rewritten))
    result = compare(first, lambda: second, (decision(first, "keep.any()"),), options, 16, False)

    raised = {m.sample for m in result.mismatches if m.aspect == "exception" and "largest=True" in m.sample}
    assert bool(raised) is found


def test_what_the_original_does_on_the_traced_path_is_not_held_against_the_rewrite(
    program: Program, options: SessionOptions
) -> None:
    original = """
    def fn(x, keep):
        if torch.compiler.is_compiling():
            x = x + 1
        if keep.any():
            return x[keep].sum(0)
        return x.new_zeros(3)
    """
    rewritten = original.replace("if keep.any()", "if torch.compiler.is_compiling() or keep.any()")

    assert judged(program, options, original, rewritten).equal


def test_on_the_traced_path_cond_runs_the_arm_that_is_chosen_and_compiles_neither(monkeypatch: Any) -> None:
    import torch

    from ddelint.verify import traced_path

    monkeypatch.setattr(torch, "compile", None)
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    results = []
    with traced_path.assumed(("export",)):
        for total in (1.0, 9.0):
            chosen = torch.cond(x.sum() > total, lambda x, n: x * n, lambda x, n: x - n, (x, torch.tensor(7.0)))
            chosen.sum().backward()
            results.append(chosen.tolist())
        y = x * 1
        chosen = torch.cond(x.sum() > 1.0, lambda y: y + 1, lambda y: y, (y,))
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            chosen.sum().backward()
    assert results == [[14.0, 21.0], [-5.0, -4.0]]
    assert x.grad is not None
    assert x.grad.tolist() == [8.0, 8.0]
    assert torch.cond.__code__.co_filename.startswith(os.path.dirname(torch.__file__))


def test_the_predicates_are_themselves_again_afterwards(program: Program, options: SessionOptions) -> None:
    import torch
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    judged(program, options, ORIGINAL, ORIGINAL)

    assert torch.compiler.is_compiling() is False
    assert guard_or_false(True) is True
    assert torch.compiler.is_compiling.__code__.co_name == "is_compiling"


# -------------------------------------------------------------------------------------------------- sides of decisions


def decision(entry: Entry, text: str, key: str = "d") -> Decision:
    for row, line in enumerate(Path(entry.filename).read_text().splitlines(), 1):
        if text in line:
            column = line.index(text) + 1
            return Decision(key, Span(entry.filename, row, column, row, column + len(text)))
    raise AssertionError(text)


def test_both_sides_of_a_decision_are_counted(program: Program, options: SessionOptions) -> None:
    entry = program(textwrap.dedent(ORIGINAL) + INPUTS)

    found = compare(entry, lambda: entry, (decision(entry, "keep.any()"),), options, 32, False)

    true, false = found.sides["d"]
    assert false >= 1
    assert true + false == found.samples


def test_decisions_in_methods_loops_and_comprehensions_are_recorded(program: Program, options: SessionOptions) -> None:
    entry = program(
        """
        class Model(torch.nn.Module):
            def helper(self, x):
                return [row for row in x if row.sum() > 0]

            def forward(self, x, keep):
                n = keep.sum().item()
                while n > 3:
                    n -= 1
                inner = lambda t: t if n == 2 else -t
                return len(self.helper(x)), inner(x)
        """
        + INPUTS.replace("\n", "\n        ")
    )
    decisions = tuple(decision(entry, text, text) for text in ("row.sum() > 0", "n > 3", "n == 2"))
    before = entry.build().forward.__func__.__code__

    found = compare(entry, lambda: entry, decisions, options, 24, False)

    assert found.equal
    assert all(true and false for true, false in found.sides.values()), found.sides
    assert entry.build().forward.__func__.__code__ is before


def test_an_unreached_decision_has_no_sides(program: Program, options: SessionOptions) -> None:
    entry = program("def fn(x, keep):\n    if x is None and keep.any():\n        return keep\n    return x\n" + INPUTS)

    found = compare(entry, lambda: entry, (decision(entry, "keep.any()"),), options, 8, False)

    assert found.sides == {"d": (0, 0)}


HALF = """
def fn(x, keep):
    x = x.clone()
    rows = keep.nonzero().flatten()
    if rows.numel() != 0:
        x[rows] = x[rows].float() * 2
    return x
"""


@pytest.mark.parametrize("inputs", [INPUTS, INPUTS.replace("> 0.3", "> (0.3 if seed % 3 else 2.0)")])
def test_what_the_original_raises_in_a_mode_the_rewritten_program_may(
    inputs: str, program: Program, options: SessionOptions
) -> None:
    first = program(textwrap.dedent(HALF) + textwrap.dedent(inputs))
    second = program(textwrap.dedent(HALF).replace("if rows.numel() != 0", "if True") + textwrap.dedent(inputs))

    found = compare(first, lambda: second, (decision(first, "rows.numel() != 0"),), options, 32, False)

    assert all(found.sides["d"])
    assert found.mismatches == ()


def test_what_only_the_rewritten_program_raises_in_a_mode_is_listed(program: Program, options: SessionOptions) -> None:
    first = program(textwrap.dedent(HALF.replace(".float()", "")) + INPUTS)
    second = program(textwrap.dedent(HALF) + INPUTS)

    found = compare(first, lambda: second, (decision(first, "rows.numel() != 0"),), options, 32, False)

    assert {"exception"} == {m.aspect for m in found.mismatches}
    assert all("Index put requires" in m.got for m in found.mismatches)


def test_a_graph_that_is_kept_in_the_state_has_no_second_backward(program: Program, options: SessionOptions) -> None:
    original = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("slots", torch.zeros(6, 3))

        def forward(self, x, keep):
            rows = keep.nonzero().flatten()
            if rows.numel():
                self.slots[rows] = 0.5 * self.slots[rows] + x[rows]
            return self.slots.sum(1)
    """
    first = program(textwrap.dedent(original) + INPUTS)
    second = program(textwrap.dedent(original).replace("if rows.numel()", "if True") + INPUTS)

    found = compare(first, lambda: second, (decision(first, "rows.numel()"),), options, 32, False)

    assert all(found.sides["d"])
    assert found.mismatches == ()


@pytest.mark.parametrize(("late", "left_out"), [(1.2, False), (3.0, True)])
def test_what_nothing_was_run_of_is_run_late_or_said(
    program: Program, options: SessionOptions, monkeypatch: pytest.MonkeyPatch, late: float, left_out: bool
) -> None:
    """A program that takes its time: each look at the clock but the first finds that time is over."""
    limit = min(60.0, options.timeout / 5)
    clock = itertools.chain([0.0], itertools.repeat(limit * late))
    monkeypatch.setattr(stopwatch.Stopwatch, "seconds", lambda _: next(clock))

    found = judged(program, options, ORIGINAL, ORIGINAL.replace("x[keep].sum(0)", "x[keep].sum(0).float()"))

    assert ("in double precision" in found.left_out) == left_out
    assert any(m.aspect == "dtype" and "in double precision" in m.sample for m in found.mismatches) != left_out
    assert bool(verdict.not_run(found)) == left_out


def test_a_gradient_of_nan_where_there_was_none_is_not_safe(program: Program, options: SessionOptions) -> None:
    """Who is not chosen has no gradient, and while compiling a NaN in the input gives it one."""
    text = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Parameter(torch.ones(3))
            self.second = torch.nn.Parameter(torch.ones(3))

        def forward(self, x, keep):
            if keep.any():
                return x * self.first
            return x * self.second
    """
    merged = text.replace(
        "if keep.any():",
        "if torch.compiler.is_compiling():\n"
        "                return torch.where(keep.any(), x * self.first, x * self.second)\n"
        "            if keep.any():",
    )
    first, second = (program(textwrap.dedent(one) + INPUTS) for one in (text, merged))
    found = compare(first, lambda: second, (decision(first, "keep.any()"),), options, 32, False)

    assert found.equal
    assert "expected none of self.second, got NaN or infinity of self.second" in verdict.doubt(found)
    protected = merged.replace("x * self.second)\n", "torch.where(keep.any(), 0, x) * self.second)\n").replace(
        "keep.any(), x * self.first", "keep.any(), torch.where(keep.any(), x, 0) * self.first"
    )
    third = program(textwrap.dedent(protected) + INPUTS)
    found = compare(first, lambda: third, (decision(first, "keep.any()"),), options, 32, False)
    assert verdict.doubt(found) == ""


@pytest.mark.parametrize("is_over", [True, False])
def test_what_was_not_changed_at_once_is_named(
    program: Program, options: SessionOptions, monkeypatch: pytest.MonkeyPatch, is_over: bool
) -> None:
    text = """
        def fn(x, doubled=False, signed=False):
            x = x * 2 if doubled else x
            return -x if signed else x
    """
    limit = min(60.0, options.timeout / 5)
    clock = itertools.chain([0.0], itertools.repeat(limit * 3 if is_over else 0.0))
    monkeypatch.setattr(stopwatch.Stopwatch, "seconds", lambda _: next(clock))
    inputs = "\n\ndef make_inputs(seed):\n    return (torch.randn(3),)\n"
    first = program(textwrap.dedent(text) + inputs)

    found = compare(first, lambda: first, (), options, 4, False)

    assert found.left_unpaired == (("doubled=True, signed=True",) if is_over else ())


@pytest.mark.parametrize(
    ("sample", "where", "expected", "got", "spoilt"),
    [
        ("t 0", TRACED_PATH, "none of self.weight", "of self.weight: nan", True),
        ("t 0", TRACED_PATH, "none of self.weight", "of self.weight", False),
        ("t 0", TRACED_PATH, "of self.weight: 1.0", "of self.weight: nan", False),
        ("t 0", "eager", "none of self.weight", "of self.weight: nan", False),
    ],
)
def test_a_gradient_of_nan_where_what_is_returned_had_none_is_doubtful_on_inputs_of_ours(
    sample: str, where: str, expected: str, got: str, spoilt: bool
) -> None:
    """What is not chosen divides by the zero that nobody declared, and has a gradient once compiled."""
    (found,) = with_what_varies_noted([Mismatch(sample, False, where, "gradient", expected, got)], [])
    assert (found.aspect == "gradient of NaN") is spoilt
    (declared,) = with_what_varies_noted([Mismatch(sample, True, where, "gradient", expected, got)], [])
    assert declared.aspect == "gradient"


UNWRITTEN = """
import time

def fn(x, keep):
    if {where}:
        return x * time.perf_counter_ns()  # as of memory that nobody wrote
    return x{change}
"""


@pytest.mark.parametrize(
    ("where", "change", "equal"),
    [
        ("x.isnan().any()", "", True),
        ("x.shape[0] < 6", ".clone()", True),
        ("x.abs().max() == 0", " + 0.0 * keep.sum()", True),
        ("x.isnan().any()", " + 1", False),
        ("x.isfinite().all() and keep.all()", " * (1 + (x == 0))", True),
    ],
)
def test_what_the_original_gives_but_once_says_nothing(
    program: Program, options: SessionOptions, where: str, change: str, equal: bool
) -> None:
    """On inputs of our own making it may read what nobody wrote; on declared ones that must not be."""
    original, other = (UNWRITTEN.format(where=where, change=text) for text in ("", change))

    found = judged(program, options, original, other)

    assert found.equal == equal
    assert equal or all(mismatch.declared for mismatch in found.mismatches if mismatch.aspect == "value")


def test_a_side_on_which_the_original_gives_something_else_each_time_was_not_seen(
    program: Program, options: SessionOptions
) -> None:
    text = UNWRITTEN.format(where="x.isnan().any()", change="").replace("x * time", "x.nan_to_num().double() + time")
    steady = text.replace("time.perf_counter_ns()", "1")  # in double precision no two times are one number
    test = "x.isnan().any()"
    for original, seen in ((text, False), (steady, True)):
        first = program(textwrap.dedent(original + INPUTS))
        found = compare(first, lambda first=first: first, (decision(first, test),), options, 32, False)  # type: ignore[misc]
        ((true, false),) = found.sides.values()
        assert (bool(true), bool(false)) == (seen, True)


def test_each_operand_of_a_conditional_has_a_gradient_on_the_traced_path() -> None:
    import torch

    from ddelint.verify import traced_path

    x, y = torch.ones(2, requires_grad=True), torch.full((2,), float("nan"), requires_grad=True)
    with traced_path.assumed(("export",)):
        result, count = torch.cond(x.sum() > 0, lambda x, y: (x * 2, 3), lambda x, y: (y * 2, 3), (x, y.log()))
    result.sum().backward()

    assert count == 3
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]
    assert y.grad is not None
    assert y.grad.isnan().all()  # 0 times the derivative of the logarithm
