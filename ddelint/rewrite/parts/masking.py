"""Steps that change state, each made where a test says so: what a branch does, with no branch."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ddelint.knowledge.unions import is_none
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.arms import NotMergeable
from ddelint.rewrite.parts.inlined import Inlined, inlined
from ddelint.rewrite.parts.merge import device_of
from ddelint.rewrite.parts.truths import Truths
from ddelint.rewrite.reading.around import is_tensor, read_elsewhere
from ddelint.rewrite.reading.gone_through import tensors_given
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import (
    SAME_MEMORY,
    draws_random,
    fresh_name,
    is_pure,
    names_read,
    names_written,
    read_in,
    unused,
)
from ddelint.rewrite.reading.naming import condition_name
from ddelint.rewrite.reading.regions import free_names
from ddelint.rewrite.writing.rewrites import Expr, Statements

_PLAIN = frozenset(("int", "float", "bool", "str", "none"))
"""Kinds of values that a run saw, which are no symbols."""
_DEEPEST = 3
"""How many calls within calls are followed."""


def _let_go(statement: ast.AST) -> list[str]:
    """The attributes that `self.last = None`, `self.last, self.next = None, None` set to None; nothing for all else."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.AnnAssign(target=target, value=ast.Constant() as value):
            targets = [target]
        case _:
            return []
    places = [place for target in targets for place in (target.elts if isinstance(target, ast.Tuple) else [target])]
    if not all(isinstance(place, ast.Attribute) and is_pure(place) for place in places):
        return []
    given = value.elts if isinstance(value, ast.Tuple) else [value]
    return [ast.unparse(place) for place in places] if all(map(is_none, given)) else []


class Masking:
    """Writes steps, each under a test that has a name."""

    def __init__(self, context: Context, test: Expr, holds: bool, assumed: bool, depth: int = 0) -> None:
        self._context, self._test, self._holds, self._assumed, self._depth = context, test, holds, assumed, depth
        self._kinds, self._write = Kinds(context), context.write
        self.changes = 0
        self.let_go: list[str] = []
        """Attributes that steps set to None, which stay what they are: no choice between a tensor and None compiles."""
        self.names: set[str] = set()
        self._tests = {context.write.code(test)}
        self._tensors: set[str] = set()
        """Names that a loop among the steps gives tensors."""
        self._looped: set[str] = set()
        """Names that a loop among the steps gives something."""
        self._tensors_said: set[str] = set()
        """What a step changes by a method of a tensor's: `self.sums[name]`, of which no run has seen anything."""

    def step(self, statement: ast.stmt) -> Statements:
        """One step. Raises NotMergeable for what is neither a value of a name nor a change of a tensor."""
        write = self._write
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return []
            case ast.Assign() | ast.AnnAssign() if given := _let_go(statement):
                self.let_go += given
                return []
            case ast.Assign(targets=[ast.Tuple(elts=elements)]) if not all(isinstance(e, ast.Name) for e in elements):
                raise NotMergeable("several places at once")
            case ast.Expr(value=ast.Call() as call) if (ran := inlined(self._context, call)) is not None:
                return self._inlined(ran)
            case (
                ast.Assign(targets=[ast.Name() | ast.Tuple()], value=value)
                | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
            ) if is_pure(value) and not draws_random(value):
                self.names |= names_written(statement)
                self._tensors -= names_written(statement)
                return write.block([statement])
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute() as place], value=value):
                return self._changed(place, self._built(value), value)
            case ast.AugAssign(target=place, op=operator, value=value):
                new = write.operation(self._built(place), operator, self._built(value))
                changed = self._changed if isinstance(place, ast.Subscript) else self._copied
                return changed(place, new, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method)) as call) if method.endswith("_"):
                owner, new = self._left_by(call)
                if self._kinds.of(owner) is Kind.UNKNOWN and names_read(owner) & self._looped:
                    self._tensors_said.add(ast.unparse(owner))  # nothing but tensors has such a method
                return self._copied(owner, new, *call.args)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=module, attr=method), args=[given], keywords=[])) if (
                method in knowledge().loading
            ):
                return self._loaded(module, given, knowledge().loading[method])
            case ast.For(target=target, iter=several, body=body, orelse=[]) if is_pure(several):
                self.names |= names_written(target)
                self._tensors -= names_written(target)
                self._tensors |= tensors_given(self._kinds, target, several)
                self._looped |= names_written(target)
                steps = self._steps(body)
                return write.lines("for {each} in {several}:\n    {steps}", each=target, several=several, steps=steps)
            case ast.With(items=[ast.withitem(manager, None)], body=body) if is_pure(manager):
                return write.lines("with {manager}:\n    {steps}", manager=manager, steps=self._steps(body))
            case ast.If(test=test) if is_pure(test):
                return self._branch(statement)
        raise NotMergeable(f"a statement that is more than a change of state: {type(statement).__name__}")

    def _steps(self, body: Sequence[ast.stmt]) -> Statements:
        let_go = len(self.let_go)
        steps = [line for statement in body for line in self.step(statement)]
        if not steps and let_go < len(self.let_go):
            return self._write.lines("pass")
        if not steps:
            raise NotMergeable("a block that changes nothing")
        return steps

    def _inlined(self, ran: Inlined) -> Statements:
        """What a call runs, step by step."""
        if self._depth == _DEEPEST:
            raise NotMergeable("calls within calls")
        write = self._write
        inner = Masking(ran.context, self._test, self._holds, self._assumed, self._depth + 1)
        inner._tests, inner.let_go = self._tests, self.let_go
        lines = [line for name, value in ran.given for line in write.assigned(name, value)]
        lines += inner._steps(ran.body)
        for manager in reversed(ran.managers):
            lines = write.lines("with {manager}:\n    {steps}", manager=manager, steps=lines)
        self.changes += inner.changes
        self.names |= inner.names | {name for name, _ in ran.given}
        return lines

    def _branch(self, statement: ast.If) -> Statements:
        """A branch inside, whose steps are made where its test says so as well. Raises NotMergeable, NotAPredicate."""
        write, test = self._write, statement.test
        if self._is_known(test):
            body = self._steps(statement.body)
            if not statement.orelse:
                return write.lines("if {test}:\n    {body}", test=test, body=body)
            template = "if {test}:\n    {body}\nelse:\n    {other}"
            return write.lines(template, test=test, body=body, other=self._steps(statement.orelse))
        device = device_of(self._context, test, *statement.body)
        truth = Truths(self._context, device, self._assumed).of(test)
        allowed = self._test if self._holds else write.expr("~{}", self._test)
        lines = list[Any]()
        decides = truth
        if statement.orelse:  # what the first arm changes must not decide about the second
            decides = self._named(truth)
            lines += write.assigned(decides, truth)
        lines += self._where(statement, write.expr("{} & {}", allowed, decides), decides, statement.body)
        if statement.orelse:
            lines += self._where(statement, write.expr("{} & ~{}", allowed, decides), decides, statement.orelse)
        return lines

    def _is_known(self, test: ast.expr) -> bool:
        """Whether Python knows a test while tracing: a setting, what compares settings."""
        if self._kinds.of(test) is Kind.STATIC:
            return True
        facts = [self._kinds.fact(node) for node in read_in(test)]
        return all(fact is not None and fact.kind in _PLAIN for fact in facts)

    def _where(self, statement: ast.If, test: Expr, said: Expr, body: Sequence[ast.stmt]) -> Statements:
        """The steps of a branch's block, made where `test` says so, which gets a name after what is `said` in it."""
        name = self._named(said)
        inner = Masking(self._context, name, True, self._assumed, self._depth)
        inner._tests, inner._tensors, inner._looped = self._tests, self._tensors, self._looped
        inner.let_go = self.let_go
        steps = inner._steps(body)
        read = free_names(body)
        if any(name in read or read_elsewhere(self._context, name, statement) for name in inner.names):
            raise NotMergeable("a name that lives on")
        self.changes += inner.changes
        self.names |= inner.names
        return [*self._write.assigned(name, test), *steps]

    def _named(self, test: Expr) -> Expr:
        return self._write.expression(self._fresh(condition_name(self._write.code(test))))

    def _fresh(self, base: str) -> str:
        found = unused(fresh_name(self._context.site.source, base), self._tests)
        self._tests.add(found)
        return found

    def _loaded(self, module: ast.expr, given: ast.expr, tensors: str) -> Statements:
        """`a.load_state_dict(b.state_dict())`: each tensor of the module's takes what it is given."""
        if not is_pure(given) or not is_pure(module):
            raise NotMergeable("a value with an effect")
        write = self._write
        self.changes += 1
        loaded, key, held = (write.expression(self._fresh(name)) for name in ("loaded", "key", "held"))
        new = write.expr("{}[{}]", loaded, key)
        arms = (new, held) if self._holds else (held, new)
        return write.lines(
            "{loaded} = {given}\n"
            "for {key}, {held} in {module}.{tensors}().items():\n"
            "    {held}.copy_(torch.where({test}, {arms}))",
            loaded=loaded,
            key=key,
            held=held,
            given=given,
            module=module,
            tensors=write.expression(ast.Name(tensors)),
            test=self._test,
            arms=list(arms),
        )

    def _chosen(self, new: Expr, old: ast.expr) -> Expr:
        arms = (new, self._built(old)) if self._holds else (self._built(old), new)
        return self._write.expr("torch.where({}, {}, {})", self._test, *arms)

    def _changed(self, place: ast.expr, new: Expr, *read: ast.expr) -> Statements:
        """`x[i] = v`, `self.x = v`."""
        self._require_tensor(place.value if isinstance(place, ast.Subscript) else place, place, *read)
        return self._write.assigned(place, self._chosen(new, place))

    def _copied(self, owner: ast.expr, new: Expr, *read: ast.expr) -> Statements:
        """`x.add_(v)`."""
        self._require_tensor(owner, *read)
        return self._write.lines("{owner}.copy_({new})", owner=self._built(owner), new=self._chosen(new, owner))

    def _require_tensor(self, owner: ast.expr, *read: ast.expr) -> None:
        if not self._is_tensor(owner):
            raise NotMergeable("state that is no tensor")
        if not all(is_pure(node) and not draws_random(node) for node in (owner, *read)):
            raise NotMergeable("a value with an effect")
        self.changes += 1

    def _is_tensor(self, node: ast.expr) -> bool:
        if ast.unparse(node) in self._tensors_said:
            return True
        match node:
            case ast.Name(id=name) if name in self._tensors:
                return True
            case ast.Attribute(value=ast.Name() as tensor, attr=attribute) if attribute == SAME_MEMORY:
                return self._is_tensor(tensor)
        return is_tensor(self._kinds, node)

    def _built(self, node: ast.expr) -> Expr:
        """An expression in which `x.data` is written `x.detach()`: export takes the first for a constant."""
        read = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr == SAME_MEMORY]
        detached = {n: self._write.expr("{}.detach()", n.value) for n in read if self._is_tensor(n.value)}
        return self._write.replaced(node, detached) if detached else self._write.expression(node)

    def _left_by(self, call: ast.Call) -> tuple[ast.expr, Expr]:
        """What `x.mul_(a).add_(b)` changes, and what it leaves there. Raises NotMergeable."""
        write = self._write
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Attribute(attr=earlier)) as before, attr=method)
            ) if earlier.endswith("_"):
                owner, value = self._left_by(before)
            case ast.Call(func=ast.Attribute(value=owner, attr=method)):
                value = self._built(owner)
            case _:
                raise NotMergeable("a call of something else")
        if method in knowledge().overwriting:
            if call.keywords or len(call.args) > 1:
                raise NotMergeable("an in-place call with options")
            return owner, self._built(call.args[0]) if call.args else write.expression(0)
        if method not in knowledge().functional or any(option.arg is None for option in call.keywords):
            raise NotMergeable(f"{method} in place")
        plain = knowledge().functional[method]
        arguments = [
            *map(self._built, call.args),
            *(write.keyword(k.arg, self._built(k.value)) for k in call.keywords if k.arg),
        ]
        return owner, write.expr("{owner}.{method}({arguments})", owner=value, method=plain, arguments=arguments)
