"""Hears of what a running script compiles, exports or calls, and keeps it with the arguments of its first calls."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.protocol import CaptureInfo
from ddelint.trace import launch, torch_internals
from ddelint.trace.arguments import fresh_copy, seed_everything
from ddelint.trace.captured_marks import left_open, marks_on
from ddelint.trace.entry import Arguments
from ddelint.trace.live_programs import (
    State,
    as_it_is,
    copied,
    filename_of,
    identity,
    kind_of,
    name_of,
    shapes_of,
    snapshot,
    whole,
)
from ddelint.trace.surroundings import Surroundings

CALLS = 4
"""First calls of one program that are kept: more than one shows what varies."""
SHAPES = 20_000
"""Calls of one program of which the shapes are kept."""
PROGRAMS = 24
"""Programs that are kept; for a script that compiles more of them, how many were left out is said."""
_EXPORTS = ("export", "draft_export")


class Enough(launch.Stopped):
    """The program that was asked for has been captured again."""


@dataclass
class Capture:
    """One program, as it was at its first call, and the arguments of its first calls."""

    how: str
    name: str
    filename: str
    program: Callable[..., Any]
    state: State
    unbacked: Mapping[str | int, tuple[int, ...]]
    dynamic: Mapping[str | int, tuple[int, ...]]
    surroundings: Surroundings
    calls: list[Arguments] = field(default_factory=list)
    shapes: list[dict[str, tuple[int, ...]]] = field(default_factory=list)
    """Of every call."""

    @property
    def info(self) -> CaptureInfo:
        """What the parent hears of it."""
        label = f"{os.path.basename(self.filename)}:{self.name} ({self.how})"
        return CaptureInfo(label, self.filename, len(self.calls), tuple(self.shapes))

    def arguments(self, seed: int) -> Arguments:
        """Fresh arguments of one of the calls, in turns."""
        seed_everything(seed)
        args, kwargs = fresh_copy(self.calls[seed % len(self.calls)])
        return args, kwargs

    def restored(self) -> Callable[..., Any]:
        """The program with what it refers to as it was at the first call."""
        if isinstance(self.program, torch.nn.Module):
            with contextlib.suppress(Exception):
                again: Callable[..., Any] = copied(self.program)
                return again
        self.state.restore()
        return self.program


class Recorder:
    """Hears of calls and decides which to keep."""

    def __init__(self, patterns: Sequence[str] = (), *, until: tuple[int, int] | None = None) -> None:
        """`until`: the number of a capture, and how many of its calls to wait for before the script is stopped."""
        self.captures: list[Capture] = []
        self.left_out = 0
        self._until = until
        self._owner = os.getpid()
        self._busy = False
        self._kinds: set[object] = set()
        self._programs: dict[tuple[int, object], Capture | None] = {}
        self._alive: list[object] = []
        self._patterns = _Patterns(patterns)
        self._compiled = torch_internals.CompileWatch(self._compile)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Inside, calls of what is compiled, exported or matches a pattern are offered to this recorder."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._compiled)
            for name in _EXPORTS:
                stack.enter_context(_replaced(torch.export, name, self._exporting(name)))
            if self._patterns:
                stack.enter_context(_replaced(torch.nn.Module, "__call__", self._calling()))
            yield

    def heard(self, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A call of a program that was compiled before anybody listened."""
        self._offer("torch.compile", program, args, kwargs)

    def given(self, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A call that somebody hands over instead of making it."""
        self._offer("given", program, args, kwargs)

    # ------------------------------------------------------------------ doors

    def _compile(self, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._offer("torch.compile", program, args, kwargs)

    def _exporting(self, name: str) -> Callable[..., Any]:
        plain = getattr(torch.export, name, None)
        assert plain is not None

        @functools.wraps(plain)
        def export(mod: Any, args: Any = (), kwargs: Any = None, **settings: Any) -> Any:
            shapes = settings.get("dynamic_shapes")
            self._offer(f"torch.export.{name}", mod, tuple(args), dict(kwargs or {}), shapes)
            with self._compiled.paused(), self._left_alone():
                return plain(mod, args, kwargs, **settings)

        return export

    def _calling(self) -> Callable[..., Any]:
        plain = torch.nn.Module.__call__

        def __call__(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            with self._patterns.inside(module):
                if not self._busy and self._patterns.match(module):
                    self._offer("called", module, args, kwargs)
                return plain(module, *args, **kwargs)

        return __call__

    @contextlib.contextmanager
    def _left_alone(self) -> Iterator[None]:
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    # ------------------------------------------------------------------ what is kept

    def _offer(self, how: str, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any = None) -> None:
        if self._busy or os.getpid() != self._owner or not callable(program):
            return
        with self._left_alone():
            program, args = whole(program, args)
            leaves, structure = pytree.tree_flatten((args, kwargs))
            if (
                torch.compiler.is_compiling()
                or torch.jit.is_tracing()
                or any(isinstance(leaf, torch_internals.FakeTensor) for leaf in leaves)
            ):
                return
            place = filename_of(program)
            if not isinstance(program, torch.nn.Module) and place.startswith(torch_internals.TORCH_FOLDER):
                return
            unbacked, dynamic = marks_on((args, kwargs))
            dynamic |= left_open(shapes)
            kinds = tuple((leaf.dtype, leaf.dim()) if isinstance(leaf, torch.Tensor) else type(leaf) for leaf in leaves)
            around = Surroundings.now()
            form = (str(structure), kinds, getattr(program, "training", None), str(unbacked), str(dynamic), around)
            known = self._programs.get((identity(program), form), self)
            if known is self:
                self._alive.append(program)
                made = functools.partial(
                    Capture, how, name_of(program), place, unbacked=unbacked, dynamic=dynamic, surroundings=around
                )
                known = self._programs[identity(program), form] = self._new(program, form, made)
            if isinstance(known, Capture) and len(known.calls) < CALLS:
                known.calls.append(snapshot((args, kwargs)))
            if isinstance(known, Capture) and len(known.shapes) < SHAPES:
                known.shapes.append(shapes_of(program, args, kwargs))
            self._stop_if_done()

    def _new(self, program: Any, form: object, made: Callable[..., Capture]) -> Capture | None:
        """A place for the program's calls; None where its like has one, or there are too many."""
        kind = (kind_of(program), form)
        if kind in self._kinds:
            return None
        self._kinds.add(kind)
        if len(self.captures) >= PROGRAMS:
            self.left_out += 1
            return None
        kept, state = as_it_is(program)
        self.captures.append(made(program=kept, state=state))
        return self.captures[-1]

    def _stop_if_done(self) -> None:
        if self._until is None:
            return
        number, calls = self._until
        if number < len(self.captures) and len(self.captures[number].calls) >= calls:
            raise Enough


@dataclass
class _Patterns:
    """Globs on a module's qualified class name (`pkg.model.Router`, `Router`) or its path in the outermost module."""

    globs: Sequence[str]
    _root: torch.nn.Module | None = None
    _paths: dict[int, str] = field(default_factory=dict)
    _kinds: dict[type, bool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.globs)

    @contextlib.contextmanager
    def inside(self, module: torch.nn.Module) -> Iterator[None]:
        """While `module` runs, paths count from the outermost one that does."""
        if self._root is not None:
            yield
            return
        self._root = torch_internals.uncompiled(module)
        self._paths = {id(part): name for name, part in self._root.named_modules()}
        try:
            yield
        finally:
            self._root = None

    def match(self, module: torch.nn.Module) -> bool:
        if torch_internals.uncompiled(module) is not module:
            return False
        kind = type(module)
        if kind not in self._kinds:
            self._kinds[kind] = self._any(f"{kind.__module__}.{kind.__qualname__}") or self._any(kind.__qualname__)
        path = self._paths.get(id(module))
        return self._kinds[kind] or (bool(path) and self._any(path))

    def _any(self, name: str | None) -> bool:
        return name is not None and any(fnmatchcase(name, glob) for glob in self.globs)


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
