"""Every text under fixtures/explain, told without the source and with it; found by glob.

What is expected stands in snapshots/, one line a finding as `--output-format concise` prints it. After a look at the
difference, `python scripts/accept_snapshots.py` takes new outcomes over.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from explaining import FIXTURES, PROJECT

from ddelint.explain.explain import run_explain
from ddelint.options import CheckOptions
from ddelint.report.concise import render_report

SNAPSHOTS = Path(__file__).parent / "snapshots"
TEXTS = sorted(
    path
    for folder in FIXTURES.iterdir()
    if folder != PROJECT
    for path in folder.iterdir()
    if path.suffix in {".txt", ".ipynb"} or path.is_dir()
)


def told(text: Path, paths: tuple[str, ...]) -> str:
    report = run_explain(str(text), paths, CheckOptions())
    lines = "".join(f"{line}\n" for line in render_report(report, unsafe_fixes=False))
    for folder, name in ((str(FIXTURES), "fixtures"),):
        lines = lines.replace(folder, name)
    return lines or "nothing\n"


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_told(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    actual = f"without the source\n{told(text, ())}with the source\n{told(text, (str(PROJECT),))}"
    stored = SNAPSHOTS / f"{text.parent.name}-{text.stem}.txt"
    expected = stored.read_text("utf-8") if stored.exists() else None
    if actual != expected:
        stored.parent.mkdir(exist_ok=True)
        stored.with_name(stored.stem + ".actual").write_text(actual, "utf-8")
    assert actual == expected, f"{stored.name} differs: look at its .actual, then scripts/accept_snapshots.py"


def test_the_texts_are_there() -> None:
    assert len(TEXTS) > 60
