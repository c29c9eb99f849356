"""A program compiled under a spec by torch itself, and called with inputs of chosen sizes. Runs in the worker."""

from __future__ import annotations

import ast
import copy
import inspect
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from ddelint.nouns.diagnostics import Span
from ddelint.nouns.size_specs import ITEMS, KEYS, Outcome, SizeSpec, Trial
from ddelint.shapes.facts import COMPARISONS, OPERATIONS, Sizes, dimension_of
from ddelint.shapes.places import grown, in_order, inside, reads_as_place, root_of
from ddelint.shapes.specs import grouped, on_inputs
from ddelint.trace import torch_internals
from ddelint.trace.entry import Arguments, Entry
from ddelint.trace.marks import by_parameter
from ddelint.trace.rerun import quiet
from ddelint.verify.frozen import Freezer
from ddelint.verify.sameness import COMPILED, differences

MOST_ELEMENTS = 1 << 24
_RECOMPILES = 64
_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep


def try_spec(entry: Entry, seed: int, spec: SizeSpec, first: Sizes, cases: Sequence[Sizes]) -> Trial:
    """Compile for inputs of the sizes `first`, then call with each of `cases`; nothing is compiled again."""
    if torch_internals.spec_kinds() is None:
        return Trial(False, f"torch {torch.__version__} has no ShapesSpec: 2.13 has")
    with torch_internals.compile_settings(recompiles=_RECOMPILES), torch.no_grad(), quiet():
        torch.manual_seed(0)
        program = entry.build()
        compiled = torch_internals.compiled_under(program, shapes_spec_of(on_inputs(spec), entry, seed, program))
        try:
            args, kwargs = sized(entry, seed, first)
            with entry.surroundings():
                compiled(*args, **kwargs)
        except Exception as error:
            return Trial(False, first_line(error))
        outcomes = []
        with torch.compiler.set_stance("fail_on_recompile"):
            for sizes in cases:
                outcomes.append(call(entry, program, compiled, seed, sizes))
    return Trial(True, outcomes=tuple(outcomes))


class Graphs:
    """A backend of torch.compile that runs graphs as they are, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        self.count += 1
        return graph.forward  # type: ignore[no-any-return]


class Eager:
    """The program as it is, for inputs of any sizes."""

    def __init__(self, entry: Entry, seed: int) -> None:
        self._entry = entry
        self._seed = seed
        self.program = entry.build()
        self.places: dict[str, tuple[Span, str]] = {}
        """What was raised → the deepest line outside of torch, and its text."""

    def __call__(self, sizes: Sizes) -> str:
        """What it raises; empty where it returns, or where such inputs are too large to be made."""
        try:
            args, kwargs = sized(self._entry, self._seed, sizes)
        except MemoryError:
            return ""
        with torch.no_grad(), quiet(), torch.compiler.set_stance("force_eager"), self._entry.surroundings():
            try:
                torch.manual_seed(self._seed)
                self.program(*args, **kwargs)
            except Exception as error:
                text = first_line(error)
                self._note(text, error)
                return text
        return ""

    def _note(self, text: str, error: Exception) -> None:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.lineno and not frame.filename.startswith((torch_internals.TORCH_FOLDER, _OURS))
        ]
        if frames:
            row = frames[-1].lineno or 1
            self.places[text] = Span(frames[-1].filename, row, 1, row, 2), frames[-1].line or ""


def parameters_of(entry: Entry, seed: int) -> dict[str, Any]:
    """The entry's arguments by the names of its parameters."""
    return by_parameter(entry.parameters, entry.inputs(seed))


def leaves_of(entry: Entry, seed: int) -> dict[str, Any]:
    """Everything among the entry's arguments, by its place: `tokens`, `batch['mask']`."""
    found: dict[str, Any] = {}
    for name, value in parameters_of(entry, seed).items():
        try:
            leaves = torch_internals.leaves_at(name, value)
        except ValueError:  # a container that torch cannot look into by keys
            leaves = [(name, value)]
        found |= dict(leaves) if leaves and all(reads_as_place(place) for place, _ in leaves) else {name: value}
    return found


def tensors_of(entry: Entry, seed: int) -> dict[str, torch.Tensor]:
    """The tensors among the entry's arguments, by their places."""
    return {place: value for place, value in leaves_of(entry, seed).items() if isinstance(value, torch.Tensor)}


def lists_of(entry: Entry, seed: int) -> tuple[str, ...]:
    """The places of lists among the entry's arguments, which export tells from tuples."""
    found: list[str] = []

    def look(place: str, value: Any) -> None:
        found.extend([place] if isinstance(value, list) else [])
        parts = value.items() if isinstance(value, dict) else enumerate(value) if type(value) in (list, tuple) else ()
        for key, part in parts:
            look(inside(place, KEYS, key), part)

    for name, value in parameters_of(entry, seed).items():
        look(name, value)
    return tuple(found)


def sized(entry: Entry, seed: int, sizes: Sizes) -> Arguments:
    """The entry's arguments, each tensor with the wanted sizes: rows of the example over and over."""
    args, kwargs = entry.inputs(seed)
    wanted: dict[str, dict[int, int]] = {}
    for name, size in sizes.items():
        parameter, dimension = dimension_of(name)
        wanted.setdefault(parameter, {})[dimension] = size

    def changed(name: str, value: Any) -> Any:
        if not any(root_of(place) == name for place in wanted):
            return value
        return torch_internals.map_tensors_at(lambda at, tensor: _resized(tensor, wanted.get(at, {})), name, value)

    names = dict(zip(range(len(args)), entry.parameters))
    given = tuple(changed(names.get(at, ""), value) for at, value in enumerate(args))
    return given, {name: changed(name, value) for name, value in kwargs.items()}


def _resized(value: torch.Tensor, sizes: Mapping[int, int]) -> torch.Tensor:
    for dimension, size in sizes.items():
        known = value.shape[dimension]
        if size == known:
            continue
        if value.numel() // max(known, 1) * size > MOST_ELEMENTS:
            raise MemoryError(f"{size} rows in dimension {dimension} are too much to run")
        if not known:
            value = value.new_zeros([size if at == dimension else n for at, n in enumerate(value.shape)])
        else:
            value = value.index_select(dimension, torch.arange(size, device=value.device) % known)
    return value


def call(entry: Entry, program: Callable[..., Any], compiled: Callable[..., Any], seed: int, sizes: Sizes) -> Outcome:
    """What calling the compiled program with inputs of such sizes comes to, held against eager."""
    expected, eager = _run(entry, program, seed, sizes)
    try:
        args, kwargs = sized(entry, seed, sizes)
        with entry.surroundings():
            torch.manual_seed(seed)
            got = compiled(*args, **kwargs)
    except Exception as error:
        text = first_line(error)
        if torch_internals.is_refusal(error):
            return Outcome(sizes, "refused", text, eager)
        return Outcome(sizes, "raised" if eager else "broke", text, eager)
    if eager:
        return Outcome(sizes, "differs", "compiled, it returns", eager)
    different = next(differences(_frozen(expected), _frozen(got), COMPILED), None)
    return Outcome(sizes, "differs", f"{different.aspect} {different.got}") if different else Outcome(sizes, "same")


def _run(entry: Entry, program: Callable[..., Any], seed: int, sizes: Sizes) -> tuple[Any, str]:
    try:
        args, kwargs = sized(entry, seed, sizes)
        with torch.compiler.set_stance("force_eager"), entry.surroundings():
            torch.manual_seed(seed)
            return copy.deepcopy(program(*args, **kwargs)), ""
    except Exception as error:
        return None, first_line(error)


def _frozen(value: Any) -> Any:
    return Freezer().freeze(value)


def first_line(error: BaseException) -> str:
    """An error as one line."""
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def handed_over(entry: Entry, seed: int, program: Callable[..., Any]) -> dict[str, str]:
    """Parameter with tensors → `*0`, `**`: how what is compiled gets it, where that has no parameter of the name.

    A spec goes by the parameters of the function that is compiled itself, not of one that it wraps.
    """
    args, kwargs = entry.inputs(seed)
    function = program.forward if isinstance(program, torch.nn.Module) else program
    try:
        own = inspect.signature(function, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return {}
    positions = [one.name for one in own if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    named = {one.name for one in own if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
    spread = dict(list(zip(entry.parameters, range(len(args))))[len(positions) :])
    found = {name: f"*{at - len(positions)}" for name, at in spread.items()}
    found |= {name: "**" for name in kwargs if name not in named}
    roots = dict.fromkeys(map(root_of, tensors_of(entry, seed)))
    return {name: found[name] for name in roots if name in found}


def shapes_spec_of(
    spec: SizeSpec,
    entry: Entry,
    seed: int,
    program: Callable[..., Any],
    hints: Mapping[str, int] = MappingProxyType({}),
) -> Any:
    """The spec as torch's own objects: an entry for each dimension of each tensor that it speaks of.

    `hints`: variable → the size that is tuned for.
    """
    kinds = torch_internals.spec_kinds()
    ranks = {name: tensor.dim() for name, tensor in tensors_of(entry, seed).items()}
    variables = {
        name: kinds.ShapeVar(name, min=low, max=high, optimization_hint=hints.get(name))
        for name, (low, high) in spec.variables.items()
    }
    tensors: dict[str, dict[int, Any]] = {}
    for name, text in spec.dimensions.items():
        parameter, dimension = dimension_of(name)
        tensors.setdefault(parameter, {})[dimension] = _value(ast.parse(text, mode="eval").body, variables)
    parameters = {
        name: kinds.TensorSpec([dims.get(at) for at in range(max(max(dims) + 1, ranks.get(name, 0)))])
        for name, dims in tensors.items()
    }
    assumptions = [_value(ast.parse(text, mode="eval").body, variables) for text in spec.assumptions]
    handed = handed_over(entry, seed, program)
    parameters = grown(parameters, lambda kind, parts, place: _container(kinds, kind, parts))
    return kinds.ShapesSpec(grouped(parameters, handed, None), assumptions=assumptions or None)


def _container(kinds: Any, kind: str, parts: dict[str | int, Any]) -> Any:
    if kind == ITEMS:
        return kinds.SeqSpec(in_order(parts, None))
    return kinds.DictSpec(parts) if kind == KEYS else kinds.ObjectSpec(parts)


def _value(node: ast.expr, variables: Mapping[str, Any]) -> Any:
    """An expression over variables, as torch's symbols compute it."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return variables[name]
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return torch.sym_not(_value(inner, variables))
        case ast.BoolOp(op=op, values=values):
            parts = [_value(value, variables) for value in values]
            total = parts[0]
            for part in parts[1:]:
                total = total & part if isinstance(op, ast.And) else total | part
            return total
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _value(left, variables), _value(right, variables)
            return OPERATIONS[type(op)](first, second)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return COMPARISONS[type(op)](_value(left, variables), _value(right, variables))
        case ast.Call(func=ast.Name(id="max"), args=[left, right]):
            return torch.sym_max(_value(left, variables), _value(right, variables))
        case ast.Call(func=ast.Name(id="min"), args=[left, right]):
            return torch.sym_min(_value(left, variables), _value(right, variables))
    raise ValueError(f"a spec cannot say {ast.unparse(node)}")
