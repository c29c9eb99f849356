"""What a file declares of its inputs' sizes: ShapesSpec, `dynamic_shapes` of export, marks on inputs. In the worker."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from ddelint.nouns.size_specs import ITEMS, KEYS, Bounds, Declarations, SizeSpec
from ddelint.shapes.facts import dimension_of, unused, variable_for
from ddelint.shapes.places import inside
from ddelint.shapes.trying import handed_over, tensors_of
from ddelint.shapes.writing import BESIDE
from ddelint.trace import naming, torch_internals
from ddelint.trace.entry import Entry


def declarations(entry: Entry, seed: int, wanted: str = "") -> Declarations:
    """The specs beside an entry: in its file, in `<file>_shapes.py`, on its inputs; `wanted`: FILE.py:NAME, or NAME."""
    filename, _, name = wanted.rpartition(":") if ".py" in wanted else ("", "", wanted)
    found: list[SizeSpec] = []
    program = entry.build()
    handed = handed_over(entry, seed, program)
    known = tensors_of(entry, seed)
    attached = spec_in(torch_internals.attached_spec(program), "@dynamic_spec", entry.parameters, handed)
    if attached is not None and not wanted:
        found.append(attached)
    for path in [filename] if filename else [entry.filename, f"{os.path.splitext(entry.filename)[0]}{BESIDE}"]:
        for key, value in _globals_of(path).items():
            if not name or key == name:
                origin = f"{key} ({os.path.basename(path)})"
                spec = spec_in(value, origin, entry.parameters, handed, place=f"{path}:{key}")
                found += [spec] if spec is not None and (name or _is_about(spec, known)) else []
    marked = _marked(entry, seed) if not wanted else None
    return Declarations((*found, *([marked] if marked is not None else [])))


def _is_about(spec: SizeSpec, tensors: Mapping[str, torch.Tensor]) -> bool:
    """Whether it speaks of any of the program's tensors: others belong to another program, or are a part of one."""
    return not spec.dimensions or any(dimension_of(name)[0] in tensors for name in spec.dimensions)


def dynamic_shapes_at(place: str) -> Any:
    """What stands at FILE.py:NAME, as it is declared there."""
    path, _, name = place.rpartition(":")
    return _globals_of(path)[name]


def _globals_of(path: str) -> Mapping[str, Any]:
    real = os.path.realpath(path)
    for module in list(sys.modules.values()):
        known = getattr(module, "__file__", None)
        if isinstance(known, str) and os.path.realpath(known) == real:
            return dict(vars(module))
    return runpy.run_path(real) if Path(real).is_file() else {}


def spec_in(
    value: Any,
    origin: str,
    parameters: Sequence[str],
    handed: Mapping[str, str] = MappingProxyType({}),
    place: str = "",
) -> SizeSpec | None:
    """A ShapesSpec, or `dynamic_shapes` of export (which stand at `place`), as a SizeSpec; None for anything else."""
    kinds = torch_internals.spec_kinds()
    if kinds is not None and (isinstance(value, kinds.ParamsSpec) or _holds_specs(value, kinds)):
        value = kinds.ShapesSpec(value)
    if kinds is not None and isinstance(value, kinds.ShapesSpec):
        return _shapes_spec(value, origin, handed)
    if isinstance(value, (tuple, list)):
        value = dict(zip(parameters, value))
    if isinstance(value, dict) and value and any(_holds_dims(one) for one in value.values()):
        return _dynamic_shapes(value, origin, place)
    return None


# ------------------------------------------------------------------------------------------------------- ShapesSpec


def _tensor_specs(place: str, spec: Any, kinds: Any) -> Iterator[tuple[str, Any]]:
    """The specs of tensors in what is said of one argument, each with its place."""
    if isinstance(spec, kinds.TensorSpec):
        yield place, spec
    for kind, key, part in torch_internals.parts_of_container_spec(spec):
        yield from _tensor_specs(inside(place, kind, key), part, kinds)


def _shapes_spec(value: Any, origin: str, handed: Mapping[str, str]) -> SizeSpec:
    """`handed`: what reaches the program in `*args` and `**kwargs`; torch passes over a spec that names it."""
    listed, assumptions = torch_internals.parts_of_spec(value)
    seen = {handed[name] + (name if handed[name] == "**" else ""): name for name in handed}
    parameters = {seen.get(name, name): one for name, one in listed.items() if name not in handed}
    kinds = torch_internals.spec_kinds()
    words: dict[Any, str] = {}
    variables: dict[str, Bounds] = {}
    dimensions: dict[str, Any] = {}
    for place, spec in (found for name, one in parameters.items() for found in _tensor_specs(name, one, kinds)):
        for dimension, one in enumerate(spec):
            for variable in [one] if isinstance(one, kinds.IntVar) else []:
                if variable.sympy_sym not in words:
                    words[variable.sympy_sym] = name = _free(variable.name, variables)
                    variables[name] = (variable.min or 0, variable.max)
            if one is not None:
                dimensions[f"{place}.shape[{dimension}]"] = one
    for expression in [*dimensions.values(), *assumptions]:
        for symbol in torch_internals.symbols_of(expression):
            if symbol not in words:
                words[symbol] = name = _free(str(symbol).partition("#")[0], variables)
                variables[name] = torch_internals.spec_bounds(symbol)
    texts = {name: _written(one, words) for name, one in dimensions.items()}
    return SizeSpec(variables, texts, tuple(_written(one, words) for one in assumptions), origin)


def _free(wanted: str, taken: Mapping[str, object]) -> str:
    return unused(wanted if wanted.isidentifier() else "size", taken)


def _written(value: Any, words: Mapping[Any, str]) -> str:
    if isinstance(value, int):
        return str(value)
    return naming.written(torch_internals.expression_of(value), [], words)


def _holds_specs(value: Any, kinds: Any) -> bool:
    """Whether torch wraps a dictionary in a ShapesSpec itself."""
    wanted = (kinds.TensorSpec, kinds.DictSpec, kinds.SeqSpec, kinds.ObjectSpec)
    return isinstance(value, dict) and any(isinstance(one, wanted) for one in value.values())


# ---------------------------------------------------------------------------------------------- Dims, and marks


def _holds_dims(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return any(_is_dim(one) or _holds_dims(one) for one in inner)


def _dims_in(place: str, value: Any) -> Iterator[tuple[str, Mapping[int, Any]]]:
    """What is said of each tensor in one argument, with its place: Dims by dimension."""
    if isinstance(value, dict) and any(not isinstance(key, int) for key in value):
        for key, part in value.items():
            yield from _dims_in(inside(place, KEYS, key), part)
    elif isinstance(value, (tuple, list)) and any(isinstance(part, (dict, tuple, list)) for part in value):
        for at, part in enumerate(value):
            yield from _dims_in(inside(place, ITEMS, at), part)
    elif isinstance(value, (dict, tuple, list)):
        yield place, value if isinstance(value, dict) else dict(enumerate(value))


def _is_dim(value: Any) -> bool:
    return isinstance(value, (type(torch.export.Dim.AUTO), torch_internals.dim_kind()))


def _dynamic_shapes(value: Mapping[str, Any], origin: str, place: str) -> SizeSpec:
    variables: dict[str, Bounds] = {}
    dimensions: dict[str, str] = {}
    for tensor, dims in (found for name, one in value.items() for found in _dims_in(name, one)):
        for dimension, dim in dims.items():
            name = f"{tensor}.shape[{dimension}]"
            if isinstance(dim, bool) or dim is None or dim is torch.export.Dim.STATIC:
                continue
            if isinstance(dim, int):
                dimensions[name] = str(dim)
            elif isinstance(dim, type(torch.export.Dim.AUTO)):
                variable = unused(variable_for(name), variables)
                variables[variable], dimensions[name] = (0, None), variable
            else:
                root, factor, constant, bounds = torch_internals.dim_parts(dim)
                variables.setdefault(root, bounds)
                dimensions[name] = _affine(root, factor, constant)
    return SizeSpec(variables, dimensions, (), origin, exported=True, place=place)


def _affine(root: str, factor: int, constant: int) -> str:
    text = root if factor == 1 else f"{factor} * {root}"
    return text if not constant else f"{text} + {constant}" if constant > 0 else f"{text} - {-constant}"


def _marked(entry: Entry, seed: int) -> SizeSpec | None:
    variables: dict[str, Bounds] = {}
    dimensions: dict[str, str] = {}
    for parameter, tensor in tensors_of(entry, seed).items():
        for dimension, bounds, group in torch_internals.marks_of(tensor):
            variable = group or variable_for(f"{parameter}.shape[{dimension}]")
            low, high = variables.get(variable, (0, None))
            highs = [one for one in (high, bounds[1]) if one is not None]
            variables[variable] = max(low, bounds[0]), min(highs) if highs else None
            dimensions[f"{parameter}.shape[{dimension}]"] = variable
    return SizeSpec(variables, dimensions, (), "marks on the inputs", marked=True) if dimensions else None
