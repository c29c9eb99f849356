"""What is outlined: statements or an expression, what goes in, and what comes out."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ddelint.rewrite.parts.outlining.forms import MODULE, TENSOR, TENSORS, Form, Leaf, leaves, rebuilt
from ddelint.rewrite.reading.names import is_compiling_of
from ddelint.rewrite.writing.rewrites import Expr, Part, Statements, Writer

PARAMETERS, BUFFERS = "parameters", "buffers"
"""What modules hold, and what an operator calls the list of it."""


class NotOutlined(Exception):
    """The region cannot be an operator."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One parameter of the function: its name there, what is handed over, and its form.

    `changed`: the region changes it in place, so that the operator works on a copy, which goes back behind the call
    where `given_back` says so. `detached`: no gradient flows through it, and none may seem to: an operator without a
    gradient gives tensors that require one where an operand does (torch 2.13). `without_history`: what goes back never
    has a gradient in eager, and must not hold on to the graph of this call.
    """

    name: str
    text: str
    form: Form
    changed: bool = False
    given_back: bool = False
    detached: bool = False
    without_history: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """One value that comes out. `separate`: for each of its leaves, whether it shares no memory with an operand."""

    name: str
    form: Form
    separate: tuple[bool, ...] = ()


@dataclass
class Region:
    """What is outlined: statements of one block, or one expression."""

    body: Sequence[ast.stmt]
    expression: ast.expr | None = None
    operands: list[Operand] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    targets: Mapping[str, str] = field(default_factory=dict)
    """Name inside → what the function around it calls that: what results are given to; empty where it returns."""
    parts_read: dict[str, int] = field(default_factory=dict)
    """Name of a list → how many elements of it come out: the first ones, or the last where it is negative."""
    replacements: dict[str, str] = field(default_factory=dict)
    """Attribute chain → the parameter that stands for it."""
    returns: bool = False
    """Whether it ends in a return of the function around it."""
    typed: bool = True
    """Whether it becomes an operator: everything has a type that a schema knows."""
    random: bool = False
    """Whether it may draw random numbers."""
    states: tuple[str, ...] = ()
    """What of its modules comes out, changed: of PARAMETERS, those that require no gradient, and BUFFERS."""

    @property
    def asks_compiling(self) -> bool:
        """Whether it asks if the program is being compiled, which an operator is not: it is told who calls it."""
        parts = self.body if self.expression is None else [self.expression]
        calls = (node for part in parts for node in ast.walk(part) if isinstance(node, ast.Call) and not node.args)
        return any(is_compiling_of(ast.unparse(call.func)) for call in calls)

    @property
    def modules(self) -> list[Operand]:
        """The operands that are modules: these come first."""
        return [operand for operand in self.operands if operand.form.annotation == MODULE]

    @property
    def values(self) -> list[Operand]:
        """The other operands."""
        return [operand for operand in self.operands if operand.form.annotation != MODULE]

    @property
    def given_back(self) -> list[Operand]:
        """The operands whose new value is put in their place behind the call."""
        return [operand for operand in self.operands if operand.given_back]

    @property
    def crosses_as_it_is(self) -> bool:
        """Whether the operator can be called in the place of the function."""
        forms = [*(operand.form for operand in self.operands), *(result.form for result in self.results)]
        if len(self.results) == 1 and not forms[-1].keys and forms[-1].annotation.startswith("tuple["):
            forms[-1:] = forms[-1].parts or forms[-1:]
        return all(form.is_leaf for form in forms) and not self.given_back

    def word(self, word: str) -> str:
        """What the operator calls something, unlike any operand."""
        while any(operand.name == word for operand in self.operands):
            word += "_"
        return word

    def parameters(self, write: Writer) -> list[Leaf]:
        """What the operator takes, read off the function's operands."""
        found: list[Leaf] = []
        modules = [write.expression(operand.name) for operand in self.modules]
        if modules:
            numbers = write.expr("[{}]", [write.expr("_number_of({})", module) for module in modules])
            found.append(Leaf(self.word("numbers"), numbers, "list[int]", False))
            for word in (PARAMETERS, BUFFERS):
                held = self.held(write, word)
                flows = word == PARAMETERS and self.differentiable
                listed = "[{}]" if flows or word == BUFFERS else "[part.detach() for part in [{}]]"
                found.append(Leaf(self.word(word), write.expr(listed, held), TENSORS, flows))
        for operand in self.values:
            found += leaves(write, operand.form, operand.name, operand.name)
        return found

    def outputs(self, write: Writer, result: Part) -> list[tuple[Leaf, bool]]:
        """What the operator gives, read off the function's result, and whether it is certainly of its own."""
        found: list[tuple[Leaf, bool]] = []
        for number, each in enumerate(self.results):
            value = result if len(self.results) == 1 else write.expr("{}[{}]", result, str(number))
            parts = list(leaves(write, each.form, each.name or "result", value))
            found += zip(parts, each.separate or [False] * len(parts), strict=True)
        for operand in self.given_back:
            after = self.after(operand.name)
            found.append((Leaf(after, write.expression(after), TENSOR, operand.form.floating), True))
        for state in map(self.after, self.states):
            found.append((Leaf(state, write.expression(state), TENSORS, False), True))
        for leaf in self.changing(write):
            found.append((Leaf(self.word(f"{leaf.name}_before"), leaf.value, leaf.schema, False), False))
        return found

    def changing(self, write: Writer) -> list[Leaf]:
        """What the operator takes that changes behind the call, and that its backward needs as it was.

        The operator gives copies of it: one that is made beside the operator is made again in a compiled backward, of
        what has changed by then (torch/_functorch/partitioners.py, 2.13: a clone is cheap to recompute).
        """
        changed = {operand.name for operand in self.given_back} | set(map(self.word, self.states))
        taken = self.parameters(write) if self.differentiable else []
        return [Leaf(o.name, write.expression(o.name), o.schema, False) for o in taken if o.name in changed]

    def after(self, name: str) -> str:
        """What the operator calls the copy that it changes and gives back."""
        return self.word(f"{name}_after")

    def held(self, write: Writer, state: str) -> list[Part]:
        """All PARAMETERS or BUFFERS of its modules, as parts of a list."""
        template = "{}.parameters()" if state == PARAMETERS else "{}.buffers()"
        return [write.starred(write.expr(template, module.name)) for module in self.modules]

    def copies(self, write: Writer) -> Statements:
        """What has to be copied before the function runs: it changes that."""
        lines: Statements = []
        for operand in self.given_back:
            lines += write.assigned(self.after(operand.name), write.expr("{}.clone()", operand.name))
        for state in dict.fromkeys((*self.states, BUFFERS)) if self.modules else ():
            lines += write.assigned(self._used(state), write.expr("[part.clone() for part in {}]", self.word(state)))
        return lines

    def _used(self, state: str) -> str:
        """What the operator calls the list of PARAMETERS or BUFFERS that its function runs with."""
        return self.after(state) if state in self.states else self.word(state)

    def called(self, write: Writer, name: str) -> Expr:
        """The function `name` on what the operator was given."""
        given = iter([leaf.name for leaf in self.parameters(write)][3 * bool(self.modules) :])
        parts = [rebuilt(write, operand.form, given) for operand in self.values]
        for number, operand in enumerate(self.values):
            if operand.given_back:
                parts[number] = write.expression(self.after(operand.name))
            elif operand.changed:
                parts[number] = write.expr("{}.clone()", operand.name)
        if self.asks_compiling:
            parts.append(write.expr("True"))
        if not self.modules:
            return write.expr("{}({})", name, parts)
        held = write.expr("[*{}, *{}]", self._used(PARAMETERS), self._used(BUFFERS))
        return write.expr("_Outlined({}, {}).run({}, {})", name, self.word("numbers"), held, write.tuple(parts))

    @property
    def differentiable(self) -> bool:
        """Whether gradients flow from an operand to a result."""
        flows_in = bool(self.modules) or any(map(_flows, (operand.form for operand in self.operands)))
        return flows_in and any(map(_flows, [*(r.form for r in self.results), *(o.form for o in self.given_back)]))


def _flows(form: Form) -> bool:
    return (form.floating and not form.counted) or any(map(_flows, form.parts))
