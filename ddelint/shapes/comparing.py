"""A declared spec against what the program needs: every difference with sizes on which it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ddelint.nouns.contracts import Contract, Requirement
from ddelint.nouns.size_specs import SizeSpec, SpecFinding
from ddelint.shapes.facts import Unreadable, as_true, dimension_of, negated, read
from ddelint.shapes.linear_forms import follows, refuted
from ddelint.shapes.requirements import beside, requirement_text, sharpened
from ddelint.shapes.specs import conditions_of, unsaid_by_dims
from ddelint.shapes.witnesses import find

TOO_STRICT, TOO_LOOSE, MISSING, CONTRADICTORY = "DDE407", "DDE408", "DDE409", "DDE410"
_MOST_SIZE = 1 << 16


@dataclass(slots=True)
class Compared:
    """What a comparison came to, before anything is run."""

    findings: list[SpecFinding] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    first: Mapping[str, int] | None = None
    """Sizes that both the spec and the program allow."""


def compare(contract: Contract, spec: SizeSpec) -> Compared:
    """Where a spec and a contract differ."""
    compared = Compared()
    example = contract.example
    compared.findings += _unknown(contract, spec)
    known = {name: text for name, text in spec.dimensions.items() if name in example}
    spec = replace(spec, dimensions=known)
    declared = [text for text in conditions_of(spec, example) if _is_about(text, example)]
    needed = {requirement_text(one): one for one in contract.requirements}
    both = find([*declared, *needed], example, _MOST_SIZE)
    if both.sizes is None:
        compared.findings += _contradiction(declared, needed, both.proved, example, compared)
        return compared
    compared.first = both.sizes
    _too_loose(declared, needed, contract, both.sizes, compared)
    _too_strict(declared, list(needed), spec, contract, both.sizes, compared)
    return compared


def _is_about(text: str, example: Mapping[str, int]) -> bool:
    try:
        return read(text).names <= example.keys()
    except Unreadable:
        return False


def _unknown(contract: Contract, spec: SizeSpec) -> list[SpecFinding]:
    """What a spec says of inputs, or dimensions, that the program does not have."""
    found = []
    for name in spec.dimensions:
        parameter, dimension = dimension_of(name)
        if parameter not in contract.ranks:
            text = f"it speaks of `{parameter}`, which is no tensor among the inputs"
        elif dimension >= contract.ranks[parameter] or dimension < 0:
            text = f"it speaks of `{name}`, and `{parameter}` has {contract.ranks[parameter]} dimensions"
        else:
            continue
        found.append(SpecFinding(CONTRADICTORY, name, text, contract.example))
    return list({one.message: one for one in found}.values())


def _contradiction(
    declared: Sequence[str],
    needed: Mapping[str, Requirement],
    proved: bool,
    example: Mapping[str, int],
    compared: Compared,
) -> list[SpecFinding]:
    alone = find(declared, example, _MOST_SIZE)
    if alone.sizes is None:
        if not alone.proved:
            compared.undecided.append(" and ".join(declared))
            return []
        return [SpecFinding(CONTRADICTORY, _conflict(declared), "no sizes satisfy it", example)]
    if not proved:
        compared.undecided.append(" and ".join([*declared, *needed]))
        return []
    fact = next((text for text in needed if refuted([*declared, text])), _conflict([*declared, *needed]))
    one = needed.get(fact)
    message = "no sizes that it allows are sizes that the program takes"
    return [_finding(CONTRADICTORY, fact, message, alone.sizes, one)]


def _conflict(conditions: Sequence[str]) -> str:
    """The fewest conditions that cannot hold together, as far as dropping one at a time goes."""
    left = list(conditions)
    for one in conditions:
        others = [text for text in left if text != one]
        if refuted(others):
            left = others
    return " and ".join(left)


def _too_loose(
    declared: Sequence[str],
    needed: Mapping[str, Requirement],
    contract: Contract,
    start: Mapping[str, int],
    compared: Compared,
) -> None:
    for text, one in needed.items():
        if _follows(text, declared):
            continue
        others = [other for other in needed if other != text]
        found = find([*declared, negated(text), *others], start, _MOST_SIZE)
        if found.sizes is None:
            found = find([*declared, negated(text)], start, _MOST_SIZE)
        if found.sizes is not None:
            message = f"it allows sizes for which `{text}` does not hold"
            compared.findings.append(_finding(TOO_LOOSE, text, message, found.sizes, one))
        elif not found.proved:
            compared.undecided.append(negated(text))
    for branch in contract.branches:
        if not any(_follows(side, declared) for side in _sides(branch.text)):
            taken = bool(read(branch.text).holds(start))
            found = find([*declared, *needed, as_true(branch.text, not taken)], start, _MOST_SIZE)
            if found.sizes is not None:
                message = f"`{branch.text}` decides, and it allows both sides: that is two graphs"
                finding = SpecFinding(
                    TOO_LOOSE, branch.text, message, found.sizes, row=branch.span.row, line=branch.code
                )
                compared.findings.append(finding)
            elif not found.proved:
                compared.undecided.append(as_true(branch.text, not taken))


def _too_strict(
    declared: Sequence[str],
    needed: Sequence[str],
    spec: SizeSpec,
    contract: Contract,
    start: Mapping[str, int],
    compared: Compared,
) -> None:
    sides = [side for branch in contract.branches for side in _sides(branch.text) if _follows(side, declared)]
    allowed = [*needed, *sides, *_apart_from_zero_and_one(spec, contract), *_beyond_dims(spec, contract)]
    allowed = list(dict.fromkeys([*allowed, *sharpened(allowed)]))
    elements = _elements(contract)
    for text in declared:
        if _follows(text, allowed) or (follows(text, [*allowed, *elements]) and not follows(text, elements)):
            continue  # a multiple that is needed wherever there are elements may be demanded of all sizes
        others = [other for other in declared if other != text]
        found = find([*allowed, negated(text), *others], start, _MOST_SIZE)
        if found.sizes is None:
            found = find([*allowed, negated(text)], start, _MOST_SIZE)
        if found.sizes is None:
            if not found.proved:
                compared.undecided.append(negated(text))
            continue
        static = next((name for name in read(text).names if name not in spec.dimensions), None)
        if static is not None and text == f"{static} == {contract.example[static]}":
            message = f"it says nothing of `{static}`, which is static then; the program takes other sizes"
            compared.findings.append(SpecFinding(MISSING, static, message, found.sizes))
        else:
            message = f"it demands `{text}`, and the program takes other sizes, too"
            compared.findings.append(SpecFinding(TOO_STRICT, text, message, found.sizes))


def _apart_from_zero_and_one(spec: SizeSpec, contract: Contract) -> list[str]:
    """What any Dim says of its size: torch.export takes none of 0 or 1 for another, whatever its `min`."""
    return [f"{name} >= 2" for name, size in contract.example.items() if spec.exported and size >= 2]


def _beyond_dims(spec: SizeSpec, contract: Contract) -> list[str]:
    """The example's sizes where an equation ties them that no Dim says: they can only be left static."""
    tied = {name for text in unsaid_by_dims(contract) if "==" in text for name in read(text).names}
    static = [name for name in contract.example if name in tied and name not in spec.dimensions]
    return [f"{name} == {contract.example[name]}" for name in static] if spec.exported else []


def _elements(contract: Contract) -> list[str]:
    """That there are elements at all, where what is needed hangs on it."""
    found = dict.fromkeys(text for one in contract.requirements for text in one.when if text.endswith(" >= 1"))
    return list(found)


def _follows(text: str, given: Sequence[str]) -> bool:
    return follows(text, given) or follows(beside(text, given), given)


def _sides(text: str) -> Iterable[str]:
    return text, negated(text)


def _finding(code: str, fact: str, message: str, sizes: Mapping[str, int], one: Requirement | None) -> SpecFinding:
    row = one.span.row if one is not None and one.span is not None else 0
    return SpecFinding(code, fact, message, sizes, row=row, line=one.code if one is not None else "")
