"""State that a program can reach beside the parameters, buffers and attributes of its own module.

Module globals, closures, default arguments, class attributes, plain objects (meters, caches, counters), and modules
that are held in lists or used by plain functions. Followed are the names that the user's own functions say; libraries
keep their state to themselves.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import itertools
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from operator import is_
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from ddelint.trace.entry import Entry
from ddelint.trace.ownership import is_of_users_class, is_users, is_users_class
from ddelint.trace.registered import parts_of
from ddelint.verify.frozen import (
    UNCHANGEABLE,
    Constant,
    Freezer,
    Frozen,
    attributes_of,
    builtin_class,
    elements,
    entries,
    has,
    is_module_table,
)
from ddelint.verify.holders import Holder, holder_of, is_moving, is_plain, keeps_attributes, owner_of, position
from ddelint.verify.holders import restoring as refilling
from ddelint.verify.randomness import is_generator, restoring, state_of
from ddelint.verify.sameness import differences

_MOST = 4000
"""Objects that are followed; what lies behind more is not watched."""
_CONTAINERS = (list, dict, set, deque)
_SIMPLE = (*UNCHANGEABLE, torch.Tensor)
_ABSENT = Constant("gone", None)
_ITERATOR = "iterator"
DEFAULTS = "__defaults__"
"""The key of the binding that holds all defaults of a function."""
KEYWORD_DEFAULTS = "__kwdefaults__"
"""The same of those that are given by keyword only."""
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, re.Pattern, Constant)


@dataclass
class _Binding:
    """A place that holds a value: `global STATS`, `Model.seen`, `the default seen of forward`."""

    name: str
    holder: Any
    key: Any
    get: Callable[[], Any]
    _memory: _Memory | None = None

    def remembered(self, known: dict[int, _Memory]) -> Frozen:
        """What the place holds; the same object as the last time where nothing has changed since.

        `known`: what was looked at in the same moment, by identity: the parts of a model hold one configuration.
        """
        memory, value = self._memory, _value(self)
        if memory is not None and memory.is_forever and value is memory.value:  # as nearly always
            return memory.frozen
        if is_moving(value) and type(value) is not itertools.count:
            return Constant(_ITERATOR, position(value))
        if id(value) in known:
            memory = known[id(value)]
        elif memory is None or not memory.holds(value):
            memory = _Memory(value)
        self._memory = known[id(memory.value)] = memory
        return memory.frozen


class _Memory:
    """A value, frozen, and what shows quickly that it is still the same: most of what a program reaches never changes,
    and it is looked at around every call."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.frozen = Freezer(modules=True).freeze(value)
        self._kept = list(_kept(value, set()))
        self.is_forever = not self._kept
        """Whether nothing can change it."""

    def holds(self, value: Any) -> bool:
        """Whether `value` is what was frozen, unchanged."""
        is_same = value is self.value or (type(value) is str and value == self.value)
        return is_same and all(kept.holds() for kept in self._kept)


@dataclass(frozen=True, slots=True)
class _Kept:
    """One object as it is now: whether it still is, and what makes it so again."""

    holds: Callable[[], bool]
    put_back: Callable[[], None]


_UNKNOWN = _Kept(lambda: False, lambda: None)
"""An object that may hold what Python does not see, or one beyond those that are followed: only its contents say, each
time."""


def _kept(value: Any, known: set[int]) -> Iterator[_Kept]:
    """`value` with all that it holds, each object once."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, _CONSTANTS) or id(inner) in known:
            continue
        if len(known) > _MOST:
            yield _UNKNOWN
            return
        known.add(id(inner))
        kept, parts = _kept_alone(inner)
        yield from kept
        waiting += [part for part in reversed(parts) if type(part) not in _CONSTANTS]


def _kept_alone(value: Any) -> tuple[list[_Kept], list[Any]]:
    """An object without what it holds, and what it holds."""
    if isinstance(value, torch.Tensor):
        saved = value.detach().clone() if value.layout is torch.strided and not value.is_meta else None
        return [_Kept(partial(_is_as_saved, value, saved), partial(_restore_tensor, value, saved))], []
    if isinstance(value, (*_CONTAINERS, tuple)):
        held, kept = _held(value), []
        if not isinstance(value, tuple):  # of which only the parts can change
            kept.append(_Kept(_holding_the_same(_held, value, held), partial(_restore_container, value, held)))
        if is_of_users_class(value):
            kept.append(_attributes_kept(value))
        return kept, _parts(value)
    if (holder := holder_of(value)) is not None:
        inner = holder.read(value)
        return [_Kept(partial(_reads_the_same, holder, value, inner), refilling(value, holder))], [inner]
    if is_generator(value):
        return [_Kept(partial(_is_at, value, state_of(value)), restoring(value))], []
    if isinstance(value, torch.nn.Module) or is_of_users_class(value) or keeps_attributes(value) or is_plain(value):
        return [_attributes_kept(value)], list(attributes_of(value).values())
    if isinstance(value, partial):
        return [_attributes_kept(value)], [value.func, value.args, value.keywords, *attributes_of(value).values()]
    if owner_of(value) is not None:
        return [], [owner_of(value)]
    return ([] if isinstance(value, (type, ModuleType)) or callable(value) else [_UNKNOWN]), []


def _attributes_kept(value: Any) -> _Kept:
    holds = _holding_the_same(_attributes, value, _attributes(value))
    return _Kept(holds, partial(_restore_attributes, value, attributes_of(value)))


def _reads_the_same(holder: Holder, value: Any, saved: Any) -> bool:
    now = holder.read(value)
    return now is saved or (isinstance(saved, (bytes, str, int)) and now == saved)


def _attributes(value: Any) -> list[Any]:
    return [*itertools.chain(*attributes_of(value).items())]


def _holding_the_same(contents: Callable[[Any], list[Any]], value: Any, held: list[Any]) -> Callable[[], bool]:
    """What says whether the contents are still what is `held`, which is kept to be put back: no identity is new."""
    if type(value) is dict:  # by far the most of them
        return _of_dictionary(value, list(value), list(value.values()))

    def holds() -> bool:
        now = contents(value)
        return len(now) == len(held) and all(map(is_, now, held))

    return holds


def _of_dictionary(value: dict[Any, Any], keys: list[Any], values: list[Any]) -> Callable[[], bool]:
    """The same of a plain dictionary, of which no list is made."""

    def holds() -> bool:
        return len(value) == len(keys) and all(map(is_, value.values(), values)) and all(map(is_, value, keys))

    return holds


def _is_at(generator: Any, state: str) -> bool:
    return state_of(generator) == state


def _is_as_saved(tensor: torch.Tensor, saved: torch.Tensor | None) -> bool:
    # the version says little: the kernels of batch norm write to running statistics past it
    same = saved is not None and (tensor.shape, tensor.dtype) == (saved.shape, saved.dtype)
    return same and tensor.layout is torch.strided and torch.equal(tensor.detach(), saved)


class Reached:
    """The bindings that a program reaches, found by a walk over its functions and classes."""

    def __init__(self, program: Any, module: torch.nn.Module | None) -> None:
        walk = _Walk(_behind)
        parts = list(parts_of(module)) if module is not None else []
        for prefix, part in parts:
            walk.module(f"self.{prefix}." if prefix else "self.", part)
        walk.follow(program)
        own = {id(part) for _, part in parts}
        self.bindings = [binding for binding in walk.bindings.values() if id(_value(binding)) not in own]


def _behind(root: FunctionType | type) -> _Walk:
    """What is reached from a function or a class, for as long as the process lives: instances come and go."""
    walk = _walks.get(id(root))
    if walk is None:
        walk = _walks[id(root)] = _Walk(None)
        walk.follow(root)
    return walk


_walks: dict[int, _Walk] = {}
"""By the root's identity; a walk keeps what it has seen."""


class _Walk:
    """Follows the names that functions say, and collects what they stand for. `known` answers for functions and
    classes that were followed before."""

    def __init__(self, known: Callable[[Any], _Walk] | None) -> None:
        self.bindings: dict[str, _Binding] = {}
        self._known = known
        self._seen: dict[int, Any] = {}
        self._followed = 0

    def module(self, prefix: str, module: torch.nn.Module) -> None:
        """A part of the program's module: its attributes, and its class.

        What torch keeps beside an exported graph (what each node was, large and never the same object twice) is no
        state of the program's.
        """
        for name, value in list(vars(module).items()) if not isinstance(module, torch.fx.GraphModule) else ():
            if type(value) in _SIMPLE or is_module_table(name):  # as nearly all are
                continue
            if _is_state(value) and not is_simple(value):
                self._bind(f"{prefix}{name}", vars(module), name)
        self.follow(type(module))

    def follow(self, value: Any) -> None:
        """Whatever `value` reaches, once."""
        if id(value) in self._seen or self._followed > _MOST:
            return
        if self._known is not None and isinstance(value, (FunctionType, type)):
            behind = self._known(value)
            self._seen.update(behind._seen)
            self.bindings = {**behind.bindings, **self.bindings}
            return
        if isinstance(value, MethodType):
            self.follow(value.__func__)
            self.follow(value.__self__)
            return
        self._seen[id(value)] = value
        self._followed += 1
        if isinstance(value, functools.partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self.follow(part)
        elif has(value, "cache_info") and _is_cached(value):
            self._add(
                _Binding(f"the cache of {value.__wrapped__.__qualname__}", value, None, lambda: str(value.cache_info()))
            )
            self.follow(value.__wrapped__)
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, (staticmethod, classmethod)):
            self.follow(value.__func__)
        elif isinstance(value, property):
            self.follow(value.fget)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, torch.nn.Module) or is_of_users_class(value):
            self.follow(type(value))
            if not isinstance(value, torch.nn.Module):
                for part in list(attributes_of(value).values()):
                    self.follow(part)
        elif isinstance(value, (list, tuple, deque, dict)):
            for part in _parts(value)[:_MOST]:
                self.follow(part)
        elif owner_of(value) is not None:
            self.follow(owner_of(value))
        elif (holder := holder_of(value)) is not None:
            self.follow(holder.read(value))
        elif keeps_attributes(value):
            for part in list(attributes_of(value).values()):
                self.follow(part)

    def _class(self, kind: type) -> None:
        for base in kind.__mro__:
            if base is not kind:
                self.follow(base)
        if not is_users_class(kind):
            return
        for name, value in list(vars(kind).items()):
            if _is_state(value) and not name.startswith("__"):
                self._add(_Binding(f"class {kind.__qualname__}.{name}", kind, name, lambda k=kind, n=name: vars(k)[n]))  # type: ignore[misc]
            self.follow(value)

    def _function(self, function: FunctionType) -> None:
        if not is_users(function.__code__.co_filename):
            wrapped = getattr(function, "__wrapped__", None)
            if wrapped is not None:  # a library's decorator around a function of the user's
                self.follow(wrapped)
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            with contextlib.suppress(ValueError):  # not filled yet
                value = cell.cell_contents
                if _is_state(value):
                    self._add(
                        _Binding(f"{name} in {function.__qualname__}", cell, None, lambda c=cell: c.cell_contents)  # type: ignore[misc]
                    )
                self.follow(value)
        defaults = [*enumerate(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
        for key, value in defaults:
            if isinstance(value, _CONTAINERS) or is_of_users_class(value):
                self._bind(f"the default {key} of {function.__qualname__}", {key: value}, key)
            self.follow(value)
        if function.__defaults__:
            name = f"the defaults of {function.__qualname__}"
            self._add(_Binding(name, function, DEFAULTS, lambda: function.__defaults__))
        if function.__kwdefaults__:
            name = f"the keywords' defaults of {function.__qualname__}"
            self._add(_Binding(name, function, KEYWORD_DEFAULTS, lambda: function.__kwdefaults__))
        if vars(function).keys() - {"__wrapped__"}:
            self._add(_Binding(f"the attributes of {function.__qualname__}", function, None, lambda: vars(function)))
        for name in _names(function.__code__):
            self._global(function.__globals__, name, _names(function.__code__))

    def _global(self, scope: dict[str, Any], name: str, names: frozenset[str]) -> None:
        if name not in scope:
            return
        value = scope[name]
        if isinstance(value, ModuleType):
            if id(value) not in self._seen and is_users(getattr(value, "__file__", None) or "<none>"):
                self._seen[id(value)] = value
                for inner in names:
                    self._global(vars(value), inner, frozenset())
            return
        if _is_state(value):
            self._bind(f"global {name}", scope, name)
        self.follow(value)

    def _bind(self, name: str, holder: dict[Any, Any], key: Any) -> None:
        self._add(_Binding(name, holder, key, lambda: holder.get(key, _ABSENT)))
        if key in holder:
            self.follow(holder[key])

    def _add(self, binding: _Binding) -> None:
        self.bindings.setdefault(binding.name, binding)


class Watch:
    """What a program reaches before a call, and what of it the call changed."""

    def __init__(self, program: Any, module: torch.nn.Module | None) -> None:
        self._bindings = Reached(program, module).bindings
        self._before = _remembered(self._bindings)

    @property
    def names(self) -> frozenset[str]:
        """The names of all places that are watched."""
        return frozenset(binding.name for binding in self._bindings)

    def changes(self) -> dict[str, Frozen]:
        """Name of the place → what it holds now."""
        found = {}
        for binding, before, after in zip(self._bindings, self._before, _remembered(self._bindings)):
            if after is not before and next(differences(before, after), None) is not None:
                moved = isinstance(after, Constant) and after.kind == _ITERATOR
                found[binding.name] = Constant(_ITERATOR, "moved on") if moved else after
        return found


def _remembered(bindings: Sequence[_Binding]) -> list[Frozen]:
    """What these places hold in this moment."""
    known: dict[int, _Memory] = {}
    return [binding.remembered(known) for binding in bindings]


class Rewinding:
    """An entry that finds its reachable state as it was at first, each time that it is built."""

    def __init__(self, entry: Entry) -> None:
        self._build = entry.build
        self._saved: list[Callable[[], None]] | None = None
        self.entry = replace(entry, build=self._built)

    def back(self) -> None:
        """Put everything back."""
        for restore in self._saved or ():
            restore()

    def _built(self) -> Callable[..., Any]:
        if self._saved is None:
            from ddelint.verify.calls import module_of

            program = self._build()
            reached = Reached(program, module_of(program))
            self._saved = list(_restoring(reached))
        self.back()
        return self._build()


def _restoring(reached: Reached) -> Iterator[Callable[[], None]]:
    """What puts the reachable objects back to what they hold now."""
    known: set[int] = set()
    for binding in reached.bindings:
        if binding.name.startswith("self."):
            continue  # belongs to one instance, which is built anew
        value = _value(binding)
        if has(binding.holder, "cache_info") and _is_cached(binding.holder):
            yield binding.holder.cache_clear
            continue
        kept = copy.copy(value) if isinstance(value, itertools.count) else value
        yield partial(_put_back, binding, kept)
        yield from (part.put_back for part in _kept(value, known))


def _put_back(binding: _Binding, value: Any) -> None:
    if _value(binding) is value:
        return
    value = copy.copy(value) if isinstance(value, itertools.count) else value
    with contextlib.suppress(AttributeError, TypeError):
        if isinstance(binding.holder, dict):
            if value is _ABSENT:
                binding.holder.pop(binding.key, None)
            else:
                binding.holder[binding.key] = value
        elif binding.key is None:
            binding.holder.cell_contents = value
        else:
            setattr(binding.holder, binding.key, value)


def _restore_tensor(tensor: torch.Tensor, saved: torch.Tensor | None) -> None:
    if saved is not None and tensor.shape == saved.shape and not _is_as_saved(tensor, saved):
        tensor.data.copy_(saved)


def _restore_attributes(value: Any, held: dict[str, Any]) -> None:
    now = attributes_of(value)
    # what the user's class does when an attribute is set is not asked for
    kind: Any = type(value) if keeps_attributes(value) else object
    with contextlib.suppress(AttributeError, TypeError):
        for name in now.keys() - held.keys():
            kind.__delattr__(value, name)
        for name, part in held.items():
            if name not in now or now[name] is not part:
                kind.__setattr__(value, name, part)


def _restore_container(value: Any, held: list[Any]) -> None:
    now = _held(value)
    if len(now) == len(held) and all(one is other for one, other in zip(now, held)):
        return
    kind = builtin_class(value)
    kind.clear(value)
    if isinstance(value, dict):
        for key, part in zip(held[::2], held[1::2]):
            kind.__setitem__(value, key, part)
    else:
        add = kind.add if isinstance(value, set) else kind.append
        for part in held:
            add(value, part)


def _held(value: Any) -> list[Any]:
    """The elements of a container; of a dictionary each key and its value."""
    if type(value) is dict:  # by far the most of them
        return [*itertools.chain.from_iterable(value.items())]
    return [*itertools.chain(*entries(value))] if isinstance(value, dict) else elements(value)


def _is_cached(value: Any) -> bool:
    """Whether it is a function that remembers results; objects that have an answer to every name are none."""
    return all(inspect.getattr_static(value, name, None) for name in ("__wrapped__", "cache_info", "cache_clear"))


def _parts(value: Any) -> list[Any]:
    """What may hold state in turn: the elements of a container, the values of a dictionary."""
    return [part for _, part in entries(value)] if isinstance(value, dict) else _held(value)


def _value(binding: _Binding) -> Any:
    try:
        return binding.get()
    except (ValueError, KeyError):
        return _ABSENT


@functools.cache
def _names(code: CodeType) -> frozenset[str]:
    """Every name that a function's text says, with those of functions inside it."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(itertools.chain(code.co_names, *inner))


def _is_state(value: Any) -> bool:
    """Whether a value is data that a program may change, or a name for data."""
    return (
        value is None
        or isinstance(value, (bool, int, float, str, Enum, torch.Tensor, torch.nn.Module, tuple, *_CONTAINERS))
        or is_of_users_class(value)
        or is_moving(value)
        or is_generator(value)
        or isinstance(value, partial)
        or holder_of(value) is not None
        or keeps_attributes(value)
        or owner_of(value) is not None
    )


def is_simple(value: Any, depth: int = 0) -> bool:
    """Whether a module's attribute is plain data: numbers, text, tensors, and lists and dicts of these. Whoever watches
    the module sees them; what else it holds is followed here."""
    if isinstance(value, _SIMPLE):
        return True
    if depth > 3 or not isinstance(value, (list, tuple, dict)) or len(parts := _parts(value)) > 1000:
        return False
    return all(is_simple(part, depth + 1) for part in parts)
