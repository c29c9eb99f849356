"""fixtures/rules/*/entry.py, run: what is flagged, and what the fix makes of it (entry.fixed.py).

So is an entry_WHAT.py that has an entry_WHAT.fixed.py; others (`entry_sizes.py`) are for other commands.

A fixed file that differs from what stands beside it is left as entry.actual next to it; after a look, accept it:

    python tests/end_to_end/test_fixtures.py --accept [CODE ...]
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from issues_table import check
from judge import Judge

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
ENTRIES = sorted(
    {
        *FOLDER.glob("*/entry.py"),
        *(path.with_suffix("").with_suffix(".py") for path in FOLDER.glob("*/entry*.fixed.py")),
    }
)
ALWAYS = "DDE105"
"""The one that the small size runs, too: found, fixed, and judged through every front end."""
STRICT = re.compile(r"torch\._check\w*\(.*, lambda: ")
"""What strict export refuses: a fix says it where nobody asks for that target, and another one where somebody does."""
EXPECTATION = re.compile(r"#\s*error: (DDE\d{3}(?:, DDE\d{3})*)")


def name(path: Path) -> str:
    """The rule's code, and what the entry is about where it is not the rule's own."""
    return path.parent.name + path.stem.removeprefix("entry")


def expected(path: Path) -> list[str]:
    """`DDE101:14` for each expectation, in the order of the file."""
    rows = enumerate(path.read_text("utf-8").splitlines(), 1)
    return [f"{code}:{row}" for row, line in rows for m in EXPECTATION.finditer(line) for code in m[1].split(", ")]


def fix(path: Path, folder: Path, *options: str) -> tuple[list[str], str, Path]:
    """What is flagged, what the file became, and where it lies."""
    copy = folder / f"{path.parent.name}.py"
    shutil.copy(path, copy)
    found = check(copy)
    assert found.error == "", found.error
    left = check(copy, "--fix", "--unsafe-fixes", *options)
    assert left.error == "", left.error
    return found.codes, copy.read_text("utf-8"), copy


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    pytest.importorskip("torch")
    with Judge() as running:
        yield running


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=name(p), marks=[pytest.mark.slow] if name(p) != ALWAYS else []) for p in ENTRIES],
)
def test_entry(path: Path, tmp_path: Path, judge: Judge) -> None:
    codes, text, copy = fix(path, tmp_path)
    assert codes == expected(path)
    wanted = path.with_suffix(".fixed.py")
    if not wanted.is_file():
        assert text == path.read_text("utf-8")
        return
    if text != wanted.read_text("utf-8"):
        path.with_suffix(".actual").write_text(text, "utf-8")
    assert text == wanted.read_text("utf-8")
    if STRICT.search(text):
        verdict = judge(path, copy, eager_seeds=16, backend="aot_eager", targets=("export", "compile"))
        assert verdict.clean, verdict
        _, _, copy = fix(path, tmp_path, "--target", "export,strict,compile")
    verdict = judge(path, copy, eager_seeds=16, backend="aot_eager")
    assert verdict.clean, verdict
    assert judge(path, targets=("export", "compile"), backend="aot_eager").fails


def test_every_fixed_file_has_its_entry() -> None:
    fixed = sorted(FOLDER.glob("*/entry*.fixed.py"))
    assert [path for path in fixed if path.with_name(path.name.replace(".fixed", "")) not in ENTRIES] == []
    assert len(fixed) >= 6


def accept(codes: list[str]) -> None:
    """Write what the fixes make of the entries; reviewed by whoever runs this."""
    with tempfile.TemporaryDirectory() as folder:
        for path in ENTRIES:
            if codes and name(path) not in codes:
                continue
            found, text, _ = fix(path, Path(folder))
            changed = text != path.read_text("utf-8")
            print(f"{name(path)}: {' '.join(found)}{'' if changed else ' (not rewritten)'}")
            path.with_suffix(".actual").unlink(missing_ok=True)
            if changed:
                path.with_suffix(".fixed.py").write_text(text, "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--accept"]:
        raise SystemExit(__doc__)
    accept(sys.argv[2:])
