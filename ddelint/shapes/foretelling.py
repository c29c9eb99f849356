"""Which calls of a stream `torch.compile` compiles for again, and why: read off the contract, nothing is compiled.

How torch goes about it (2.13, torch/_dynamo/variables/builder.py): a size is static until a call that is compiled has
another one, then it is a symbol of its own, but 0 and 1 are static all the same; each branch is guarded by the side
that the call takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ddelint.knowledge.classification import guard_rule
from ddelint.nouns.contracts import SPECIALIZED, Branch, Contract, Requirement
from ddelint.nouns.size_specs import SizeSpec
from ddelint.nouns.size_streams import Cause, Compiled, Sizes
from ddelint.shapes.canonical import renamed, representatives
from ddelint.shapes.facts import as_true, dimension_of, read
from ddelint.shapes.ranges_given import needed_by_all
from ddelint.shapes.requirements import side_taken
from ddelint.shapes.specs import names_in, spec_of
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceError, SourceFile

BRANCH, ZERO_ONE, STATIC = "DDE401", "DDE402", "DDE404"


@dataclass(frozen=True, slots=True)
class _Graph:
    """What one graph was made for."""

    guards: tuple[Cause, ...]

    def refused_by(self, sizes: Sizes) -> tuple[Cause, ...]:
        """The guards that a call does not meet."""
        return tuple(guard for guard in self.guards if not read(guard.guard).holds(sizes))


def foretell(
    contract: Contract, stream: Sequence[Sizes], dynamic: Collection[str] = (), unbacked: Collection[str] = ()
) -> list[Compiled]:
    """The calls for which a graph is compiled; `dynamic`, `unbacked`: dimensions that are marked so."""
    symbols, seen = set(dynamic), dict[str, int]()
    same = representatives(contract.requirements, list(contract.example))
    rules = [rule_of(branch) for branch in contract.branches]
    graphs: list[_Graph] = []
    found: list[Compiled] = []
    for number, sizes in enumerate(stream, 1):
        refusals = [graph.refused_by(sizes) for graph in graphs]
        if any(not refused for refused in refusals):
            continue
        symbols |= {name for name, size in sizes.items() if seen.get(name, size) != size}
        seen |= {name: size for name, size in sizes.items() if name not in seen}
        graphs.append(_graph(contract, sizes, symbols - set(unbacked), set(unbacked), rules))
        nearest = min(reversed(refusals), key=len, default=())
        found.append(Compiled(number, sizes, _told_once(nearest, same)))
    return found


def _told_once(causes: Sequence[Cause], same: Mapping[str, str]) -> tuple[Cause, ...]:
    """The causes, of sizes that are always equal those of the first."""
    found = {renamed(cause.guard, same): cause for cause in reversed(causes)}
    return tuple(cause for cause in causes if found.get(renamed(cause.guard, same)) is cause)


def _graph(contract: Contract, sizes: Sizes, symbols: set[str], unbacked: set[str], rules: Sequence[str]) -> _Graph:
    """`rules`: that of each of the contract's branches."""
    guards: list[Cause] = []
    for name, size in sizes.items():
        if name in unbacked:
            continue
        if name not in symbols:
            guards.append(Cause(STATIC, f"{name} == {size}"))
        elif size in (0, 1):
            guards.append(Cause(ZERO_ONE, f"{name} == {size}"))
        else:
            guards.append(Cause(ZERO_ONE, f"{name} >= 2"))
    for branch, code in zip(contract.branches, rules):
        guards.append(Cause(code, _side(branch, sizes), branch.span, branch.code))
    for needed in contract.requirements:
        if needed.source == SPECIALIZED:
            numbers = sorted(read(needed.text).names)
            guards += [Cause(STATIC, f"{name} == {sizes[name]}", needed.span, needed.code) for name in numbers]
    return _Graph(tuple(guards))


def _side(branch: Branch, sizes: Sizes) -> str:
    """The condition on the side that such sizes take, as the program says it."""
    return as_true(branch.text, bool(read(branch.text).holds(sizes)))


def rule_of(branch: Branch) -> str:
    """The rule by which `check` reports a branch: DDE401, or one for 0 and 1, layouts, sizes of two inputs."""
    try:
        source = SourceFile.read(Path(branch.span.filename))
    except (OSError, SourceError):
        return BRANCH
    site = locate(source, branch.span)
    inputs = {dimension_of(name)[0] for name in read(branch.text).names}
    return BRANCH if site is None else guard_rule(site, "", len(inputs))


# ------------------------------------------------------------------------------------------------------------ remedies


def varying(stream: Sequence[Sizes]) -> list[str]:
    """The dimensions that have more than one size in a stream."""
    first = stream[0]
    return [name for name in first if any(sizes[name] != first[name] for sizes in stream)]


def dividing(contract: Contract, stream: Sequence[Sizes]) -> list[Branch]:
    """The branches of which a stream takes both sides: no marks make one graph of them."""
    return [
        branch for branch in contract.branches if len({bool(read(branch.text).holds(sizes)) for sizes in stream}) > 1
    ]


def numbered(contract: Contract, stream: Sequence[Sizes]) -> list[Requirement]:
    """What makes a number of a size that has more than one in a stream."""
    several = set(varying(stream))
    return [one for one in contract.requirements if one.source == SPECIALIZED and several & read(one.text).names]


def outside(contract: Contract, stream: Sequence[Sizes]) -> list[Sizes]:
    """Calls that no graph takes: the program does not."""
    facts = [read(text) for text in needed_by_all(contract)]
    return [sizes for sizes in stream if any(fact.holds(sizes) is False for fact in facts)]


def spec_for(contract: Contract, stream: Sequence[Sizes], names: Mapping[str, str]) -> SizeSpec:
    """A spec in which only what varies in a stream is dynamic: the fewest marks."""
    first = stream[0]
    sides = [side_taken(branch, first) for branch in contract.branches]
    here = replace(contract, dimensions=tuple(replace(one, size=first[one.name]) for one in contract.dimensions))
    spec = spec_of(here, names, sides)
    kept = set(varying(stream))
    dimensions = {name: text if name in kept else str(first[name]) for name, text in spec.dimensions.items()}
    used = {text for text in dimensions.values() if text in spec.variables}
    numbers = {text: first[name] for name, text in spec.dimensions.items() if text not in used}
    return replace(
        spec,
        variables={name: bounds for name, bounds in spec.variables.items() if name in used},
        dimensions=dimensions,
        assumptions=tuple(text for text in spec.assumptions if not _speaks_of(text, numbers)),
    )


def _speaks_of(text: str, words: Mapping[str, int]) -> bool:
    return bool(names_in(text) & words.keys())
