"""Every touch of torch's private API, each behind a function that says what a release lacks.

Supported: torch 2.11 to 2.13 and later. Nothing else in the package imports a private torch name; a release that
moved one fails here, by name, and the tests for this module say so before a user does.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import inspect
import itertools
import os
import re
import shutil
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import sympy
import torch

from ddelint.nouns.protocol import LOWERING
from ddelint.nouns.size_specs import ATTRIBUTES, ITEMS, KEYS
from ddelint.trace.versions import stamp

TORCH_FOLDER = os.path.realpath(os.path.dirname(torch.__file__)) + os.sep
"""Where torch's own Python files lie, with a closing separator."""


class TorchInternalsMissing(Exception):
    """This release of torch lacks a private name that the tracer rests on."""

    def __init__(self, name: str, torch_version: str = torch.__version__) -> None:
        super().__init__(f"torch {torch_version} has no {name}; ddelint's tracer supports torch 2.11 and later")
        self.name = name
        self.torch_version = torch_version


def private(module: str, name: str) -> Any:
    """The object `name` of torch's module `module`. Raises TorchInternalsMissing where this release has none."""
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise TorchInternalsMissing(f"{module}.{name}") from error


def _accepted(function: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those settings that `function` has a parameter for: releases add and drop them."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in settings.items() if name in known}


# --- the shape environment ------------------------------------------------------------------------------------------

ShapeEnv: Any = private("torch.fx.experimental.symbolic_shapes", "ShapeEnv")
"""Base class of the observer, which overrides `_evaluate_expr` and a few more."""

Undecidable: type[RuntimeError] = private("torch.fx.experimental.symbolic_shapes", "GuardOnDataDependentSymNode")
"""What torch raises where a question about an unbacked symbol has no answer."""

for _hook in (
    "_evaluate_expr",
    "evaluate_expr",
    "evaluate_sym_node",
    "_make_data_dependent_error",
    "guard_or_defer_runtime_assert",
    "create_unbacked_symint",
    "create_unbacked_symfloat",
    "create_unbacked_symbool",
):
    if not hasattr(ShapeEnv, _hook):
        raise TorchInternalsMissing(f"ShapeEnv.{_hook}")


def seed_without_stacks() -> None:
    """Have `torch.manual_seed` note no stack for every kind of device that was never used, here and in forks.

    A seed waits there until the device is used, with the text of the stack for an error that can then be raised: 1 to
    2 ms of each call, where the rest of it takes some microseconds.
    """
    quiet = SimpleNamespace(**{**vars(traceback), "format_stack": list})
    for devices in (torch.cuda, getattr(torch, "xpu", None), getattr(torch, "mtia", None)):
        if getattr(devices, "traceback", None) is traceback:
            devices.traceback = quiet  # type: ignore[union-attr]


def shape_env_settings(*, shared_symbols: bool = True) -> dict[str, Any]:
    """Keyword arguments for a ShapeEnv that behaves as export's does (`assert` becomes a run-time assertion).

    Without `shared_symbols`, input sizes that happen to be equal stay apart, as under `Dim.DYNAMIC`.
    """
    settings: dict[str, Any] = {"trace_asserts": True}
    return _accepted(ShapeEnv._init, settings if shared_symbols else {**settings, "duck_shape": False})


def guards_of(env: Any) -> int:
    """How many guards `env` holds on backed symbols."""
    return len(env.guards)


def statically(env: Any, condition: sympy.Basic) -> bool | None:
    """What `env` knows of a condition without asking anybody; None where it does not."""
    known = env._maybe_evaluate_static(condition)
    return bool(known) if known in (sympy.true, sympy.false) else None


def undecidable_text(env: Any, expression: sympy.Basic, unhinted: sympy.Basic) -> str:
    """The first line of torch's own error, without the stacks that make the original slow."""
    size_like = [str(s) for s in unhinted.free_symbols if s in getattr(env, "size_like", ())]
    asked = "extract specialized integer from" if expression.is_integer else "guard on"
    return (
        f"Could not {asked} data-dependent expression {expression} (unhinted: {unhinted}).  "
        f"(Size-like symbols: {', '.join(size_like) or 'none'})"
    )


def undecidable(env: Any, expression: sympy.Basic, unhinted: sympy.Basic) -> RuntimeError:
    """A GuardOnDataDependentSymNode with `undecidable_text` as its message."""
    parameters = len(inspect.signature(Undecidable.__init__).parameters) - 1
    text = undecidable_text(env, expression, unhinted)
    return Undecidable(text) if parameters == 1 else Undecidable(expression, text)


def bounds(env: Any, expression: sympy.Basic) -> tuple[int | float | None, int | float | None]:
    """The inclusive bounds that `env` knows of a number; None where there is none."""
    try:
        known = env.bound_sympy(expression)
        return _finite(known.lower), _finite(known.upper)
    except Exception:  # bounds are a courtesy: sympy has many ways to fail on odd expressions
        return None, None


def symbol_bounds(env: Any, symbol: sympy.Symbol) -> tuple[int | float | None, int | float | None]:
    """The inclusive bounds of one symbol, as `ShapeEnv.var_to_range` has them; None where there is none."""
    known = env.var_to_range.get(symbol)
    return (None, None) if known is None else (_finite(known.lower), _finite(known.upper))


def _finite(bound: Any) -> int | float | None:
    if bound in (sympy.true, sympy.false):
        return int(bool(bound))
    if getattr(bound, "is_Integer", False):
        number = int(bound)
        return None if abs(number) >= 2**63 - 1 else number
    if getattr(bound, "is_Float", False) or getattr(bound, "is_Rational", False):
        number_ = float(bound)
        return None if number_ in (float("inf"), float("-inf")) else number_
    return None


def expression_of(value: Any) -> sympy.Basic | None:
    """The sympy expression behind a SymInt, SymFloat or SymBool; None for a plain number (or a nested size)."""
    if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return None
    try:
        expression = value.node.expr
    except (AttributeError, NotImplementedError):
        return None
    return expression if isinstance(expression, sympy.Basic) else None


def first_expression_of(node: Any) -> sympy.Basic | None:
    """The expression that a SymNode was made with, whatever its environment has learned since."""
    expression = getattr(node, "_expr", None)
    return expression if isinstance(expression, sympy.Basic) else None


def is_unbacked(symbol: sympy.Symbol) -> bool:
    """Whether a symbol stands for a number that only exists at run time (`u0`, `zuf0`)."""
    return bool(private("torch.utils._sympy.symbol", "symbol_is_type")(symbol, _unbacked_kinds()))


def _unbacked_kinds() -> tuple[Any, ...]:
    kinds = private("torch.utils._sympy.symbol", "SymT")
    return (kinds.UNBACKED_INT, kinds.UNBACKED_FLOAT)


def replaced(env: Any, expression: sympy.Basic) -> sympy.Basic:
    """`expression` in terms of the symbols that `env` still distinguishes."""
    return env.replace(expression)


def equalities_of(env: Any, *, but: str = "") -> dict[sympy.Symbol, sympy.Basic]:
    """What unbacked symbols equal, by what `env` put in their place or holds as a run-time assertion.

    Assertions with the message `but` don't count.
    """
    found = {symbol: target for symbol, target in env.replacements.items() if is_unbacked(symbol)}
    for assertion in (one for several in env.deferred_runtime_asserts.values() for one in several):
        if isinstance(assertion.expr, sympy.Eq) and assertion.msg != but:
            newest, other = sorted(assertion.expr.args, key=lambda side: (side.is_Symbol, str(side)), reverse=True)
            if newest.is_Symbol and is_unbacked(newest):
                found.setdefault(newest, other)
    return found


def specialized_to(env: Any, symbol: sympy.Symbol) -> int | None:
    """The constant that `env` has put in place of `symbol`, where it did."""
    target = env.replacements.get(symbol)
    return int(target) if getattr(target, "is_Integer", False) else None


# --- fake tensors ---------------------------------------------------------------------------------------------------

FakeTensor: Any = private("torch._subclasses.fake_tensor", "FakeTensor")


def fake_mode(
    env: Any,
    called: Callable[[Any], None] | None = None,
    stand_in: Callable[[Any, Any, Any, Any], Any] | None = None,
    unbound: Callable[[Any, str], None] | None = None,
) -> Any:
    """A FakeTensorMode on `env`, as non-strict export makes it: real tensors that turn up become fake ones.

    `called` hears of each operator that is run in it. `stand_in(mode, operator, args, kwargs)` is asked for the result
    of a custom operator without a fake kernel; NotImplemented lets torch's own error through. `unbound(operator, text)`
    hears torch's words for a symbol that a custom operator's fake kernel made, and that is in none of its results.
    """
    kind: Any = private("torch._subclasses.fake_tensor", "FakeTensorMode")
    settings = {"shape_env": env, "allow_non_fake_inputs": True, "export": True}
    mode = kind(**_accepted(kind.__init__, settings))
    dispatch = mode.dispatch

    # no subclass: higher-order operators have rules for just this class
    def noting(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if called is not None:
            called(func)
        # what was remembered of symbolic sizes is of no use to the next run, which has symbols of its own, costs more
        # to remember than to compute, and would hide a question that is asked a second time
        mode.cache_enabled = not (_is_symbolic(args) or (kwargs and _is_symbolic(tuple(kwargs.values()))))
        fresh = _fresh_symbols(mode.shape_env) if unbound is not None and is_custom(func) else None
        try:
            result = dispatch(func, types, args, kwargs or {})
            if unbound is not None and fresh is not None and (text := _unbound(mode.shape_env, fresh, result)):
                unbound(func, text)
            return result
        except Exception as error:
            if stand_in is None or not is_custom(func) or not lacks_fake_kernel(error):
                raise
            result = stand_in(mode, func, args, kwargs or {})
            if result is NotImplemented:
                raise
            return result

    mode.dispatch = noting
    return mode


def _fresh_symbols(env: Any) -> list[Any]:
    return list(env.pending_fresh_unbacked_symbols)


def _unbound(env: Any, before: Sequence[Any], result: Any) -> str:
    """What torch says of symbols made since `before` that `result` doesn't hold; "" where it holds all of them."""
    shapes = "torch.fx.experimental.symbolic_shapes"
    now = env.pending_fresh_unbacked_symbols
    if len(now) == len(before):
        return ""
    env.pending_fresh_unbacked_symbols = now[len(before) :]
    try:
        private(shapes, "compute_unbacked_bindings")(env, result)
    except private(shapes, "PendingUnbackedSymbolNotFound") as error:
        return str(error).partition("\n")[0]
    finally:
        env.pending_fresh_unbacked_symbols = now
    return ""


def _is_symbolic(value: Any) -> bool:
    """Whether a tensor with symbolic sizes, or a symbol, is among an operator's arguments."""
    if isinstance(value, torch.Tensor):
        return bool(value._has_symbolic_sizes_strides)
    if isinstance(value, (list, tuple)):
        return any(map(_is_symbolic, value))
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def renew(mode: Any, env: Any) -> None:
    """Give a mode another shape environment and a fresh memory of converted tensors.

    One mode over all runs: a fake tensor that user code kept from an earlier run (a cache) still belongs to it.
    """
    mode.shape_env = env
    kind = private("torch._subclasses.fake_tensor", "FakeTensorConverter")
    mode.fake_tensor_converter = kind(**_accepted(kind.__init__, {"export": True}))


def know_constants(mode: Any, unknown: Sequence[torch.Tensor] = ()) -> None:
    """From now on a real one-element tensor that turns up (an attribute, a closure) keeps its value, as under export.

    Call it once inputs and parameters are fake: their values must stay unknown. `unknown` are real tensors that came
    in with the inputs, inside of objects that nobody could look into.
    """
    inputs = {id(tensor) for tensor in unknown}
    base: Any = private("torch._subclasses.fake_tensor", "FakeTensorConverter")

    class Converter(base):  # type: ignore[misc]
        def from_real_tensor(self, fake_mode: Any, t: Any, make_constant: bool = False, *args: Any, **more: Any) -> Any:
            single = type(t) is torch.Tensor and not t.requires_grad and _is_single(t)
            known = make_constant or (single and id(t) not in inputs)
            return super().from_real_tensor(fake_mode, t, known, *args, **more)

    mode.fake_tensor_converter = Converter(**_accepted(base.__init__, {"export": True}))


def _is_single(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and tensor.device.type == "cpu" and tensor.numel() == 1


def fakeify(
    mode: Any, tensor: torch.Tensor, name: str = "", *, unbacked: Sequence[int] = (), dynamic: Sequence[int] = ()
) -> torch.Tensor:
    """A fake of `tensor`: static sizes except the dimensions in `unbacked` and `dynamic` (negative ones count back).

    `name` is what the symbols' source is called. Tied tensors stay tied within one mode.
    """
    if not unbacked and not dynamic:
        return mode.from_tensor(tensor, static_shapes=True)
    shapes = "torch.fx.experimental.symbolic_shapes"
    policy = private(shapes, "DimDynamic")
    kinds = [policy.STATIC] * tensor.dim()
    for dimension in dynamic:
        kinds[dimension] = policy.DYNAMIC
    for dimension in unbacked:
        kinds[dimension] = policy.UNBACKED if hasattr(policy, "UNBACKED") else policy.SIZE_LIKE_UNBACKED
    context = private(shapes, "StatelessSymbolicContext")(dynamic_sizes=kinds)
    source = private("torch._dynamo.source", "LocalSource")(name)
    return mode.from_tensor(tensor, source=source, symbolic_context=context)


def map_tensors(function: Callable[[torch.Tensor], torch.Tensor], tree: Any) -> Any:
    """`tree` with each tensor in its lists, tuples, dicts and registered containers replaced by `function` of it."""
    return private("torch.utils._pytree", "tree_map_only")(torch.Tensor, function, tree)


def map_tensors_at(function: Callable[[str, torch.Tensor], Any], name: str, tree: Any) -> Any:
    """`tree`, called `name`, with `function` of each tensor and its place (`batch['tokens']`, `pair[0]`) for it.

    Of containers that do not say what they keep under which key, torch raises ValueError.
    """
    pytree = import_module("torch.utils._pytree")

    def changed(path: Any, leaf: Any) -> Any:
        return function(name + pytree.keystr(path), leaf) if isinstance(leaf, torch.Tensor) else leaf

    return pytree.tree_map_with_path(changed, tree)


def leaves_at(name: str, tree: Any) -> list[tuple[str, Any]]:
    """The values in `tree`, called `name`, each with its place. Raises what `map_tensors_at` does."""
    pytree = import_module("torch.utils._pytree")
    return [(name + pytree.keystr(path), leaf) for path, leaf in pytree.tree_flatten_with_path(tree)[0]]


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` with each value in its lists, tuples, dicts and registered containers replaced by `function` of it."""
    return private("torch.utils._pytree", "tree_map")(function, tree)


def leaves(tree: Any) -> list[Any]:
    """The values in nested lists, tuples, dicts and registered containers."""
    return list(private("torch.utils._pytree", "tree_leaves")(tree))


def forget_imports() -> None:
    """Have Dynamo import modules anew: it keeps what it once found under a name (torch/_dynamo/symbolic_convert.py)."""
    remembered: Any = getattr(import_module("torch._dynamo.symbolic_convert"), "_import_module", None)
    if hasattr(remembered, "cache_clear"):
        remembered.cache_clear()


def dispatch_mode() -> Any:
    """The class of modes that see each operator, to be subclassed."""
    return private("torch.utils._python_dispatch", "TorchDispatchMode")


def operations_of(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], found: Any) -> int:
    """Multiplications and additions of one call of an operator that gave `found`, by torch's own formulas
    (torch/utils/flop_counter.py); 0 where there is none: matrix products, convolutions and attention have one."""
    formula = private("torch.utils.flop_counter", "flop_registry").get(getattr(function, "overloadpacket", None))
    if formula is None:
        return 0
    given = {name: value for name, value in kwargs.items() if name != "out"}
    try:
        return int(formula(*args, **given, out_val=found))
    except (TypeError, ValueError, AssertionError):  # a formula that does not know this overload's arguments
        return 0


_OWN_NAMESPACES = frozenset(
    (
        "_c10d_functional",
        "_dtensor",
        "_quantized",
        "aten",
        "c10d",
        "c10d_functional",
        "export",
        "inductor",
        "mkldnn",
        "onednn",
        "prim",
        "prims",
        "profiler",
        "quantized",
        "quantized_decomposed",
        "rngprims",
        "streams",
        "symm_mem",
    )
)


def is_custom(operator: Any) -> bool:
    """Whether an OpOverload isn't torch's own."""
    return getattr(operator, "namespace", "aten") not in _OWN_NAMESPACES


def argument_names(operator: Any) -> list[str]:
    """The names of an OpOverload's arguments, in the order of its schema."""
    return [argument.name for argument in operator._schema.arguments]


def default_flags(operator: Any) -> dict[str, bool]:
    """The truth values that an OpOverload's arguments have where a call leaves them out."""
    arguments = operator._schema.arguments
    return {argument.name: argument.default_value for argument in arguments if type(argument.default_value) is bool}


def returns_several(operator: Any) -> bool:
    """Whether an OpOverload gives a tuple of results (not one result, which may be a list)."""
    return len(operator._schema.returns) != 1


def new_number(mode: Any, operator: Any, kind: str) -> Any:
    """A fresh symbol as a fake kernel of `operator` would make it: `size` (not negative), `int`, `float` or `bool`."""
    if kind == "size":
        return private("torch._library.fake_impl", "FakeImplCtx")(mode, operator).new_dynamic_size()
    makers = {"int": "create_unbacked_symint", "float": "create_unbacked_symfloat", "bool": "create_unbacked_symbool"}
    return getattr(mode.shape_env, makers[kind])()


def state_of(module: torch.nn.Module) -> tuple[dict[str, Any], dict[str, Any]]:
    """A module's own parameters and buffers by name: the dicts themselves, to be read and written."""
    return module._parameters, module._buffers


def value_operator(error: BaseException) -> str:
    """The operator that has no data-independent answer (`aten.equal.default`), or "" for any other error."""
    for name in ("DataDependentOutputException", "DynamicOutputShapeException"):
        if isinstance(error, private("torch._subclasses.fake_tensor", name)):
            return str(getattr(error, "func", ""))
    return ""


def unknown_operator(error: BaseException) -> str:
    """The operator that has no fake kernel, or "" for any other error."""
    if isinstance(error, private("torch._subclasses.fake_tensor", "UnsupportedOperatorException")):
        return str(getattr(error, "func", ""))
    return ""


_MISSING_FAKE = re.compile(r"no fake impl|fake impl registered|no Meta", re.IGNORECASE)


def lacks_fake_kernel(error: BaseException) -> bool:
    """Whether fake tensors could not run an operator because nothing says what it returns."""
    return bool(unknown_operator(error) or _MISSING_FAKE.search(str(error)))


def answers_with_truth(error: BaseException) -> bool:
    """Whether the operator behind `error` gives one Python bool, so that both its answers can be tried."""
    schema = getattr(getattr(error, "func", None), "_schema", None)
    returns: list[Any] = list(getattr(schema, "returns", ()))
    return len(returns) == 1 and str(returns[0].type) == "bool"


@functools.cache
def export_loses_data() -> bool:
    """Whether export without Dynamo refuses what is read through `.data` (it does in torch 2.13)."""

    class Reads(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.data + 1

    try:
        torch.export.export(Reads(), (torch.ones(2),), strict=False)
    except RuntimeError as error:
        return "constant" in str(error)
    return False


READS_NUMBER = frozenset(("item", "tolist", "__int__", "__float__", "__bool__", "__index__"))
"""Tensor methods that read a number. Dynamo specializes the graph on that of a 0-d CPU argument, with a guard."""


def operator_in(frame_locals: Mapping[str, Any], function: str) -> str:
    """The operator that a frame of torch's dispatcher is working on, or ""."""
    if function in ("dispatch", "__torch_dispatch__", "_dispatch_impl", "_cached_dispatch_impl"):
        name = "func"
    elif function in ("__call__", "decompose", "handler"):
        name = "self"
    else:
        return ""
    found = frame_locals.get(name)
    return str(found) if isinstance(found, private("torch._ops", "OpOverload")) else ""


def before_fake_kernel(stack: Sequence[Any]) -> Sequence[Any]:
    """Where a fake kernel made a size just now: the stack (of places with `code` and `frame`) down to the call of its
    operator; any other stack as it is.
    """
    if all(place.code.co_name != "new_dynamic_size" for place in stack):
        return stack
    calls = [i for i, place in enumerate(stack) if place.code.co_name == "__torch_dispatch__"]
    custom = [i for i in calls if is_custom(stack[i].frame.f_locals.get("func"))]
    return stack[: custom[-1] + 1] if custom else stack


def triton_constant(stack: Sequence[Any]) -> tuple[str, int] | None:
    """The parameter (name, position) whose compile-time constant is asked for at the end of `stack`, while torch takes
    apart the launch of a Triton kernel in `torch.library.wrap_triton`; None for any other question.
    """
    for caller, place in itertools.pairwise(stack):
        if place.code.co_name == "specialize_symbolic" and "triton" in place.code.co_filename:
            seen = caller.frame.f_locals
            return str(seen.get("arg_name", "")), int(seen.get("idx", -1))
    return None


# --- the surroundings of a trace ------------------------------------------------------------------------------------


def function_mode() -> Any:
    """The class of export's non-strict `__torch_function__` mode, to be subclassed."""
    return private("torch._export.non_strict_utils", "_NonStrictTorchFunctionHandler")


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """`torch.compiler.is_compiling()` and `is_exporting()` are true inside, as under export."""
    names = [n for n in ("_is_compiling_flag", "_is_exporting_flag") if hasattr(torch.compiler, n)]
    if "_is_compiling_flag" not in names:
        raise TorchInternalsMissing("torch.compiler._is_compiling_flag")
    before = {name: getattr(torch.compiler, name) for name in names}
    try:
        for name in names:
            setattr(torch.compiler, name, True)
        yield
    finally:
        for name, value in before.items():
            setattr(torch.compiler, name, value)


@contextlib.contextmanager
def surroundings(mode: Any) -> Iterator[None]:
    """All that export's non-strict tracing sets up around a program but its `__torch_function__` mode and the graph."""
    context = private("torch._guards", "TracingContext")(mode)
    patch = private("torch._dynamo", "config").patch
    settings = vars(private("torch.export._trace", "DEFAULT_EXPORT_DYNAMO_CONFIG"))
    with contextlib.ExitStack() as stack:
        stack.enter_context(private("torch._guards", "tracing")(context))
        stack.enter_context(patch({**settings, "do_not_emit_runtime_asserts": False}))
        stack.enter_context(mode)
        stack.enter_context(private("torch._dispatch.python", "enable_python_dispatcher")())
        with contextlib.suppress(TorchInternalsMissing):  # builtin max and min over symbols: only some releases
            stack.enter_context(private("torch._export.non_strict_utils", "_override_builtin_ops")())
        stack.enter_context(compiling())
        stack.enter_context(_forgiving_swaps())
        yield


@contextlib.contextmanager
def _forgiving_swaps() -> Iterator[None]:
    """`module.to(dtype)` inside forward works on fake parameters, as it does on those that export makes.

    `Module._apply` swaps fake parameters in place, which fails where anything else holds on to one of them.
    """
    swap = torch.utils.swap_tensors

    def forgiving(first: torch.Tensor, second: torch.Tensor) -> None:
        if not (isinstance(first, FakeTensor) and isinstance(second, FakeTensor)):
            swap(first, second)
        elif (first.dtype, first.device) != (second.dtype, second.device):
            try:
                swap(first, second)
            except RuntimeError:
                first.data = second.data

    torch.utils.swap_tensors = forgiving
    try:
        yield
    finally:
        torch.utils.swap_tensors = swap


@contextlib.contextmanager
def same_thread_state(interrupted_by: type[BaseException]) -> Iterator[None]:
    """An exception of this kind, wherever it is raised in torch's code, leaves the thread as it was.

    These are the dispatch keys that torch includes and excludes, and whether ShapeEnv learns from what is asked or
    stated (its `suppress_guards` is a flag of the thread: torch/fx/experimental/symbolic_shapes.py: `TLS`).
    """
    core = import_module("torch._C")
    keys = (core._dispatch_tls_local_include_set(), core._dispatch_tls_local_exclude_set())
    flags = vars(private("torch.fx.experimental.symbolic_shapes", "TLS"))
    before = {name: list(value) if isinstance(value, list) else value for name, value in flags.items()}
    with core._ForceDispatchKeyGuard(*keys):
        try:
            yield
        except interrupted_by as error:
            traceback.clear_frames(error.__traceback__)  # contexts that were not left end now, in whatever order
            flags.clear()
            flags.update(before)
            raise


@contextlib.contextmanager
def watched_text(report: Callable[[sympy.Basic], None]) -> Iterator[None]:
    """`report` hears of each SymInt, SymFloat and SymBool that is turned into text inside: export writes its name."""
    kinds = (torch.SymInt, torch.SymFloat, torch.SymBool)
    before = {kind: kind.__repr__ for kind in kinds}

    def watched(plain: Callable[[Any], str]) -> Callable[[Any], str]:
        def __repr__(value: Any) -> str:
            expression = expression_of(value)
            if expression is not None and expression.free_symbols:
                report(expression)
            return plain(value)

        return __repr__

    try:
        for kind, plain in before.items():
            kind.__repr__ = watched(plain)
        yield
    finally:
        for kind, plain in before.items():
            kind.__repr__ = plain


@contextlib.contextmanager
def watched_assumptions(guessed: Callable[[Any, bool], None], asserted: Callable[[Any], None]) -> Iterator[None]:
    """`guessed` hears of each question inside that torch answers without knowing, and without a run-time assertion.

    That is what its `guard_or_false(n == 1)` goes on with. `asserted` hears of each run-time assertion.
    """
    names = ("_log_suppressed_dde", "guard_or_defer_runtime_assert")
    for name in names:
        if not hasattr(ShapeEnv, name):
            raise TorchInternalsMissing(f"ShapeEnv.{name}")
    plain_guess, plain_assert = (getattr(ShapeEnv, name) for name in names)

    def guess(env: Any, condition: Any, assumed: bool) -> None:
        guessed(condition, bool(assumed))
        plain_guess(env, condition, assumed)

    def defer(env: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        asserted(condition)
        return plain_assert(env, condition, *args, **kwargs)

    setattr(ShapeEnv, names[0], guess)
    setattr(ShapeEnv, names[1], defer)
    try:
        yield
    finally:
        setattr(ShapeEnv, names[0], plain_guess)
        setattr(ShapeEnv, names[1], plain_assert)


def symbolic_stack(error: BaseException) -> list[Any]:
    """The frames (traceback.FrameSummary, outermost first) that Dynamo was tracing when it gave up, as in `cond`."""
    return list(getattr(error, "real_stack", None) or ())


def cpp_stack() -> list[str]:
    """The names of the C++ functions on the running stack, outermost first; [] where torch's build cannot unwind it."""
    try:
        captured = private("torch.utils._traceback", "CapturedTraceback").extract(cpp=True)
        return [frame.name for frame in captured.summary() if not frame.filename.endswith(".py")]
    except Exception:  # a courtesy: Linux on x86-64 only
        return []


def warm_cpp_stack() -> None:
    """Read the symbols of torch's libraries (half a second), so that processes forked from this one have them."""

    class Watch(dispatch_mode()):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            cpp_stack()
            return func(*args, **(kwargs or {}))

    with Watch():
        torch.ones(1)


def tolerates_undecidable(code: Any) -> bool:
    """Whether a torch function itself handles Undecidable: then nobody is asked.

    The shape environment and export's function mode only pass it on.
    """
    if code.co_filename.endswith(("symbolic_shapes.py", "non_strict_utils.py")):
        return False
    return "GuardOnDataDependentSymNode" in code.co_names + code.co_varnames + code.co_freevars


def uninteresting_files() -> frozenset[str]:
    """Torch's own files that its search for the user's frame passes over."""
    return frozenset(private("torch.fx.experimental.symbolic_shapes", "uninteresting_files")())


NO_FORMULA = "the derivative for"
"""What a NotImplementedError says of an operator that has none."""


def running_node() -> Any:
    """The autograd node whose formula runs in this thread's backward pass; None outside of one."""
    return private("torch._C", "_current_autograd_node")()


# --- for verification -------------------------------------------------------------------------------------------------


def tracing_predicates() -> dict[str, Any]:
    """The functions by which code asks how it is run, by name; those that this release has as Python functions.

    One name may stand for several functions (`is_compiling` has two deprecated doubles): these get a number.
    """
    shapes = "torch.fx.experimental.symbolic_shapes"
    places = [
        ("torch.compiler", "is_compiling"),
        ("torch._utils", "is_compiling"),
        ("torch._dynamo.external_utils", "is_compiling"),
        ("torch.compiler", "is_dynamo_compiling"),
        ("torch.compiler", "is_exporting"),
        (shapes, "guard_or_false"),
        (shapes, "guard_or_true"),
        (shapes, "statically_known_true"),
        (shapes, "statically_known_false"),
    ]
    found: dict[str, Any] = {}
    for module, name in places:
        with contextlib.suppress(TorchInternalsMissing):
            function = inspect.unwrap(private(module, name))
            if inspect.isfunction(function) and function not in found.values():
                found[name if name not in found else f"{name}#{len(found)}"] = function
    return found


def conditional() -> Any:
    """The function behind `torch.cond`; None where this release has made it something else."""
    with contextlib.suppress(TorchInternalsMissing):
        function = inspect.unwrap(private("torch", "cond"))
        return function if inspect.isfunction(function) and function.__closure__ is None else None
    return None


def holds_control_flow(graph: torch.fx.GraphModule) -> bool:
    """Whether a graph calls an operator that is given graphs: `torch.cond`, a loop."""
    operator = private("torch._ops", "HigherOrderOperator")
    return any(isinstance(node.target, operator) for node in graph.graph.nodes)


@contextlib.contextmanager
def compile_settings(*, recompiles: int, captured: bool = True, exporting: bool = False) -> Iterator[None]:
    """`torch.compile` afresh, with room for so many recompiles of one function.

    `captured`: `.item()` and `nonzero` are part of the graph. `exporting`: it is torch.export that uses it.
    """
    config = private("torch._dynamo", "config")
    wanted = {
        "capture_scalar_outputs": captured,
        "capture_dynamic_output_shape_ops": captured,
        "recompile_limit": recompiles,
        "accumulated_recompile_limit": 4 * recompiles,
    }
    inductor = import_module("torch._inductor.config")
    private("torch._dynamo", "reset")()
    with contextlib.ExitStack() as stack:
        stack.enter_context(config.patch({name: value for name, value in wanted.items() if hasattr(config, name)}))
        # A pool of processes, in which kernels for a GPU are compiled, would outlive the one that is judged. The caches
        # of whole graphs don't know that a candidate has changed what its graph calls (an operator's fake kernel).
        stack.enter_context(inductor.patch({"compile_threads": 1, "fx_graph_cache": False}))
        stack.enter_context(private("torch._functorch", "config").patch({"enable_autograd_cache": False}))
        stack.enter_context(validating_distributions(exporting))
        try:
            yield
        finally:
            private("torch._dynamo", "reset")()


@contextlib.contextmanager
def validating_distributions(as_it_is: bool) -> Iterator[None]:
    """Inside, distributions check no arguments unless `as_it_is`; afterwards they do as before.

    The first `torch.compile` of a process switches these checks off for good (torch/_dynamo/eval_frame.py:
    `TorchPatcher.patch`, 2.13), so that a process which has compiled something exports what no other would.
    """
    kind: Any = torch.distributions.Distribution
    before = kind._validate_args
    if not as_it_is:
        kind.set_default_validate_args(False)
    try:
        yield
    finally:
        kind.set_default_validate_args(before)


def drawn_as_in_eager(wanted: bool) -> contextlib.AbstractContextManager[None]:
    """Inside, where `wanted`, code that Inductor writes takes its random numbers from eager's own generator."""
    config = import_module("torch._inductor.config")
    return config.patch({"fallback_random": wanted})  # type: ignore[no-any-return]


@contextlib.contextmanager
def kernels_compiled_by(
    build: Callable[[Sequence[tuple[Sequence[str], str]]], Sequence[Callable[..., None] | None]],
) -> Iterator[None]:
    """Inside, `build` compiles the C++ kernels of each graph, given as types of arguments and source, in one go.

    Inductor compiles those for which it returns None (torch/_inductor/async_compile.py: `AsyncCompile`).
    """
    compiler = private("torch._inductor.async_compile", "AsyncCompile")
    for name in ("cpp_pybinding", "wait"):
        if not hasattr(compiler, name):
            raise TorchInternalsMissing(f"torch._inductor.async_compile.AsyncCompile.{name}")
    plain, wait = compiler.cpp_pybinding, compiler.wait

    def later(_: Any, types: Sequence[str], source: str) -> _PendingKernel:
        return _PendingKernel(types, source)

    def all_at_once(self: Any, scope: dict[str, Any]) -> None:
        pending = {name: kernel for name, kernel in scope.items() if isinstance(kernel, _PendingKernel)}
        kernels = build([(kernel.types, kernel.source) for kernel in pending.values()])
        for (name, kernel), built in zip(pending.items(), kernels, strict=True):
            scope[name] = built or plain(self, kernel.types, kernel.source)
        wait(self, scope)

    compiler.cpp_pybinding, compiler.wait = later, all_at_once
    try:
        yield
    finally:
        compiler.cpp_pybinding, compiler.wait = plain, wait


class _PendingKernel(NamedTuple):
    """A C++ kernel that is going to be compiled."""

    types: Sequence[str]
    source: str


def cpp_library(source: str) -> ctypes.CDLL:
    """A C++ file as Inductor compiles its kernels: its flags, its precompiled header, its cache of compiled files."""
    bindings = private("torch._inductor.codecache", "CppPythonBindingsCodeCache")
    if not hasattr(bindings, "_load_library_inner"):
        raise TorchInternalsMissing("torch._inductor.codecache.CppPythonBindingsCodeCache._load_library_inner")
    load = staticmethod(lambda path, key: ctypes.CDLL(path))
    return type("Libraries", (bindings,), {"cache": {}, "_load_library_inner": load}).load(source)  # type: ignore[attr-defined,no-any-return]


def find_vector_instructions() -> None:
    """Have Inductor ask the C++ compiler about the widest vector instructions of this processor, and about no others.

    It takes the widest that work (torch/_inductor/cpu_vec_isa.py: `pick_vec_isa`), but compiles and loads small
    programs for each kind (`valid_vec_isa_list`): 9 seconds where torch has never compiled, 1.3 elsewhere. A third of a
    second is left where these are compiled, since each is loaded by a Python of its own; a fork does as well. Of the
    widest kind it compiles up to five programs, one after the other, 0.5 seconds each: what is asked by all of them is
    asked by one program first.
    """
    module: Any = import_module("torch._inductor.cpu_vec_isa")
    names = ("supported_vec_isa_list", "valid_vec_isa_list", "x86_isa_checker")
    chosen = import_module("torch._inductor.config").cpp.simdlen is not None or os.getenv("ATEN_CPU_CAPABILITY")
    if chosen or not all(hasattr(module, name) for name in names):
        return
    known, find = module.supported_vec_isa_list, module.valid_vec_isa_list
    flags = module.x86_isa_checker()
    widest = next((kind for kind in known if all(flag in flags for flag in str(kind).split())), None)
    if widest is None:
        return
    plain = getattr(module.VecISA, "_probe_load", None)
    module.supported_vec_isa_list = [widest]
    if plain is not None:
        module.VecISA._probe_load = lambda _, path: can_be_loaded(path)
    try:
        if not _work_together(module, widest, find) and not find():
            find.cache_clear()
    finally:
        module.supported_vec_isa_list = known
        if plain is not None:
            module.VecISA._probe_load = plain


_SYMBOL = re.compile(r'^extern "C" .*?(\w+)\(', re.MULTILINE)
"""A function of a program that Inductor tries instructions by."""


def _work_together(module: Any, widest: Any, find: Any) -> bool:
    """Whether all that Inductor tries of a kind of instructions can be compiled and loaded as one program.

    Then its answers are as if it had tried one by one; else it has not been asked yet.
    """
    check = getattr(module.VecISA, "check_build", None)
    if check is None or getattr(widest, "_arch_flags", None) is None:
        return False
    before, programs, flags = dict(vars(widest)), list[str](), list[str]()

    def note(kind: Any, program: str) -> bool:
        programs.append(program)
        flags.extend(kind.build_arch_flags().split())
        return True

    module.VecISA.check_build = note
    try:
        find()
    finally:
        module.VecISA.check_build = check
    found = dict(vars(widest))
    names = [name for program in programs for name in _SYMBOL.findall(program)]
    widest._arch_flags = " ".join(dict.fromkeys(flags))
    works = len(names) == len(set(names)) and check(widest, "\n".join(programs))
    vars(widest).clear()
    vars(widest).update(found if works else before)
    if not works:
        _forget(find, *(vars(kind).get(name) for kind in type(widest).__mro__ for name in _ANSWERS))
    return bool(works)


_ANSWERS = ("__bool__", "_VecISA__bool__impl")
"""What remembers whether a kind of instructions works."""


def _forget(*answers: Any) -> None:
    """Have functions that remember what they have answered forget it."""
    for answer in answers:
        if hasattr(answer, "cache_clear"):
            answer.cache_clear()


def can_be_loaded(path: str) -> bool:
    """Whether a library can be loaded. A fork tries, which a wrong instruction may end; Inductor starts Python anew."""
    here, there = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            ctypes.CDLL(path)
            os.write(there, b"+")
        finally:
            os._exit(0)
    os.close(there)
    with open(here, "rb") as answer:
        loaded = answer.read() == b"+"
    with contextlib.suppress(ChildProcessError):  # whose end nobody waits for
        os.waitpid(process, 0)
    return loaded


def keep_headers() -> None:
    """Have Inductor take a header that an earlier process has precompiled as it is.

    It preprocesses the header in each process, to see whether anything that it includes has changed
    (torch/_inductor/codecache.py: `_precompile_header`): 0.8 CPU seconds for each program that is verified. Here the
    command, and size and time of the compiler, of torch, and of Python's and the system's headers say that it has not.

    The first file that is ever compiled does without: to precompile the header takes as long as two or three files
    without it (15 CPU seconds, at a load of 10, where a file took 8.4, and 2.4 with it). The next one has it.
    """
    codecache: Any = import_module("torch._inductor.codecache")
    precompile = getattr(codecache, "_precompile_header", None)
    folder = getattr(codecache, "_HEADER_DIR", None)
    if precompile is None or folder is None:
        return
    compiler = shutil.which(private("torch._inductor.cpp_builder", "get_cpp_compiler")())
    if compiler is None:
        return
    includes = [os.path.join(TORCH_FOLDER, "include"), sysconfig.get_path("include"), "/usr/include"]
    files = [os.path.join(TORCH_FOLDER, "version.py"), os.path.realpath(compiler), *filter(os.path.isdir, includes)]
    stamps = [(path, stamp(path)) for path in files]

    @functools.cache
    def precompiled(header: str, command_line: str, note: Path, **command: Any) -> str:
        path = str(precompile(header, command_line, **command))
        _write_note(note, path)
        return path

    def kept(header: str, command_line: str, **command: Any) -> str | None:
        what = repr((stamps, header, command_line))
        note = Path(folder, f"ddelint-{hashlib.blake2b(what.encode(), digest_size=16).hexdigest()}")
        path = None
        with contextlib.suppress(OSError, ValueError):
            path = note.read_text("utf-8")
        if path and any(os.path.isfile(f"{path}{ending}") for ending in (".gch", ".pch")):
            return path
        if path is None and _write_note(note, ""):
            return None
        return precompiled(header, command_line, note, **command)

    codecache._precompile_header = kept


def _write_note(note: Path, text: str) -> bool:
    """Whether a file could be written that others read, or none."""
    own = note.with_name(f"{note.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(text, "utf-8")
        own.replace(note)
        return True
    return False


def lowered_stack(chain: Sequence[BaseException]) -> str:
    """The user's stack, as text, noted on the graph's node that Inductor was lowering when it raised; "" elsewhere."""
    found = ""
    for error in chain:
        frame = error.__traceback__
        while frame is not None:
            if os.sep + "_inductor" + os.sep in frame.tb_frame.f_code.co_filename:
                node = frame.tb_frame.f_locals.get("n")
                if isinstance(node, torch.fx.Node):
                    found = node.meta.get("stack_trace") or found
            frame = frame.tb_next
    return found


def backward_autocast() -> str:
    """Which autocast AOTAutograd compiles backward passes for: `same_as_forward`, or `off`."""
    return str(getattr(import_module("torch._functorch.config"), "backward_pass_autocast", ""))


def compiled_backward_autocast(setting: str) -> contextlib.AbstractContextManager[None]:
    """Inside, AOTAutograd compiles backward passes for that autocast."""
    config = import_module("torch._functorch.config")
    if not hasattr(config, "backward_pass_autocast"):
        raise TorchInternalsMissing("torch._functorch.config.backward_pass_autocast")
    return config.patch(backward_pass_autocast=setting)  # type: ignore[no-any-return]


def mark_unbacked(tensor: torch.Tensor, dimensions: Sequence[int]) -> None:
    """Have `torch.compile` treat these dimensions of an input as unknown."""
    private("torch._dynamo.decorators", "mark_unbacked")(tensor, list(dimensions))


def backend(name: str) -> Callable[..., Any]:
    """The function behind a backend's name."""
    return _lower if name == LOWERING else private("torch._dynamo", "lookup_backend")(name)


class _Written(BaseException):
    """Inductor has written its code. No `except Exception` of its own stops it."""


def lowering_to(codes: list[str]) -> Callable[..., Any]:
    """The backend LOWERING, with the code that Inductor writes added to `codes`."""
    return functools.partial(_lower, report=codes.append)


def _lower(graph: Any, example_inputs: Any, report: Callable[[str], None] = lambda code: None) -> Any:
    """The backend LOWERING: compiling what Inductor writes takes ten times longer, and asks nothing any more."""
    inner = private("torch._inductor.compile_fx", "compile_fx_inner")
    lowering = private("torch._inductor.graph", "GraphLowering")
    boxed = private("functorch.compile", "make_boxed_func")
    load = "_compile_to_module_lines"
    if not hasattr(lowering, load):
        raise TorchInternalsMissing(f"torch._inductor.graph.GraphLowering.{load}")

    def stop(_: Any, written: Any, *__: Any) -> None:
        report(str(getattr(written, "value", written)))
        raise _Written

    def lower(module: Any, inputs: Any, **settings: Any) -> Any:
        runs = boxed(module.forward)
        plain = getattr(lowering, load)
        setattr(lowering, load, stop)
        try:
            inner(module, inputs, **settings)
        except _Written:
            pass
        finally:
            setattr(lowering, load, plain)
        return runs

    return private("torch._inductor.compile_fx", "compile_fx")(graph, example_inputs, inner_compile=lower)


# --- for measuring ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def measuring_settings(*, captured: bool) -> Iterator[None]:
    """Settings for one arm of a benchmark; nothing is reset, so that arms can stay compiled side by side.

    `captured`: `.item()` and `nonzero` become part of the graph, as in `compile_settings`; else as torch is installed.
    """
    config = private("torch._dynamo", "config")
    wanted = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True} if captured else {}
    inductor = import_module("torch._inductor.config")
    with contextlib.ExitStack() as stack:
        stack.enter_context(config.patch({name: value for name, value in wanted.items() if hasattr(config, name)}))
        stack.enter_context(inductor.patch({"compile_threads": 1, "fx_graph_cache": False}))
        stack.enter_context(private("torch._functorch", "config").patch({"enable_autograd_cache": False}))
        yield


def empty_inductor_cache() -> contextlib.AbstractContextManager[None]:
    """Inside, Inductor and Triton compile into a folder of their own, which is empty and goes away."""
    try:
        return private("torch._inductor.utils", "fresh_cache")()  # type: ignore[no-any-return]
    except TorchInternalsMissing:
        return private("torch._inductor.utils", "fresh_inductor_cache")()  # type: ignore[no-any-return]


@contextlib.contextmanager
def generated_code(codes: list[str]) -> Iterator[None]:
    """The code of each graph that Inductor compiles inside is added to `codes` (`run_and_get_code` resets)."""
    lowering = private("torch._inductor.graph", "GraphLowering")
    if not hasattr(lowering, "save_output_code"):
        raise TorchInternalsMissing("torch._inductor.graph.GraphLowering.save_output_code")
    plain = lowering.save_output_code
    lowering.save_output_code = codes.append
    try:
        yield
    finally:
        lowering.save_output_code = plain


def mark_sizes(
    tensor: torch.Tensor,
    dimension: int,
    *,
    unbacked: bool,
    hint: int | None = None,
    lower: int | None = None,
    upper: int | None = None,
) -> None:
    """Mark one dimension of an input as unbacked (with a hint or bounds), or as dynamic."""
    if not unbacked:
        private("torch._dynamo", "mark_dynamic")(tensor, dimension)
        return
    mark = private("torch._dynamo.decorators", "mark_unbacked")
    settings = {"hint_override": hint, "min": lower, "max": upper}
    given = {name: value for name, value in settings.items() if value is not None}
    mark(tensor, dimension, **_accepted(mark, given))  # bounds are newer than torch 2.11


def hints_of(tensor: torch.Tensor) -> dict[int, int]:
    """Dimension → the hint that `mark_unbacked(hint_override=…)` gave a tensor."""
    return dict(getattr(tensor, "_dynamo_hint_overrides", None) or {})


def marked_bounds_of(tensor: torch.Tensor) -> tuple[dict[int, int], dict[int, int]]:
    """Dimension → the lower bound, and the upper one, that `mark_unbacked(min=…, max=…)` gave a tensor."""
    found: tuple[dict[int, int], dict[int, int]] = {}, {}
    for dimension, limits in (getattr(tensor, "_dynamo_unbacked_bounds", None) or {}).items():
        if isinstance(limits, (tuple, list)) and len(limits) == 2:
            for known, limit in zip(found, limits):
                if isinstance(limit, int):
                    known[dimension] = limit
    return found


def cuda_graph_skips() -> int:
    """How often Inductor has refused to record a CUDA graph in this process."""
    return int(private("torch._dynamo.utils", "counters")["inductor"]["cudagraph_skips"])


def marked(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions that `mark_unbacked` and `mark_dynamic` marked on a tensor."""
    unbacked, dynamic = (getattr(tensor, f"_dynamo_{kind}_indices", ()) for kind in ("unbacked", "dynamic"))
    return tuple(sorted(unbacked)), tuple(sorted(dynamic))


def copy_marks(marked_tensor: torch.Tensor, tensor: torch.Tensor) -> None:
    """Mark a tensor as another one is marked."""
    for name, value in list(vars(marked_tensor).items()):
        if name.startswith("_dynamo_"):
            setattr(tensor, name, value)


MODULE_CALLS = ("forward", "__call__", "_call_impl", "_wrapped_call_impl")
"""Methods through which a module as a whole is called and compiled."""


class CompileWatch:
    """Inside, what is given to `torch.compile` runs in eager, and `report` hears of each call before it runs.

    Every form of torch.compile (function, decorator, `module.compile()`, a compiled module's own context) builds its
    wrapper in one place; ours takes that wrapper's place. It stays where it was put when the watch is over, and just
    calls the program. A context manager.
    """

    def __init__(self, report: Callable[[Any, tuple[Any, ...], dict[str, Any]], None]) -> None:
        self._report = report
        self._watching = False
        self._kind = private("torch._dynamo.eval_frame", "OptimizeContext")
        self._own = vars(self._kind).get("__call__")
        self._plain = self._kind.__call__

    def __enter__(self) -> None:
        def compile_in(context: Any, program: Any) -> Any:
            return self._compile(context, program)

        self._watching = True
        self._kind.__call__ = compile_in

    def __exit__(self, *error: object) -> None:
        self._watching = False
        if self._own is not None:
            self._kind.__call__ = self._own
        else:
            del self._kind.__call__

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, torch.compile is torch's own again: strict export is made of it."""
        before, self._watching = self._watching, False
        try:
            yield
        finally:
            self._watching = before

    def _compile(self, context: Any, program: Any) -> Any:
        compiled = self._plain(context, program)
        if not self._watching or inspect.isclass(program):
            return compiled
        if isinstance(program, torch.nn.Module):
            compiled.forward = self._watcher(uncompiled(program), compiled.forward)
            return compiled
        if inspect.isfunction(program):
            program = uncompiled(program)
        return self._watcher(program, compiled)

    def _watcher(self, program: Any, compiled: Any) -> Any:
        @functools.wraps(compiled)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._watching:
                self._report(program, args, kwargs)
            return program(*args, **kwargs)

        call._ddelint_program = program  # type: ignore[attr-defined]
        return call


@contextlib.contextmanager
def compiled_modules_watched(report: Callable[[Any, tuple[Any, ...], dict[str, Any]], None]) -> Iterator[None]:
    """Inside, modules that were compiled before run in eager, and `report` hears of each call before it runs."""
    kind = private("torch._dynamo.eval_frame", "OptimizedModule")
    own, plain = vars(kind).get("__call__"), kind.__call__

    def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
        if watched(module.forward) is not None:
            return plain(module, *args, **kwargs)
        program = uncompiled(module)
        report(program, args, kwargs)
        return program(*args, **kwargs)

    kind.__call__ = __call__
    try:
        yield
    finally:
        if own is not None:
            kind.__call__ = own
        else:
            del kind.__call__


def watched(wrapper: Any) -> Any:
    """The program behind a wrapper that CompileWatch made; None for anything else."""
    return getattr(wrapper, "_ddelint_program", None)


def uncompiled(program: Any) -> Any:
    """What was wrapped in `torch.compile`: the module or function itself; anything else as it is."""
    if isinstance(program, torch.nn.Module):
        return getattr(program, "_orig_mod", program)
    return getattr(program, "_torchdynamo_orig_callable", program)


def destroy_library(library: Any) -> None:
    """Take back every operator and kernel that a `torch.library.Library` registered."""
    destroy = getattr(library, "_destroy", None)
    if destroy is not None:
        destroy()


# --- specs of sizes ---------------------------------------------------------------------------------------------------


def spec_kinds() -> Any:
    """The module with ShapesSpec and its parts; None where torch has none."""
    try:
        return import_module("torch.fx.experimental.dynamic_spec")
    except ImportError:
        return None


def parts_of_spec(spec: Any) -> tuple[dict[str, Any], list[Any]]:
    """The parameters' specs, and the assumptions, of a ShapesSpec: `*0` is the first of `*args`, `**x` a keyword."""
    parameters = getattr(spec, "_params", None)
    found = dict(getattr(parameters, "_named_args", None) or {})
    found |= {f"*{at}": one for at, one in enumerate(getattr(parameters, "_varargs", None) or ())}
    found |= {f"**{name}": one for name, one in (getattr(parameters, "_varkw", None) or {}).items()}
    return found, list(spec.assumptions)


def parts_of_container_spec(spec: Any) -> list[tuple[str, str | int, Any]]:
    """What a DictSpec, SeqSpec or ObjectSpec says of what is inside: (keys, items or attributes; which; its spec)."""
    entries = getattr(spec, "_entries", None)
    if isinstance(entries, list):
        return [(ITEMS, at, one) for at, one in enumerate(entries)]
    found = [(KEYS, key, one) for key, one in (entries or {}).items()]
    return [*found, *((ATTRIBUTES, name, one) for name, one in (getattr(spec, "_fields", None) or {}).items())]


def attached_spec(program: Any) -> Any:
    """What `@dynamic_spec(…)` (torch 2.14) says of a function, or of a module's `forward`; None where there is none."""
    function = program.forward if isinstance(program, torch.nn.Module) else program
    return getattr(function, "_dynamic_spec", None)


@contextlib.contextmanager
def without_attached_spec(program: Any) -> Iterator[None]:
    """Take a `@dynamic_spec` off for as long as a program gets another: torch refuses to be told twice."""
    function = program.forward if isinstance(program, torch.nn.Module) else program
    known = getattr(getattr(function, "__func__", function), "__dict__", {})
    attached = known.pop("_dynamic_spec", None)
    try:
        yield
    finally:
        if attached is not None:
            known["_dynamic_spec"] = attached


def spec_argument(compile_: Callable[..., Any] = torch.compile) -> str:
    """What `torch.compile` calls its argument for specs: `shapes_spec` in 2.13, `dynamic_shapes` from 2.14 on."""
    return "dynamic_shapes" if "dynamic_shapes" in inspect.signature(compile_).parameters else "shapes_spec"


def symbols_of(value: Any) -> list[sympy.Symbol]:
    """The symbols in a symbolic number or condition, by name."""
    expression = expression_of(value)
    return [] if expression is None else sorted(expression.free_symbols, key=str)


def spec_bounds(symbol: sympy.Symbol) -> tuple[int, int | None]:
    """The range of a variable of a ShapesSpec that stands in none of its dimensions."""
    env = private("torch.fx.experimental.dynamic_spec", "_get_spec_shape_env")()
    known = env.var_to_range.get(symbol)
    low, high = (None, None) if known is None else (_finite(known.lower), _finite(known.upper))
    return max(0, int(low or 0)), None if high is None else int(high)


def compiled_under(program: Any, spec: Any, backend: Any = "eager") -> Any:
    """`program`, compiled as one graph for the sizes of a ShapesSpec; nothing is generated unless `backend` does."""
    given = {spec_argument(): spec}
    with without_attached_spec(program):
        return torch.compile(program, fullgraph=True, backend=backend, isolate_recompiles=True, **given)


def is_refusal(error: BaseException) -> bool:
    """Whether a compiled program does not take an input: a guard or a check of its own says so."""
    text = f"{type(error).__name__}: {error}"
    words = ("fail_on_recompile", "Runtime assertion failed", "Guard failed", "Expected input at", "RecompileError")
    return any(word in text for word in words)


def dim_kind() -> type:
    """The class of `torch.export.Dim`s."""
    kind: type = private("torch.export.dynamic_shapes", "Dim")
    return kind


def dim_parts(dim: Any) -> tuple[str, int, int, tuple[int, int | None]]:
    """(name, a, b, bounds) of a Dim that is `a * name + b`."""
    root, factor, constant = dim, 1, 0
    if hasattr(dim, "root") and hasattr(dim, "fn"):
        root = dim.root
        constant = int(dim.fn(sympy.Integer(0)))
        factor = int(dim.fn(sympy.Integer(1))) - constant
    high = int(root.max) if isinstance(root.max, int) and root.max < sys.maxsize - 1 else None
    return root.__name__, factor, constant, (max(0, int(root.min)), high)


def marks_of(tensor: torch.Tensor) -> list[tuple[int, tuple[int, int | None], str]]:
    """(dimension, bounds, shape_id) of each dimension that is marked as unbacked or dynamic."""
    unbacked, dynamic = marked(tensor)
    bounds_of = getattr(tensor, "_dynamo_unbacked_bounds", None) or {}
    groups = getattr(tensor, "_dynamo_shape_ids", None) or {}
    found = []
    for dimension in sorted({*unbacked, *dynamic}):
        low, high = bounds_of.get(dimension) or (None, None)
        found.append((dimension, (int(low or 0), None if high is None else int(high)), str(groups.get(dimension, ""))))
    return found
