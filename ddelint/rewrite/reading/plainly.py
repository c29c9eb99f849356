"""What the text plainly says that an expression is: a number, a tensor."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import NoneType

from ddelint.knowledge.operators import operators
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.sources.source import SourceFile

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEPEST = 6
_SIZES = ("size", "stride")
"""Methods that give a number for a dimension, and all of them without one."""


@lru_cache(maxsize=1024)
def is_number(source: SourceFile, node: ast.AST, depth: int = 0) -> bool:
    """Whether an expression is plainly a number, or None: a literal, a size, a count."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float, NoneType))
        case ast.Attribute(attr="ndim") | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Subscript(slice=ast.Slice()):
            return False
        case ast.Subscript(value=held) if depth < _DEEPEST:
            return are_numbers(source, members_of(source, held), depth)
        case ast.Call(func=ast.Attribute(attr=name), args=arguments) if name in knowledge().numbers:
            return name not in _SIZES or bool(arguments)
        case ast.Call(func=ast.Name(id="len" | "int" | "float" | "round")):
            return True
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as given) if name in knowledge().of_numbers:
            return all(is_number(source, value, depth) for value in given)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=library), attr=name), args=given) if (
            library in knowledge().number_libraries
        ):
            return name not in knowledge().of_numbers or all(is_number(source, value, depth) for value in given)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if depth < _DEEPEST:
            values = list(_returned_by(source, node, name))
            return bool(values) and all(is_number(source, value, depth + 1) for value in values)
        case ast.IfExp(body=one, orelse=other):
            return is_number(source, one, depth) and is_number(source, other, depth)
        case ast.BinOp(left=left, right=right):
            return is_number(source, left, depth) and is_number(source, right, depth)
        case ast.UnaryOp(operand=value):
            return is_number(source, value, depth)
        case ast.Name(id=name) if depth < _DEEPEST:
            values = list(values_of(source, node, name))
            return bool(values) and all(_is_number_for(source, value, name, depth + 1) for value in values)
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if depth < _DEEPEST:
            values = list(kept_under(source, node, name))
            return bool(values) and all(is_number(source, value, depth + 1) for value in values)
        case ast.arg(annotation=ast.Name(id=name)):
            return name in {"int", "float", "bool"}
        case ast.arg(annotation=None):
            return _has_number_for_default(source, node)
    return False


def _returned_by(source: SourceFile, node: ast.AST, name: str) -> Iterator[ast.AST]:
    """What the method of this name returns, of the class around `node`."""
    owner = next((parent for parent in source.ancestors(node) if isinstance(parent, ast.ClassDef)), None)
    for method in owner.body if owner is not None else ():
        if isinstance(method, _FUNCTIONS) and method.name == name:
            yield from (inner.value or inner for inner in ast.walk(method) if isinstance(inner, ast.Return))


def _is_number_for(source: SourceFile, value: ast.AST, name: str, depth: int) -> bool:
    """Whether what is put under a name is plainly a number: a value, or what the turns of a loop give."""
    match value:
        case ast.For(target=target, iter=iterated) | ast.comprehension(target=target, iter=iterated):
            return _turns_give_numbers(source, target, iterated, name, depth)
    return is_number(source, value, depth)


def _turns_give_numbers(
    source: SourceFile, target: ast.expr, iterated: ast.expr, name: str, depth: int, *, turns: bool = True
) -> bool:
    """Whether a loop over something plainly gives a number to a name in its target: a range, what `enumerate` counts,
    the members of a collection that is written down, side by side with others in a `zip` too.

    `turns`: a dictionary gives its keys.
    """
    match target, iterated:
        case _, ast.Call(func=ast.Name(id="reversed" | "sorted" | "list" | "tuple"), args=[inner, *_]):
            return _turns_give_numbers(source, target, inner, name, depth)
        case ast.Name(id=found), ast.Call(func=ast.Name(id="range")):
            return found == name
        case ast.Name(id=found), ast.Call(func=ast.Attribute(attr=listing)) if (
            operators().returns.get(listing) == "list_of_items"
        ):
            return found == name
        case ast.Tuple(elts=[first, second]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            counted = isinstance(first, ast.Name) and first.id == name
            return counted or _turns_give_numbers(source, second, inner, name, depth)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=beside):
            return any(_turns_give_numbers(source, *pair, name, depth) for pair in zip(targets, beside))
        case ast.Tuple(elts=[_, second]), ast.Call(func=ast.Attribute(value=held, attr="items")):
            return _turns_give_numbers(source, second, held, name, depth, turns=False)
        case _, ast.Call(func=ast.Attribute(value=held, attr="values")):
            return _turns_give_numbers(source, target, held, name, depth, turns=False)
        case ast.Name(id=found), _:
            return found == name and are_numbers(source, members_of(source, iterated, turns=turns), depth)
        case ast.Tuple(elts=targets), _:
            places = [place for place, each in enumerate(targets) if isinstance(each, ast.Name) and each.id == name]
            rows = members_of(source, iterated, turns=turns)
            long = [row for row in rows if isinstance(row, ast.Tuple) and len(row.elts) == len(targets)]
            inside = [row.elts[place] for row in long for place in places]
            return len(long) == len(rows) and are_numbers(source, inside, depth)
    return False


def are_numbers(source: SourceFile, nodes: Sequence[ast.AST], depth: int = 0) -> bool:
    """Whether there are some expressions, and each is plainly a number."""
    return bool(nodes) and all(is_number(source, node, depth + 1) for node in nodes)


def members_of(source: SourceFile, node: ast.AST, *, turns: bool = False) -> list[ast.expr]:
    """What is written down as a list, a tuple, a set or the values of a dictionary, also by a name of the function or
    the file, or as an attribute of `self`; empty where that is not all, as where one of them is changed in place.

    `turns`: what a loop over it gives, the keys of a dictionary.
    """
    members: list[ast.expr] = []
    waiting, seen = [node], {node}
    while waiting:
        found: list[ast.AST] = []
        match waiting.pop():
            case ast.List(elts=[_, *_] as inside) | ast.Tuple(elts=[_, *_] as inside) | ast.Set(elts=inside):
                members += inside
                continue
            case ast.Dict(keys=keys, values=values) if values and all(keys):
                members += [key for key in keys if key is not None] if turns else values
                continue
            case ast.Name(id=name) as each:
                scope = _function_around(source, each)
                found = list(values_of(source, each, name))
                if not found:
                    scope, found = source.tree, list(on_its_own_level(source.tree, name))
                found = [] if name in _changed_in_place(scope) else found
            case ast.Attribute(value=ast.Name(id="self"), attr=name) as each:
                changed = f"self.{name}" in _changed_in_place(source.tree)
                found = [] if changed else list(kept_under(source, each, name))
        if not found:
            return []
        waiting += [value for value in found if value not in seen]
        seen.update(found)
    return members


@lru_cache(maxsize=64)
def _changed_in_place(scope: ast.AST) -> frozenset[str]:
    """The names, and the attributes of `self`, that a function or a file may change: by any method but those that only
    look into a collection, by `+=`, by what is put into them or deleted."""
    found = set()
    for inner in ast.walk(scope):
        match inner:
            case ast.Call(func=ast.Attribute(value=changed, attr=name)) if name not in knowledge().looking_into:
                found.add(ast.unparse(changed))
            case ast.AugAssign(target=changed) | ast.Subscript(value=changed, ctx=ast.Store() | ast.Del()):
                found.add(ast.unparse(changed))
    return frozenset(found)


def on_its_own_level(scope: ast.AST, name: str) -> Iterator[ast.AST]:
    """What the statements of a file, or of a class, put under a name, those inside of them left aside."""
    for statement in getattr(scope, "body", ()):
        match statement:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                yield value
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
                yield value


def kept_under(source: SourceFile, node: ast.AST, name: str) -> Iterator[ast.AST]:
    """What the class around `node` puts under an attribute of `self`."""
    owner = next((parent for parent in source.ancestors(node) if isinstance(parent, ast.ClassDef)), None)
    if owner is not None:
        yield from _attributes(owner).get(name, ())
        yield from on_its_own_level(owner, name)


@lru_cache(maxsize=64)
def _attributes(owner: ast.ClassDef) -> Mapping[str, Sequence[ast.AST]]:
    """Attribute → what is put under it in a class. Whoever asks about an expression asks about each name in it."""
    found: dict[str, list[ast.AST]] = {}
    for inner in ast.walk(owner):
        match inner:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for name, part in _pairs(target, value):
                        found.setdefault(name, []).append(part)
            case ast.AnnAssign(target=ast.Attribute(attr=name), value=ast.expr() as value):
                found.setdefault(name, []).append(value)
    return found


def _pairs(target: ast.expr, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The attributes of `self` in a target, each with what is put there."""
    match target, value:
        case ast.Attribute(value=ast.Name(id="self"), attr=name), _:
            yield name, value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, other in zip(targets, values):
                yield from _pairs(one, other)


def default_of(source: SourceFile, argument: ast.arg) -> ast.expr | None:
    """What a parameter is where a call gives nothing for it; None where it has to."""
    arguments = source.parents.get(argument)
    if not isinstance(arguments, ast.arguments):
        return None
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip(reversed(positional), reversed(arguments.defaults)))
    return {**defaults, **dict(zip(arguments.kwonlyargs, arguments.kw_defaults))}.get(argument)


def _has_number_for_default(source: SourceFile, argument: ast.arg) -> bool:
    default = default_of(source, argument)
    return isinstance(default, ast.Constant) and isinstance(default.value, (int, float))


def is_tensor(source: SourceFile, node: ast.AST, methods: Collection[str] = (), depth: int = 0) -> bool:
    """Whether an expression is plainly a tensor: what torch's functions give, and what is computed of that.

    `methods`: those that nothing but a tensor has, whatever they are called on.
    """
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in methods:
            return True
        case ast.Call(func=ast.Attribute(value=value)):
            return is_torch(value) or is_tensor(source, value, depth=depth)  # `.item()` is a method of tensors, too
        case ast.BinOp(left=left, right=right):
            return any(is_tensor(source, side, methods, depth) for side in (left, right))
        case ast.Subscript(value=value) | ast.UnaryOp(operand=value):
            return is_tensor(source, value, methods, depth)
        case ast.Name(id=name) if depth < _DEEPEST:
            values = list(values_of(source, node, name))
            return bool(values) and all(is_tensor(source, value, methods, depth + 1) for value in values)
        case ast.arg(annotation=ast.expr() as annotation):
            return "Tensor" in ast.unparse(annotation)
    return False


def values_of(source: SourceFile, node: ast.Name, name: str) -> Iterator[ast.AST]:
    """What is put under a name in the function around it: its assignments, and the parameter."""
    return iter(_values(_function_around(source, node)).get(name, ()))


def _function_around(source: SourceFile, node: ast.AST) -> ast.AST:
    """The function that something stands in, else the file."""
    return next((parent for parent in source.ancestors(node) if isinstance(parent, _FUNCTIONS)), source.tree)


@lru_cache(maxsize=64)
def _values(scope: ast.AST) -> Mapping[str, Sequence[ast.AST]]:
    """Name → what is put under it in a function, or a file."""
    found: dict[str, list[ast.AST]] = {}
    for inner in ast.walk(scope):
        names: Iterable[str] = ()
        given: ast.AST = inner
        match inner:
            case ast.Assign(targets=targets, value=given):
                names = {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as given):
                names = (name,)
            case ast.arg(arg=name):
                names = (name,)
            case ast.For(target=target) | ast.comprehension(target=target):
                names = _names_in(target)
        for name in names:
            found.setdefault(name, []).append(given)
    return found


def _names_in(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
