"""What a cached function gives is one object for all calls: whether its file would notice a new one for each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.managers import library
from ddelint.rewrite.reading.names import called, is_called, parameters
from ddelint.rewrite.reading.plainly import values_of
from ddelint.rewrite.reading.regions import gives_view
from ddelint.sources.source import SourceFile, descend

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEPEST = 4
_COUNTS = ("cache_info", "__wrapped__")


def is_as_good_as_new(function: _Function, source: SourceFile) -> bool:
    """Whether a new value for each call does for the one that a cache keeps: as far as the file shows, the function
    gives tensors and numbers, nobody changes them or asks which one it is, and what it reads of torch stays.
    """
    return (
        _gives_values(function, source, _DEEPEST)
        and not _keeps_gradients(function)
        and not any(_is_told_or_changed(node, source) for node in _places_of(function, source))
        and not any(isinstance(n, ast.Attribute) and _is_count(n, function) for n in descend(source.tree))
        and not any(
            terminal_name(n.func) in knowledge().defaults for n in descend(source.tree) if isinstance(n, ast.Call)
        )
    )


def _keeps_gradients(function: _Function) -> bool:
    """Whether something in a function may require grad: a leaf, whose gradient is kept with it."""
    for node in descend(function):
        match node:
            case ast.keyword(arg="requires_grad", value=value):
                if not (isinstance(value, ast.Constant) and not value.value):
                    return True
            case ast.Attribute(attr="requires_grad", ctx=ast.Store()):
                return True
    return False


def _is_count(node: ast.Attribute, function: _Function) -> bool:
    """Whether it asks the cache itself what it was asked: `ramp.cache_info()`."""
    return node.attr in _COUNTS and terminal_name(node.value) == function.name


def _gives_values(function: _Function, source: SourceFile, depth: int) -> bool:
    """Whether all that a function returns are tensors, numbers, and tuples of them: no list to fill, no parameter to
    train."""
    returned = [node.value for node in descend(function) if isinstance(node, ast.Return) and node.value is not None]
    return bool(returned) and all(_is_value(value, function, source, depth) for value in returned)


def _is_value(node: ast.expr, function: _Function, source: SourceFile, depth: int) -> bool:
    def all_are(*nodes: ast.expr) -> bool:
        return all(_is_value(inner, function, source, depth) for inner in nodes)

    match node:
        case ast.Constant() | ast.Compare():
            return True
        case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
            return all_are(left, right)
        case ast.UnaryOp(operand=operand):
            return all_are(operand)
        case ast.Tuple(elts=elements):
            return all_are(*elements)
        case ast.Subscript() | ast.Attribute():
            return True
        case ast.Name(id=name) if name in parameters(function):
            return True
        case ast.Name(id=name) if depth:
            values = [value for value in values_of(source, node, name) if isinstance(value, ast.expr)]
            return bool(values) and all(_is_value(value, function, source, depth - 1) for value in values)
        case ast.Call(func=ast.Name(id=name)) if depth and (inner := _function_named(name, source)) is not None:
            return _gives_values(inner, source, depth - 1)
        case ast.Call(func=func):
            is_class = terminal_name(func)[:1].isupper() or terminal_name(func) in knowledge().asking_for_gradients
            owner = func.value if isinstance(func, ast.Attribute) else None
            of_library = library(func, source) in knowledge().stateless
            return not is_class and (of_library or (owner is not None and all_are(owner)))
    return False


def _function_named(name: str, source: SourceFile) -> _Function | None:
    return next((s for s in source.tree.body if isinstance(s, _FUNCTIONS) and s.name == name), None)


def _places_of(function: _Function, source: SourceFile) -> Iterator[ast.AST]:
    """Where what a function gives stands: its calls, names for them and views of them, and calls of functions that
    return these."""
    givers, known = {function.name}, set[str]()
    while givers - known:
        known = set(givers)
        givers |= {name for node in descend(source.tree) for name in _kept_as(node, known, source)}
        for node in descend(source.tree):
            if isinstance(node, ast.Call) and terminal_name(node.func) in known:
                for place in _spread(node, source):
                    yield place
                    if isinstance(source.parents.get(place), ast.Return):
                        givers |= {around.name for around in source.ancestors(place) if isinstance(around, _FUNCTIONS)}


def _kept_as(node: ast.AST, names: set[str], source: SourceFile) -> Iterator[str]:
    """The names that a function is given besides its own: `fast = torch.compile(slow)`."""
    if isinstance(node, ast.Name) and node.id in names and not is_called(node, source):
        for around in source.ancestors(node):
            if isinstance(around, ast.Assign):
                yield from (target.id for target in around.targets if isinstance(target, ast.Name))


def _spread(node: ast.AST, source: SourceFile) -> Iterator[ast.AST]:
    """A value, the views of it around it, and each use of a name that these are given."""
    waiting, seen = [node], set[ast.AST]()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        yield place
        match parent := source.parents.get(place):
            case ast.Subscript(value=value) | ast.Attribute(value=value) if value is place:
                waiting.append(parent)
            case ast.Call(func=func) if gives_view(parent) and (func is place or place in parent.args):
                waiting.append(parent)
            case ast.Tuple() | ast.IfExp() | ast.Starred():
                waiting.append(parent)
            case ast.Call(func=ast.Name(id=name), args=arguments) if place in arguments:
                waiting += _uses_inside(_function_named(name, source), arguments.index(place))
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                waiting += _uses(parent, source)


def _uses(assignment: ast.Assign | ast.AnnAssign | ast.NamedExpr, source: SourceFile) -> Iterator[ast.AST]:
    """Where the names that an assignment gives a value to stand in its function."""
    targets = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
    names = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    around = next((node for node in source.ancestors(assignment) if isinstance(node, _FUNCTIONS)), source.tree)
    return (node for node in descend(around) if isinstance(node, ast.Name) and node.id in names)


def _uses_inside(function: _Function | None, place: int) -> Iterator[ast.AST]:
    """Where a function uses what it is given at a place."""
    given = [*function.args.posonlyargs, *function.args.args][place:][:1] if function is not None else []
    names = {argument.arg for argument in given}
    inside = descend(function) if function is not None else ()
    return (node for node in inside if isinstance(node, ast.Name) and node.id in names)


def _is_told_or_changed(node: ast.AST, source: SourceFile) -> bool:
    """Whether a value is changed in place, put where others reach it, or compared by identity."""
    match source.parents.get(node):
        case ast.AugAssign(target=target):
            return target is node
        case ast.Assign(targets=targets):
            return any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets)
        case ast.Attribute(attr=name, ctx=ast.Load()):
            in_place = name.endswith("_") and not name.endswith("__")
            return in_place or name in knowledge().impure | knowledge().asking_for_gradients
        case ast.Attribute() | ast.Delete():
            return True
        case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
            return value is node
        case ast.Compare(ops=operators):
            return any(isinstance(operator, (ast.Is, ast.IsNot)) for operator in operators)
        case ast.keyword(arg=name):
            return name == "out"
        case ast.Call() as call:
            name = called(call)
            stored = dotted_name(call.func) == "id" or name in knowledge().impure
            in_place = name.endswith("_") and library(call.func, source) in knowledge().stateless
            return stored or in_place or any(keyword.arg == "inplace" for keyword in call.keywords)
    return False
