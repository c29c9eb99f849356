"""Arms of a benchmark, and unbacked against backed. No test looks at a time: only at what was counted and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from ddelint.nouns.measurements import BACKED, COMPILED, EAGER, FIXED, FULLGRAPH, ORIGINAL
from ddelint.nouns.protocol import SessionOptions
from ddelint.trace import torch_internals
from ddelint.verify import profiles
from ddelint.verify.arms import Runner, Setting
from ddelint.verify.bench import compare_sizes, measure_program
from ddelint.verify.calls import run
from ddelint.verify.inputs import variations
from ddelint.verify.references import Reference
from ddelint.verify.timing import interleaved, quartiles

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
with_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")

ASKS = """
    def fn(x, mask):
        if mask.sum().item() > 2:
            return x.relu() * 2
        return x.relu() + 1

    def make_inputs(seed):
        x = torch.randn(4, 4, generator=torch.Generator().manual_seed(seed))
        return x, torch.arange(6) < seed % 5
"""
FIXED_ASKS = """
    def fn(x, mask):
        return torch.where(mask.sum() > 2, x.relu() * 2, x.relu() + 1)

    def make_inputs(seed):
        x = torch.randn(4, 4, generator=torch.Generator().manual_seed(seed))
        return x, torch.arange(6) < seed % 5
"""
SOFTMAX = """
    def fn(x):
        return torch.softmax(x * 2, dim=-1)

    def make_inputs(seed):
        return (torch.randn(64, 32, generator=torch.Generator().manual_seed(seed)),)
"""
Program = Callable[..., Any]


def test_a_call_is_profiled() -> None:
    mask = torch.tensor([True, False])

    def call() -> float:
        rows = mask.nonzero()
        return float((rows * 2).view(-1).sum().item())

    counts = profiles.profiled(call, "cpu")
    # nonzero, mul, sum, all of them in eager; nonzero and item wait
    assert counts == profiles.Profile(launches=0, kernels=3, host_syncs=2, in_eager=3)


def test_what_lies_between_graphs_is_left_to_eager() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x @ x
        torch._dynamo.graph_break()
        return y @ y

    x = torch.randn(4, 4)
    compiled = torch.compile(broken)
    compiled(x)
    counts = profiles.profiled(lambda: broken(compiled(x)), "cpu")
    assert (counts.launches, counts.kernels, counts.in_eager) == (2, 4, 2)


def test_arms_take_turns() -> None:
    order: list[str] = []
    times = interleaved([lambda: order.append("a"), lambda: order.append("b")], "cpu", rounds=2, seconds=0.0)
    assert [bool(measured) for measured in times] == [True, True]
    firsts = [name for name, before in zip(order, [None, *order]) if name != before]
    assert firsts == ["a", "b", "a"]  # the second round goes back


def test_quartiles() -> None:
    assert quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)
    assert quartiles([7.0]) == (7.0, 7.0, 7.0)
    with pytest.raises(ValueError, match="no times"):
        quartiles([])


@without_gpu
def test_a_gpu_that_is_not_there_is_said_so(program: Program, options: SessionOptions) -> None:
    entry = program(ASKS)
    measured = measure_program(entry, lambda: entry, ORIGINAL, replace(options, device="cuda"), parity=False)
    assert [(arm.how, arm.error) for arm in measured.arms] == [
        (EAGER, "n/a: no device"),
        (COMPILED, "n/a: no device"),
    ]


def test_a_program_that_never_returns_is_not_measured(program: Program, options: SessionOptions) -> None:
    entry = program("def fn(x):\n    raise ValueError('no')\n\ndef make_inputs(seed):\n    return (torch.zeros(1),)\n")
    measured = measure_program(entry, lambda: entry, ORIGINAL, options, parity=False)
    assert measured.failure is not None
    assert "ValueError: no" in measured.failure.message


@pytest.mark.slow
def test_what_a_fix_changes_is_counted(program: Program, options: SessionOptions) -> None:
    original = program(ASKS)
    before = measure_program(original, lambda: original, ORIGINAL, options, parity=False)
    eager, compiled = before.arms
    assert (eager.how, compiled.how) == (EAGER, COMPILED)
    assert [arm.error for arm in before.arms] == ["", ""]
    assert (eager.host_syncs, compiled.host_syncs) == (1, 1)
    assert compiled.launches == 2
    assert compiled.recompiles
    assert eager.agrees
    assert compiled.agrees
    rewritten = program(FIXED_ASKS)
    after = measure_program(original, lambda: rewritten, FIXED, options, parity=True)
    whole = after.arms[1]
    assert (whole.program, whole.how, whole.error) == (FIXED, FULLGRAPH, "")
    assert (whole.launches, whole.host_syncs, whole.recompiles) == (1, 0, 0)
    assert whole.agrees
    assert whole.milliseconds
    assert whole.cuda_graphs == "n/a: no device"
    assert after.parity is not None
    assert after.parity.dimensions == ()


@pytest.mark.slow
def test_a_wrong_program_is_seen_to_differ(program: Program, options: SessionOptions) -> None:
    original = program(SOFTMAX)
    wrong = program(SOFTMAX.replace("* 2", "* 3"))
    measured = measure_program(original, lambda: wrong, FIXED, options, parity=False)
    assert [arm.agrees for arm in measured.arms] == [False, False]


def test_what_a_device_gives_otherwise_in_eager_is_not_compared(program: Program) -> None:
    original, wrong = program(SOFTMAX), program(SOFTMAX.replace("* 2", "* 3"))
    sample = next(variations(original, 2, 0))
    reference = Reference(sample, [run(original.build(), sample.make())])
    differing, unsaid = (Runner(Setting(wrong, 0), ORIGINAL, EAGER) for _ in range(2))
    differing.start(reference)
    unsaid.start(reference, compared=False)
    assert (differing.arm.agrees, bool(differing.arm.difference)) == (False, True)
    assert (unsaid.arm.agrees, unsaid.arm.difference) == (None, "")


@pytest.mark.skipif(
    not hasattr(torch_internals.ShapeEnv, "optimization_hint"),
    reason="waits for torch 2.13: earlier releases do not ask the hint of an unbacked size when they fuse on a CPU",
)
@pytest.mark.slow
def test_a_hint_makes_the_code_that_of_backed(program: Program, options: SessionOptions) -> None:
    entry = program(SOFTMAX, unbacked={"x": (0,)})
    parity = compare_sizes(entry, lambda: entry, options, timed=False)
    assert parity.dimensions == ("x.0",)
    assert parity.notes == ()
    assert parity.ratio is None
    assert any(divergence.closes == "hint" for divergence in parity.divergences)
    (remedy,) = parity.remedies
    assert (remedy.values, remedy.bounds) == ({"x.0": 64}, {})
    assert remedy.explained
    assert remedy.changed < parity.changed


def test_without_unbacked_sizes_there_is_nothing_to_compare(program: Program, options: SessionOptions) -> None:
    entry = program(SOFTMAX)
    parity = compare_sizes(entry, lambda: entry, options, timed=True)
    assert (parity.dimensions, parity.changed, parity.ratio) == ((), 0, None)
    assert "no unbacked input dimension" in parity.notes[0]


@with_gpu
@pytest.mark.slow
def test_on_a_gpu_kernels_syncs_and_graphs_are_counted(program: Program, options: SessionOptions) -> None:
    original, rewritten = program(ASKS), program(FIXED_ASKS)
    wanted = replace(options, device="cuda")
    before = measure_program(original, lambda: original, ORIGINAL, wanted, parity=False)
    after = measure_program(original, lambda: rewritten, FIXED, wanted, parity=False)
    assert [arm.error for arm in (*before.arms, *after.arms)] == [""] * 4
    assert before.arms[0].host_syncs == 1
    assert after.arms[1].host_syncs == 0
    assert after.arms[1].cuda_graphs == "safe"


@with_gpu
@pytest.mark.slow
def test_on_a_gpu_unbacked_is_held_against_backed(program: Program, options: SessionOptions) -> None:
    entry = program(SOFTMAX, unbacked={"x": (0,)})
    parity = compare_sizes(entry, lambda: entry, replace(options, device="cuda"), timed=True)
    assert parity.device == "cuda"
    assert parity.ratio is not None
    measured = measure_program(entry, lambda: entry, FIXED, replace(options, device="cuda"), parity=False)
    assert [arm.how for arm in measured.arms] == [EAGER, FULLGRAPH, BACKED]
