"""What may be data of Python's own: a text, or something out of a file, an environment, a table of names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.mixed import methods_of_tensors
from ddelint.rewrite.reading.named import calls_of, functions_of
from ddelint.rewrite.reading.plainly import default_of, is_tensor, kept_under, members_of, on_its_own_level, values_of
from ddelint.sources.source import SourceFile

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BOUND = ("self", "cls")
"""What a method is given by being asked for."""
_MOST = 200
"""Expressions that one answer looks at."""
_TEXT, _NUMBER = ast.Constant(""), ast.Constant(0)
"""What stands for a key, and for what is counted, where nothing is written down."""


def may_be_text(source: SourceFile, node: ast.AST) -> bool:
    """Whether something that an expression may give is a text, or came out of a collection of texts."""
    return any(_is_text(source, origin) for origin in _origins(source, node))


def is_known_tensor(source: SourceFile, node: ast.AST) -> bool:
    """Whether the file shows that an expression gives a tensor, wherever it comes from."""
    methods = methods_of_tensors()
    if is_tensor(source, node, methods):
        return True
    origins = list(_origins(source, node))
    return origins != [node] and all(_is_from_torch(source, origin, methods) for origin in origins)


def _is_from_torch(source: SourceFile, node: ast.AST, methods: Collection[str]) -> bool:
    """Whether what nothing stands behind is a tensor, or gives tensors: a parameter that is declared one, a buffer."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            given = name in knowledge().tensors_of_modules or name in knowledge().named_tensors
            return given or is_tensor(source, node, methods)
    return is_tensor(source, node, methods)


def given_for(
    function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, names: Collection[str]
) -> Iterator[ast.expr]:
    """What a call gives for the parameters of these names."""
    parameters = _positional(function, call)
    for place, value in enumerate(call.args):
        if isinstance(value, ast.Starred):  # it may give all from here on
            yield from (value for parameter in parameters[place:] if parameter.arg in names)
            break
        yield from (value for parameter in parameters[place : place + 1] if parameter.arg in names)
    yield from (keyword.value for keyword in call.keywords if keyword.arg in names)


def _positional(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> list[ast.arg]:
    """The parameters that a call fills by place: all but the instance that a method is asked of."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    is_bound = isinstance(call.func, ast.Attribute) and parameters and parameters[0].arg in _BOUND
    return parameters[1:] if is_bound else parameters


def fits(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> bool:
    """Whether a function takes the arguments of a call, as far as their number and names say."""
    arguments, positional = function.args, _positional(function, call)
    required = positional[: max(0, len(positional) - len(arguments.defaults))]
    if any(isinstance(value, ast.Starred) for value in call.args) or any(k.arg is None for k in call.keywords):
        return True
    named = {keyword.arg for keyword in call.keywords}
    known = {argument.arg for argument in (*positional, *arguments.kwonlyargs)}
    is_few = len(call.args) <= len(positional) or arguments.vararg is not None
    is_known = named <= known or arguments.kwarg is not None
    return is_few and is_known and all(argument.arg in named for argument in required[len(call.args) :])


@lru_cache(maxsize=4096)
def _origins(source: SourceFile, node: ast.AST) -> Sequence[ast.AST]:
    """Where the values of an expression come from: what is put under its names, what it takes its elements out of."""
    waiting: list[tuple[ast.AST, bool]] = [(node, False)]
    seen: set[tuple[ast.AST, bool]] = set()
    origins: list[ast.AST] = []
    while waiting and len(seen) < _MOST:
        asked = waiting.pop()
        if asked in seen:
            continue
        seen.add(asked)
        further = list(_behind(source, *asked))
        if not further or isinstance(asked[0], ast.arg) or _is_split(asked[0]):
            origins.append(asked[0])
        waiting += further
    return origins


def _is_split(node: ast.AST) -> bool:
    """Whether it asks for what texts give of themselves, and tensors too, perhaps."""
    match node:
        case ast.Call(func=ast.Attribute(value=held, attr=name)) if name in knowledge().splitting:
            return not is_torch(held) and not (isinstance(held, ast.Name) and held.id in _BOUND)
    return False


def _behind(source: SourceFile, node: ast.AST, turns: bool) -> Iterator[tuple[ast.AST, bool]]:
    """What an expression hands on, each with whether a loop goes over it (`turns`: a dictionary gives its keys)."""
    match node:
        case ast.Starred(value=value) | ast.NamedExpr(value=value) | ast.Subscript(value=value):
            yield value, isinstance(node, ast.Starred)
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, op=ast.Add() | ast.Mod(), right=other):
            yield from ((one, turns), (other, turns))
        case ast.BoolOp(values=sides):
            yield from ((value, turns) for value in sides)
        case ast.List(elts=inside) | ast.Tuple(elts=inside) | ast.Set(elts=inside):
            yield from ((value, False) for value in inside)
        case ast.Dict(keys=keys, values=values):
            yield from ((value, False) for value in (keys if turns else values) if value is not None)
        case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
            yield element, False
        case ast.DictComp(key=key, value=value):
            yield (key if turns else value), False
        case ast.Call(func=ast.Name(id="map"), args=[function, *_]):
            yield ast.Call(function, [], []), False
        case ast.Call(func=ast.Name(id=name), args=given) if name in knowledge().handing_on:
            yield from ((value, True) for value in given)
        case ast.Call(func=ast.Attribute(value=held, attr=name)) if name in knowledge().taking_out:
            yield held, False
        case ast.Call(func=ast.Attribute(value=held)) if _is_split(node):
            yield held, False
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            yield from ((value, turns) for value in _returned(source, node, name))
        case ast.Name(id=name):
            known = list(values_of(source, node, name))
            for put in known:
                yield from _put(source, put, name, turns)
            if not known:
                yield from ((value, turns) for value in on_its_own_level(source.tree, name))
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            yield from ((value, turns) for value in kept_under(source, node, name))
        case ast.Attribute(value=ast.Name() as held) if not is_torch(held):
            yield from ((value, turns) for value in values_of(source, held, held.id) if isinstance(value, ast.Call))
        case ast.arg():
            yield from ((value, turns) for value in _given_to(source, node))


def _put(source: SourceFile, value: ast.AST, name: str, turns: bool) -> Iterator[tuple[ast.AST, bool]]:
    """What a name's value is: an expression, a parameter, or what the turns of a loop give."""
    match value:
        case ast.For(target=target, iter=iterated) | ast.comprehension(target=target, iter=iterated):
            yield from _turn(source, target, iterated, name)
        case _:
            yield value, turns


def _turn(source: SourceFile, target: ast.expr, iterated: ast.expr, name: str) -> Iterator[tuple[ast.AST, bool]]:
    """What a loop puts under a name in its target, by the place that the name has there."""
    match target, iterated:
        case ast.Name(id=found), ast.Call(func=ast.Attribute(attr="keys")) if found == name:
            yield _TEXT, False
        case ast.Name(id=found), _:
            if found == name:
                yield iterated, True
        case ast.Tuple(elts=[first, second]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            if isinstance(first, ast.Name) and first.id == name:
                yield _NUMBER, False
            yield from _turn(source, second, inner, name)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=beside):
            for one, other in zip(targets, beside):
                yield from _turn(source, one, other, name)
        case ast.Tuple(elts=[first, second]), ast.Call(func=ast.Attribute(value=held, attr="items")):
            if isinstance(first, ast.Name) and first.id == name:
                yield _TEXT, False
            elif isinstance(second, ast.Name) and second.id == name:
                yield held, False
        case ast.Tuple(elts=targets), _:
            rows = members_of(source, iterated, turns=True)
            long = [row for row in rows if isinstance(row, ast.Tuple) and len(row.elts) == len(targets)]
            for place, each in enumerate(targets):
                if isinstance(each, ast.Name) and each.id == name:
                    yield from ((row.elts[place], False) for row in long)
                    if not long:
                        yield iterated, True


def _returned(source: SourceFile, node: ast.AST, name: str) -> Iterator[ast.expr]:
    """What the functions of this name in the file return."""
    for function in functions_of(source, name):
        if function not in source.ancestors(node):
            yield from (n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None)


def _given_to(source: SourceFile, argument: ast.arg) -> Iterator[ast.expr]:
    """What a parameter is by default, and what the calls in the file give for it."""
    arguments = source.parents.get(argument)
    function = source.parents.get(arguments) if isinstance(arguments, ast.arguments) else None
    if not isinstance(function, _FUNCTIONS) or not isinstance(arguments, ast.arguments):
        return
    default = default_of(source, argument)
    if default is not None:
        yield default
    owner = source.parents.get(function)
    if function.name == "__init__" and isinstance(owner, ast.ClassDef):
        for call in calls_of(source, owner.name):
            made = ast.Call(ast.Attribute(call.func, function.name), call.args, call.keywords)
            yield from given_for(function, made, (argument.arg,))
    else:
        for call in calls_of(source, function.name):
            yield from given_for(function, call, (argument.arg,))


def _is_text(source: SourceFile, node: ast.AST) -> bool:
    """Whether what nothing stands behind is a text, or gives texts."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in knowledge().text_functions
        case ast.Call(args=given) if _is_split(node):  # only a text is split at a text
            return any(_is_written(origin) for value in given[:1] for origin in _origins(source, value))
        case ast.Call(func=ast.Attribute(value=held, attr=name) as function):
            if is_torch(held) or (isinstance(held, ast.Name) and held.id in _BOUND):
                return False
            return name in knowledge().text_methods or _is_of_library(function)
        case ast.Attribute():
            return _is_of_library(node)
    return _is_written(node)


def _is_written(node: ast.AST) -> bool:
    """Whether it is a text as it stands, or a parameter that is declared one."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (str, bytes))
        case ast.JoinedStr():
            return True
        case ast.arg(annotation=ast.expr() as annotation):
            named = (terminal_name(part) for part in ast.walk(annotation))
            return any(name in knowledge().text_types for name in named)
    return False


def _is_of_library(node: ast.expr) -> bool:
    """Whether something is asked of a library that reads texts."""
    return dotted_name(node).partition(".")[0] in knowledge().text_libraries
