"""What calls run, and what they change in place of what they are given: functions, methods and modules are followed.

Across files, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.gone_through import modules_changed
from ddelint.rewrite.reading.neighbours import Read, imported
from ddelint.rewrite.reading.regions import changed_in_place, root_of
from ddelint.sources.source import SourceFile, descend

_DEEPEST_CALL = 3
"""How far calls are followed for what they change."""
_STATIC, _CONSTRUCTOR, _CALLED = "staticmethod", "__init__", ("forward", "__call__")
_MOST_BASES = 4


def changed_by_calls(context: Context, body: Sequence[ast.stmt]) -> set[str]:
    """Tensors that `body` hands to code of the same project which changes what it is given, in place."""
    here, owner = _around(context)

    def tensors(file: _File, function: ast.FunctionDef) -> set[str]:
        facts = context.types_in(function) if file is here else {}
        return {text for text, fact in facts.items() if fact.kind == "tensor"}

    found = here.changed(body, owner, _DEEPEST_CALL, tensors)
    facts = {text: context.type_of(text) for text in found}
    return {text for text, fact in facts.items() if (found[text] if fact is None else fact.kind == "tensor")}


def modules_changed_by_calls(context: Context, body: Sequence[ast.stmt]) -> set[str]:
    """What gives the tensors that code of the same project, which `body` calls, changes as all of a module's:
    `self.target.parameters()`."""
    here, owner = _around(context)
    found = here.changed(body, owner, _DEEPEST_CALL, lambda file, function: set())
    return {text for text in found if text.endswith("()")}


def run_by_calls(context: Context, nodes: Sequence[ast.AST]) -> list[ast.FunctionDef]:
    """The functions of the site's own file that calls in `nodes` run, those that these call in turn among them."""
    site = context.site
    return functions_run(site.source, site.function, nodes, context.read)


def functions_run(
    source: SourceFile, function: ast.AST | None, nodes: Sequence[ast.AST], read: Read | None = None
) -> list[ast.FunctionDef]:
    """The functions of a file that calls in `nodes` of one of its functions run, and those that these call in turn; not
    the function itself."""
    return [found for file, found in functions_run_anywhere(source, function, nodes, read) if file is source]


def functions_run_anywhere(
    source: SourceFile, function: ast.AST | None, nodes: Sequence[ast.AST], read: Read | None = None
) -> list[tuple[SourceFile, ast.FunctionDef]]:
    """The same with those of other files of the project, each with its file; through these only as far as they are
    called from there."""
    here, owner = _file_around(source, function, read)
    ran = dict.fromkeys((file.source, found) for file, found in here.run(nodes, owner, _DEEPEST_CALL))
    return [(file, found) for file, found in ran if found is not function]


def run_by(context: Context, call: ast.Call) -> ast.FunctionDef | None:
    """The function of the site's own file, or the method of its class, that a call runs by its name."""
    here, owner = _around(context)
    match call.func:
        case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
            callee = here._callee(call.func, owner)
            plain = callee is not None and callee.file is here and callee.receiver is not call.func
            return callee.function if callee is not None and plain else None
    return None


def _around(context: Context) -> tuple[_File, _Class | None]:
    """The site's file, and the class that it stands in."""
    return _file_around(context.site.source, context.site.function, context.read)


def _file_around(source: SourceFile, function: ast.AST | None, read: Read | None) -> tuple[_File, _Class | None]:
    owner = next((n for n in source.ancestors(function) if isinstance(n, ast.ClassDef)), None) if function else None
    here = _File(source, read)
    return here, None if owner is None else _Class(here, owner)


_Tensors = Callable[["_File", ast.FunctionDef], set[str]]
"""The names and attributes of a function of a file that a run saw hold tensors."""


@dataclass(frozen=True, slots=True)
class _Callee:
    """What a call runs: in which file, of which class, and on what it is called (None where it is no method)."""

    file: _File
    function: ast.FunctionDef
    owner: _Class | None = None
    receiver: ast.expr | None = None


class _File:
    """Calls as far as one file, and those that it imports from, show what they run."""

    def __init__(self, source: SourceFile, read: Read | None) -> None:
        self.source, self._read = source, read
        self._definitions = {s.name: s for s in source.tree.body if isinstance(s, (ast.FunctionDef, ast.ClassDef))}
        self._elsewhere: dict[str, tuple[_File, str] | None] = {}

    def changed(self, body: Sequence[ast.stmt], owner: _Class | None, depth: int, tensors: _Tensors) -> dict[str, bool]:
        """What calls in `body` change, as it is written there → whether what they run shows that it is a tensor.

        `owner` is the class that `self` is of.
        """
        found: dict[str, bool] = {}
        for call in (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call)):
            callee = self._callee(call.func, owner) if depth else None
            if callee is None:
                continue
            ran = callee.function
            known = tensors(callee.file, ran)
            inside = callee.file.changed(ran.body, callee.owner, depth - 1, tensors)
            for text in changed_in_place(ran.body) | _added_to(ran) | set(modules_changed(ran.body).values()):
                inside[text] = inside.get(text, False) or text in known
            given = _given(call, ran, callee.receiver)
            for text, is_tensor in inside.items():
                root, _, rest = text.partition(".")
                if root in given:
                    place = f"{ast.unparse(given[root])}.{rest}" if rest else root_of(given[root])
                    found[place] = is_tensor or found.get(place, False)
        return found

    def run(
        self, nodes: Sequence[ast.AST], owner: _Class | None, depth: int
    ) -> Iterator[tuple[_File, ast.FunctionDef]]:
        """The functions that calls in `nodes` run, each with its file; `owner` is the class that `self` is of."""
        for call in (inner for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Call)):
            callee = self._callee(call.func, owner) if depth else None
            if callee is not None:
                yield callee.file, callee.function
                yield from callee.file.run(callee.function.body, callee.owner, depth - 1)

    def _callee(self, called: ast.expr, owner: _Class | None) -> _Callee | None:
        match called:
            case ast.Name(id=name):
                file, found = self._defined(name)
                return _Callee(file, found) if isinstance(found, ast.FunctionDef) else None
            case ast.Attribute(value=ast.Name(id="self" | "cls") as receiver, attr=name) if (
                owner is not None and (method := owner.method(name, receiver)) is not None
            ):
                return method
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                kind = owner.made_of(name) if owner is not None else None
                methods = (kind.method(one, called) for one in _CALLED) if kind is not None else ()
                return next((method for method in methods if method is not None), None)
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                if (kind := self.kind(name)) is not None:
                    return kind.method(attr, None)
                match self._other(name):
                    case (module, ""):
                        return module._callee(ast.Name(attr), None)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")) as part, attr=name):
                kind = owner.made_of(part.attr) if owner is not None else None
                return kind.method(name, part) if kind is not None else None
        return None

    def kind(self, name: str) -> _Class | None:
        """The class that a name of this file is for."""
        file, found = self._defined(name)
        return _Class(file, found) if isinstance(found, ast.ClassDef) else None

    def _defined(self, name: str) -> tuple[_File, ast.FunctionDef | ast.ClassDef | None]:
        """What a name of this file is for, and the file that says so."""
        if name in self._definitions or (other := self._other(name)) is None:
            return self, self._definitions.get(name)
        file, original = other
        return file, file._definitions.get(original)

    def _other(self, name: str) -> tuple[_File, str] | None:
        """The file that a name is imported from, and what it is called there; empty for the file itself."""
        if name not in self._elsewhere:
            found = imported(self.source, name, self._read)
            self._elsewhere[name] = None if found is None else (_File(found[0], self._read), found[1])
        return self._elsewhere[name]


@dataclass(frozen=True, slots=True)
class _Class:
    """A class, and the file that it stands in."""

    file: _File
    node: ast.ClassDef

    def method(self, name: str, receiver: ast.expr | None) -> _Callee | None:
        """A method of the class, or of a base of it."""
        for kind in self._with_bases(_MOST_BASES):
            for statement in kind.node.body:
                if isinstance(statement, ast.FunctionDef) and statement.name == name:
                    return _Callee(kind.file, statement, self, receiver)
        return None

    def made_of(self, attribute: str) -> _Class | None:
        """The class that an attribute is made of where the object is."""
        made = self.method(_CONSTRUCTOR, None)
        for node in descend(made.function) if made is not None else ():
            match node:
                case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call(func=ast.Name(id=kind))) if (
                    made is not None and name == attribute
                ):
                    return made.file.kind(kind)
        return None

    def _with_bases(self, depth: int) -> Iterator[_Class]:
        yield self
        for base in self.node.bases:
            kind = self.file.kind(base.id) if depth and isinstance(base, ast.Name) else None
            if kind is not None:
                yield from kind._with_bases(depth - 1)


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
