"""`--statistics`: how often each rule was broken, most often first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from ddelint.report.console import is_fixable, rule_name
from ddelint.report.model import Report


def render_text(report: Report, unsafe_fixes: bool) -> Iterator[str]:
    """`count  CODE  [*] name`, aligned."""
    rows = _rows(report, unsafe_fixes)
    digits = max((len(str(count)) for _, count, _ in rows), default=0)
    for code, count, fixable in rows:
        yield f"{count:>{digits}}  {code}  [{'*' if fixable == count else '-' if fixable else ' '}]  {rule_name(code)}"


def render_json(report: Report, unsafe_fixes: bool) -> str:
    """The same as an array of `{code, name, count, fixable_count}`."""
    rows = [
        {"code": code, "name": rule_name(code), "count": count, "fixable_count": fixable}
        for code, count, fixable in _rows(report, unsafe_fixes)
    ]
    return json.dumps(rows, indent=2) + "\n"


def _rows(report: Report, unsafe_fixes: bool) -> list[tuple[str, int, int]]:
    counts = Counter(diagnostic.code for diagnostic in report.remaining)
    fixable = Counter(d.code for d in report.remaining if is_fixable(d, unsafe_fixes))
    return sorted(((code, count, fixable[code]) for code, count in counts.items()), key=lambda row: (-row[1], row[0]))
