"""What stands in the way of a rewrite, and the one by hand, in every format that has room for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import MODEL

from ddelint.diagnostics import Diagnostic
from ddelint.report.by_hand import help_for
from ddelint.report.formats import Rendering, render
from ddelint.report.model import Report
from ddelint.report.style import Style


@pytest.mark.parametrize("output_format", ["full", "json", "json-lines", "junit", "github", "gitlab", "sarif"])
def test_what_is_left_says_what_stands_in_the_way_and_shows_code(output_format: str, refused: Diagnostic) -> None:
    text = render(Report((refused,), texts={"model.py": MODEL}), Rendering(Style(), output_format))
    assert "compute both arms and choose with torch.where: the body raises" in " ".join(text.split())
    assert "torch.where(" in text
    assert "```" not in text or output_format == "sarif"  # whose rules have pages


def test_what_has_a_fix_or_was_not_tried_needs_no_help(emptiness: Diagnostic, refused: Diagnostic) -> None:
    assert help_for(emptiness) is None
    assert help_for(replace(refused, refused=())) is None
    unknown = help_for(replace(refused, code="XYZ001"))
    assert unknown is not None
    assert unknown.text == "in the way: compute both arms and choose with torch.where: the body raises"
