"""A rule's page, and the list of all rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ddelint.knowledge.catalog import Rule
from ddelint.report.rule_page import page
from ddelint.report.style import Style


def render_list(rules: Sequence[Rule], width: int | None = None) -> str:
    """`code  name  which passes find it  what it finds`, one line a rule, cut to `width` columns where given."""
    longest = max((len(rule.name) for rule in rules), default=0)
    lines = [
        f"{rule.code}  {rule.name:<{longest}}  {_passes(rule)}  {_first_sentence(rule.documentation.what)}"
        for rule in rules
    ]
    return "".join(f"{line if width is None or len(line) <= width else line[: width - 1] + '…'}\n" for line in lines)


def _passes(rule: Rule) -> str:
    return " ".join(letter if name in rule.found_by else "-" for name, letter in (("static", "S"), ("trace", "T")))


def _first_sentence(text: str) -> str:
    sentence = " ".join(text.split("\n\n")[0].split())
    return sentence.partition(". ")[0].rstrip(".")


def render_json(rules: Sequence[Rule], one: bool = False) -> str:
    """An array of objects, or the object itself where `one` rule was asked for."""
    values = [_plain(rule) for rule in rules]
    return json.dumps(values[0] if one else values, indent=2) + "\n"


def _plain(rule: Rule) -> dict[str, Any]:
    doc = rule.documentation
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "found_by": list(rule.found_by),
        "claims": [claim.value for claim in rule.claims],
        "moves": list(rule.moves),
        "message": rule.message,
        "since": rule.since,
        "graph_breaks": list(rule.graph_breaks),
        "url": rule.url,
        "explanation": {
            "what": doc.what,
            "why": doc.why,
            "bad": doc.bad,
            "good": doc.good,
            "fix_safety": doc.fix_safety,
            "references": list(doc.references),
        },
    }


def markdown(rule: Rule) -> str:
    """The rule's page as Markdown."""
    doc = rule.documentation
    sections = (doc.what, doc.why, doc.bad, doc.good, doc.fix_safety)
    return page(rule.code, rule.name, rule.severity.value, rule.found_by, rule.since, sections, doc.references)


def render_page(rule: Rule, style: Style) -> str:
    """The rule's page: typeset on a terminal with colours, plain Markdown elsewhere."""
    text = markdown(rule)
    if not style.color:
        return style.spell(text)
    import io

    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=io.StringIO(), force_terminal=True, width=min(style.width, 100))
    console.print(Markdown(text))
    written = console.file.getvalue()  # type: ignore[attr-defined]
    return style.spell("\n".join(line.rstrip() for line in written.splitlines()) + "\n")
