"""What may be data of Python's own: a text, or something out of a file, an environment, a table of names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.mixed import methods_of_tensors
from ddelint.rewrite.reading.plainly import is_tensor, kept_under, members_of, values_of
from ddelint.sources.source import SourceFile, descend

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
        case ast.Call(func=ast.Attribute(attr=name)) if name in knowledge().tensors_of_modules:
            return True
        case ast.Call(func=ast.Attribute(attr=name)) if name in knowledge().named_tensors:
            return True
    return is_tensor(source, node, methods)


def given_for(
    function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, names: Collection[str]
) -> Iterator[ast.expr]:
    """What a call gives for the parameters of these names."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if isinstance(call.func, ast.Attribute) and parameters and parameters[0].arg in _BOUND:
        parameters = parameters[1:]
    for place, value in enumerate(call.args):
        if isinstance(value, ast.Starred):  # it may give all from here on
            yield from (value for parameter in parameters[place:] if parameter.arg in names)
            break
        yield from (value for parameter in parameters[place : place + 1] if parameter.arg in names)
    yield from (keyword.value for keyword in call.keywords if keyword.arg in names)


def fits(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> bool:
    """Whether a function takes the arguments of a call, as far as their number and names say."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = positional[: len(positional) - len(arguments.defaults)]
    if isinstance(call.func, ast.Attribute) and positional and positional[0].arg in _BOUND:
        positional, required = positional[1:], required[1:]
    if any(isinstance(value, ast.Starred) for value in call.args) or any(k.arg is None for k in call.keywords):
        return True
    named = {keyword.arg for keyword in call.keywords}
    known = {argument.arg for argument in (*positional, *arguments.kwonlyargs)}
    is_few = len(call.args) <= len(positional) or arguments.vararg is not None
    is_known = named <= known or arguments.kwarg is not None
    return is_few and is_known and all(argument.arg in named for argument in required[len(call.args) :])


def _origins(source: SourceFile, node: ast.AST) -> Iterator[ast.AST]:
    """Where the values of an expression come from: what is put under its names, what it takes its elements out of."""
    waiting: list[tuple[ast.AST, bool]] = [(node, False)]
    seen: set[tuple[ast.AST, bool]] = set()
    while waiting and len(seen) < _MOST:
        asked = waiting.pop()
        if asked in seen:
            continue
        seen.add(asked)
        further = list(_behind(source, *asked))
        if not further or isinstance(asked[0], ast.arg):
            yield asked[0]
        waiting += further


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
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            yield from ((value, turns) for value in _returned(source, node, name))
        case ast.Name(id=name):
            known = list(values_of(source, node, name))
            for put in known:
                yield from _put(source, put, name, turns)
            if not known:
                yield from ((value, turns) for value in _of_the_file(source, name))
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
    for function in descend(source.tree):
        if isinstance(function, _FUNCTIONS) and function.name == name and function not in source.ancestors(node):
            yield from (n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None)


def _of_the_file(source: SourceFile, name: str) -> Iterator[ast.expr]:
    for statement in source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                yield value
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
                yield value


def _given_to(source: SourceFile, argument: ast.arg) -> Iterator[ast.expr]:
    """What a parameter is by default, and what the calls in the file give for it."""
    arguments = source.parents.get(argument)
    function = source.parents.get(arguments) if isinstance(arguments, ast.arguments) else None
    if not isinstance(function, _FUNCTIONS) or not isinstance(arguments, ast.arguments):
        return
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip(reversed(positional), reversed(arguments.defaults)))
    default = {**defaults, **dict(zip(arguments.kwonlyargs, arguments.kw_defaults))}.get(argument)
    if default is not None:
        yield default
    owner = source.parents.get(function)
    is_made = function.name == "__init__" and isinstance(owner, ast.ClassDef)
    for node in descend(source.tree):
        if not isinstance(node, ast.Call):
            continue
        if is_made and isinstance(owner, ast.ClassDef) and terminal_name(node.func) == owner.name:
            made = ast.Call(ast.Attribute(node.func, function.name), node.args, node.keywords)
            yield from given_for(function, made, (argument.arg,))
        elif terminal_name(node.func) == function.name and not is_made:
            yield from given_for(function, node, (argument.arg,))


def _is_text(source: SourceFile, node: ast.AST) -> bool:
    """Whether what nothing stands behind is a text, or gives texts."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (str, bytes))
        case ast.JoinedStr():
            return True
        case ast.arg(annotation=ast.expr() as annotation):
            named = (terminal_name(part) for part in ast.walk(annotation))
            return any(name in knowledge().text_types for name in named)
        case ast.Call(func=ast.Name(id=name)):
            return name in knowledge().text_functions
        case ast.Call(func=ast.Attribute(value=held, attr=name) as function, args=given):
            if is_torch(held) or (isinstance(held, ast.Name) and held.id in _BOUND):
                return False
            if name in knowledge().splitting:
                return any(may_be_text(source, value) for value in (held, *given[:1]))
            return name in knowledge().text_methods or _is_of_library(function)
        case ast.Attribute():
            return _is_of_library(node)
    return False


def _is_of_library(node: ast.expr) -> bool:
    """Whether something is asked of a library that reads texts."""
    return dotted_name(node).partition(".")[0] in knowledge().text_libraries
