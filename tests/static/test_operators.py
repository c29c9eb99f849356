"""rules/operators.toml against torch, on the samples of rules/operator_samples.toml (scripts/check_operators.py)."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ddelint.knowledge.operators import operators

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_operators.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_operators", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_knows_enough_operators() -> None:
    assert len(operators().returns) >= 600


def test_every_entry_agrees_with_torch(script: ModuleType) -> None:
    pytest.importorskip("torch")
    wanted = script.samples()
    if not os.environ.get("DDELINT_LONG"):
        # one for each operator; all of them take half a minute
        wanted = list({sample.operator: sample for sample in reversed(wanted)}.values())
    found = script.outcomes(wanted)
    differing = [
        f"{o.sample.expression}: {o.difference} (ours {o.ours}, torch {o.torchs})" for o in found if o.difference
    ]
    assert differing == []
    assert sum(o.torchs.kind != "fails" for o in found) > 500


def test_a_wrong_entry_is_told(script: ModuleType) -> None:
    answer = script.Answer
    rows = answer("tensor", ("unbacked", 4), True, False)
    assert script.difference(rows, rows) == ""
    assert script.difference(answer("tensor", (4,), False, None), rows) == "dimension 0: 4 instead of unbacked"
    assert script.difference(answer("tensor", ("known", 4), True, False), rows) != ""
    assert script.difference(answer("tensor", ("unbacked",), True, False), rows) == "1 dimensions instead of 2"
    assert script.difference(answer("tensor", (), False, True), rows) == "no mask"
    assert script.difference(rows, answer("asks")) == "it asks"
    assert script.difference(answer("tuple", parts=(rows, rows)), answer("tuple", parts=(rows,))) != ""
    assert script.difference(answer("?"), rows) == ""


def test_what_the_samples_cannot_run_is_named(script: ModuleType) -> None:
    pytest.importorskip("torch")
    named = {sample.operator for sample in script.samples()}
    unchecked = script.tomllib.loads(script.SAMPLES.read_text("utf-8"))["unchecked"]["names"]
    assert set(operators().returns) - named <= set(unchecked)
