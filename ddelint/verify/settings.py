"""What a module was made with, as far as the text around a decision reads it: of `self`, and of the file's globals."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.sources.source import SourceFile, descend

_SELF = "self."
_DEEPEST_CALL, _MOST_HANDED_ON = 3, 256
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_EQUALITY = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)


def settings_of(source: SourceFile, test: ast.expr) -> Iterator[tuple[str, bool]]:
    """The attributes that are read of `self` in the methods of the class around a decision's test, each with whether
    the test itself rests on it: `least` of `self.least`, `config.least` of `self.config.least`, and a pattern of what
    is read by a name that is made at run time (`least_*` of `getattr(self, f"least_{kind}")`).

    The test of a function that stands in no class rests on what classes of the file give that function.
    """
    function = _function_around(source, test)
    owner = next((parent for parent in source.ancestors(test) if isinstance(parent, ast.ClassDef)), None)
    for name in dict.fromkeys(_read(_asked_about(test, function))):
        yield name, True
    if owner is None and function is not None:
        for call in descend(source.tree):
            if isinstance(call, ast.Call) and terminal_name(call.func) == function.name:
                for given in (*call.args, *(keyword.value for keyword in call.keywords)):
                    yield from ((name, True) for name in _read([given]))
    methods = [node for node in owner.body if isinstance(node, ast.FunctionDef)] if owner is not None else []
    methods = [method for method in methods if method.name != "__init__"]
    for method in methods:
        yield from ((name, False) for name in _read([method]))
    yield from ((name, False) for name in _read_of_what_is_handed_on(source, methods))


def _read_of_what_is_handed_on(source: SourceFile, methods: Sequence[ast.FunctionDef]) -> Iterator[str]:
    """`options.empty` where `self.options` is given to a function, or to a name, that reads `empty` of it; then, as it
    may be handed on further, where the file reads `empty` of any. No more than a few hundred: in a long file most of
    what one kind of options has is none of another's."""
    handed = [(method, *each) for method in methods for each in _handed_on(method)]
    if not handed:
        return
    functions = _functions(source)
    found: dict[str, None] = {}
    for method, name, called, place in handed:
        for reader in functions.get(called, ()) if called else (method,):
            parameter = place if isinstance(place, str) else _parameter(reader, place)
            found |= dict.fromkeys(f"{name}.{field}" for field in _fields_read(reader, parameter) if parameter)
    names = dict.fromkeys(name for _, name, _, _ in handed)
    for field in dict.fromkeys(_fields_read(source.tree)):
        if len(found) >= _MOST_HANDED_ON:
            break
        found |= dict.fromkeys(f"{name}.{field}" for name in names)
    yield from itertools.islice(found, _MOST_HANDED_ON)


@functools.lru_cache(maxsize=16)
def _functions(source: SourceFile) -> Mapping[str, Sequence[_Function]]:
    """The functions of a file by name, however deep they stand."""
    found: dict[str, list[_Function]] = {}
    for node in descend(source.tree):
        if isinstance(node, _Function):
            found.setdefault(node.name, []).append(node)
    return found


def _parameter(function: _Function, place: int) -> str:
    """What a function calls its argument at a place, the object that a method is called on left out."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    return names[place] if place < len(names) else ""


def _handed_on(method: ast.FunctionDef) -> Iterator[tuple[str, str, int | str]]:
    """(attribute of `self`, the function that it is given to, its place or keyword there), or with no function the name
    that it is given to."""
    for node in ast.walk(method):
        called = ""
        given: Iterable[tuple[int | str, ast.expr]]
        match node:
            case ast.Call(func=function, args=args, keywords=keywords):
                given = [*enumerate(args), *((keyword.arg or "", keyword.value) for keyword in keywords)]
                called = terminal_name(function) or "?"
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                given = zip(map(terminal_name, targets), values)
            case ast.Assign(value=ast.Tuple(elts=values)):
                given = (("", value) for value in values)
            case (
                ast.Assign(targets=[target, *_], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
            ):
                given = [(terminal_name(target), value)]
            case _:
                continue
        paths = ((place, _path(value)) for place, value in given)
        yield from ((name.removeprefix(_SELF), called, place) for place, name in paths if name.startswith(_SELF))


def _field_asked(call: ast.Call, of: str) -> str:
    """`pool.fill` of `getattr(options.pool, "fill")`, where `options` is `of` (if any is); empty for what asks for
    none."""
    match call:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(last)), *_]):
            root, _, within = _path(owner).partition(".")
            return "" if root in ("", "self") or of not in ("", root) else f"{within}.{last}".removeprefix(".")
    return ""


def _fields_read(tree: ast.AST, of: str = "") -> Iterator[str]:
    """`pool.fill` of `options.pool.fill`, where `options` is `of`; without it, whatever that is but `self`."""
    inside: set[ast.AST] = set()
    for node in descend(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and node not in inside:
            inside |= {inner for inner in ast.walk(node) if inner is not node}
            root, _, field = _path(node).partition(".")
            if field and (root == of if of else root != "self") and isinstance(node.ctx, ast.Load):
                yield field
        elif isinstance(node, ast.Call) and (within := _field_asked(node, of)):
            yield within


def settings_beside(source: SourceFile, test: ast.expr) -> Iterator[tuple[str, bool]]:
    """The attributes that methods of other classes of the file than the one around a decision's test read of `self`:
    what is computed behind the decision may be a module of theirs. No test rests on them."""
    own = next((parent for parent in source.ancestors(test) if isinstance(parent, ast.ClassDef)), None)
    for other in descend(source.tree):
        if isinstance(other, ast.ClassDef) and other is not own:
            for method in other.body:
                if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                    yield from ((name, False) for name in _read([method]))


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


def globals_of(source: SourceFile, test: ast.expr) -> Iterator[tuple[str, bool]]:
    """The names that the function around a decision's test reads and doesn't bind, the attributes of what else than
    `self` (`.fill` of `Model.fill`, `type(self).fill`), and its own arguments that have a default (`pooled.fill`), each
    with whether the test itself rests on it; then those of the functions of the file that it calls, and these."""
    function = _function_around(source, test)
    if function is None:
        return
    tested = {n.id for part in _asked_about(test, function) for n in ast.walk(part) if isinstance(n, ast.Name)}
    for name in _globals_read(function):
        yield name, name.removeprefix(f"{function.name}.") in tested
    for called in _called_in_turn(source, function):
        yield from ((name, False) for name in _globals_read(called))


def _globals_read(function: _Function) -> Iterator[str]:
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    yield from dict.fromkeys(node.id for node in names if node.id not in bound)
    arguments = [*function.args.posonlyargs, *function.args.args]
    defaulted = arguments[len(arguments) - len(function.args.defaults) :]
    defaulted += [
        arg for arg, default in zip(function.args.kwonlyargs, function.args.kw_defaults) if default is not None
    ]
    yield from (f"{function.name}.{argument.arg}" for argument in defaulted if function.name != "forward")
    attributes = (node for node in ast.walk(function) if isinstance(node, ast.Attribute))
    yield from dict.fromkeys(f".{node.attr}" for node in attributes if not _is_self(node.value))


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


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def classes_around(source: SourceFile, test: ast.expr) -> Iterator[str]:
    """The name of the class around a decision's test; for one that stands in none, of all classes of its file."""
    owner = next((parent for parent in source.ancestors(test) if isinstance(parent, ast.ClassDef)), None)
    around = [owner] if owner is not None else [n for n in descend(source.tree) if isinstance(n, ast.ClassDef)]
    yield from (found.name for found in around)


def _function_around(source: SourceFile, test: ast.expr) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    return next((n for n in source.ancestors(test) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)


def _asked_about(test: ast.expr, function: ast.AST | None) -> Iterator[ast.AST]:
    """The test, and what its names were given in the function around it."""
    yield test
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    for node in ast.walk(function) if function is not None else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names:
                yield value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in names:
                yield value
            case ast.NamedExpr(target=ast.Name(id=name), value=value) if name in names:
                yield value


def _read(parts: Iterator[ast.AST] | list[ast.expr] | list[ast.FunctionDef]) -> Iterator[str]:
    """The attributes of `self` that are read, the longest chain of each: of `self.config.least` no `config`."""
    for part in parts:
        inside: set[ast.AST] = set()
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and (pattern := _pattern_of(node)):
                yield pattern
            if not isinstance(node, (ast.Attribute, ast.Subscript)) or node in inside:
                continue
            name = _path(node)
            if name.startswith(_SELF) and isinstance(node.ctx, ast.Load):
                inside |= {inner for inner in ast.walk(node) if inner is not node}
                yield name.removeprefix(_SELF)


def _path(node: ast.expr) -> str:
    """`self.config.pool.fill`, also where items of dictionaries are among it (`self.config["pool"]["fill"]`)."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=part) | ast.Subscript(value=owner, slice=ast.Constant(value=str(part))):
            within = _path(owner) if part.isidentifier() else ""
            return f"{within}.{part}" if within else ""
    return ""


def defaults_of(source: SourceFile, test: ast.expr) -> Iterator[tuple[str, object]]:
    """What the class around a decision's test takes for a setting that may not be there, by its name: 0.0 of
    `getattr(self.config, "least", 0.0)` and `self.config.get("least", 0.0)`."""
    owner = next((parent for parent in source.ancestors(test) if isinstance(parent, ast.ClassDef)), None)
    for node in ast.walk(owner) if owner is not None else ():
        match node:
            case (
                ast.Call(func=ast.Name(id="getattr"), args=[holder, ast.Constant(value=str(name)), default])
                | ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[ast.Constant(value=str(name)), default])
            ):
                within = f"{_path(holder)}."
                with suppress(ValueError):
                    if within.startswith(_SELF) and name.isidentifier():
                        yield (within + name).removeprefix(_SELF), ast.literal_eval(default)


def _pattern_of(call: ast.Call) -> str:
    """What `getattr(self, NAME)` and `self.options.get(NAME)` read: a name, or a pattern with `*` for what is known at
    run time only."""
    match call:
        case (
            ast.Call(func=ast.Name(id="getattr"), args=[owner, name, *_])
            | ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant() as name, *_])
        ):
            within = f"{_path(owner)}."
        case _:
            return ""
    if not within.startswith(_SELF):
        return ""
    match name:
        case ast.Constant(value=str(last)):
            pass
        case ast.JoinedStr(values=parts):
            last = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
        case _:
            last = "*"
    return (within + last).removeprefix(_SELF)
