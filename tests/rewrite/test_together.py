"""Which fixes can stand in one text, and how the edits of one are said on the text of the others."""

from __future__ import annotations

from ddelint.nouns.diagnostics import Claim, Edit, Span
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.together import fit_together, moved
from ddelint.sources.source import SourceFile

NAME = "program.py"
SOURCE = SourceFile(NAME, "a = 1\nb = 2\nc = 3\nd = 4\n")


def candidate(*edits: tuple[int, int, str]) -> Candidate:
    """Edits of (first row, last row, new text), whole lines."""
    made = [Edit(Span(NAME, first, 1, last, len(SOURCE.lines[last - 1])), text) for first, last, text in edits]
    return Candidate("move", Claim.EQUIVALENT, "", tuple(made))


def fits(first: Candidate, second: Candidate) -> bool:
    return fit_together([first], second, lambda name: SOURCE)


def test_fixes_of_other_lines_fit() -> None:
    assert fits(candidate((1, 1, "a = 9")), candidate((2, 2, "b = 9"), (4, 4, "d = 9")))


def test_fixes_that_share_a_line_do_not() -> None:
    assert not fits(candidate((1, 3, "a = 9")), candidate((2, 2, "b = 9")))
    assert not fits(candidate((4, 4, "d = 9")), candidate((1, 1, "a = 9"), (4, 4, "d = 8")))


def test_fixes_that_bring_the_same_new_name_do_not() -> None:
    assert not fits(candidate((1, 1, "n = x.item()\na = n")), candidate((3, 3, "n = y.item()\nc = n")))
    assert not fits(candidate((1, 1, "def arm():\n    pass")), candidate((3, 3, "def arm():\n    pass")))
    assert fits(candidate((1, 1, "n = x.item()\na = n")), candidate((3, 3, "m = y.item()\nc = m")))


def test_edits_follow_what_stands_above_them() -> None:
    base = History({NAME: SOURCE})
    first, second = candidate((1, 1, "zero = 0\na = zero")), candidate((3, 3, "c = 30"))
    now = base.add(first.edits, 1)
    both = now.add(moved(second, base, now).edits, 2)
    assert both.current(NAME).text == "zero = 0\na = zero\nb = 2\nc = 30\nd = 4\n"
    alone = both.without(1)
    assert alone is not None
    assert alone.current(NAME).text == "a = 1\nb = 2\nc = 30\nd = 4\n"
