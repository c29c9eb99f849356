"""Runs a script and keeps what it compiles, exports or calls, with the arguments of the first calls.

The process that ran the script holds the live programs; its forks answer the requests about them. Where that cannot
be (a CUDA context, module-level code that a rewrite changes), the script is run again, up to the program in question.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.protocol import CaptureInfo, SavedInputs, ScriptRun, ScriptSpec, SessionOptions
from ddelint.trace import entries, failures, launch, methods, offers, registrations, saved, torch_internals
from ddelint.trace.arguments import fresh_copy, seed_everything
from ddelint.trace.entry import Arguments, Entry, EntryProblem
from ddelint.trace.isolation import last_words
from ddelint.trace.surroundings import Surroundings, kept

CALLS = 4
"""First calls of one program that are kept: more than one shows what varies."""
SHAPES = 20_000
"""Calls of one program of which the shapes are kept."""
PROGRAMS = 24
"""Programs that are kept; for a script that compiles more of them, how many were left out is said."""
_EXPORTS = ("export", "draft_export")


class _Enough(launch.Stopped):
    """The program that was asked for has been captured again."""


@dataclass(frozen=True)
class _State:
    """What a tensor or a module's mode was at the first call, for programs that are not copied."""

    tensors: tuple[tuple[torch.Tensor, torch.Tensor], ...] = ()
    modes: tuple[tuple[torch.nn.Module, bool], ...] = ()

    @classmethod
    def of(cls, modules: Sequence[torch.nn.Module]) -> _State:
        with torch.no_grad(), torch.inference_mode(False):
            tensors = tuple(
                (tensor, tensor.detach().clone())
                for module in modules
                for tensor in (*module.parameters(), *module.buffers())
                if not isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin)
            )
        return cls(tensors, tuple((part, part.training) for module in modules for part in module.modules()))

    def restore(self) -> None:
        with torch.no_grad():
            for tensor, value in self.tensors:
                if tensor.shape == value.shape:
                    tensor.copy_(value)
        for module, training in self.modes:
            module.training = training


@dataclass
class Capture:
    """One program, as it was at its first call, and the arguments of its first calls."""

    how: str
    name: str
    filename: str
    program: Callable[..., Any]
    state: _State
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
                again: Callable[..., Any] = _copied(self.program)
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
            program, args = _whole(program, args)
            leaves, structure = pytree.tree_flatten((args, kwargs))
            if (
                torch.compiler.is_compiling()
                or torch.jit.is_tracing()
                or any(isinstance(leaf, torch_internals.FakeTensor) for leaf in leaves)
            ):
                return
            place = _filename(program)
            if not isinstance(program, torch.nn.Module) and place.startswith(torch_internals.TORCH_FOLDER):
                return
            unbacked, dynamic = _marks((args, kwargs))
            dynamic |= _dynamic(shapes)
            kinds = tuple((leaf.dtype, leaf.dim()) if isinstance(leaf, torch.Tensor) else type(leaf) for leaf in leaves)
            around = Surroundings.now()
            form = (str(structure), kinds, getattr(program, "training", None), str(unbacked), str(dynamic), around)
            known = self._programs.get((_identity(program), form), self)
            if known is self:
                self._alive.append(program)
                made = functools.partial(
                    Capture, how, _name(program), place, unbacked=unbacked, dynamic=dynamic, surroundings=around
                )
                known = self._programs[_identity(program), form] = self._new(program, form, made)
            if isinstance(known, Capture) and len(known.calls) < CALLS:
                known.calls.append(_snapshot((args, kwargs)))
            if isinstance(known, Capture) and len(known.shapes) < SHAPES:
                known.shapes.append(_shapes(program, args, kwargs))
            self._stop_if_done()

    def _new(self, program: Any, form: object, made: Callable[..., Capture]) -> Capture | None:
        """A place for the program's calls; None where its like has one, or there are too many."""
        kind = (_kind(program), form)
        if kind in self._kinds:
            return None
        self._kinds.add(kind)
        if len(self.captures) >= PROGRAMS:
            self.left_out += 1
            return None
        kept, state = _as_it_is(program)
        self.captures.append(made(program=kept, state=state))
        return self.captures[-1]

    def _stop_if_done(self) -> None:
        if self._until is None:
            return
        number, calls = self._until
        if number < len(self.captures) and len(self.captures[number].calls) >= calls:
            raise _Enough


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


# ---------------------------------------------------------------------------- programs


def _whole(program: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The module behind one of its own call methods; a method taken from its class, bound again."""
    program = torch_internals.uncompiled(program) if isinstance(program, torch.nn.Module) else program
    name = getattr(program, "__name__", "")
    owner = getattr(program, "__self__", None)
    if isinstance(owner, torch.nn.Module) and name in torch_internals.MODULE_CALLS:
        return torch_internals.uncompiled(owner), args
    if not inspect.isfunction(program) or not args or not isinstance(args[0], torch.nn.Module):
        return program, args
    module = torch_internals.uncompiled(args[0])
    if name in torch_internals.MODULE_CALLS:
        return module, args[1:]
    if inspect.unwrap(getattr(type(module), name, None) or program) is inspect.unwrap(program) and hasattr(
        module, name
    ):
        return types.MethodType(program, module), args[1:]
    return program, args


def _shapes(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of a call's tensors, by the parameters that they are given to, or inside of which they are."""
    function = program.forward if isinstance(program, torch.nn.Module) else program
    try:
        signature = inspect.signature(function)
        given = dict(signature.bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {}
    for name, parameter in signature.parameters.items():
        given |= given.pop(name, {}) if parameter.kind is parameter.VAR_KEYWORD else {}
    found: dict[str, tuple[int, ...]] = {}
    for name, value in given.items():
        try:
            leaves = torch_internals.leaves_at(name, value)
        except ValueError:  # a container that does not say what it keeps where
            continue
        found |= {place: tuple(map(int, leaf.shape)) for place, leaf in leaves if isinstance(leaf, torch.Tensor)}
    return found


def _identity(program: Any) -> int:
    """One number for all bound methods of an object."""
    owner = getattr(program, "__self__", None)
    return hash((id(owner), id(program.__func__))) if inspect.ismethod(program) else id(program)


def _kind(program: Any) -> object:
    """Equal for programs that run the same code on the same shapes of state."""
    owner = program if isinstance(program, torch.nn.Module) else getattr(program, "__self__", None)
    code = getattr(inspect.unwrap(program), "__code__", None) if not isinstance(program, torch.nn.Module) else None
    if not isinstance(owner, torch.nn.Module):
        return code or id(program)
    tensors = owner.state_dict(keep_vars=True)
    shapes = [(name, str(getattr(t, "dtype", "")), tuple(getattr(t, "shape", ()))) for name, t in tensors.items()]
    return type(owner), code, tuple(shapes)


def _name(program: Any) -> str:
    if isinstance(program, functools.partial):
        return _name(program.func)
    if isinstance(program, torch.nn.Module):
        return type(program).__qualname__
    owner = getattr(program, "__self__", None)
    name = getattr(program, "__qualname__", type(program).__qualname__)
    return f"{type(owner).__qualname__}.{program.__name__}" if inspect.ismethod(program) else str(name)


def _filename(program: Any) -> str:
    """The file that defines a program; empty where nobody knows."""
    if isinstance(program, functools.partial):
        return _filename(program.func)
    if isinstance(program, torch.nn.Module) or not hasattr(inspect.unwrap(program), "__code__"):
        found = getattr(sys.modules.get(type(program).__module__), "__file__", None) or ""
    else:
        found = inspect.unwrap(program).__code__.co_filename
    return os.path.realpath(found) if os.path.isfile(found) else ""


def _as_it_is(program: Any) -> tuple[Callable[..., Any], _State]:
    """The program as it is now: a copy of a module; for others, what their modules hold, to be put back."""
    owner = program if isinstance(program, torch.nn.Module) else getattr(program, "__self__", None)
    if isinstance(owner, torch.nn.Module):
        try:
            kept = _transparent(_copied(owner))
        except Exception:
            kept, state = owner, _State.of([owner])
        else:
            state = _State()
        return (kept if owner is program else methods.as_module(kept, program.__func__)), state
    return program, _State.of(_modules_around(program))


def _copied(module: torch.nn.Module) -> torch.nn.Module:
    """A deep copy. Tensors in it that are results of operations become leaves, since deepcopy refuses those; what else
    it refuses (locks, open files) is shared with the original.
    """
    memo: dict[int, Any] = {}
    parts = list(module.modules())
    for value in [value for part in parts for value in vars(part).values()]:
        if isinstance(value, torch.Tensor) and not value.is_leaf:
            memo[id(value)] = value.detach().clone()
    with torch.inference_mode(False):
        try:
            return copy.deepcopy(module, dict(memo))
        except Exception:
            memo.update(_uncopiable(parts))
            return copy.deepcopy(module, memo)


def _uncopiable(parts: Sequence[torch.nn.Module]) -> dict[int, Any]:
    """Attributes that refuse a copy, by identity, each standing for its own copy."""
    found: dict[int, Any] = {}
    for part in parts:
        for name, value in vars(part).items():
            if name in ("_parameters", "_buffers", "_modules") or isinstance(value, torch.Tensor):
                continue
            try:
                copy.deepcopy(value)
            except Exception:
                found[id(value)] = value
    return found


def _transparent(module: torch.nn.Module) -> torch.nn.Module:
    """The module with compiled parts replaced by what was compiled: the whole is to be compiled, not they alone."""
    for part in list(module.modules()):
        for name, child in list(part.named_children()):
            if torch_internals.uncompiled(child) is not child:
                setattr(part, name, torch_internals.uncompiled(child))
        # `model.forward = torch.compile(model.forward)` is bound to the original module
        program = torch_internals.watched(vars(part).get("forward"))
        if inspect.ismethod(program) and program.__func__ is type(part).forward:
            del part.forward
    return module


def _modules_around(program: Any) -> list[torch.nn.Module]:
    """The modules that a function refers to: in its closure, its globals, its object, what is bound to it."""
    values: list[Any] = list(getattr(getattr(program, "__self__", None), "__dict__", {}).values())
    if isinstance(program, functools.partial):
        values += [program.func, *program.args, *program.keywords.values()]
    function = inspect.unwrap(program)
    code = getattr(function, "__code__", None)
    if code is not None:
        values += [function.__globals__.get(name) for name in code.co_names]
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):
                values.append(cell.cell_contents)
    found = [torch_internals.uncompiled(value) for value in values if isinstance(value, torch.nn.Module)]
    return list(dict.fromkeys(found))


def _snapshot(arguments: Arguments) -> Arguments:
    """The arguments as they are now, sharing nothing with the script's."""
    with torch.inference_mode(False):
        args, kwargs = fresh_copy(arguments)
    return args, kwargs


# ---------------------------------------------------------------------------- marked dimensions

_Marks = dict[str | int, tuple[int, ...]]


def _marks(arguments: Arguments) -> tuple[_Marks, _Marks]:
    """What `mark_unbacked` and `mark_dynamic` said of the arguments."""
    unbacked: _Marks = {}
    dynamic: _Marks = {}
    args, kwargs = arguments
    named: list[tuple[str | int, Any]] = [*enumerate(args), *kwargs.items()]
    for key, value in named:
        if isinstance(value, torch.Tensor):
            for found, dimensions in zip((unbacked, dynamic), torch_internals.marked(value)):
                if dimensions:
                    found[key] = dimensions
    return unbacked, dynamic


def _dynamic(shapes: Any) -> _Marks:
    """The dimensions that export's `dynamic_shapes` leaves open, of arguments that are tensors themselves."""
    named: list[tuple[str | int, Any]] = []
    if isinstance(shapes, Mapping):
        named = list(shapes.items())
    elif isinstance(shapes, (tuple, list)):
        named = list(enumerate(shapes))
    found: _Marks = {}
    for key, one in named:
        dimensions: list[tuple[Any, Any]] = []
        if isinstance(one, Mapping):
            dimensions = list(one.items())
        elif isinstance(one, (tuple, list)):
            dimensions = list(enumerate(one))
        static = (None, torch.export.Dim.STATIC)
        if all(isinstance(dimension, int) for dimension, _ in dimensions):
            open_ones = tuple(d for d, size in dimensions if size not in static and not isinstance(size, int))
            if open_ones:
                found[key] = open_ones
    return found


def _of_tensors(
    marks: Mapping[str | int, tuple[int, ...]], names: Sequence[str], arguments: Arguments
) -> dict[str, tuple[int, ...]]:
    """The marks by parameter, of those alone whose argument is a tensor with such dimensions."""
    values = {**dict(zip(names, arguments[0])), **arguments[1]}
    found: dict[str, tuple[int, ...]] = {}
    for key, dimensions in marks.items():
        name = names[key] if isinstance(key, int) and key < len(names) else str(key)
        value = values.get(name)
        if isinstance(value, torch.Tensor):
            fitting = tuple(d for d in dimensions if -value.dim() <= d < value.dim())
            if fitting:
                found[name] = fitting
    return found


# ---------------------------------------------------------------------------- the script

_captured: Recorder | None = None
_adopted = False
"""Whether what was captured comes from no script that could run again."""
_ending = ""
_traceback = ""


def adopt(recorder: Recorder) -> None:
    """What requests are about is what `recorder` kept in this process (see trace.live)."""
    global _captured, _adopted
    _captured, _adopted = recorder, True


def run(options: SessionOptions, *, until: tuple[int, int] | None = None) -> None:
    """Run the script in this process and keep what it captures. Raises EntryProblem where there is no such script."""
    global _captured, _ending, _traceback
    if _adopted:
        raise EntryProblem("missing", "code outside of functions cannot run again in this process")
    script = _script(options)
    recorder = Recorder(script.patterns, until=until)
    _captured, _ending, _traceback = recorder, "", ""
    registrations.forget(options.entry.filename)
    seed_everything(options.seed)
    try:
        with kept(), recorder.listening(), launch.time_limit(options.timeout):
            launch.run(script)
    except launch.NoSuchScript as problem:
        raise EntryProblem("missing", str(problem)) from None
    except _Enough:
        pass
    except launch.TimeUp:
        _ending = f"was stopped after {options.timeout:g} seconds"
    except SystemExit as error:
        if error.code not in (None, 0):
            code, said = (error.code, last_words()) if isinstance(error.code, int) else (1, str(error.code))
            _ending = f"ended with exit code {code}" + (f" ({said})" if said else "")
    except BaseException as error:
        if until is not None and until[0] >= len(recorder.captures):
            raise
        failure = failures.from_exception(error, options.paths, options.entry.filename)
        _ending, _traceback = _ended(failure), failure.traceback


def _ended(failure: Any) -> str:
    place = f" ({os.path.basename(failure.span.filename)}:{failure.span.row})" if failure.span is not None else ""
    lines = str(failure.message).strip().splitlines()
    return f"raised {lines[0] if lines else 'an exception'}{place}"


def _script(options: SessionOptions) -> ScriptSpec:
    assert options.entry.script is not None
    return options.entry.script


def script_run(options: SessionOptions) -> ScriptRun:
    """What the script captured, and how it ended."""
    if _captured is None:
        run(options)
    assert _captured is not None
    infos = [capture.info for capture in _captured.captures]
    main = getattr(sys.modules.get("__main__"), "__file__", None) or options.entry.filename
    infos = [info if info.filename else replace(info, filename=main) for info in infos]
    return ScriptRun(tuple(infos), _captured.left_out, _ending, _traceback)


def captures(options: SessionOptions) -> Sequence[Capture]:
    """What the script captured; it is run where it was not."""
    if _captured is None:
        run(options)
    assert _captured is not None
    return _captured.captures


def save(options: SessionOptions, filename: str) -> SavedInputs:
    """Write the captured arguments to a file. Raises EntryProblem where it cannot be written."""
    programs = [saved.Saved(c.name, c.filename, tuple(c.calls)) for c in captures(options)]
    try:
        refused = saved.write(filename, programs)
    except OSError as error:
        raise EntryProblem("missing", error.strerror or str(error)) from None
    names = [program.name for program in programs]
    lost = {line.partition(":")[0] for line in refused}
    return SavedInputs(tuple(name for name in dict.fromkeys(names) if name not in lost), tuple(refused))


class Loader(entries.Loader):
    """Gives the captured program as an entry."""

    def load(self, *, again: bool = False) -> Entry:
        """As entries.Loader.load; `again` runs the script another time, up to the program in question."""
        number = self._spec.capture
        assert number is not None
        if again or _captured is None:
            run(self._options, until=(number, self._spec.calls))
        found = captures(self._options)
        if number >= len(found):
            raise EntryProblem("missing", f"the script did not call program {number + 1} again")
        capture = found[number]
        capture.state.restore()
        seed_everything(self._options.seed)
        program = self._made(capture.name, capture.program, capture.restored, lambda: ((), {}))
        if not isinstance(capture.program, torch.nn.Module):
            program = replace(program, build=capture.restored)
        count = len(capture.calls)
        calls = "first call" if count == 1 else f"first {count} calls"
        script = _script(self._options)
        inputs = entries.Inputs(f"its {calls} in {os.path.basename(script.target)}", capture.arguments, count > 1)
        names = entries.parameter_names(program, lambda: capture.calls[0])
        marks = types.SimpleNamespace(
            **{
                offers.UNBACKED: _of_tensors(capture.unbacked, names, capture.calls[0]),
                offers.DYNAMIC: _of_tensors(capture.dynamic, names, capture.calls[0]),
            }
        )
        return replace(self._entry(marks, program, inputs, None), surroundings=capture.surroundings.around)

    def warm(self) -> None:
        """Run the script, so that the forks have what it captured."""
        run(self._options)

    def entry_names(self) -> tuple[str, ...]:
        """None: each capture is opened by its number."""
        return ()


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
