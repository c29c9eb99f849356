"""Programs that nobody wrote: what the fixer makes of them agrees with them, stays as it is, and exports if it says so.

`DDELINT_PROPERTIES=N` draws N programs instead of a few, with Dynamo and Inductor among the targets.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from control_flow import agree, captured, outcome
from grammar import Program, programs, written
from hypothesis import HealthCheck, Phase, example, given, note, settings

from ddelint.report.model import Report, Silence
from ddelint.settings.options import CheckOptions
from ddelint.trace.worker_process import Worker

pytestmark = pytest.mark.slow

LONG = int(os.environ.get("DDELINT_PROPERTIES", "0"))
TARGETS = ("export", "compile") if LONG else ("export",)
SEEDS = (*range(8), *range(1000, 1012))
"""The last ones are inputs that verification has not seen."""
_LOADED = [0]


@pytest.fixture(scope="module", autouse=True)
def shared_worker(worker: Worker) -> Iterator[None]:
    """Torch is loaded once for all programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ddelint.pipeline.sessions.start_worker", lambda options, **_: contextlib.nullcontext(worker))
        yield


def fixed(path: Path) -> Report:
    """What `check --fix --unsafe-fixes` reports; the file is rewritten."""
    from ddelint.pipeline import run_check

    options = CheckOptions(fix=True, unsafe_fixes=True, targets=TARGETS, samples=16, cache=False, timeout=600.0)
    return run_check([str(path)], options, Silence())


def loaded(path: Path) -> types.ModuleType:
    """The file as a module of its own."""
    _LOADED[0] += 1
    module = types.ModuleType(f"drawn_{_LOADED[0]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(path.read_text("utf-8"), str(path), "exec"), module.__dict__)
    return module


def entry(module: types.ModuleType) -> Any:
    """The program that a module holds."""
    return module.Model() if hasattr(module, "Model") else module.fn


def differences(before: types.ModuleType, after: types.ModuleType, run: Any) -> list[str]:
    """Where `run` of `after` differs from the original: result, or type of exception."""
    found = []
    for seed in SEEDS:
        want, wanted_inputs = outcome(entry(before), before.make_inputs(seed))
        # each seed begins with the state that the program is made with, as the original does
        got, inputs = outcome(copy.deepcopy(run), after.make_inputs(seed))
        both_raise = isinstance(want, type) and isinstance(got, type)
        if (both_raise and want is not got) or (not both_raise and not agree(want, got)):
            found.append(f"seed {seed}: {got} instead of {want}")
        elif wanted_inputs is not None and not agree(wanted_inputs, inputs):
            found.append(f"seed {seed}: inputs changed")
    return found


def exported(module: types.ModuleType) -> Any:
    """The program through torch.export, as control_flow has it captured."""
    return captured(entry(module), module.make_inputs(0), "export")


LEFT_BEFORE_ITS_NAME_IS_TAKEN_AGAIN = """
for i in range(3):
    if not mask.all():
        break
    h = h * 0.5 + i
for i, row in enumerate(h):
    if i == k.item():
        v = v + row
"""
"""`i` of the first loop is not read behind it: the second one gives it anew."""
COUNT_OF_A_COMPARISON = """
n1 = (h > 1).sum().item()
if mask.sum().item() > 3:
    return v - h.mean(0), h.sum(1)
w2 = min(int(k), n1)
h = h + w2
"""
"""A proof about `(h > 1)` must keep its parentheses."""


def counterexample(body: str) -> Program:
    """A program that once came out wrong."""
    lines = ["h = x.clone()", "v = x.sum(0)", *body.strip().splitlines(), "return h.sum(0) + v, h.sum(1)"]
    return Program(written(lines, module=True), ("counterexample",))


@settings(
    max_examples=LONG or 8,
    derandomize=not LONG,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@example(counterexample(LEFT_BEFORE_ITS_NAME_IS_TAKEN_AGAIN))
@example(counterexample(COUNT_OF_A_COMPARISON))
@given(programs())
def test_what_is_fixed_is_the_same_program(program: Program) -> None:
    with tempfile.TemporaryDirectory() as folder:
        original, path = Path(folder) / "original.py", Path(folder) / "program.py"
        original.write_text(program.text, "utf-8")
        path.write_text(program.text, "utf-8")
        report = fixed(path)
        text = path.read_text("utf-8")
        note(text)
        assert not report.errors
        assert [d for d in report.diagnostics if d.code in ("DDE001", "DDE002")] == []
        before, after = loaded(original), loaded(path)
        assert differences(before, after, entry(after)) == []
        again = fixed(path)
        assert path.read_text("utf-8") == text, "a second run changes the program"
        assert len(again.remaining) <= len(report.remaining)
        if all(d.evidence is not None and d.evidence.export for d in report.fixed) and not report.remaining:
            assert differences(before, after, exported(after)) == []
