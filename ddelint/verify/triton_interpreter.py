"""Inductor's Triton kernels run on the CPU by Triton's interpreter.

Each access to memory is checked against the buffers that exist, as a tool beside a GPU would: what lies outside is an
error, not a wrong number somewhere else. The interpreter runs one block after the other: it sees no races.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from unittest import mock

import numpy
import torch

from ddelint.trace import gpu_internals
from ddelint.verify import triton_functions, triton_masks, triton_numbers, triton_operations, triton_reductions
from ddelint.verify.triton_functions import CannotInterpret
from ddelint.verify.waiting_blocks import WaitingBlocks

_BLOCKS = ("XBLOCK", "YBLOCK", "ZBLOCK", "R0_BLOCK", "R1_BLOCK")
_PROGRAMS = 48
"""Blocks of one launch that the interpreter is asked to run; larger launches get larger blocks."""
_LARGEST = 1 << 16
_PLAIN_GRIDS = ("Grid1D", "Grid2D", "Grid3D", "Grid2DWithYZOverflow")
_WAITING_GRIDS = ("CooperativeReductionGrid",)
_UNMASKED = re.compile(r"^[ \t]*([xyz]|r\d_)mask = tl\.full\(", re.MULTILINE)
"""The mask that Inductor writes where its blocks divide what there is."""


class OutOfBounds(Exception):
    """A kernel reaches for memory that is nobody's."""


@dataclass
class Launched:
    """What the launches of one kernel did."""

    launches: int = 0
    configurations: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Work:
    """What one launch did: bytes that it touched, and what it computed."""

    moved: int
    arithmetic: int
    products: int


class Memory:
    """The buffers that exist during a launch, and what of them is read and written."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        places: dict[int, int] = {}
        for tensor in tensors:
            storage = tensor.untyped_storage()
            if storage.nbytes():
                places[storage.data_ptr()] = storage.nbytes()
        self._starts = numpy.array(sorted(places), dtype=numpy.uint64)
        self._sizes = numpy.array([places[int(start)] for start in self._starts], dtype=numpy.uint64)
        self._read = [numpy.zeros(int(size), dtype=bool) for size in self._sizes]
        self._written = [numpy.zeros(int(size), dtype=bool) for size in self._sizes]

    def touch(self, pointers: Any, mask: Any, width: int, *, writes: bool) -> None:
        """Raises OutOfBounds where an address that is not masked lies in no buffer."""
        wanted = numpy.asarray(pointers)[numpy.broadcast_to(numpy.asarray(mask, dtype=bool), numpy.shape(pointers))]
        wanted = wanted.astype(numpy.uint64).ravel()
        if not wanted.size:
            return
        verb = "writes" if writes else "reads"
        if not self._starts.size:
            raise OutOfBounds(f"{verb} memory that is nobody's")
        number = numpy.searchsorted(self._starts, wanted, side="right").astype(numpy.int64) - 1
        known = numpy.clip(number, 0, None)
        offset = wanted - self._starts[known]
        outside = (number < 0) | (offset + numpy.uint64(width) > self._sizes[known])
        if outside.any():
            raise OutOfBounds(f"{verb} {int(outside.sum())} elements outside of every buffer")
        for which in numpy.unique(number):
            seen = (self._written if writes else self._read)[int(which)]
            seen[offset[number == which].astype(numpy.int64)] = True

    def bytes(self, widths: Mapping[int, int]) -> tuple[int, int]:
        """How many bytes were read and written, each counted once; `widths`: of an element, by where it begins."""
        factors = [widths.get(int(start), 1) for start in self._starts]
        read = sum(int(seen.sum()) * factor for seen, factor in zip(self._read, factors))
        return read, sum(int(seen.sum()) * factor for seen, factor in zip(self._written, factors))


class Interpreter:
    """Runs kernels on CPU tensors."""

    def __init__(self) -> None:
        self._functions: dict[int, Any] = {}
        self._memory = Memory([])

    def launch(self, autotuner: Any, args: tuple[Any, ...], done: Launched) -> Work:
        """One launch; how many have been `done` decides on the block sizes."""
        function = autotuner.fn
        configuration = autotuner.configs[0]
        names = arguments_of(autotuner, configuration, len(args))
        given = dict(zip(names, args))
        blocks = dict(configuration.kwargs)
        constants = {
            name: value for name, value in autotuner.triton_meta.get("constants", {}).items() if isinstance(name, str)
        }
        scalars = {name: value for name, value in given.items() if isinstance(value, (int, float))}
        meta = autotuner.inductor_meta
        source = str(getattr(function, "src", ""))
        unmasked = frozenset(f"{name.upper()}BLOCK" for name in _UNMASKED.findall(source))
        blocks, grid = _fitting(meta, blocks, {**constants, **scalars}, unmasked, done.launches)
        tensors = [value for value in given.values() if isinstance(value, torch.Tensor)]
        self._memory = Memory(tensors)
        extra = set(meta.get("extra_launcher_args", ()))
        passed = {name: value for name, value in {**constants, **given, **blocks}.items() if name not in extra}
        signature = autotuner.triton_meta.get("signature", {})
        passed |= {name: _number(passed[name], kind) for name, kind in signature.items() if kind in _FLOATS}
        for name in ("num_warps", "num_stages"):
            if name in function.arg_names and name not in passed:
                passed[name] = getattr(configuration, name)
        with (
            triton_operations.counted() as operations,
            self._patched(operations),
            numpy.errstate(all="ignore"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            if meta.get("grid_type") in _WAITING_GRIDS:
                self._together(function, grid, passed)
            else:
                self._function(function)[grid](**passed)
        moved = self._memory.bytes({tensor.untyped_storage().data_ptr(): tensor.element_size() for tensor in tensors})
        done.launches += 1
        done.configurations.add(", ".join(f"{name}={value}" for name, value in sorted(blocks.items())))
        share = triton_operations.share(meta, source, blocks, grid, {**constants, **scalars})
        if share is None:
            return Work(sum(moved), round(operations.unmasked_arithmetic), round(operations.unmasked_products))
        return Work(sum(moved), round(operations.arithmetic * share), round(operations.products * share))

    def _together(self, function: Any, grid: tuple[int, int, int], passed: dict[str, Any]) -> None:
        """A launch whose blocks wait for each other."""
        interpreter = import_module("triton.runtime.interpreter")
        helpers = import_module("torch._inductor.runtime.triton_helpers")
        interpreted = self._function(function)
        blocks = WaitingBlocks(interpreted.rewrite(), grid, interpreter.interpreter_builder.set_grid_idx)
        with mock.patch.object(helpers, "x_grid_barrier", blocks.barrier):
            interpreter.GridExecutor(blocks, interpreted.arg_names, grid)(**passed)

    def _function(self, function: Any) -> Any:
        from triton.runtime.interpreter import InterpretedFunction

        if id(function) not in self._functions:
            self._functions[id(function)] = InterpretedFunction(function.fn)
        return self._functions[id(function)]

    @contextlib.contextmanager
    def _patched(self, operations: triton_operations.Operations) -> Iterator[None]:
        interpreter = import_module("triton.runtime.interpreter")
        jit = import_module("triton.runtime.jit")
        builder = interpreter.InterpreterBuilder
        accesses = ("create_masked_load", "create_masked_store", "create_atomic_rmw", "create_atomic_cas")
        plain = {name: getattr(builder, name) for name in (*accesses, "create_trans")}
        memory = self._memory

        def touch(pointers: Any, mask: Any, *, writes: bool) -> None:
            memory.touch(pointers.data, mask, width(pointers), writes=writes)
            operations.masks.access(pointers.data, mask, writes=writes)

        def width(pointer: Any) -> int:
            return int(numpy.dtype(interpreter._get_np_dtype(pointer.get_element_ty())).itemsize)

        def load(self: Any, pointers: Any, mask: Any, other: Any, *rest: Any) -> Any:
            touch(pointers, mask.data, writes=False)
            return triton_masks.loaded(plain["create_masked_load"](self, pointers, mask, other, *rest), mask.data)

        def store(self: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
            touch(pointers, mask.data, writes=True)
            return plain["create_masked_store"](self, pointers, value, mask, *rest)

        def rmw(self: Any, operation: Any, pointer: Any, value: Any, mask: Any, *rest: Any) -> Any:
            touch(pointer, mask.data, writes=True)
            return plain["create_atomic_rmw"](self, operation, pointer, value, mask, *rest)

        def cas(self: Any, pointer: Any, *rest: Any) -> Any:
            touch(pointer, numpy.ones_like(pointer.data, dtype=bool), writes=True)
            return plain["create_atomic_cas"](self, pointer, *rest)

        convert, cast = interpreter._convert_float, builder.cast_impl

        def converted(data: Any, source: Any, target: Any, rounding: Any) -> Any:
            towards_zero = rounding == interpreter._ir.ROUNDING_MODE.RTZ
            if towards_zero or not triton_numbers.casts(source.name, target.name):
                return convert(data, source, target, rounding)
            return triton_numbers.cast(data, source.name, target.name)

        def cast_to(self: Any, source: Any, kind: Any) -> Any:
            names = source.dtype.scalar.name, kind.scalar.name
            if not triton_numbers.casts(*names):
                return triton_masks.cast(cast(self, source, kind), source)
            found = interpreter.TensorHandle(triton_numbers.cast(source.data, *names), kind.scalar)
            return triton_masks.cast(found, source)

        def trans(self: Any, source: Any, order: Any) -> Any:
            return triton_masks.transposed(plain["create_trans"](self, source, order), source, order)

        language = interpreter._patch_lang_tensor

        def numbers_of_tensors(tensor: Any, *scopes: Any) -> None:
            language(tensor, *scopes)
            for scope in scopes:
                # Triton 3.6 makes a number of an array of one element as numpy no longer does
                scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

        def called(function: Any, *args: Any, **kwargs: Any) -> Any:
            # the launch has put the interpreter's words in place; a call that did so again would leave them there
            return self._function(function).rewrite()(*args, **kwargs)

        with contextlib.ExitStack() as stack:

            def put(owner: Any, name: str, value: Any) -> None:
                stack.enter_context(mock.patch.object(owner, name, value, create=True))

            for name, value in (
                ("create_masked_load", load),
                ("create_masked_store", store),
                ("create_atomic_rmw", rmw),
                ("create_atomic_cas", cas),
                ("create_extern_elementwise", triton_functions.extern),
                ("create_inline_asm", triton_functions.inline),
                ("cast_impl", cast_to),
                ("create_trans", trans),
            ):
                put(builder, name, value)
            put(interpreter, "_convert_float", converted)
            put(interpreter.ReduceOps, "generic_reduce", triton_reductions.reduce)
            put(interpreter.ScanOps, "generic_scan", triton_reductions.scan)
            put(interpreter, "_patch_lang_tensor", numbers_of_tensors)
            put(jit.JITFunction, "__call__", called)
            helpers = import_module("torch._inductor.runtime.triton_helpers")
            put(helpers, "constexpr_next_power_of_2", lambda n: 1 << (int(n) - 1).bit_length())
            put(helpers, "if_mask", lambda mask, value: None if mask is None else value)
            # helpers see more of the language than kernels do
            words = interpreter._patch_lang(import_module("triton.language.standard").sum.fn)
            stack.callback(getattr(words, "restore", lambda: None))
            real = import_module("triton.language.extra.cuda.libdevice")
            shown = import_module("triton.language.extra.libdevice")
            for name in dir(shown):
                function = getattr(real, name, None)
                if not name.startswith("_") and callable(function) and "_semantic" in _parameters(function):
                    put(shown, name, _bound(function, interpreter.interpreter_semantic))
            yield


_FLOATS = {"fp32": "float32", "fp64": "float64"}
"""What a signature calls numbers with a fraction that are handed over as they are → their type."""


def _number(value: Any, kind: str) -> Any:
    """What a kernel makes of such a number: it has a type; the interpreter knows that of whole numbers alone.

    It is a block of one, since the interpreter takes what two numbers compare to for a number of their type.
    """
    if not isinstance(value, float):
        return value
    handle = import_module("triton.runtime.interpreter").TensorHandle
    language = import_module("triton.language")
    dtype = getattr(language, _FLOATS[kind])
    return language.tensor(handle(numpy.array([value], dtype=_FLOATS[kind]), dtype), language.block_type(dtype, [1]))


def _parameters(function: Any) -> Any:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _bound(function: Any, semantic: Any) -> Any:
    return lambda *args, **_: function(*args, _semantic=semantic)


def arguments_of(autotuner: Any, configuration: Any, count: int) -> list[str]:
    """The names of what the wrapper hands to a kernel, in order."""
    extra = list(autotuner.inductor_meta.get("extra_launcher_args", ()))
    known = {*configuration.kwargs, "num_warps", "num_stages"}
    constants = autotuner.triton_meta.get("constants", {})
    function = autotuner.fn
    constexprs = {function.arg_names[number] for number in function.constexprs}
    signature = autotuner.triton_meta.get("signature", {})
    removed = {name for name in constants if constants[name] is None and name not in signature}
    wanted = count - len(extra)
    for left_out in (known & constexprs, known | constexprs, (known & constexprs) | removed, constexprs | removed):
        names = [name for name in function.arg_names if name not in left_out]
        if len(names) == wanted:
            return [*names, *extra]
    raise CannotInterpret(f"{count} arguments for {', '.join(function.arg_names)}")


def _fitting(
    meta: Mapping[str, Any], blocks: dict[str, Any], scalars: Mapping[str, Any], unmasked: frozenset[str], number: int
) -> tuple[dict[str, Any], tuple[int, int, int]]:
    """The block sizes of a launch, and its grid: Inductor's own, one that covers all, one that does not divide.

    Blocks that Inductor's own code ties to others stay, so do those of templates, and those that are not masked
    (`unmasked`): its code relies on their dividing what there is.
    """
    inductor_meta, given = dict(meta), dict(scalars)
    free = [name for name in blocks if name in _BLOCKS]
    varied = len(free) == len(blocks) and inductor_meta.get("grid_type") in _PLAIN_GRIDS
    chosen = dict(blocks)
    for name in free if varied else ():
        numel = given.get(f"{name.removesuffix('BLOCK').lower()}numel")
        if name in unmasked or not isinstance(numel, int):
            continue
        if number % 3 == 1:
            chosen[name] = min(1 << (max(numel, 1) - 1).bit_length(), _LARGEST)
        elif number % 3 == 2:
            chosen[name] = 8 if name.startswith("R") else 4
    grid = gpu_internals.grid_of(inductor_meta, chosen, given)
    growing = [name for name in free if varied and name not in unmasked and not name.startswith("R")]
    while grid[0] * grid[1] * grid[2] > _PROGRAMS and growing:
        name = max(growing, key=lambda n: grid["XYZ".index(n[0])])
        if chosen[name] >= _LARGEST:
            break
        chosen[name] *= 2
        grid = gpu_internals.grid_of(inductor_meta, chosen, given)
    return chosen, grid
