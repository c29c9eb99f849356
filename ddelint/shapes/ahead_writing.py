"""A dispatcher over graphs that are exported, or packaged, ahead: the file's text, its words from rules/ahead.toml."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ddelint.knowledge.catalog import rules_folder
from ddelint.nouns.contracts import Contract
from ddelint.nouns.dispatches import GraphPlan
from ddelint.shapes.dispatch_writing import MARK, because_of, condition_of, count_of, guard_of, in_order, words_for
from ddelint.shapes.facts import dimension_of, negated, read
from ddelint.shapes.requirements import requirement_text
from ddelint.shapes.signatures import Signature
from ddelint.shapes.writing import symbolic


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads((rules_folder() / "ahead.toml").read_text("utf-8"))


def ahead_text(
    contract: Contract, plans: Sequence[GraphPlan], names: Mapping[str, str], signature: Signature, form: str
) -> str:
    """The file's text; `form`: exported, or packaged."""
    texts = _texts()
    asked = list(dict.fromkeys(name for plan in plans for text in plan.part.conditions for name in in_order(text)))
    words = words_for(asked, names, signature)
    sizes = [f"{words[name]} = {name}" for name in asked]
    guards = [texts["guard"].format(condition=guard_of(plan, words), graph=plan.part.name) for plan in plans]
    refused = ", ".join(f"{name} == {{{words[name]}}}" for name in asked)
    program = contract.label.partition(",")[0]
    text: str = texts["file"].format(
        what=f"{program} as {count_of(plans)}, {form}",
        mark=MARK,
        parts="\n".join(f"{plan.part.name}: {condition_of(plan)}" for plan in plans),
        because="\n".join(["", *because_of(contract), ""]),
        graphs="\n".join(f'    "{plan.part.name}": {_unbacked(plan)},' for plan in plans),
        parameters=signature.parameters,
        arguments=signature.arguments,
        needed="".join(_needed(contract)),
        sizes=textwrap.indent("\n".join(sizes), "    "),
        guards="".join(guards).rstrip("\n"),
        refused=f'f"no graph takes {refused}"' if asked else '"no graph takes it"',
        expected="".join(_expected(contract, plan, signature) for plan in plans),
        table="\n".join(f'    "{plan.part.name}": {_function(plan)},' for plan in plans),
        **texts[form],
    )
    return text


def _unbacked(plan: GraphPlan) -> str:
    """Parameter → the dimensions that are no number, as a dictionary's text."""
    found: dict[str, list[int]] = {}
    for name, text in plan.spec.dimensions.items():
        if not text.isdigit():
            parameter, dimension = dimension_of(name)
            found.setdefault(parameter, []).append(dimension)
    return "{" + ", ".join(f'"{parameter}": {dimensions}' for parameter, dimensions in found.items()) + "}"


def _needed(contract: Contract) -> Iterator[str]:
    """A graph that is packaged checks no sizes: what the program needs of them is asked in front."""
    for one in contract.requirements:
        text = requirement_text(one)
        yield _texts()["needed"].format(violated=negated(text), condition=text)


def _function(plan: GraphPlan) -> str:
    return f"expected_of_{plan.part.name}"


def _expected(contract: Contract, plan: GraphPlan, signature: Signature) -> str:
    texts = _texts()
    fixed = {name for name, text in plan.spec.dimensions.items() if text.isdigit()}
    conditions = [requirement_text(one) for one in contract.requirements]
    checked = [text for text in (*conditions, *plan.part.conditions) if read(text).names - fixed]
    lines = [texts["check"].format(condition=symbolic(text)) for text in dict.fromkeys(checked)]
    return str(
        texts["expected"].format(
            function=_function(plan),
            parameters=signature.parameters,
            condition=condition_of(plan),
            checks="".join(lines).rstrip("\n") or "    return",
        )
    )
