"""A written dispatcher, loaded and called at the ends of its ranges, held against eager. Runs in the worker."""

from __future__ import annotations

import linecache
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

import torch

from ddelint.nouns.dispatches import Tried
from ddelint.nouns.size_specs import Outcome
from ddelint.shapes.facts import Sizes
from ddelint.shapes.trying import Graphs, call, first_line, sized
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.rerun import quiet

_RECOMPILES = 64


def try_dispatch(entry: Entry, seed: int, text: str, cases: Sequence[Sizes]) -> Tried:
    """Load the file's text, call its dispatcher with inputs of each size, then with all again, compiling nothing."""
    if torch_internals.spec_kinds() is None:
        return Tried(error=f"torch {torch.__version__} has no ShapesSpec: 2.13 has")
    graphs = Graphs()
    with torch_internals.compile_settings(recompiles=_RECOMPILES), torch.no_grad(), quiet():
        torch.manual_seed(0)
        try:
            namespace = _loaded(text)
            program = entry.build()
            dispatched = namespace["dispatcher"](program, backend=graphs)
        except Exception as error:
            return Tried(error=first_line(error))
        outcomes, counts = [], [0]
        for sizes in cases:
            outcomes.append(call(entry, program, dispatched, seed, sizes))
            counts.append(graphs.count)
        compiled_by = tuple(after - before for before, after in pairwise(counts))
        with torch.compiler.set_stance("fail_on_recompile"):
            again = [call(entry, program, dispatched, seed, sizes) for sizes in cases]
        recompiled = tuple(two for one, two in zip(outcomes, again) if one.ended != two.ended)
        specialized = _specialized(entry, program, seed, namespace, cases) if "mark_inputs" in namespace else ""
    return Tried(tuple(outcomes), counts[-1], compiled_by, recompiled, specialized=specialized)


def try_ahead(entry: Entry, seed: int, text: str, calls: Sequence[Sizes], cases: Sequence[Sizes]) -> Tried:
    """Load the file's text, save a graph for each of `calls`, and call what is loaded again with `cases`."""
    with (
        torch_internals.compile_settings(recompiles=_RECOMPILES),
        torch_internals.empty_inductor_cache(),
        tempfile.TemporaryDirectory() as folder,
        torch.no_grad(),
        quiet(),
    ):
        torch.manual_seed(0)
        try:
            namespace = _loaded(text)
            program = entry.build()
            with entry.surroundings():
                namespace["save"](program, [sized(entry, seed, sizes) for sizes in calls], folder)
            dispatched = namespace["dispatcher"](folder)
        except Exception as error:
            return Tried(error=first_line(error))
        outcomes = tuple(call(entry, program, dispatched, seed, sizes) for sizes in cases)
        return Tried(outcomes, len(namespace["GRAPHS"]))


def _loaded(text: str) -> dict[str, Any]:
    name = "<the dispatcher>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = ModuleType("ddelint_dispatcher")
    sys.modules[module.__name__] = module  # Dynamo looks a function's globals up by the name of its module
    exec(compile(text, name, "exec"), vars(module))
    return vars(module)


def _specialized(
    entry: Entry, program: Callable[..., Any], seed: int, namespace: dict[str, Any], cases: Sequence[Sizes]
) -> str:
    """The same by marks: sizes from 2 on are taken by one trace."""
    large = [sizes for sizes in cases if all(size >= 2 for size in sizes.values())]
    if not large:
        return "not run: no sizes from 2 on"

    def marked(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(entry.parameters, args)) | kwargs
        wanted = namespace["mark_inputs"].__code__
        namespace["mark_inputs"](*(given[name] for name in wanted.co_varnames[: wanted.co_argcount]))
        return compiled(*args, **kwargs)

    compiled = torch.compile(program, fullgraph=True, backend="eager", isolate_recompiles=True)
    try:
        args, kwargs = sized(entry, seed, large[-1])
        with entry.surroundings():
            marked(*args, **kwargs)
    except Exception as error:
        return first_line(error)
    with torch.compiler.set_stance("fail_on_recompile"):
        wrong: list[Outcome] = [
            one for one in (call(entry, program, marked, seed, s) for s in large) if one.ended != "same"
        ]
    return f"{wrong[0].ended} {wrong[0].detail}".strip() if wrong else f"one trace, as eager on {len(large)} calls"
