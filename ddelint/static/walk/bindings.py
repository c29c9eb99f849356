"""What a function binds its names to, and what of that it gives to its caller. Read once, whoever asks."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import descend


class Bindings:
    """The names of one function."""

    def __init__(self, function: ast.AST) -> None:
        self._values: dict[str, list[ast.expr]] = {}
        """Name → what it is bound to."""
        self._held: dict[str, list[ast.expr]] = {}
        """Name → what is put into it: `found["q"] = value`, `found.append(value)`."""
        self._times: Counter[str] = Counter()
        """How often a name is bound, in whatever way."""
        self._returned = [function.body] if isinstance(function, ast.Lambda) else []
        for node in descend(function):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._bound(target, value)
                case (
                    ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value)
                ):
                    self._bound(target, value)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=given)):
                    self._held.setdefault(name, []).extend(given)
                case ast.Return(value=ast.expr() as value):
                    self._returned.append(value)
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                    self._times[name] += 1

    def _bound(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self._values.setdefault(name, []).append(value)
            case ast.Subscript(value=ast.Name(id=name)):
                self._held.setdefault(name, []).append(value)

    def binds(self, name: str) -> bool:
        """Whether a name is the function's own."""
        return name in self._times

    def once(self, name: str) -> ast.expr | None:
        """What a name is bound to, where that is done once."""
        values = self._values.get(name, ())
        return values[0] if len(values) == 1 and self._times[name] == 1 else None

    @cached_property
    def given(self) -> frozenset[ast.expr]:
        """What the function gives to its caller: by a name, or among other things."""
        found: set[ast.expr] = set()
        seen: set[str] = set()
        waiting = self._returned[:]
        while waiting:
            for part in _handed_on(waiting.pop()):
                found.add(part)
                if isinstance(part, ast.Name) and part.id not in seen:
                    seen.add(part.id)
                    waiting += (*self._values.get(part.id, ()), *self._held.get(part.id, ()))
        return frozenset(found)


def _handed_on(node: ast.expr) -> Iterator[ast.expr]:
    """What an expression gives, or holds: not what it asks a method or a function of, or computes with."""
    waiting: list[ast.expr | None] = [node]
    while waiting:
        match waiting.pop():
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                waiting += parts
            case ast.Dict(values=parts):
                waiting += parts
            case ast.DictComp(value=part) | ast.ListComp(elt=part) | ast.GeneratorExp(elt=part):
                waiting.append(part)
            case ast.IfExp(body=body, orelse=orelse):
                waiting += (body, orelse)
            case ast.NamedExpr(value=part) | ast.Starred(value=part):
                waiting.append(part)
            case ast.Call(func=function, args=args, keywords=keywords) as call:
                yield call
                if _is_holder(terminal_name(function)):  # `dict(q=q)`, `Independent(q, 1)`, a record
                    waiting += (*args, *(keyword.value for keyword in keywords))
            case ast.expr() as part:
                yield part


def _is_holder(name: str) -> bool:
    """Whether what is called is a class, so that its object holds what it is made of."""
    known = operators().annotations
    return name[:1].isupper() or name in known["sequence"] or name in known["mapping"]
