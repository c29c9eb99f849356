"""fixtures/static/*.py and fixtures/rules/*/flagged.py: the expectation stands on the line; all else is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.pipeline.rule_testing import EXPECTATION, LOOKALIKE, expected, found
from ddelint.sources.source import SourceError, SourceFile
from ddelint.static.checks import might_matter

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
OWN = sorted((FIXTURES / "static").glob("*.py"))
OF_RULES = sorted((FIXTURES / "rules").glob("*/flagged.py"))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_each_line_does_what_it_says(path: Path) -> None:
    source = SourceFile.read(path)
    assert found(source) == expected(source)


@pytest.mark.parametrize("path", OF_RULES, ids=lambda path: path.parent.name)
def test_each_rule_flags_its_examples(path: Path) -> None:
    source = SourceFile.read(path)
    try:
        codes = found(source)
    except SourceError:
        codes = sorted(f"{row}: DDE001" for row, line in enumerate(source.lines, 1) if "DDE001" in line)
    assert codes == expected(source)


@pytest.mark.parametrize("path", [*OWN, *OF_RULES], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_byte_scan_keeps_every_file_with_findings(path: Path) -> None:
    codes = set(EXPECTATION.findall(path.read_text("utf-8"))) - {"DDE001"}
    assert might_matter(path.read_bytes()) or not codes


def test_fixtures_hold_findings_and_lookalikes() -> None:
    texts = [path.read_text("utf-8") for path in OWN]
    assert sum(len(EXPECTATION.findall(text)) for text in texts) >= 60
    assert sum(len(LOOKALIKE.findall(text)) for text in texts) >= 40
