"""Every text under fixtures/explain, told without the source and with it; found by glob.

What is expected stands in snapshots/, one line a finding as `--output-format concise` prints it. After a look at the
difference, `python scripts/accept_snapshots.py` takes new outcomes over.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from explaining import FIXTURES, PROJECT

from ddelint.explain.explain import run_explain
from ddelint.report.concise import render_report
from ddelint.settings.options import CheckOptions

SNAPSHOTS = Path(__file__).parent / "snapshots"
TEXTS = sorted(
    path
    for folder in FIXTURES.iterdir()
    if folder != PROJECT
    for path in folder.iterdir()
    if path.suffix in {".txt", ".ipynb"} or path.is_dir()
)


def told(text: str, paths: tuple[str, ...]) -> str:
    report = run_explain(text, paths, CheckOptions())
    lines = "".join(f"{line}\n" for line in render_report(report, unsafe_fixes=False))
    return lines or "nothing\n"


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_told(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative names only: findings are sorted by name, and where the checkout lies must not decide."""
    monkeypatch.chdir(tmp_path)
    shown = Path("fixtures") / text.relative_to(FIXTURES)
    shown.parent.mkdir(parents=True)
    shutil.copytree(text, shown) if text.is_dir() else shutil.copy(text, shown)
    without = told(str(shown), ())
    project = shutil.copytree(PROJECT, Path("fixtures") / "project")
    actual = f"without the source\n{without}with the source\n{told(str(shown), (str(project),))}"
    stored = SNAPSHOTS / f"{text.parent.name}-{text.stem}.txt"
    expected = stored.read_text("utf-8") if stored.exists() else None
    if actual != expected:
        stored.parent.mkdir(exist_ok=True)
        stored.with_name(stored.stem + ".actual").write_text(actual, "utf-8")
    assert actual == expected, f"{stored.name} differs: look at its .actual, then scripts/accept_snapshots.py"


def test_the_texts_are_there() -> None:
    assert len(TEXTS) > 60
