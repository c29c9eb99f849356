"""What calls change in place of what they are given: functions, methods and modules of the same file are followed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.regions import changed_in_place
from ddelint.sources.source import SourceFile, descend

_DEEPEST_CALL = 3
"""How far calls are followed for what they change."""
_STATIC, _CONSTRUCTOR, _CALLED = "staticmethod", "__init__", ("forward", "__call__")
_MOST_BASES = 4


def changed_by_calls(context: Context, body: Sequence[ast.stmt]) -> set[str]:
    """Tensors that `body` hands to code of the same file which changes what it is given, in place."""
    source, function = context.site.source, context.site.function
    owner = next((n for n in source.ancestors(function) if isinstance(n, ast.ClassDef)), None) if function else None
    found = _Followed(source).changed(body, owner, _DEEPEST_CALL)
    facts = {text: context.type_of(text) for text in found}
    return {text for text, fact in facts.items() if fact is not None and fact.kind == "tensor"}


class _Followed:
    """Calls as far as one file shows what they run."""

    def __init__(self, source: SourceFile) -> None:
        self._functions = {s.name: s for s in source.tree.body if isinstance(s, ast.FunctionDef)}
        self._classes = {s.name: s for s in source.tree.body if isinstance(s, ast.ClassDef)}

    def changed(self, body: Sequence[ast.stmt], owner: ast.ClassDef | None, depth: int) -> set[str]:
        """What calls in `body` change, as it is written there; `owner` is the class that `self` is of."""
        found: set[str] = set()
        for call in (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call)):
            callee, its_owner, receiver = self._callee(call.func, owner)
            if callee is None or not depth:
                continue
            inside = changed_in_place(callee.body) | _added_to(callee) | self.changed(callee.body, its_owner, depth - 1)
            given = _given(call, callee, receiver)
            for text in inside:
                root, _, rest = text.partition(".")
                if root in given:
                    found.add(".".join(filter(None, (ast.unparse(given[root]), rest))))
        return found

    def _callee(
        self, called: ast.expr, owner: ast.ClassDef | None
    ) -> tuple[ast.FunctionDef | None, ast.ClassDef | None, ast.expr | None]:
        """What is called: the function, its class, and what it is called on."""
        match called:
            case ast.Name(id=name):
                return self._functions.get(name), None, None
            case ast.Attribute(value=ast.Name(id="self" | "cls") as receiver, attr=name) if (
                owner is not None and (method := self._method(owner, name)) is not None
            ):
                return method, owner, receiver
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self._classes:
                method = self._method(self._classes[name], attr)
                return (method, self._classes[name], None) if method is not None else (None, None, None)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")) as part, attr=name):
                kind = self._made_of(owner, part.attr)
                return (self._method(kind, name), kind, part) if kind is not None else (None, None, None)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                kind = self._made_of(owner, name)
                methods = [self._method(kind, one) for one in _CALLED] if kind is not None else []
                return next((one for one in methods if one is not None), None), kind, called
        return None, None, None

    def _method(self, owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
        """A method of a class, or of a base of it in the same file."""
        for kind in self._bases(owner, _MOST_BASES):
            for statement in kind.body:
                if isinstance(statement, ast.FunctionDef) and statement.name == name:
                    return statement
        return None

    def _bases(self, owner: ast.ClassDef, depth: int) -> Iterator[ast.ClassDef]:
        yield owner
        for base in owner.bases:
            if depth and isinstance(base, ast.Name) and base.id in self._classes:
                yield from self._bases(self._classes[base.id], depth - 1)

    def _made_of(self, owner: ast.ClassDef | None, attribute: str) -> ast.ClassDef | None:
        """The class of this file that an attribute is made of where the object is."""
        made = self._method(owner, _CONSTRUCTOR) if owner is not None else None
        for node in descend(made) if made is not None else ():
            match node:
                case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call(func=ast.Name(id=kind))) if (
                    name == attribute
                ):
                    return self._classes.get(kind)
        return None


def _added_to(function: ast.FunctionDef) -> set[str]:
    """Attributes that a function adds to where they stand: `self.seen += n`."""
    added = (node.target for node in ast.walk(function) if isinstance(node, ast.AugAssign))
    return {ast.unparse(target) for target in added if isinstance(target, ast.Attribute)}


def _given(call: ast.Call, callee: ast.FunctionDef, receiver: ast.expr | None) -> Mapping[str, ast.expr]:
    """Parameter → what is handed over for it."""
    is_static = any(isinstance(node, ast.Name) and node.id == _STATIC for node in callee.decorator_list)
    arguments = call.args if receiver is None or is_static else [receiver, *call.args]
    given = dict(zip([a.arg for a in (*callee.args.posonlyargs, *callee.args.args)], arguments))
    return given | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
