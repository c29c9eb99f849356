"""Our own programs, the puzzles and the quickstart: found, fixed, judged by another, and left alone afterwards.

Every second program is run; all of them with DDELINT_LONG=1.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from issues_table import check, treat
from judge import Judge, header

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
FIXTURES = CHECKOUT / "fixtures"
SCHEMA = json.loads((CHECKOUT / "docs" / "findings.schema.json").read_text("utf-8"))
PROGRAMS = sorted([*(FIXTURES / "programs").glob("*.py"), *(FIXTURES / "puzzles").glob("*.py")])
DRAWN = PROGRAMS[::2]
UNFIXED = frozenset(("transposecontig",))
"""Programs that fail and are not fixed yet, though a rewrite exists. Shrinks."""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    pytest.importorskip("torch")
    with Judge() as running:
        yield running


def test_there_are_enough_programs() -> None:
    headers = [header(path) for path in (FIXTURES / "programs").glob("*.py")]
    assert len(headers) >= 14
    assert sum(h.control for h in headers) >= 4
    assert len({h.kind for h in headers}) >= 8
    assert len(list((FIXTURES / "puzzles").glob("*.py"))) == 16


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_program(program: Path, tmp_path: Path, judge: Judge) -> None:
    if program not in DRAWN and not os.environ.get("DDELINT_LONG"):
        pytest.skip("waits for DDELINT_LONG=1: all of them take ten minutes")
    row = treat(program, tmp_path, judge, ("--unsafe-fixes",))
    assert row.check.error == ""
    jsonschema.validate(row.check.findings, SCHEMA)
    assert row.after.eager_differences == []
    assert not row.second_run_changes
    if row.header.control:
        assert not row.failing
        assert not row.check.about_data
        assert not row.changed
    if row.failing:
        assert row.check.findings or row.changed
    if row.failing and not row.header.unfixable and program.stem not in UNFIXED:
        assert row.fixed, (row.check.codes, {name: str(v) for name, v in row.after.targets.items()})


def test_quickstart(tmp_path: Path, judge: Judge) -> None:
    row = treat(FIXTURES / "quickstart" / "model.py", tmp_path, judge, ("--unsafe-fixes",), look=True)
    assert row.failing
    assert len({code.partition(":")[0] for code in row.check.codes}) >= 4
    assert len(row.check.codes) >= 6
    assert row.fixed
    assert not row.second_run_changes
    compiled = judge(FIXTURES / "quickstart" / "model.py", tmp_path / "model.py", backend="inductor", seeds=16)
    assert compiled.clean


def test_safe_fixes_alone_keep_every_input(tmp_path: Path, judge: Judge) -> None:
    """Without --unsafe-fixes nothing that narrows what the program accepts is written."""
    row = treat(FIXTURES / "puzzles" / "check.py", tmp_path, judge, ())
    written = (tmp_path / "check.py").read_text("utf-8")
    assert "torch._check(" not in written
    assert row.after.eager_differences == []


def test_static_mode_executes_nothing(tmp_path: Path) -> None:
    program = tmp_path / "trap.py"
    program.write_text(
        "import torch\n\nopen(__file__ + '.ran', 'w').close()\n\n\n"
        "class Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        if x.sum() > 0:\n            return x\n        return -x\n\n\n"
        "def make_inputs(seed):\n    return (torch.ones(2),)\n"
    )
    checked = check(program, "--static")
    assert checked.codes == ["DDE105:8"]
    assert not (tmp_path / "trap.py.ran").exists()
