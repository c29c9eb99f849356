"""What is said where two ways return another number of results."""

from __future__ import annotations

import ast

import pytest

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.report.by_hand import help_for
from ddelint.rewrite.search.signatures import without_signature
from ddelint.sources.sites import site_of
from ddelint.sources.source import SourceFile

HEAD = "def fn(x, mask):\n    loss = x.new_zeros(1)\n    rows = x[mask]\n"
TEST = "rows.shape[0] == 0"


def _told(body: str) -> list[tuple[str, str]]:
    source = SourceFile("model.py", HEAD + body)
    test = next(node for node in ast.walk(source.tree) if isinstance(node, ast.expr) and ast.unparse(node) == TEST)
    refused = tuple(without_signature(site_of(source, test)))
    if refused:
        shown = help_for(Diagnostic("DDE102", "", source.span(test), refused=refused))
        assert shown is not None
        assert shown.code == refused[0].code or not refused[0].code
    return [(refusal.reason, refusal.code) for refusal in refused]


@pytest.mark.parametrize(
    "body",
    [
        f"    if {TEST}:\n        return x.sum(),\n    return rows.sum(), loss\n",
        f"    if {TEST}:\n        return (x.sum(),)\n    else:\n        rows = rows * 2\n    return rows.sum(), loss\n",
    ],
)
def test_what_is_missing_is_named_where_it_has_a_value(body: str) -> None:
    ((reason, code),) = _told(body)
    assert reason.startswith("another number of results: 1 here, 2 in line")
    assert code == "return x.sum(), loss"


def test_what_has_no_value_yet_is_not() -> None:
    ((reason, code),) = _told(
        f"    if {TEST}:\n        return x, loss\n    best = rows.max()\n    return x, loss, best\n"
    )
    assert "2 here, 3 in line" in reason
    assert code == ""


@pytest.mark.parametrize(
    "body",
    [
        f"    if {TEST}:\n        return x, loss\n    return rows, loss\n",
        f"    if {TEST}:\n        return loss\n    return rows\n",
        f"    if {TEST}:\n        x = x + 1\n    return rows, loss\n",
        f"    def inner():\n        return x, x, x\n\n    if {TEST}:\n        return x, loss\n    return rows, loss\n",
    ],
)
def test_as_many_results_or_what_the_text_does_not_say(body: str) -> None:
    assert _told(body) == []
