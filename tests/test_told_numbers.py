"""The sums that README and the benchmarks tell are those of the tables."""

from __future__ import annotations

import re

import pytest
from documented import CHECKOUT

CASES = (CHECKOUT / "docs" / "case-studies.md").read_text("utf-8")
BENCHMARKS = (CHECKOUT / "docs" / "benchmarks.md").read_text("utf-8")
README = (CHECKOUT / "README.md").read_text("utf-8")
FIRST_LOT = "### Eighteen of a lot of 26 November"
"""The lots before have sums of their own in README."""
WHOLE = ("clean", "as it is")


def rows(text: str, head: str) -> list[list[str]]:
    """The cells of the tables that begin like this."""
    tables = re.findall(rf"^{re.escape(head)}[^\n]*\n\|[-:| ]+\n((?:\|[^\n]*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for table in tables for line in table.splitlines()]


def lots() -> list[tuple[int, int]]:
    """Of each lot of modules, the latest last: how many pass in both targets at the first run, and of how many."""
    sections = re.split(r"^### ", CASES[CASES.index(FIRST_LOT) :], flags=re.MULTILINE)[1:]
    found = [rows(section, "| module | first run |") for section in sections]
    return [(sum(row[1].startswith(WHOLE) for row in lot), len(lot)) for lot in found if lot]


def test_modules_that_were_drawn_by_lot() -> None:
    passing, all_of_them = (sum(numbers) for numbers in zip(*lots()))
    assert f"of the last {all_of_them}, {passing};" in README
    assert f"together {passing} of {all_of_them} |" in BENCHMARKS


def test_each_lot_is_told_the_latest_first() -> None:
    line = next(line for line in BENCHMARKS.splitlines() if line.startswith("| real modules"))
    told = re.findall(r"(\d+)%\*{0,2} \((\d+) of (\d+)\)", line)
    assert [(int(one), int(other)) for _, one, other in told] == lots()[::-1]
    assert [int(share) for share, _, _ in told] == [round(100 * one / other) for one, other in lots()[::-1]]


@pytest.mark.parametrize("page", ["README.md", "docs/case-studies.md", "docs/benchmarks.md"])
def test_whole_programs(page: str) -> None:
    lots_of_programs = rows(BENCHMARKS, "| lot | `--timeout` |")
    names = {"three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "nine": 9, "eleven": 11, "fourteen": 14, "two": 2}
    sizes = [next(names[word] for word in re.findall(r"\w+", row[0]) if word in names) for row in lots_of_programs]
    whole = [int(row[3].split()[0].rstrip(",")) for row in lots_of_programs]
    text = " ".join((CHECKOUT / page).read_text("utf-8").split())
    assert f"{sum(whole)} of {sum(sizes)}" in text or f"of {sum(sizes)} that nobody had shown {sum(whole)} at" in text
