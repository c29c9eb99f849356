"""A spec as conditions over input dimensions, and the spec that a contract comes to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ddelint.nouns.contracts import SPECIALIZED, Contract, Requirement
from ddelint.nouns.size_specs import Bounds, SizeSpec
from ddelint.shapes.canonical import representatives
from ddelint.shapes.facts import Fact, Unreadable, read, size_name, unused, variable_for, with_words
from ddelint.shapes.linear_forms import linear
from ddelint.shapes.plain import plain
from ddelint.shapes.requirements import contract_within, requirement_text, sharpened, side_taken


def conditions_of(spec: SizeSpec, example: Mapping[str, int]) -> list[str]:
    """What a spec allows, as conditions over input dimensions; those that it leaves out keep the example's size."""
    meaning, found = _meanings(spec)
    for name, size in example.items():
        text = spec.dimensions.get(name)
        if text is None:
            found.append(f"{name} == {size}")
        elif meaning.get(text) != name:
            found.append(f"{name} == {substituted(text, meaning)}")
    for variable, (low, high) in spec.variables.items():
        if variable in meaning:
            found += [f"{meaning[variable]} >= {low}"] if low else []
            found += [f"{meaning[variable]} <= {high}"] if high is not None else []
    found += [substituted(text, meaning) for text in spec.assumptions]
    return list(dict.fromkeys(plain(text) for text in found))


def _meanings(spec: SizeSpec) -> tuple[dict[str, str], list[str]]:
    """Variable → the dimension that it stands for; what else that says."""
    meaning: dict[str, str] = {}
    found: list[str] = []
    for name, text in spec.dimensions.items():
        if text in spec.variables:
            meaning.setdefault(text, name)
    for name, text in spec.dimensions.items():  # `8 * k` where nothing is `k` itself
        for variable in sorted(names_in(text) & spec.variables.keys() - meaning.keys()):
            factor, constant = affine(text, variable)
            if factor:
                shifted = f"({name} - {constant})" if constant else name
                meaning[variable] = f"{shifted} // {factor}"
                found.append(f"{shifted} % {factor} == 0")
                found.append(f"{name} >= {constant}")
    return meaning, found


def with_unsaid(spec: SizeSpec, contract: Contract) -> SizeSpec:
    """What Dims cannot say is no fault of theirs: taken from the contract, so that it is neither missing nor broken."""
    unsaid = unsaid_by_dims(contract)
    words = {name: f"({spec.dimensions.get(name, size)})" for name, size in contract.example.items()}
    return replace(spec, assumptions=(*spec.assumptions, *(with_words(text, words) for text in unsaid)))


def unsaid_by_dims(contract: Contract) -> list[str]:
    """What a contract needs and no Dim says: `a * b == 8 * c`, `a >= b`; so of the example's sides of branches."""
    sides = [side_taken(branch, contract.example) for branch in contract.branches]
    needed = [*contract.requirements, *(Requirement(text, "torch") for text in sides)]
    return [requirement_text(one) for one in needed if not _is_said_by_dims(one)]


def _is_said_by_dims(one: Requirement) -> bool:
    """Bounds, equal sizes, multiples, and a size that is a sum of multiples of one other."""
    fact = read(one.text)
    if one.source == SPECIALIZED or any(not text.endswith(" >= 1") for text in one.when):
        return True
    found = linear(fact)
    if len(fact.names) == 1:
        return _is_multiple(fact.node) or (found is not None and not one.when)
    return found is not None and found[1] is ast.Eq and len(fact.names) == 2 and not one.when


def _is_multiple(node: ast.expr) -> bool:
    """`n % 8 == 0` of one size."""
    match node:
        case ast.Compare(
            left=ast.BinOp(left=size, op=ast.Mod(), right=ast.Constant()),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ):
            return size_name(size) is not None
    return False


def names_in(text: str) -> set[str]:
    """The variables in an expression."""
    return {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}


def substituted(text: str, meaning: Mapping[str, str]) -> str:
    """An expression over variables, with an expression for each."""

    class Meant(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return node if node.id not in meaning else ast.parse(meaning[node.id], mode="eval").body

    return ast.unparse(Meant().visit(ast.parse(text, mode="eval").body))


def affine(text: str, variable: str) -> tuple[int, int]:
    """(a, b) where an expression is `a * variable + b`; (0, 0) where it is not."""
    try:
        found = linear(read(f"{substituted(text, {variable: 'v.shape[0]'})} == 0"))
    except Unreadable:
        return 0, 0
    if found is None or found[0].factors.keys() != {"v.shape[0]"}:
        return 0, 0
    return int(found[0].factors["v.shape[0]"]), int(found[0].constant)


def grouped(parameters: Mapping[str, Any], handed: Mapping[str, str], nothing: Any) -> dict[str, Any]:
    """Parameters as a ShapesSpec has them: those in `*args` as one list, with `nothing` for the others there."""
    found = {name: one for name, one in parameters.items() if name not in handed}
    places = {int(handed[name][1:]): one for name, one in parameters.items() if handed.get(name, "")[1:].isdigit()}
    if places:
        found["*args"] = [places.get(at, nothing) for at in range(max(places) + 1)]
    spread = {name: one for name, one in parameters.items() if handed.get(name) == "**"}
    return {**found, "**kwargs": spread} if spread else found


# ----------------------------------------------------------------------------------- the spec that a contract comes to


def spec_of(contract: Contract, names: Mapping[str, str], within: Sequence[str] = ()) -> SizeSpec:
    """What a contract says, written as a spec for one graph; `within` narrows it (a side of a branch, a range).

    `names`: the name of a dimension → what the program calls it.
    """
    contract = contract_within(contract, within)
    same = representatives(contract.requirements, list(contract.example))
    facts = [one.text for one in contract.requirements if not one.when and one.source != SPECIALIZED]
    facts += [requirement_text(one) for one in contract.requirements if one.when and one.source != SPECIALIZED]
    facts = sharpened([*facts, *within])
    numbers = {same.get(name, name): str(size) for name, size in _numbers(contract, facts).items()}
    numbers |= {name: numbers[leader] for name, leader in same.items() if leader in numbers}
    variables: dict[str, Bounds] = {}
    dimensions: dict[str, str] = {}
    meant: dict[str, str] = {}
    for name in contract.example:
        leader = same.get(name, name)
        if leader in numbers:
            dimensions[name] = numbers[leader]
        elif leader in meant:
            dimensions[name] = meant[leader]
        else:
            variable = unused(names.get(leader) or names.get(name) or variable_for(leader), variables)
            variables[variable] = _bounds(leader, facts)
            dimensions[name] = meant[leader] = variable
    words = {**meant, **{name: meant[leader] for name, leader in same.items() if leader in meant}, **numbers}
    assumptions = [with_words(text, words) for text in facts if not _is_said(text, same)]
    kept = tuple(dict.fromkeys(text for text in assumptions if names_in(text)))
    return SizeSpec(variables, dimensions, kept, origin=contract.label)


def _numbers(contract: Contract, facts: Iterable[str]) -> dict[str, int]:
    """The dimensions that have one size only: by a fact, or because a graph is made for each."""
    found: dict[str, int] = {}
    for one in contract.requirements:
        if one.source == SPECIALIZED:
            found |= {name: contract.example[name] for name in read(one.text).names}
    for text in facts:
        match read(text).node:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=int(value))]):
                name = size_name(left)
                if name is not None:
                    found[name] = value
    return found


def _bounds(name: str, facts: Iterable[str]) -> Bounds:
    low, high = 0, None
    for text in facts:
        bound = _bound(read(text))
        if bound is not None and bound[0] == name:
            _, op, value = bound
            if op is ast.GtE:
                low = max(low, value)
            else:
                high = value if high is None else min(high, value)
    return low, high


def _bound(fact: Fact) -> tuple[str, type[ast.cmpop], int] | None:
    """`x.shape[0] <= 8` as its parts; strict ones have become inclusive (see `plain`)."""
    found = linear(fact)
    if found is None or len(found[0].factors) != 1 or found[1] not in (ast.GtE, ast.LtE):
        return None
    ((name, factor),) = found[0].factors.items()
    limit = Fraction(-found[0].constant, factor)
    return (name, found[1], int(limit)) if factor == 1 and limit.denominator == 1 else None


def _is_said(text: str, same: Mapping[str, str]) -> bool:
    """Whether variables and their bounds say it already."""
    fact = read(text)
    if _bound(fact) is not None:
        return True
    match fact.node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            first, second = size_name(left), size_name(right)
            return (first is not None and isinstance(right, ast.Constant)) or (
                first is not None and second is not None and same.get(first, first) == same.get(second, second)
            )
    return False


def on_inputs(spec: SizeSpec) -> SizeSpec:
    """The same spec with each variable a dimension itself, as torch wants it: `8 * k` is a dimension divisible by 8."""
    variables, dimensions = dict(spec.variables), dict(spec.dimensions)
    assumptions = list(spec.assumptions)
    for variable, (low, high) in spec.variables.items():
        texts = [text for text in dimensions.values() if variable in names_in(text)]
        if variable in texts or not texts:
            continue
        factor, constant = affine(texts[0], variable)
        if not factor:
            continue
        whole = unused(f"{variable}_{factor}", variables)
        del variables[variable]
        variables[whole] = factor * low + constant, None if high is None else factor * high + constant
        meaning = {variable: f"({whole} - {constant}) // {factor}" if constant else f"{whole} // {factor}"}
        dimensions = {
            name: whole if text == texts[0] else substituted(text, meaning) for name, text in dimensions.items()
        }
        assumptions = [substituted(text, meaning) for text in assumptions]
        assumptions.append(f"({whole} - {constant}) % {factor} == 0" if constant else f"{whole} % {factor} == 0")
    return replace(spec, variables=variables, dimensions=dimensions, assumptions=tuple(assumptions))


def narrowed(spec: SizeSpec, variable: str, low: int, high: int | None) -> SizeSpec:
    """The spec with other bounds for one variable."""
    return replace(spec, variables={**spec.variables, variable: (low, high)})
