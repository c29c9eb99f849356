"""What to run and with which inputs: finds the entry that a file offers, or the one that was asked for.

Runs in the worker's forks only, since it executes the user's files.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import random
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint import entry_api
from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.settings.options import SAVED_INPUTS
from ddelint.trace import offers, saved, torch_internals
from ddelint.trace.arguments import as_arguments, fresh_copy, seed_everything
from ddelint.trace.entry import Arguments, Entry, EntryProblem
from ddelint.trace.importing import import_file, same_file
from ddelint.trace.marks import all_dimensions, marked, marks_of

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class Program:
    """What to call: `build` makes a fresh one, `forward` is the function whose parameters count."""

    name: str
    build: Callable[[], Callable[..., Any]]
    forward: Callable[..., Any]
    bound: bool
    """Whether `forward` has no `self` to skip."""
    module: bool
    """Whether it is an nn.Module."""


@dataclass(frozen=True)
class Inputs:
    name: str
    give: Callable[[int], Arguments]
    seeded: bool


class Loader:
    """Loads one entry, again and again: after each overlay, and when a program cannot be copied."""

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self._spec: EntrySpec = options.entry

    def load(self, *, again: bool = False) -> Entry:
        """The entry; `again`: its files are executed anew. Raises EntryProblem, or what the user's code raises."""
        spec = self._spec
        seed_everything(self._options.seed)
        module = import_file(spec.filename, again=again)
        offered = self._offered_entry(module)
        if offered is not None:
            return offered
        convention = _convention(module) if spec.entry is None and not self._inputs_are_given else None
        if convention is None and spec.entry is None and not self._inputs_are_given:
            raise EntryProblem(
                "missing",
                f"{spec.filename} offers no entry; {_what_is_there(module)}. Name one with --entry, or define "
                f"{offers.CONVENTIONS}",
            )
        program = self._program(module, again, convention[0] if convention else self._saved_name(module))
        inputs = self._inputs(module, again, program, convention[1] if convention else None)
        return self._entry(module, program, inputs, None)

    def warm(self) -> None:
        """Execute the entry's files once, so that what they import is loaded before the forks."""
        seed_everything(self._options.seed)
        spec = self._spec
        for filename in dict.fromkeys((spec.filename, spec.inputs_filename, spec.init_filename)):
            if filename is not None and not filename.endswith(SAVED_INPUTS):
                import_file(filename)

    def entry_names(self) -> tuple[str, ...]:
        """The names of all entries that `ddelint_entries()` gives (empty: the file has no such function)."""
        listed = getattr(import_file(self._spec.filename), offers.ENTRIES, None)
        return _entry_names(_listed(listed)) if listed else ()

    @property
    def _inputs_are_given(self) -> bool:
        return self._spec.inputs is not None or self._saved_filename is not None

    @property
    def _saved_filename(self) -> str | None:
        filename = self._spec.inputs_filename
        return filename if filename is not None and filename.endswith(SAVED_INPUTS) else None

    # ------------------------------------------------------------------ what the file offers

    def _offered_entry(self, module: ModuleType) -> Entry | None:
        """One of `ddelint_entries()`, where it counts: nothing else was asked for, or its name was."""
        listed = getattr(module, offers.ENTRIES, None)
        wanted = self._spec.entry
        if listed is None or self._inputs_are_given:
            return None
        entries = _listed(listed)
        if not entries:
            raise EntryProblem("missing", f"{offers.ENTRIES}() of {module.__file__} gives no entry")
        names = _entry_names(entries)
        if wanted is not None and wanted not in names:
            return None
        index = names.index(wanted) if wanted is not None else 0
        entry, name = entries[index], names[index]

        def again() -> Any:
            fresh = import_file(self._spec.filename, again=True)
            return _listed(getattr(fresh, offers.ENTRIES))[index].program

        program = self._made(name, entry.program, again, _constructor_arguments(entry.init, f"{name}'s init"))
        inputs = self._inputs_from(entry.inputs, f"{offers.ENTRIES}()")
        return self._entry(module, program, inputs, entry.unbacked)

    def _program(self, module: ModuleType, again: bool, conventional: str | None) -> Program:
        spec = self._spec
        wanted = spec.entry or conventional
        names = (wanted,) if wanted else (offers.MODEL_CLASS, offers.FUNCTION, offers.INSTANCE)
        for name in names:
            found = _find(module, name)
            if found is not None:
                return self._made(name, found, functools.partial(self._anew, name), self._init(module, again))
        if wanted:
            raise EntryProblem("missing", f"{spec.filename} has no `{wanted}`; {_what_is_there(module)}")
        raise EntryProblem(
            "missing",
            f"{spec.filename} does not say which program the inputs are for: give --entry; {_what_is_there(module)}",
        )

    def _anew(self, name: str) -> Any:
        seed_everything(self._options.seed)
        return _find(import_file(self._spec.filename, again=True), name)

    def _init(self, module: ModuleType, again: bool) -> Callable[[], Arguments]:
        spec = self._spec
        if spec.init is None:
            source = getattr(module, offers.GET_INIT_INPUTS, ())
            return _constructor_arguments(source, f"{offers.GET_INIT_INPUTS}()")
        place = module
        if spec.init_filename is not None and not same_file(spec.init_filename, spec.filename):
            place = import_file(spec.init_filename, again=again)
        source = _find(place, spec.init)
        if source is None:
            raise EntryProblem("missing", f"{place.__file__} has no `{spec.init}` (--init); {_what_is_there(place)}")
        return _constructor_arguments(source, spec.init)

    def _made(self, name: str, found: Any, again: Callable[[], Any], init: Callable[[], Arguments]) -> Program:
        """How to build what was found: a class is instantiated, an instance copied, a function taken as it is."""
        seed = self._options.seed
        found = torch_internals.uncompiled(found)
        if inspect.isclass(found):
            _check_constructor(name, found, init)

            def instantiate() -> Any:
                seed_everything(seed)
                args, kwargs = init()
                return torch_internals.uncompiled(found(*args, **kwargs))

            module = issubclass(found, torch.nn.Module)
            call = getattr(found, "forward" if module else "__call__", None)
            if call is None or isinstance(call, types.MethodWrapperType):
                raise EntryProblem("missing", f"`{name}` is a class whose instances cannot be called")
            return Program(name, instantiate, call, bound=False, module=module)
        if not callable(found):
            kind = type(found).__name__
            raise EntryProblem("missing", f"`{name}` is a {kind}: no nn.Module class, no instance, no function")
        if not isinstance(found, torch.nn.Module):
            return Program(name, lambda: found, found, bound=True, module=False)
        uncopiable = False

        def duplicate() -> Any:
            nonlocal uncopiable
            if not uncopiable:
                try:
                    seed_everything(seed)
                    return copy.deepcopy(found, _empty_tables(found))
                except Exception:
                    # some modules refuse (non-leaf tensors, locks): executing the file again gives another one
                    uncopiable = True
            return torch_internals.uncompiled(again())

        return Program(name, duplicate, found.forward, bound=True, module=True)

    def _inputs(self, module: ModuleType, again: bool, program: Program, conventional: str | None) -> Inputs:
        spec = self._spec
        if self._saved_filename is not None:
            return self._saved(program.name)
        if spec.inputs is not None:
            place = module
            if spec.inputs_filename is not None and not same_file(spec.inputs_filename, spec.filename):
                place = import_file(spec.inputs_filename, again=again)
            source = _find(place, spec.inputs)
            if source is None:
                raise EntryProblem(
                    "missing", f"{place.__file__} has no `{spec.inputs}` (--inputs); {_what_is_there(place)}"
                )
            return self._inputs_from(source, spec.inputs)
        makers = (offers.MAKE_INPUTS, offers.GET_INPUTS) if conventional is None else (conventional,)
        for name in makers:
            if callable(getattr(module, name, None)):
                return self._inputs_from(getattr(module, name), name)
        if conventional != offers.EXAMPLE_INPUTS and (hasattr(module, offers.ARGS) or hasattr(module, offers.KWARGS)):
            args, kwargs = getattr(module, offers.ARGS, ()), getattr(module, offers.KWARGS, {})
            if not isinstance(args, (tuple, list)) or not isinstance(kwargs, Mapping):
                raise EntryProblem("bad-inputs", f"`{offers.ARGS}` must be a tuple and `{offers.KWARGS}` a dict")
            return self._inputs_from((tuple(args), dict(kwargs)), f"{offers.ARGS} and {offers.KWARGS}")
        example = _example_inputs(program)
        if example is not None:
            return self._inputs_from(
                example if isinstance(example, (tuple, Mapping)) else (example,), offers.EXAMPLE_INPUTS
            )
        if not _required(program):
            return self._inputs_from((), "nothing")
        raise EntryProblem(
            "missing", f"there are no inputs for `{program.name}`: give --inputs, or define {offers.MAKE_INPUTS}(seed)"
        )

    def _saved(self, name: str) -> Inputs:
        """The saved arguments of the program that `--inputs` names, or of the one that has this name."""
        assert self._saved_filename is not None
        programs = self._saved_programs()
        shown = Path(self._saved_filename).name
        wanted = self._spec.inputs or name
        found = [program for program in programs if program.name == wanted]
        if not found and self._spec.inputs is None and len(programs) == 1:
            found = list(programs)
        if not found:
            held = ", ".join(dict.fromkeys(program.name for program in programs)) or "nothing"
            raise EntryProblem("missing", f"{shown} holds no inputs of `{wanted}`; it holds: {held}")
        calls = [call for program in found for call in program.calls]

        def copied(seed: int) -> Arguments:
            seed_everything(seed)
            args, kwargs = fresh_copy(calls[seed % len(calls)])
            return args, kwargs

        return Inputs(shown, copied, seeded=len(calls) > 1)

    def _saved_name(self, module: ModuleType) -> str | None:
        """The first program in the file of saved inputs that the module defines, where none was named."""
        if self._saved_filename is None or self._spec.entry is not None:
            return None
        names = [program.name for program in self._saved_programs()]
        return next((name for name in names if _find(module, name) is not None), None)

    def _saved_programs(self) -> tuple[saved.Saved, ...]:
        assert self._saved_filename is not None
        try:
            return saved.read(self._saved_filename)
        except saved.SavedInputsError as error:
            raise EntryProblem("bad-inputs", str(error)) from None

    def _inputs_from(self, source: Any, name: str) -> Inputs:
        """Inputs from a callable (with or without a seed) or from plain values, which are copied for each call."""
        if not callable(source) or isinstance(source, torch.Tensor):
            arguments = as_arguments(source, name)

            def copied(seed: int) -> Arguments:
                seed_everything(seed)
                copied_args, copied_kwargs = fresh_copy(arguments)
                return copied_args, copied_kwargs

            return Inputs(name, copied, seeded=False)
        how = _seed_parameter(source)
        if how == "keyword":
            name = f"{name}(seed)"
        elif how is not None:
            name = f"{name}({how})"
        elif not name.endswith("()"):  # `ddelint_entries()` says already that it is called
            name = f"{name}()"

        def called(seed: int) -> Arguments:
            seed_everything(seed)
            if how is None:
                value = source()
            else:
                value = source(seed=seed) if how == "keyword" else source(seed)
            args, kwargs = fresh_copy(as_arguments(value, name))
            return args, kwargs

        return Inputs(name, called, seeded=how is not None or _draws(called))

    # ------------------------------------------------------------------ the whole

    def _entry(
        self,
        module: object,
        program: Program,
        inputs: Inputs,
        unbacked: Mapping[str | int, Sequence[int]] | None,
    ) -> Entry:
        once: list[Arguments] = []

        def sample() -> Arguments:
            if not once:
                once.append(inputs.give(self._options.seed))
            return once[0]

        names = parameter_names(program, sample)
        marks: Any = unbacked if unbacked is not None else getattr(module, offers.UNBACKED, None)
        dynamic: Any = getattr(module, offers.DYNAMIC, None)
        return Entry(
            label=f"{Path(self._spec.filename).name}:{program.name}, inputs from {inputs.name}",
            filename=self._spec.filename,
            build=program.build,
            inputs=inputs.give,
            seeded=inputs.seeded,
            parameters=names,
            unbacked=self._unbacked(marks, names, sample),
            dynamic=self._dynamic(dynamic, names, sample),
        )

    def _dynamic(
        self, marks: Any, names: tuple[str, ...], sample: Callable[[], Arguments]
    ) -> Mapping[str, tuple[int, ...]]:
        if self._options.backed:
            return all_dimensions(names, sample())
        return marks_of(marks, offers.DYNAMIC, names, sample) if marks else {}

    def _unbacked(
        self, marks: Any, names: tuple[str, ...], sample: Callable[[], Arguments]
    ) -> Mapping[str, tuple[int, ...]]:
        text = self._options.unbacked.strip()
        if text == "none":
            return {}
        if not text:
            return marks_of(marks, offers.UNBACKED, names, sample) if marks else marked(names, sample)
        if text == "all":
            return all_dimensions(names, sample())
        asked: dict[str | int, list[int]] = {}
        for part in text.split(","):
            name, _, dimension = part.strip().rpartition(".")
            try:
                asked.setdefault(name, []).append(int(dimension))
            except ValueError:
                raise EntryProblem("bad-inputs", f"--unbacked wants NAME.DIM, not `{part.strip()}`") from None
        return marks_of(asked, "--unbacked", names, sample)


def run_eagerly(entry: Entry, seed: int, seeds: int) -> bool:
    """Build and call the entry once; gives whether gradients can flow. Raises what the user's code raises.

    Where the first inputs raise, others are tried (up to `seeds`): some are meant to.
    """
    first: Exception | None = None
    for number in range(seed, seed + (seeds if entry.seeded else 1)):
        program = entry.build()
        args, kwargs = entry.inputs(number)
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if isinstance(program, torch.nn.Module):
            tensors += list(program.parameters())
        requires_grad = any(tensor.requires_grad for tensor in tensors)
        try:
            with entry.surroundings(), torch.compiler.set_stance("force_eager"):
                program(*args, **kwargs)
                return requires_grad and torch.is_grad_enabled()
        except Exception as error:
            first = first or error
    assert first is not None
    raise first


def _listed(function: Any) -> list[entry_api.Entry]:
    listed = function()
    entries = [listed] if isinstance(listed, entry_api.Entry) else list(listed)
    for entry in entries:
        if not isinstance(entry, entry_api.Entry):
            raise EntryProblem(
                "bad-inputs", f"{offers.ENTRIES}() must return ddelint.Entry objects, not {type(entry).__name__}"
            )
    return entries


def _entry_names(entries: Sequence[entry_api.Entry]) -> tuple[str, ...]:
    """A name for each: its own, or its program's; with its number for an instance, and where another entry has it."""
    names: list[str] = []
    for index, entry in enumerate(entries):
        name = entry.name or getattr(entry.program, "__name__", None)
        kind = type(entry.program).__name__
        names.append(f"{name or kind}[{index}]" if name is None or name in names else name)
    return tuple(names)


def _find(module: ModuleType, dotted: str) -> Any:
    found: Any = module
    for part in dotted.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def _what_is_there(module: ModuleType) -> str:
    """The callables that the file itself defines, for an error message."""
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value) or isinstance(value, torch.nn.Module))
        and getattr(value, "__module__", module.__name__) in (module.__name__, type(value).__module__)
    ]
    return f"it defines {', '.join(own[:12])}" if own else "it defines no class and no function"


def _convention(module: ModuleType) -> tuple[str, str] | None:
    """The names of the program and of what gives its inputs, by the first convention that the file fulfils."""
    has = vars(module).__contains__
    if has(offers.GET_INPUTS) and has(offers.MODEL_CLASS):
        return offers.MODEL_CLASS, offers.GET_INPUTS
    if has(offers.MAKE_INPUTS):
        for name in (offers.MODEL_CLASS, offers.FUNCTION):
            if has(name):
                return name, offers.MAKE_INPUTS
    if has(offers.INSTANCE) and (has(offers.ARGS) or has(offers.KWARGS)):
        return offers.INSTANCE, offers.ARGS
    for name, value in vars(module).items():
        if inspect.isclass(value) and value.__module__ == module.__name__ and _is_lightning(value):
            return name, offers.EXAMPLE_INPUTS
    return None


def _is_lightning(found: Any) -> bool:
    return any(base.__name__ == offers.LIGHTNING_BASE for base in found.__mro__[1:])


def _example_inputs(program: Program) -> Any:
    """A Lightning module's example input; building it is the only way to see what the constructor set."""
    if not program.module:
        return None
    return getattr(program.build(), offers.EXAMPLE_INPUTS, None)


def _empty_tables(module: torch.nn.Module) -> dict[int, object]:
    """What is copied already: the tables of hooks that each part of a module has, nearly all empty, of which each would
    be taken apart and put together again. A program is copied for each of its runs.
    """
    tables = itertools.chain.from_iterable(vars(part).values() for part in module.modules())
    empty = (table for table in tables if type(table) is OrderedDict and not table and not vars(table))
    return {id(table): OrderedDict() for table in empty}


def _constructor_arguments(source: Any, name: str) -> Callable[[], Arguments]:
    if callable(source):
        return lambda: fresh_copy(as_arguments(source(), name))
    arguments = as_arguments(source, name)
    return lambda: fresh_copy(arguments)


def _check_constructor(name: str, found: type, init: Callable[[], Arguments]) -> None:
    """Say which constructor arguments are missing before the constructor does so in its own words."""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return
    args, kwargs = init()
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise EntryProblem("bad-inputs", f"`{name}` cannot be built: {error}; give --init") from None


def _seed_parameter(function: Any) -> str | None:
    """`keyword` where the callable takes `seed=`, the name of its one required parameter, or None."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    seed = parameters.get("seed")
    if seed is not None:
        return "seed" if seed.kind is inspect.Parameter.POSITIONAL_ONLY else "keyword"
    required = [p for p in parameters.values() if p.kind in _POSITIONAL and p.default is inspect.Parameter.empty]
    return required[0].name if len(required) == 1 else None


def _draws(give: Callable[[int], Arguments]) -> bool:
    """Whether the inputs depend on the global random state (which is seeded before each call)."""
    give(0)
    after = torch.get_rng_state(), random.getstate()
    state = sys.modules["numpy"].random.get_state()[1].tolist() if "numpy" in sys.modules else None
    seed_everything(0)
    if not torch.equal(after[0], torch.get_rng_state()) or after[1] != random.getstate():
        return True
    return state is not None and state != sys.modules["numpy"].random.get_state()[1].tolist()


def _signature(program: Program) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(program.forward).parameters.values())
    except (TypeError, ValueError):
        return []
    return parameters if program.bound else parameters[1:]


def _required(program: Program) -> bool:
    return any(
        p.default is inspect.Parameter.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        for p in _signature(program)
    )


def parameter_names(program: Program, sample: Callable[[], Arguments]) -> tuple[str, ...]:
    """Names of all parameters; those behind `*args` are called `args_0`, `args_1`, those behind `**kwargs` by key."""
    parameters = _signature(program)
    if not parameters:
        args, kwargs = sample()
        return tuple(f"args_{index}" for index in range(len(args))) + tuple(kwargs)
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            extra = len(sample()[0]) - len(names)
            names += [f"{parameter.name}_{index}" for index in range(extra)]
        elif parameter.kind is parameter.VAR_KEYWORD:
            names += [name for name in sample()[1] if name not in names]
        else:
            names.append(parameter.name)
    return tuple(names)
