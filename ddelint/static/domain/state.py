"""What holds at one point of the program: names, attributes, and facts about symbols."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ddelint.static.domain.definitions import ClassInfo
from ddelint.static.domain.facts import Facts
from ddelint.static.domain.joining import join
from ddelint.static.domain.values import UNKNOWN, Value


@dataclass(frozen=True, slots=True)
class Choice:
    """What a name was bound to on the two sides of a test of a switch (`self.training`, `mask is None`)."""

    switch: str
    joined: Value
    """What it may be, of both: it was bound anew since where it holds something else."""
    on: Value
    off: Value


class State:
    """Values of names and of attribute chains (`self.cache`), and facts. A missing chain is as the class made it."""

    __slots__ = ("attributes", "choices", "constructs", "facts", "names", "reads")

    def __init__(self, names: dict[str, Value] | None = None, facts: Facts | None = None) -> None:
        self.names: dict[str, Value] = names if names is not None else {}
        self.attributes: dict[str, Value] = {}
        """What is known of attributes, by their chains; and of entries of something unknown, by a text in its place."""
        self.facts = facts if facts is not None else Facts()
        self.reads: dict[object, ast.expr] = {}
        """Numbers read on every path to here, by what was read: a second read makes a second symbol."""
        self.choices: dict[str, Choice] = {}
        self.constructs = False
        """Whether this is inside a constructor: an attribute that it has not set yet is not there."""

    def unset(self, value: Value) -> Value:
        """What an attribute may be that holds the value on one path, and is not mentioned on the other."""
        return value if self.constructs else UNKNOWN

    def copy(self) -> State:
        """An independent copy."""
        other = State(dict(self.names), self.facts.copy())
        other.attributes = dict(self.attributes)
        other.reads = dict(self.reads)
        other.choices = dict(self.choices)
        other.constructs = self.constructs
        return other

    def take(self, other: State) -> None:
        """Become `other`."""
        self.names, self.attributes = other.names, other.attributes
        self.facts, self.reads, self.choices = other.facts, other.reads, other.choices

    def of_self(self) -> dict[str, Value]:
        """What is known of the object that a method is called on."""
        return {chain: value for chain, value in self.attributes.items() if chain.startswith("self.")}

    def forget_attributes(self, name: str) -> None:
        """A name was bound anew: what was known of its attributes is void."""
        prefix = name + "."
        for chain in [c for c in self.attributes if c.startswith(prefix)]:
            del self.attributes[chain]

    def forget_entries(self, name: str) -> None:
        """What a name holds may have been changed: what was put behind texts into it (`state["k"]`) is void."""
        own = (f"{name}.'", f'{name}."')
        for chain in [c for c in self.attributes if c.startswith(own)]:
            del self.attributes[chain]

    def forget_choices(self, chain: str) -> None:
        """A name or attribute was bound anew: as a switch it says nothing of what was bound before."""
        own = (f"{chain} ", f"{chain}.")
        self.choices = {name: c for name, c in self.choices.items() if not f"{c.switch} ".startswith(own)}

    def choose(self, switch: str, on: bool) -> None:
        """A switch is known to be on, or off: so is what was bound under it."""
        for name, choice in self.choices.items():
            if choice.switch == switch and self.names.get(name) is choice.joined:
                self.names[name] = choice.on if on else choice.off


def join_states(states: list[State]) -> State | None:
    """What holds after several paths meet; None where none of them gets there."""
    if not states:
        return None
    result = states[0]
    for other in states[1:]:
        merged = dict(result.names)
        # bound on one path only: on the other a use would raise, so this path's value is the one seen
        for name, theirs in other.names.items():
            ours = merged.get(name)
            if ours is not theirs:
                merged[name] = theirs if ours is None else join(ours, theirs)
        joined = State(merged, result.facts.common(other.facts))
        for chain, value in result.attributes.items():
            there = other.attributes.get(chain)
            joined.attributes[chain] = result.unset(value) if there is None else join(value, there)
        for chain, value in other.attributes.items():
            if chain not in result.attributes:
                joined.attributes[chain] = result.unset(value)
        joined.constructs = result.constructs
        joined.choices = {name: c for name, c in result.choices.items() if other.choices.get(name) is c}
        joined.reads = {key: node for key, node in result.reads.items() if other.reads.get(key) is node}
        result = joined
    return result


class Meeting:
    """Joins any number of states without keeping them, few at a time: the two sides of a thousand operands of `and`.

    Up to AT_ONCE they are joined one after the other; of more, so many are joined to one, and so on.
    """

    AT_ONCE = 16

    def __init__(self) -> None:
        self._levels: list[list[State]] = []

    def add(self, state: State) -> None:
        """One more path, behind the others."""
        full: State | None = state
        for level in self._levels:
            if full is None:
                return
            level.append(full)
            full = None
            if len(level) == self.AT_ONCE:
                full = join_states(level)
                level.clear()
        if full is not None:
            self._levels.append([full])

    def joined(self) -> State | None:
        """What holds after all of them meet; None where there is none."""
        return join_states([state for level in reversed(self._levels) for state in level])


@dataclass
class Loop:
    """Where `break` and `continue` of one loop lead."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


@dataclass
class Frame:
    """One function being interpreted."""

    node: ast.AST
    owner: ClassInfo | None
    returned: list[tuple[Value, State]] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    generator: bool = False
    values: dict[ast.expr, Value] = field(default_factory=dict)
    """What each expression was when it was last evaluated, so that nothing is evaluated again to be explained."""
