"""What the text around decisions says: what tests rest on, what texts and codes are compared with, what is called."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.sources.source import SourceFile, descend

_SELF = "self."
_DEEPEST_CALL = 3
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_EQUALITY = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)


def texts_of(source: SourceFile, tests: Sequence[ast.expr]) -> Iterator[tuple[str, str | int]]:
    """(name, text) for each text that the classes around decisions' tests compare an attribute of `self` with, and that
    a function of the file compares an argument with: `self.reduction == "mean"`, `reduction in ("mean", "sum")`,
    `mode.lower() == "mean"`, `case "mean":`; or that is a key of a table in which it is looked up. So for integers
    that it may equal (`self.mode == 3`): a code is as good as a text.

    The file is gone through once, whatever the number of tests.
    """
    if not tests:
        return
    owners = {parent for test in tests for parent in source.ancestors(test) if isinstance(parent, ast.ClassDef)}
    inside = {node for owner in owners for node in ast.walk(owner)}
    tables = _tables(source)
    for node in descend(source.tree):
        is_code = True
        match node:
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                sides = [(left, right), (right, left)]
                is_code = isinstance(sign, _EQUALITY)
            case ast.Match(subject=subject, cases=cases):
                sides = [(subject, case.pattern) for case in cases]  # type: ignore[misc]
            case (
                ast.Subscript(value=table, slice=asked)
                | ast.Call(func=ast.Attribute(value=table, attr="get"), args=[asked, *_])
            ):
                keys = table.keys if isinstance(table, ast.Dict) else tables.get(terminal_name(table), [])
                sides = [(asked, key) for key in keys if key is not None]
            case _:
                continue
        for asked, known in sides:
            texts = [inner.value for inner in ast.walk(known) if isinstance(inner, ast.Constant) and inner.value]
            codes = list(_codes(known)) if is_code and isinstance(asked, (ast.Name, ast.Attribute)) else []
            for name in _names_in(asked) if texts or codes else ():
                if not name.startswith(_SELF) or node in inside:
                    found: list[str | int] = [*(text for text in texts if isinstance(text, str)), *codes]
                    yield from ((name.removeprefix(_SELF), each) for each in found)


def _codes(known: ast.AST) -> Iterator[int]:
    """The integers of `3`, `(1, 3)`, `case 1 | 3`."""
    match known:
        case ast.Constant(value=int(code)) if not isinstance(code, bool):
            yield code
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.MatchOr(patterns=parts):
            for part in parts:
                yield from _codes(part)
        case ast.MatchValue(value=value):
            yield from _codes(value)


def _tables(source: SourceFile) -> dict[str, list[ast.expr | None]]:
    """Name → the keys of the dictionaries that it is given in the file."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in descend(source.tree):
        match node:
            case (
                ast.Assign(targets=[target], value=ast.Dict(keys=keys))
                | ast.AnnAssign(target=target, value=ast.Dict(keys=keys))
            ):
                found.setdefault(terminal_name(target), []).extend(keys)
    found.pop("", None)
    return found


def _names_in(asked: ast.expr) -> Iterator[str]:
    """Names, and attributes of `self`: `mode` of `mode.lower()`, `self.mode` and `other` of `self.mode or other`."""
    for node in ast.walk(asked):
        name = dotted_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
        if (name.isidentifier() and name != "self") or name.startswith(_SELF):
            yield name


@functools.lru_cache(maxsize=256)
def _called_in_turn(source: SourceFile, function: _Function) -> list[_Function]:
    """The functions of the file that are called by a name in a function, and in those, up to a few calls deep."""
    known = _functions(source)
    found: dict[_Function, None] = {function: None}
    latest = [function]
    for _ in range(_DEEPEST_CALL):
        calls = [node for each in latest for node in ast.walk(each) if isinstance(node, ast.Call)]
        latest = [each for call in calls for each in known.get(terminal_name(call.func), ()) if each not in found]
        found |= dict.fromkeys(latest)
    return list(found)[1:]


def functions_around(source: SourceFile, test: ast.expr) -> list[_Function]:
    """The function around a decision's test, the other methods of its class but `__init__`, and what these call."""
    own = _function_around(source, test)
    owner = next((parent for parent in source.ancestors(test) if isinstance(parent, ast.ClassDef)), None)
    methods = [node for node in owner.body if isinstance(node, _Function)] if owner is not None else []
    around = [own, *methods] if own is not None else methods
    found = dict.fromkeys(function for function in around if function.name != "__init__")
    for function in list(found):
        found |= dict.fromkeys(_called_in_turn(source, function))
    return list(found)


@functools.lru_cache(maxsize=16)
def _functions(source: SourceFile) -> Mapping[str, Sequence[_Function]]:
    """The functions of a file by name, however deep they stand."""
    found: dict[str, list[_Function]] = {}
    for node in descend(source.tree):
        if isinstance(node, _Function):
            found.setdefault(node.name, []).append(node)
    return found


def classes_around(source: SourceFile, test: ast.expr) -> Iterator[str]:
    """The name of the class around a decision's test; for one that stands in none, of all classes of its file."""
    owner = next((parent for parent in source.ancestors(test) if isinstance(parent, ast.ClassDef)), None)
    around = [owner] if owner is not None else [n for n in descend(source.tree) if isinstance(n, ast.ClassDef)]
    yield from (found.name for found in around)


def _function_around(source: SourceFile, test: ast.expr) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    return next((n for n in source.ancestors(test) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)


def asked_about(source: SourceFile, test: ast.expr) -> Iterator[ast.expr]:
    """A decision's test, and what its names were given in the function around it."""
    yield test
    function = _function_around(source, test)
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    for node in ast.walk(function) if function is not None else ():
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ) if name in names:
                yield value
