"""fixtures/rules/*/entry_sizes.py: what is declared of a program's sizes, and what is wrong with it, on its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ddelint.knowledge.catalog import rules
from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.pipeline.range_checking import check_given
from ddelint.pipeline.spec_checking import check_specs
from ddelint.shapes.ranges_given import read_ranges
from ddelint.trace.worker_process import Worker

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
DECLARED = re.compile(
    r'^(?P<name>[A-Z_0-9]+) = (?P<value>"(?P<ranges>.*)"|\w+\().*# (ok|error: (?P<code>DDE\d{3}))$', re.M
)
OF_DECLARATIONS = ["DDE407", "DDE408", "DDE409", "DDE410", "DDE411", "DDE412"]


@pytest.mark.slow
@pytest.mark.parametrize("code", OF_DECLARATIONS)
def test_what_is_declared_is_flagged_where_the_fixture_says(worker: Worker, code: str) -> None:
    path = FIXTURES / code / "entry_sizes.py"
    declared = list(DECLARED.finditer(path.read_text("utf-8")))
    session = worker.open(SessionOptions(EntrySpec(str(path)), (str(path),), unbacked="all", device="cpu"))
    assert not isinstance(session, EntryFailure)
    try:
        contract = session.contract({})
        assert contract.complete
        found: dict[str, set[str]] = {}
        for one in declared:
            given = one["ranges"]
            checked = check_given(session, contract, read_ranges(given)) if given else None
            (checked,) = [checked] if checked is not None else check_specs(session, contract, one["name"])
            assert checked.undecided == ()
            assert all(each.witness is not None for each in checked.findings)
            found[one["name"]] = {each.code for each in checked.findings}
    finally:
        session.close()
    assert found == {one["name"]: {one["code"]} if one["code"] else set() for one in declared}
    assert {one["code"] for one in declared} == {code, None}


def test_every_rule_of_declarations_has_its_fixture() -> None:
    assert [code for code in sorted(rules()) if "DDE407" <= code <= "DDE412"] == OF_DECLARATIONS
    assert all((FIXTURES / code / "entry_sizes.py").is_file() for code in OF_DECLARATIONS)
