"""How code says that a function is compiled, or that it never is: the calls and decorators, under any name.

`torch.compile` itself, `functools.partial(torch.compile, fullgraph=True)`, a name that either was assigned to; and what
is handed to it, through `functools.partial`, `torch.no_grad()(function)` or `torch.vmap`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import operators
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.program.index import Definitions

_DEEPEST = 4
"""Wrappers around wrappers."""


def compiles(index: Definitions, node: ast.expr, depth: int = 0) -> bool:
    """Whether calling what `node` gives compiles the first argument: `torch.compile`, `partial(torch.compile, …)`."""
    return _is_one_of(index, node, operators().regions["compiling_calls"], depth)


def disables(index: Definitions, node: ast.expr, depth: int = 0) -> bool:
    """Whether what `node` gives keeps a compiler away from its argument."""
    return _is_one_of(index, node, operators().regions["disabling"], depth)


def _is_one_of(index: Definitions, node: ast.expr, names: frozenset[str], depth: int) -> bool:
    if depth > _DEEPEST:
        return False
    if index.dotted(node) in names:
        return True
    match node:
        case ast.Name(id=name) if name in index.constants:
            return _is_one_of(index, index.constants[name], names, depth + 1)
        case ast.Call(func=function, args=[]):
            return _is_one_of(index, function, names, depth + 1)  # torch.compile(fullgraph=True) gives a decorator
        case ast.Call(func=function, args=[first]) if index.dotted(function) in operators().regions["partials"]:
            return _is_one_of(index, first, names, depth + 1)
    return False


def decorated_to_compile(index: Definitions, node: FunctionNode) -> bool:
    """Whether a decorator compiles the function."""
    return any(compiles(index, decorator) for decorator in node.decorator_list)


def kept_away(index: Definitions, node: FunctionNode | ast.ClassDef) -> bool:
    """Whether a decorator, or a later `name = disable(name)`, keeps a compiler away from the function or class."""
    if any(disables(index, decorator) for decorator in node.decorator_list):
        return True
    match index.constants.get(node.name):
        case ast.Call(func=function, args=[ast.Name(id=name), *_]) if name == node.name:
            return disables(index, function)
    return False


def handed_over(index: Definitions, call: ast.Call) -> Iterator[ast.Name | ast.Attribute | ast.Lambda]:
    """The functions that a compiling call gets, as they stand there."""
    keywords = operators().regions["compiled_arguments"]
    arguments = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg in keywords)]
    for argument in arguments:
        inner = _unwrapped(index, argument)
        if inner is not None:
            yield inner


def _unwrapped(index: Definitions, node: ast.expr) -> ast.Name | ast.Attribute | ast.Lambda | None:
    known = operators().regions
    for _ in range(_DEEPEST):
        match node:
            case ast.Name() | ast.Attribute() | ast.Lambda():
                return node
            case ast.Call(func=ast.Call(func=manager), args=[inner]) if index.dotted(manager) in known["call_wrappers"]:
                node = inner
            case ast.Call(func=function, args=[inner, *_]) if _wraps(index.dotted(function)):
                node = inner
            case _:
                return None
    return None


def _wraps(name: str) -> bool:
    known = operators().regions
    return name in known["partials"] or name in known["call_wrappers"]


def is_kernel(index: Definitions, node: FunctionNode) -> bool:
    """Whether the function is what an operator does in eager: its kernel, its autograd formula."""
    known = operators().regions
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if index.dotted(target) in known["custom_operators"]:
            return not _for_fake_tensors(decorator)
        if isinstance(target, ast.Attribute) and target.attr in known["custom_operator_methods"]:
            return not _for_fake_tensors(decorator)
    return False


def is_fake_kernel(index: Definitions, node: FunctionNode) -> bool:
    """Whether the function answers for an operator while tracing."""
    known = operators().regions
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = index.dotted(target)
        if name in known["fake_kernels"]:
            return True
        if isinstance(target, ast.Attribute) and target.attr in known["fake_kernel_methods"] and not name:
            return True
        if name in known["custom_operators"] and _for_fake_tensors(decorator):
            return True
    return False


def _for_fake_tensors(decorator: ast.expr) -> bool:
    """`torch.library.impl("ns::name", "Meta")`."""
    if not isinstance(decorator, ast.Call):
        return False
    keys = [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
    return any(isinstance(key, ast.Constant) and key.value in operators().regions["fake_keys"] for key in keys)
