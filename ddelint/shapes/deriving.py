"""From the ways through a program to its contract: what every way needs, what one side needs, what only decides."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ddelint.nouns.contracts import Branch, Requirement
from ddelint.nouns.diagnostics import Span
from ddelint.shapes.canonical import branch_renamed, renamed, representatives, requirement_renamed
from ddelint.shapes.extremes import without_extremes
from ddelint.shapes.facts import Sizes, as_true, negated, read
from ddelint.shapes.linear_forms import follows, number_said, with_numbers
from ddelint.shapes.paths import Explored, Path, Step
from ddelint.shapes.plain import ALWAYS, plain
from ddelint.shapes.products import is_multiple_of_known, simpler
from ddelint.shapes.ranges import ranges_of
from ddelint.shapes.requirements import is_positive

_SOURCES = {"asked": "torch", "asserted": "torch", "specialized": "specialized"}


@dataclass(slots=True)
class _Condition:
    """One condition at one place, over all runs."""

    step: Step
    good: dict[bool, list[Path]] = field(default_factory=lambda: {True: [], False: []})
    """The runs that ended well, by how it came out."""
    bad: dict[bool, list[Path]] = field(default_factory=lambda: {True: [], False: []})

    @property
    def decides(self) -> bool:
        """Whether both ways end well."""
        return bool(self.good[True] and self.good[False])


@dataclass(frozen=True, slots=True)
class Derived:
    """What the runs say together."""

    requirements: tuple[Requirement, ...]
    branches: tuple[Branch, ...]
    undecided: tuple[str, ...]


def derive(explored: Explored) -> Derived:
    """The contract of the runs."""
    conditions = _conditions(explored.paths)
    deciding = [one for one in conditions if one.decides]
    good = [path for path in explored.paths if path.completed]
    needed: list[Requirement] = []
    for condition in conditions:
        if not condition.decides and (condition.good[True] or condition.good[False]):
            requirement = _requirement(condition, deciding, good)
            if requirement is not None and requirement.text != ALWAYS:
                needed += _apart(requirement)
    order = list(explored.sizes)
    kept = without_repetitions(_one_number_each(needed, explored.sizes))
    names = representatives(kept, order)
    kept = without_repetitions(_filled_in([requirement_renamed(one, names, order) for one in kept]))
    branches = [branch_renamed(_branch(one), names) for one in deciding]
    always = [one.text for one in kept if not one.when]
    branches = [one for one in branches if not follows(one.text, always) and not follows(negated(one.text), always)]
    undecided = dict.fromkeys(renamed(plain(text), names) for text in explored.undecided)
    return Derived(tuple(kept), tuple(_one_of_each(branches)), tuple(possible(undecided, always)))


def possible(undecided: Iterable[str], always: Sequence[str]) -> list[str]:
    """What was not decided, but for what cannot hold where `always` does."""
    return [text for text in undecided if not follows(negated(text), always)]


def _conditions(paths: Sequence[Path]) -> list[_Condition]:
    found: dict[tuple[str, Span | None], _Condition] = {}
    for path in paths:
        if path.ending == "cut":
            continue
        for step in path.steps:
            condition = found.setdefault((step.text, step.span), _Condition(step))
            ends = condition.good if path.completed else condition.bad
            ends[step.truth].append(path)
    return list(found.values())


def _requirement(condition: _Condition, deciding: Sequence[_Condition], good: Sequence[Path]) -> Requirement | None:
    """What is needed where only one side ends well; None where the other side was never seen."""
    step = condition.step
    side = bool(condition.good[True])
    failed = condition.bad[not side]
    if step.kind == "asked" and not failed:
        return None  # the other side cannot be reached, or nobody knows
    own = [path for path in failed if path.ending == "raised" and _last_asked(path) == (step.text, step.span)]
    ending = next(iter(own or failed), None)
    by_user = ending is not None and ending.by_user
    source = "raise" if by_user else _SOURCES[step.kind]
    return Requirement(
        plain(as_true(step.text, side)),
        source,
        step.span,
        step.code,
        tuple(dict.fromkeys(_when(condition, side, deciding, good))),
        ending.error if ending is not None else "",
        dict(ending.sizes) if ending is not None else None,
    )


def _last_asked(path: Path) -> tuple[str, Span | None] | None:
    asked = [step for step in path.steps if step.kind == "asked"]
    return (asked[-1].text, asked[-1].span) if asked else None


def _when(condition: _Condition, side: bool, deciding: Sequence[_Condition], good: Sequence[Path]) -> list[str]:
    """The sides of branches that all runs take which need this, and which some that don't need it do not take."""
    needing = condition.good[side]
    others = [path for path in good if not any(path is one for one in needing)]
    if not others:
        return []
    found = []
    for branch in deciding:
        for truth in (True, False):
            fact = as_true(branch.step.text, truth)
            opposite = [path for path in others if any(path is one for one in branch.good[not truth])]
            if opposite and all(read(fact).holds(path.sizes) for path in needing):
                found.append(plain(fact))
    return found


def _branch(condition: _Condition) -> Branch:
    step = condition.step
    true, false = _sizes(condition.good[True]), _sizes(condition.good[False])
    text = plain(step.text)
    return Branch(
        text,
        step.span or Span("", 1, 1, 1, 1),
        step.code,
        ranges_of(text),
        ranges_of(negated(text)),
        true,
        false,
        step.torch,
    )


def _sizes(paths: Sequence[Path]) -> Sizes:
    return dict(paths[0].sizes)


def _one_of_each(branches: Sequence[Branch]) -> list[Branch]:
    found: dict[tuple[str, Span], Branch] = {}
    for branch in branches:
        found.setdefault((branch.text, branch.span), branch)
    return list(found.values())


def _filled_in(needed: Sequence[Requirement]) -> list[Requirement]:
    """The same requirements in simpler words: its number for each size that can only be one, products cancelled."""
    always = [one.text for one in needed if not one.when and one.source != "specialized"]
    numbers = [text for text in always if number_said(text) is not None]
    texts = [with_numbers([*numbers, one.text])[-1] for one in needed]
    filled = [one if text == one.text else replace(one, text=plain(text)) for one, text in zip(needed, texts)]
    for one in list(filled):  # one after the other: what was put simply rests on the others as they are now
        at = next(at for at, other in enumerate(filled) if other is one)
        others = [other.text for other in (*filled[:at], *filled[at + 1 :]) if _holds_with(other, one)]
        chosen = without_extremes(one.text, [*others, *one.when])
        if chosen != one.text:
            one = filled[at] = replace(one, text=plain(chosen))
        found = simpler(one.text, [*others, *one.when], partial(is_positive, given=[*others, *one.when]))
        if found is not None and not found.texts:
            del filled[at]
        elif found is not None:
            when = tuple(dict.fromkeys((*one.when, *found.when)))
            filled[at] = replace(one, text=plain(" and ".join(found.texts)), when=when)
    return [_without_idle_conditions(part) for one in filled for part in _apart(one) if part.text != ALWAYS]


def _without_idle_conditions(one: Requirement) -> Requirement:
    """Without those of its conditions that follow from others, and those where it holds anyway if they do not."""
    when = list(one.when)
    for text in one.when:
        others = [other for other in when if other != text]
        if follows(text, others) or follows(one.text, [negated(text), *others]):
            when = others
    return one if len(when) == len(one.when) else replace(one, when=tuple(when))


def _holds_with(other: Requirement, one: Requirement) -> bool:
    return other.source != "specialized" and set(other.when) <= set(one.when)


def _one_number_each(needed: Sequence[Requirement], example: Sizes) -> list[Requirement]:
    """Of a size that is made a number, each run gives its own: the example's is kept, where it has gone that way."""
    numbers: dict[tuple[str, tuple[str, ...]], Requirement] = {}
    for one in needed:
        if one.source == "specialized":
            known = (one.text.rpartition(" == ")[0], one.when)
            if known not in numbers or not read(numbers[known].text).holds(example):
                numbers[known] = one if read(one.text).holds(example) else numbers.get(known, one)
    kept = {id(one) for one in numbers.values()}
    return [one for one in needed if one.source != "specialized" or id(one) in kept]


def _apart(requirement: Requirement) -> list[Requirement]:
    """One requirement for each of the conditions that one says together."""
    node = read(requirement.text).node
    if not isinstance(node, ast.BoolOp) or not isinstance(node.op, ast.And):
        return [requirement]
    return [replace(requirement, text=plain(ast.unparse(part))) for part in node.values]


_ORDER = {"raise": 0, "torch": 1, "specialized": 2, "eager": 3}


def without_repetitions(needed: Sequence[Requirement]) -> list[Requirement]:
    """Those that do not follow from others; what the program itself raises for is kept rather than what torch says."""
    kept: list[Requirement] = []
    for one in sorted(_on_any_side(needed), key=lambda one: (bool(one.when), _ORDER[one.source])):
        if not _is_said(one, kept):
            kept.append(one)
    for one in list(reversed(kept)):
        others = [k for k in kept if k is not one]
        if _is_said(one, others):
            kept = others
    return sorted(kept, key=lambda one: (one.span is None, one.span))


def _on_any_side(needed: Sequence[Requirement]) -> list[Requirement]:
    """The same requirements, without a condition where the same is needed on its other side, too."""
    found = list(needed)
    for at, one in enumerate(found):
        for text in one.when:
            rest = [other for other in found[at].when if other != text]
            side = {*rest, plain(negated(text))}
            given = [other.text for other in (*found[:at], *found[at + 1 :]) if set(other.when) <= side]
            if one.text in given or follows(one.text, [*side, *given]):
                found[at] = replace(found[at], when=tuple(rest))
    return found


def _is_said(one: Requirement, others: Sequence[Requirement]) -> bool:
    given = [other.text for other in others if set(other.when) <= set(one.when)]
    return follows(one.text, [*one.when, *given]) or is_multiple_of_known(one.text, given)
