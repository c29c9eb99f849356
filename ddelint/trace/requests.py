"""Requests to a session, each answered in a fork of the process that holds the entry."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import (
    Decision,
    EntryFailure,
    EntryInfo,
    SavedInputs,
    ScriptRun,
    SessionOptions,
)
from ddelint.nouns.size_specs import SizeSpec
from ddelint.nouns.wire import from_wire, to_wire
from ddelint.trace import failures, reads
from ddelint.trace.entry import EntryProblem
from ddelint.trace.isolation import (
    limit_address_space,
)

CAPTURE = ("capture", "calls", "filename")
"""What a request says of the captured program that it is about: fields of EntrySpec."""
_FOR_TYPES = 0.1
"""Share of a request's time in which eager runs are watched: what asks must still be traced."""
_EAGER_SEEDS = 8
"""Seeds tried before an entry counts as failing in eager: some inputs are meant to raise."""


def import_entry(options: SessionOptions, *, warm: bool = True) -> EntryFailure | None:
    """Get this process ready for the entry; `warm`: execute its files."""
    from ddelint.trace import overlay

    sys.dont_write_bytecode = True
    limit_address_space(options.memory)
    sys.argv = [options.entry.filename]
    try:
        _prepare(options)
        if warm:
            _loader(options).warm()
            overlay.remember()
    except EntryProblem as problem:
        return EntryFailure(problem.kind, problem.message, problem.span)
    except BaseException as error:
        return failures.from_exception(error, options.paths, options.entry.filename)
    return None


def _prepare(options: SessionOptions) -> None:
    from ddelint.trace import importing, registrations

    registrations.watch()
    reads.watch()
    importing.prepare_path(options)
    if options.cpp:
        from ddelint.trace import torch_internals

        torch_internals.warm_cpp_stack()


def handle(options: SessionOptions, request: Mapping[str, Any], originals: Any = None) -> dict[str, Any]:
    """Run one request: `result` holds what the method gives, `failure` why it could not.

    `originals`: what a comparison holds the program against, where that was run before (`run_original`).
    """
    options = replace(options, timeout=min(options.timeout, request.get("seconds", options.timeout)))
    if "capture" in request:
        spec = replace(options.entry, **{name: request[name] for name in CAPTURE})
        options = replace(options, entry=spec, backed=request["backed"])
    method: Callable[[SessionOptions, Mapping[str, Any]], object] = _METHODS[request["method"]]
    if originals is not None:
        method = partial(_hold_against, originals)
    try:
        return {"result": to_wire(method(options, request))}
    except EntryProblem as problem:
        return {"failure": to_wire(EntryFailure(problem.kind, problem.message, problem.span))}
    except _Internal as error:
        return {"failure": to_wire(failures.internal(error.__cause__ or error))}
    except BaseException as error:
        failure = failures.from_exception(error, options.paths, options.entry.filename)
        return {"failure": to_wire(failure), "reloading": getattr(error, _USERS, False)}


class _Internal(Exception):
    """Wraps an exception of our own engine, so that it isn't taken for the user's."""


@contextlib.contextmanager
def _engine() -> Any:
    """What is raised inside is ours to fix, not the user's, unless the user's code ended the process."""
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError) or getattr(error, _USERS, False):
            raise
        raise _Internal from error


_USERS = "_ddelint_users"
"""Set on exceptions that the user's code raised while the engine had it loaded again."""


def _loader(options: SessionOptions) -> Any:
    """What loads the entry: from its files, or from what a script captured."""
    from ddelint.trace import entries, script_runs

    return entries.Loader(options) if options.entry.script is None else script_runs.Loader(options)


def _captures(options: SessionOptions, request: Mapping[str, Any]) -> ScriptRun:
    from ddelint.trace import script_runs

    return script_runs.script_run(options)


def _save(options: SessionOptions, request: Mapping[str, Any]) -> SavedInputs:
    from ddelint.trace import script_runs

    return script_runs.save(options, request["filename"])


def _open(options: SessionOptions, request: Mapping[str, Any]) -> EntryInfo:
    import torch

    from ddelint.trace import entries, overlay

    if not options.has_entry:
        return EntryInfo("", (), False, False, str(torch.__version__), ())
    loader = _loader(options)
    if request.get("overlay"):
        overlay.install(request["overlay"])
    entry = loader.load()
    requires_grad = entries.run_eagerly(entry, options.seed, _EAGER_SEEDS)
    devices = ("cpu", "cuda") if options.device != "cpu" and torch.cuda.is_available() else ("cpu",)
    return EntryInfo(
        label=entry.label,
        parameters=entry.parameters,
        requires_grad=requires_grad,
        seeded=entry.seeded,
        torch_version=str(torch.__version__),
        devices=devices,
        names=loader.entry_names(),
        unbacked=tuple(f"{name}.{dimension}" for name, found in entry.unbacked.items() for dimension in found),
        triton=find_spec("triton") is not None,
    )


def _loaded(options: SessionOptions, request: Mapping[str, Any]) -> Any:
    """The entry with the request's overlay in effect."""
    from ddelint.trace import overlay

    try:
        # what a script captured are live objects: their functions are swapped, and the script runs again only where
        # that cannot be
        captured = options.entry.script is not None
        how = overlay.install(request["overlay"], fresh=request.get("fresh", False) and not captured)
        loader = _loader(options)
        try:
            return loader.load(again=how == "fresh" if captured else how != "none")
        except Exception:
            if how != "swap":
                raise
            # a file that cannot be executed twice (it registers something): its functions are the new ones anyway
            return loader.load()
    except Exception as error:
        with contextlib.suppress(AttributeError):
            setattr(error, _USERS, True)
        raise


def _trace(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.trace.explorer import trace_entry

        return trace_entry(
            entry,
            options.paths,
            options,
            first=request.get("first", False),
            forward_first=request.get("forward_first", False),
            until=from_wire(tuple[Span, ...], request.get("until", [])),
        )


def _original(options: SessionOptions, request: Mapping[str, Any]) -> Any:
    """The entry as it is on disk, or as the request's other version has it."""
    return _loaded(options, {"overlay": request["original"]}) if request.get("original") else _loader(options).load()


def _compare(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    decisions = from_wire(tuple[Decision, ...], request["decisions"])
    with _engine():
        from ddelint.verify.eager import compare

        return compare(
            original,
            lambda: _loaded(options, request),
            decisions,
            options,
            request["samples"],
            request["quick"],
            only=frozenset(request["only"]),
            exactly=request["exactly"],
        )


def run_original(options: SessionOptions, request: Mapping[str, Any]) -> Any:
    """The original, run as the comparison that is asked for runs it."""
    from ddelint.verify.eager import run_original

    options = replace(options, timeout=min(options.timeout, request.get("seconds", options.timeout)))
    decisions = from_wire(tuple[Decision, ...], request["watched"])
    return run_original(_original(options, request), decisions, options, request["samples"], request["quick"])


def _hold_against(originals: Any, options: SessionOptions, request: Mapping[str, Any]) -> object:
    decisions = from_wire(tuple[Decision, ...], request["decisions"])
    with _engine():
        from ddelint.verify.eager import hold_against

        only, exactly = frozenset(request["only"]), request["exactly"]
        return hold_against(originals, lambda: _loaded(options, request), decisions, only, exactly)


def _compile(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    with _engine():
        from ddelint.trace import stand_ins
        from ddelint.verify.compiled import compile_targets

        def rewritten() -> Any:
            entry = _loaded(options, request)
            for operator, body in request["fakes"].items():
                stand_ins.register(operator, body)
            return entry

        return compile_targets(
            original,
            rewritten,
            tuple(request["targets"]),
            options,
            request["samples"],
            request["backend"],
        )


def _measure(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    with _engine():
        from ddelint.verify.bench import measure_program

        return measure_program(
            original, lambda: _loaded(options, request), request["which"], options, parity=request["parity"]
        )


def _parity(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    with _engine():
        from ddelint.verify.bench import compare_sizes

        return compare_sizes(original, lambda: _loaded(options, request), options, timed=request["timed"])


def _gpu(options: SessionOptions, request: Mapping[str, Any]) -> object:
    original = _original(options, request)
    with _engine():
        from ddelint.verify.gpu import examine

        return examine(
            original, lambda: _loaded(options, request), options, request["samples"], interpreted=request["interpreted"]
        )


def _types(options: SessionOptions, request: Mapping[str, Any]) -> object:
    from ddelint.trace import types

    entry = _loader(options).load()
    seconds = _FOR_TYPES * options.timeout
    return types.record(entry, options.paths, options.seed, frozenset(request["functions"]), seconds)


def _contract(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.contract import contract_of

        return contract_of(entry, options)


def _declared(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    from ddelint.shapes.declared import declarations

    return declarations(entry, options.seed, request["wanted"])


def _try_spec(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.exported_trying import try_exported
        from ddelint.shapes.trying import try_spec

        spec = from_wire(SizeSpec, request["spec"])
        if spec.exported and spec.place:
            return try_exported(entry, options.seed, spec.place, request["first"], request["cases"])
        return try_spec(entry, options.seed, spec, request["first"], request["cases"])


def _try_dispatch(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.dispatch_trying import try_ahead, try_dispatch

        if request["calls"]:
            return try_ahead(entry, options.seed, request["text"], request["calls"], request["cases"])
        return try_dispatch(entry, options.seed, request["text"], request["cases"])


def _graph_costs(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.graph_costs import arms_from, graph_costs

        arms = list(arms_from(request["arms"], lambda spec: from_wire(SizeSpec, spec)))
        return graph_costs(entry, options.seed, arms)


def _count_graphs(options: SessionOptions, request: Mapping[str, Any]) -> object:
    entry = _loaded(options, request)
    with _engine():
        from ddelint.shapes.stream_trying import count_graphs

        return count_graphs(entry, options.seed, request["stream"])


def _programs(options: SessionOptions, request: Mapping[str, Any]) -> object:
    from ddelint.trace import program_texts

    return program_texts.program_texts(options, request["settings"])


def _attempt(options: SessionOptions, request: Mapping[str, Any]) -> object:
    from ddelint.trace import attempts

    return attempts.attempt(options, request["block"], request["entry"], request["overlay"])


_METHODS: dict[str, Callable[[SessionOptions, Mapping[str, Any]], object]] = {
    "captures": _captures,
    "save": _save,
    "open": _open,
    "enter": _open,
    "trace": _trace,
    "compare": _compare,
    "compile": _compile,
    "types": _types,
    "measure": _measure,
    "parity": _parity,
    "gpu": _gpu,
    "contract": _contract,
    "declared": _declared,
    "try_spec": _try_spec,
    "try_dispatch": _try_dispatch,
    "graph_costs": _graph_costs,
    "count_graphs": _count_graphs,
    "programs": _programs,
    "attempt": _attempt,
}
