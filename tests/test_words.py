"""The field's words: what a native reader stumbles over does not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EVERYWHERE = {
    r"_?(un)?mend(s|ed|ing)?": "fix",
    r"dear(er|est)?": "expensive",
    r"burn(s|t|ed|ing)?": "specialize",
    r"rehears\w+": "warm up",
    r"in vain": "say what it waits for, or that an entry is stale",
    r"for a person": "needs manual changes",
}
"""Words, and what the field says instead; in code as well as in text."""
IN_TEXT = {r"(tell|tells|told|telling)": "report, show, say"}
"""Words that must not stand in what users read."""
CODE = (*ROOT.glob("ddelint/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("scripts/*"))
TEXT = (ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("rules/*.toml"), ROOT / "action.yml")


def found(paths: tuple[Path, ...], words: dict[str, str]) -> list[str]:
    """`docs/x.md:3: mend (fix)` for each."""
    known = {re.compile(rf"\b{word}\b", re.IGNORECASE): instead for word, instead in words.items()}
    return [
        f"{path.relative_to(ROOT)}:{row}: {match[0]} ({instead})"
        for path in paths
        if path.is_file() and path != Path(__file__).resolve()
        for row, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for word, instead in known.items()
        for match in word.finditer(line)
    ]


def test_words_of_our_own_stay_away() -> None:
    assert found((*CODE, *TEXT), EVERYWHERE) == []


def test_users_read_the_fields_words() -> None:
    assert found(TEXT, IN_TEXT) == []


@pytest.mark.parametrize("line", ["the file is mended", "a dear call", "burned in", "waits in vain", "1 for a person"])
def test_such_a_word_is_seen(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "page.md"
    path.write_text(f"first\n{line}\n")
    (seen,) = found((path,), EVERYWHERE)
    assert seen.startswith("page.md:2: ")
