"""What all parts of a walk share: the frames, what was met, what is remembered of the file, and the ways into a part.

The parts are functions in modules of their own, one for each kind of expression or statement; `interpreter` says which
is which. Here is only what they go through to reach each other.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from ddelint.static.domain.constructed import Constructed
from ddelint.static.domain.definitions import ClassInfo, FunctionNode
from ddelint.static.domain.demands import Demand, Event, Parts
from ddelint.static.domain.eager import concrete
from ddelint.static.domain.evidence import Evidence
from ddelint.static.domain.invariants import Invariants
from ddelint.static.domain.joining import join
from ddelint.static.domain.state import Frame, State, join_states
from ddelint.static.domain.summaries import Summaries
from ddelint.static.domain.values import NONE, UNKNOWN, Tensor, Unbacked, Value, bare
from ddelint.static.program.regions import FileIndex
from ddelint.static.transfer.numbers import Numbers
from ddelint.static.walk.bindings import Bindings
from ddelint.static.walk.following import Following
from ddelint.static.walk.spines import FIRST

MOST_STEPS = 400_000
"""Nodes evaluated for one root, so that the next one has its share, too."""
MOST_STEPS_IN_A_FILE = 1_000_000
"""Nodes evaluated for all of a file's roots."""


class BudgetError(Exception):
    """The steps of a root, or of its file, are used up."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """Which part evaluates, or runs, which kind of node. Each is given the walker, the node, and the state."""

    expressions: Mapping[type[ast.AST], Callable[..., Value]]
    links: Mapping[type[ast.AST], Callable[..., Value]]
    """Expressions that begin with another one (see spines), whose value they are given before the state."""
    statements: Mapping[type[ast.AST], Callable[..., State | None]]


class Walker:
    """A walk through the functions of one file. `events` grows in the order in which questions are met."""

    def __init__(self, index: FileIndex, handlers: Handlers) -> None:
        self.index = index
        self.source = index.source
        self._expressions, self._links, self._statements = handlers.expressions, handlers.links, handlers.statements
        self.events: list[Event] = []
        self._reported: set[tuple[object, ...]] = set()
        """What events are about: the same question again says nothing new."""
        self.steps = 0
        """Nodes evaluated so far, for all roots."""
        self.limit = MOST_STEPS
        """The number of steps at which the root is given up."""
        self.row = 0
        """The last row of the root that was looked at."""
        self.quiet = 0
        """Above zero: nothing is recorded (constructors run in eager)."""
        self.frames: list[Frame] = []
        self.scopes: list[tuple[Frame, State]] = []
        """The comprehensions being interpreted: the frame that each stands in, and what holds around it."""
        self.numbers = Numbers()
        self.invariants = Invariants()
        self.following = Following()
        self.summaries = Summaries(self.numbers.symbols)
        # what is remembered of the file's names, classes and functions
        self.globals: dict[str, Value] = {}
        self.attribute_tables: dict[ClassInfo, dict[str, Value]] = {}
        self.constructed: dict[ClassInfo, Constructed] = {}
        self.fields_of_records: dict[ClassInfo, tuple[str, ...] | None] = {}
        self.tuples: dict[ClassInfo, bool] = {}
        self.evidence: dict[ast.AST, Evidence] = {}
        self.nonlocals: dict[ast.AST, tuple[str, ...]] = {}
        self._array_users: dict[ast.AST, bool] = {}
        self._bindings: dict[ast.AST, Bindings] = {}
        self.unused: ast.expr | None = None
        """The last call that stood as a statement: nobody looks at what it gives."""
        self.kept: list[object] = []
        """What is known by its address, so that nothing else gets that."""

    def release(self) -> None:
        """Nothing more is asked."""
        vars(self).clear()

    # ---- evaluating

    def evaluate(self, node: ast.expr, state: State) -> Value:
        """The value of an expression; demands that it makes on the way are recorded."""
        spine: list[ast.expr] = []
        kind = type(node)
        while (part := FIRST.get(kind)) is not None:
            spine.append(node)
            node = getattr(node, part)
            kind = type(node)
        self.steps += 1 + len(spine)
        if self.steps > self.limit:
            raise BudgetError
        handler = self._expressions.get(kind)
        values = self.frames[-1].values
        value = values[node] = UNKNOWN if handler is None else handler(self, node, state)
        while spine:
            link = spine.pop()
            value = values[link] = self._links[type(link)](self, link, value, state)
        return value

    def value_of(self, node: ast.expr, state: State) -> Value:
        """What an expression was that this function has evaluated; where it has not yet, what it would be."""
        known = self.frames[-1].values.get(node)
        if known is not None:
            return known
        self.quiet += 1
        try:
            return self.evaluate(node, state.copy())
        finally:
            self.quiet -= 1

    def block(self, body: list[ast.stmt], state: State | None) -> State | None:
        """Run statements; None where no path gets past them."""
        of_root = len(self.frames) == 1
        for statement in body:
            if state is None:
                return None
            if of_root and statement.lineno > self.row:
                self.row = statement.lineno
            handler = self._statements.get(type(statement))
            if handler is not None:
                state = handler(self, statement, state)
        return state

    def settled(self, node: ast.expr, names: dict[str, Value] | None = None) -> Value:
        """The value of an expression that runs in eager, before anything is compiled."""
        self.quiet += 1
        self.frames.append(Frame(node, None))
        try:
            return concrete(self.evaluate(node, State(dict(names or {}))))
        finally:
            self.frames.pop()
            self.quiet -= 1

    def execute(
        self, definition: FunctionNode | ast.Lambda, owner: ClassInfo | None, entry: State
    ) -> tuple[Value | None, State | None]:
        """Interpret a function's body: what it returns (None: it never does), and what holds at its ends."""
        values, end = self.ends(definition, owner, entry)
        return (reduce(join, values) if values else None), end

    def ends(
        self, definition: FunctionNode | ast.Lambda, owner: ClassInfo | None, entry: State
    ) -> tuple[list[Value], State | None]:
        """Likewise what each of its ends returns."""
        frame = Frame(definition, owner)
        self.frames.append(frame)
        try:
            if isinstance(definition, ast.Lambda):
                return [self.evaluate(definition.body, entry)], entry
            end = self.block(definition.body, entry)
        finally:
            self.frames.pop()
        if frame.generator:
            return [UNKNOWN], end
        values = [value for value, _ in frame.returned]
        states = [reached for _, reached in frame.returned]
        if end is not None:
            values.append(NONE)
            states.append(end)
        return values, join_states(states)

    @property
    def uses_arrays(self) -> bool:
        """Whether the function that is read mentions a library of arrays: what has their methods may be one."""
        node = self.frames[-1].node
        found = self._array_users.get(node)
        if found is None:
            text = self.index.text_of(node)
            found = self._array_users[node] = any(name in text for name in self.index.array_libraries)
        return found

    def bindings_of(self, function: ast.AST) -> Bindings:
        """What a function binds its names to."""
        if function not in self._bindings:
            self._bindings[function] = Bindings(function)
        return self._bindings[function]

    def quietly(self, definition: FunctionNode, owner: ClassInfo, entry: State) -> State | None:
        """Interpret a function's body without recording anything; what holds at its end."""
        if any(frame.node is definition for frame in self.frames):
            return None
        self.quiet += 1
        try:
            return self.execute(definition, owner, entry)[1]
        finally:
            self.quiet -= 1

    # ---- recording

    def record(
        self,
        node: ast.expr,
        question: str,
        value: Value | None,
        *,
        kind: str = "",
        subject: ast.expr | None = None,
        operator: str = "",
        rule: str = "",
        advice: bool = False,
        parts: Parts = (),
        text: str = "",
    ) -> None:
        """Note that `node` demands something of `value`."""
        if self.quiet:
            return
        if not kind:
            kind = value.topic if isinstance(value, Unbacked) else "tensor" if isinstance(value, Tensor) else "number"
        born = value.birth if isinstance(value, Unbacked) else None
        reported = (node, question, kind, subject, operator, rule, advice, text, born)
        if reported in self._reported:
            return  # another call of the same function
        self._reported.add(reported)
        trail = value.trail if isinstance(value, (Unbacked, Tensor)) else None
        fact = self.invariants.answered(value) if question == "truth" else ""
        self.events.append(
            Event(node, question, kind, value, trail, subject, operator, rule, advice, parts, text, fact)
        )

    def record_all(self, demands: Iterable[Demand], state: State) -> None:
        """Note what an operator, or a construct of Python, demands here."""
        for demand in demands:
            if self.quiet:
                return
            found = tuple(part for node in demand.look_into for part in self.parts(node, state))
            self.record(
                demand.node,
                demand.question,
                demand.value,
                kind=demand.kind,
                subject=demand.subject,
                operator=demand.operator,
                rule=demand.rule,
                advice=demand.advice,
                parts=found or demand.parts,
                text=demand.text,
            )

    def parts(self, node: ast.expr, state: State) -> Parts:
        """The largest sub-expressions of a question that hold unbacked values (or tensors)."""
        if self.quiet:
            return ()
        found: list[tuple[ast.expr, Value]] = []
        waiting = deque([node])
        while waiting:
            current = waiting.popleft()
            match current:
                case ast.Compare(left=left, comparators=comparators):
                    waiting += [left, *comparators]
                case ast.BoolOp(values=values):
                    waiting += values
                case ast.BinOp(left=left, right=right):
                    waiting += [left, right]
                case ast.UnaryOp(operand=operand):
                    waiting.append(operand)
                case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
                    value = bare(self.value_of(current, state))
                    if isinstance(value, (Unbacked, Tensor)):
                        found.append((current, value))
        return tuple(found)
