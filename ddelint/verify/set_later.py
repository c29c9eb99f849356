"""Tensors that a program begins with, is not saved with, and is given otherwise later: a prior that each epoch sets.

Of what is saved everybody knows that it may be loaded as something else. A constant (frequencies, a mask) is mostly
left as it is made; of what some function of the file sets once the object is there, another value is as good as the
first.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial

import torch

from ddelint.verify.members import fields_of, with_field
from ddelint.verify.samples import is_ordinary

_MAKING = ("__init__", "__post_init__", "reset_parameters")
"""Methods that run before anybody sets anything."""


@dataclass(frozen=True)
class Kept:
    """A tensor, and what puts another one in its place."""

    tensor: torch.Tensor
    put: Callable[[torch.Tensor], object]


def kept_to_be_set(program: torch.nn.Module) -> Iterator[Kept]:
    """Floats that are alike all over (zeros, ones), are not saved, and are set somewhere else than where their object
    is made: buffers, attributes of modules, and of plain objects that these hold."""
    set_later = cache(_set_later)  # for these modules alone: a file has another text once it is overlaid
    for module in program.modules():
        later = set_later(type(module).__module__)
        for name in sorted(module._non_persistent_buffers_set & later):
            buffer = module._buffers.get(name)
            if buffer is not None and _may_be_other(buffer):
                yield Kept(buffer, buffer.copy_)
        for name, held in list(vars(module).items()):
            if isinstance(held, torch.Tensor) and name in later and _may_be_other(held):
                yield Kept(held, partial(object.__setattr__, module, name))
            later_inside = set_later(type(held).__module__) if fields_of(held) else frozenset()
            for inner, tensor in fields_of(held).items() if later_inside else ():
                if isinstance(tensor, torch.Tensor) and inner in later_inside and _may_be_other(tensor):
                    yield Kept(tensor, partial(_put_inside, module, name, inner))


def is_uniform(tensor: torch.Tensor) -> bool:
    """Whether it holds one number throughout."""
    return is_ordinary(tensor) and tensor.numel() > 0 and bool((tensor == tensor.reshape(-1)[0]).all())


def _may_be_other(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and is_uniform(tensor)


def _put_inside(module: torch.nn.Module, name: str, inner: str, tensor: torch.Tensor) -> None:
    """Into a copy of the object: others may hold it, too."""
    object.__setattr__(module, name, with_field(inner, tensor, getattr(module, name)))


def _set_later(name: str) -> frozenset[str]:
    """The names of attributes that some function of the file of a module sets, or changes in place."""
    if name.partition(".")[0] in ("builtins", "torch") or name not in sys.modules:
        return frozenset()
    with suppress(OSError, TypeError, SyntaxError, ValueError):
        # not `inspect.findsource`: before Python 3.13 it parses the file for each class that it looks for
        return _set_in("".join(linecache.getlines(inspect.getsourcefile(sys.modules[name]) or "")))
    return frozenset()


@lru_cache(maxsize=32)
def _set_in(text: str) -> frozenset[str]:
    functions = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    later = (function for function in functions if function.name not in _MAKING)
    return frozenset(itertools.chain(*(_set(node) for function in later for node in ast.walk(function))))


def _set(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.Subscript(value=ast.Attribute(attr=name), ctx=ast.Store()):
            yield name
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr=method)):
            if method.endswith("_") and not method.endswith("__"):
                yield name
