"""What a live value is, as a TypeFact. Runs in the worker, under eager and under fake tensors alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import islice
from typing import Any, cast

import torch

from ddelint.nouns.diagnostics import TypeFact
from ddelint.trace.registered import buffers_of, parameters_of

_LONGEST_CONSTANT = 80
"""Characters of a constant's repr that are worth keeping."""
_MOST_ELEMENTS = 64
"""Elements of a list that are looked at to find their common type."""
_MOST_ITEMS, _DEEPEST = 16, 3
"""Of a dictionary or sequence whose items are reported one by one; how far these are looked into."""


def describe_value(value: Any, *, role: str = "") -> TypeFact:
    """The type of `value`: dtype and sizes of a tensor, length and common element of a list, value of a small constant.

    `role` is `parameter` or `buffer` where the caller knows it from the owner; a `torch.nn.Parameter` says so itself.
    Never asks a symbolic size anything, never runs user code (no property, no `__repr__` of a user's class).
    """
    return _describe(value, role, _DEEPEST)


def _describe(value: Any, role: str, deep: int) -> TypeFact:
    kind = type(value)
    python_type = f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__
    if isinstance(value, torch.Tensor):
        return TypeFact(
            kind="tensor",
            dtype=str(value.dtype).removeprefix("torch."),
            shape=tensor_sizes(value),
            requires_grad=bool(value.requires_grad),
            role=role or ("parameter" if isinstance(value, torch.nn.Parameter) else ""),
            python_type="torch.nn.Parameter" if isinstance(value, torch.nn.Parameter) else _class_of(value),
        )
    if value is None or kind in (bool, int, float, str):
        text = repr(value) if kind is not str or len(value) <= _LONGEST_CONSTANT else ""
        return TypeFact(
            kind="none" if value is None else kind.__name__,
            value=text if 0 < len(text) <= _LONGEST_CONSTANT else None,
            python_type=python_type,
        )
    for symbolic, name in ((torch.SymInt, "symint"), (torch.SymFloat, "symfloat"), (torch.SymBool, "symbool")):
        if isinstance(value, symbolic):
            return TypeFact(kind=name, python_type=f"torch.{symbolic.__name__}")
    if isinstance(value, (list, tuple)):
        items = list(islice(list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value), _MOST_ELEMENTS))
        length = list.__len__(value) if isinstance(value, list) else tuple.__len__(value)
        element = _element(items) if deep else None
        names = _names_of_fields(kind) or [""] * len(items)
        return TypeFact(
            kind="list" if isinstance(value, list) else "tuple",
            length=length,
            element=element,
            python_type=python_type,
            items=_items(list(zip(names, items)), length, deep) if element is None or any(names) else (),
        )
    if isinstance(value, dict):
        length = dict.__len__(value)
        named = _items(list(islice(dict.items(value), _MOST_ITEMS)), length, deep)
        return TypeFact(kind="dict", length=length, python_type=python_type, items=named)
    if isinstance(value, torch.nn.Module):
        counted = type(value) in (torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ModuleDict)
        holds = "buffer" if any(True for _ in buffers_of(value)) else ""
        frozen = not all(parameter.requires_grad for _, parameter in parameters_of(value))
        entries = len(value) if counted else None
        return TypeFact(kind="module", length=entries, python_type=python_type, role=holds, frozen=frozen)
    if isinstance(value, bool | int | float | str):
        base = next(b for b in (bool, int, float, str) if isinstance(value, b))
        return TypeFact(kind=base.__name__, python_type=python_type)
    fields = _names_of_fields(kind)
    held = object.__getattribute__(value, "__dict__") if fields and kind.__dictoffset__ else {}
    whole = bool(fields) and held.keys() == set(fields)
    known = _items([(name, held[name]) for name in fields], len(fields), deep) if whole else ()
    return TypeFact(kind="callable" if callable(value) else "other", python_type=python_type, items=known)


def _names_of_fields(kind: type) -> list[str]:
    """What a class that is nothing but a record calls its fields: a named tuple, a dataclass that takes them all."""
    if issubclass(kind, tuple):
        named = getattr(kind, "_fields", ())
        return list(named) if type(named) is tuple and all(type(name) is str for name in named) else []
    if "__dataclass_fields__" not in vars(kind) or not vars(kind)["__dataclass_params__"].init:
        return []
    fields = dataclasses.fields(cast(Any, kind))
    return [field.name for field in fields] if all(field.init for field in fields) else []


def _items(items: Sequence[tuple[Any, Any]], length: int, deep: int) -> tuple[tuple[str, TypeFact], ...]:
    """Each item's key and type, where there are few and all keys are strings."""
    if not deep or len(items) != length or length > _MOST_ITEMS or any(type(key) is not str for key, _ in items):
        return ()
    return tuple((key, _describe(item, "", deep - 1)) for key, item in items)


def _class_of(tensor: torch.Tensor) -> str:
    """`torch.Tensor`; the layout where it is another one (`torch.sparse_coo`)."""
    return "torch.Tensor" if tensor.layout is torch.strided else str(tensor.layout)


def tensor_sizes(value: torch.Tensor) -> tuple[str, ...] | None:
    """The sizes of a tensor as text (`4`, `u0`); None where the layout has none to give (nested tensors)."""
    try:
        return tuple(str(size) for size in value.shape)
    except (RuntimeError, NotImplementedError):
        return None


def _element(items: list[Any]) -> TypeFact | None:
    """The type that all elements share; sizes, values and roles in which they differ are left out."""
    facts = [_describe(item, "", 0) for item in items if item is not None]
    if not facts:
        return None
    first = facts[0]
    if any((fact.kind, fact.dtype) != (first.kind, first.dtype) for fact in facts):
        return None
    same_rank = first.shape is not None and all(
        fact.shape is not None and len(fact.shape) == len(first.shape) for fact in facts
    )
    shape = None
    if same_rank:
        columns = zip(*(fact.shape or () for fact in facts))
        shape = tuple(sizes[0] if len(set(sizes)) == 1 else "?" for sizes in columns)
    return TypeFact(
        kind=first.kind,
        dtype=first.dtype,
        shape=shape,
        requires_grad=any(fact.requires_grad for fact in facts),
        role=first.role if all(fact.role == first.role for fact in facts) else "",
        python_type=first.python_type if all(fact.python_type == first.python_type for fact in facts) else "",
    )
