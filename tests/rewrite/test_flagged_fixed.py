"""fixtures/rules/*/flagged.py under `check --static --fix`: fixed without a run (flagged.fixed.py).

A text that differs from what stands beside it is left as flagged.actual; after a look, accept it:

    python tests/rewrite/test_flagged_fixed.py --accept [CODE ...]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from ddelint.pipeline import run_check
from ddelint.report.model import Report, Silence
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.settings.options import CheckOptions, Mode

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
FLAGGED = sorted(FOLDER.glob("*/flagged.py"))
PARTLY = {"DDE208"}
"""Rules of which text alone fixes some findings only."""
DISPLAYED = {"DDE604"}
BEYOND_THE_LINE = {"DDE701"}


def check(path: Path, fix: bool = False) -> Report:
    options = CheckOptions(mode=Mode.STATIC, cache=False, unsafe_fixes=True, fix=fix, extend_select=("DDE2", "DDE3"))
    return run_check([str(path)], options, Silence())


def fix(path: Path, folder: Path) -> tuple[str, Path]:
    """What the file becomes, and where that lies."""
    copy = folder / f"{path.parent.name}.py"
    shutil.copy(path, copy)
    check(copy, fix=True)
    return copy.read_text("utf-8"), copy


@pytest.mark.parametrize("path", FLAGGED, ids=lambda path: path.parent.name)
def test_fixed_without_a_trace(path: Path, tmp_path: Path) -> None:
    wanted = path.with_suffix(".fixed.py")
    if path.parent.name == "DDE001":
        assert not wanted.is_file()
        return
    text, copy = fix(path, tmp_path)
    if not wanted.is_file():
        assert text == path.read_text("utf-8")
        return
    if text != wanted.read_text("utf-8"):
        path.with_suffix(".actual").write_text(text, "utf-8")
    assert text == wanted.read_text("utf-8")
    left = [d.code for d in check(copy).diagnostics]
    assert path.parent.name in PARTLY or path.parent.name not in left
    check(copy, fix=True)
    assert copy.read_text("utf-8") == text  # a second run changes nothing


def test_every_rule_that_text_can_fix_is_shown() -> None:
    shown = {path.parent.name for path in FOLDER.glob("*/flagged.fixed.py")} - {"DDE003"}
    assert shown == set(knowledge().without_trace) - DISPLAYED


def accept(codes: list[str]) -> None:
    """Write what the fixes make of the examples; reviewed by whoever runs this."""
    with tempfile.TemporaryDirectory() as folder:
        for path in FLAGGED:
            if path.parent.name == "DDE001" or (codes and path.parent.name not in codes):
                continue
            text, _ = fix(path, Path(folder))
            path.with_suffix(".actual").unlink(missing_ok=True)
            if text != path.read_text("utf-8"):
                print(path.parent.name)
                path.with_suffix(".fixed.py").write_text(text, "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--accept"]:
        raise SystemExit(__doc__)
    accept(sys.argv[2:])
