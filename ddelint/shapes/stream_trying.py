"""A stream of sizes, fed to the program compiled as it is: for which calls torch compiles. Runs in the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ddelint.nouns.size_streams import Counted
from ddelint.shapes.facts import Sizes
from ddelint.shapes.trying import Graphs, first_line, sized, tensors_of
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.rerun import quiet

_RECOMPILES = 256


def count_graphs(entry: Entry, seed: int, stream: Sequence[Sizes]) -> Counted:
    """Compile the program with the marks that its own inputs carry, and call it with each of the sizes."""
    graphs = Graphs()
    calls: list[int] = []
    marked = tensors_of(entry, seed)
    dynamic, unbacked = _marks(marked)
    with torch_internals.compile_settings(recompiles=_RECOMPILES, captured=False), torch.no_grad(), quiet():
        torch.manual_seed(0)
        compiled = torch.compile(entry.build(), backend=graphs)
        for number, sizes in enumerate(stream, 1):
            before = graphs.count
            try:
                args, kwargs = sized(entry, seed, sizes)
                given: dict[str, Any] = dict(zip(entry.parameters, args)) | kwargs
                leaves = dict(part for name, one in given.items() for part in torch_internals.leaves_at(name, one))
                for place, tensor in marked.items():
                    torch_internals.copy_marks(tensor, leaves[place])
                with entry.surroundings():
                    compiled(*args, **kwargs)
            except Exception as error:
                return Counted(tuple(calls), dynamic, unbacked, f"call {number}: {first_line(error)}")
            if graphs.count > before:
                calls.append(number)
    return Counted(tuple(calls), dynamic, unbacked)


def _marks(tensors: Mapping[str, torch.Tensor]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The dimensions that are marked as dynamic, and those that are marked as unbacked."""
    dynamic: list[str] = []
    unbacked: list[str] = []
    for name, tensor in tensors.items():
        without, backed = torch_internals.marked(tensor)
        unbacked += [f"{name}.shape[{dimension}]" for dimension in without]
        dynamic += [f"{name}.shape[{dimension}]" for dimension in backed]
    return tuple(dynamic), tuple(unbacked)
