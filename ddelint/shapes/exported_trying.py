"""A program exported with the `dynamic_shapes` that are declared of it, and called with inputs of chosen sizes.

Runs in the worker.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from ddelint.nouns.size_specs import Trial
from ddelint.shapes.declared import dynamic_shapes_at
from ddelint.shapes.facts import Sizes
from ddelint.shapes.trying import call, sized
from ddelint.trace.entry import Entry
from ddelint.trace.rerun import quiet
from ddelint.verify.program import Wrapped

_ADVICE = re.compile(r" ?For more information, run with TORCH_LOGS=\S*+\.?")
_VIOLATION, _SUGGESTED = "  - ", "Suggested fixes:"


def try_exported(entry: Entry, seed: int, place: str, first: Sizes, cases: Sequence[Sizes]) -> Trial:
    """Export with inputs of the sizes `first` and the `dynamic_shapes` at `place`, then call with each of `cases`."""
    with torch.no_grad(), quiet():
        torch.manual_seed(0)
        program = entry.build()
        module = program if isinstance(program, torch.nn.Module) else Wrapped(program)
        try:
            with entry.surroundings():
                args, kwargs = sized(entry, seed, first)
                shapes = dynamic_shapes_at(place)
                exported = torch.export.export(module, args, kwargs or None, dynamic_shapes=shapes).module()
        except Exception as error:
            return Trial(False, why_not(error))
        return Trial(True, outcomes=tuple(call(entry, program, exported, seed, sizes) for sizes in cases))


def why_not(error: Exception) -> str:
    """An error of torch.export in one line: what it says, the first violation, and what it suggests instead."""
    lines = str(error).splitlines() or [""]
    said = f"{type(error).__name__}: {_ADVICE.sub('', lines[0])}"
    violation = next((line.removeprefix(_VIOLATION) for line in lines if line.startswith(_VIOLATION)), "")
    at = lines.index(_SUGGESTED) if _SUGGESTED in lines else len(lines)
    fixes = [line.strip() for line in lines[at + 1 :] if line.startswith("  ")]
    return said + (f" {violation}" if violation else "") + (f"; torch suggests {', '.join(fixes)}" if fixes else "")
