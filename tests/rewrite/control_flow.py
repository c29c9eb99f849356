"""Runs a move on a piece of text for the tests of the control-flow moves: the site is marked in the text itself."""

from __future__ import annotations

import ast
import linecache
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

from ddelint.nouns.diagnostics import Diagnostic, Span, TypeFact
from ddelint.rewrite.candidate import MOVES, Candidate, Context
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.search.history import History
from ddelint.rewrite.writing.imports import import_edits
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceFile

TENSOR = TypeFact("tensor", "float32", ("4",))
SCALAR = TypeFact("tensor", "float32", ())
INTEGERS = TypeFact("tensor", "int64", ("4",))
COUNT = TypeFact("symint")
MASK = TypeFact("tensor", "bool", ("4",))


def context_of(
    text: str,
    asking: str,
    facts: Mapping[str, TypeFact] | None = None,
    code: str = "DDE101",
    expression: str = "",
    occurrence: int = 0,
    filename: str = "model.py",
) -> Context:
    """The context of the `occurrence`-th place where `asking` stands in `text`."""
    source = SourceFile(filename, text)
    start = -1
    for _ in range(occurrence + 1):
        start = text.index(asking, start + 1)
    row = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    end = start + len(asking)
    end_row = text.count("\n", 0, end) + 1
    span = Span(filename, row, column, end_row, end - (text.rfind("\n", 0, end) + 1) + 1)
    site = locate(source, span)
    assert site is not None
    return Context(site, Diagnostic(code, "", span, expression=expression or asking), "truth", facts or {})


def candidates(move: str, context: Context) -> list[Candidate]:
    """All candidates of a move."""
    load_moves()
    return list(MOVES[move](context))


def applied(files: Mapping[str, SourceFile], candidate: Candidate) -> dict[str, str]:
    """New text of every file that `candidate` touches, with the imports that it needs in the file of its first edit.

    Raises EngineError where a name that it imports is taken, ValueError where edits overlap, KeyError for a file that
    is not among `files`, SourceError where the result does not parse.
    """
    texts: dict[str, str] = {}
    for filename in dict.fromkeys(edit.span.filename for edit in candidate.edits):
        edits = [edit for edit in candidate.edits if edit.span.filename == filename]
        texts[filename] = files[filename].apply(edits)
    if candidate.edits and candidate.imports:
        filename = candidate.edits[0].span.filename
        changed = SourceFile(filename, texts[filename], files[filename].encoding)
        texts[filename] = changed.apply(import_edits(changed, candidate.imports))
    for filename, text in texts.items():
        _ = SourceFile(filename, text).tree
    return texts


def rewritten(move: str, context: Context) -> list[str]:
    """The text after each candidate, without the imports; each must parse, and the search must make the same of it."""
    source = context.site.source
    texts = []
    for candidate in candidates(move, context):
        text = source.apply(candidate.edits)
        ast.parse(text)
        searched = History({source.filename: source}).add(candidate.edits, 1)
        assert searched.current(source.filename).text == text
        texts.append(text)
    return list(dict.fromkeys(texts))


def with_imports(move: str, context: Context) -> list[str]:
    """The text after each candidate, with its imports on top."""
    found = []
    for candidate in candidates(move, context):
        lines = [f"from {i.module} import {i.name}" if i.name else f"import {i.module}" for i in candidate.imports]
        found.append("".join(f"{line}\n" for line in lines) + context.site.source.apply(candidate.edits))
    return list(dict.fromkeys(found))


_LOADED = [0]


def load(text: str, name: str = "fn") -> Any:
    """Execute `text` under a file name of its own (torch.compile wants the source) and give back one of its names."""
    _LOADED[0] += 1
    filename = f"<control flow {_LOADED[0]}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module = types.ModuleType(f"control_flow_{_LOADED[0]}")
    sys.modules[module.__name__] = module  # strict export imports the module of what it captures
    exec(compile(text, filename, "exec"), module.__dict__)
    return getattr(module, name)


# ---------------------------------------------------------------------- running what was written

FRONT_ENDS = ("export", "strict", "compile")


def outcome(function: Any, arguments: Sequence[Any]) -> Any:
    """The result on fresh copies of `arguments`, or the type of the exception."""
    import torch

    fresh = [argument.clone() if isinstance(argument, torch.Tensor) else argument for argument in arguments]
    try:
        return function(*fresh), fresh
    except Exception as error:
        return type(error), None


def agree(first: Any, second: Any) -> bool:
    """Equal values, dtypes and shapes; tensors to single precision."""
    import torch

    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        same = first.shape == second.shape and first.dtype == second.dtype
        return same and torch.allclose(first.double(), second.double(), equal_nan=True)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(agree(a, b) for a, b in zip(first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return agree([*first.items()], [*second.items()])
    return bool(first == second)


def failures(
    original: str, text: str, samples: Sequence[Sequence[Any]], targets: Sequence[str] = FRONT_ENDS
) -> list[str]:
    """Where `text` differs: in eager from `original`, and compiled or exported from eager. Both define `fn`."""
    import torch

    before, now = load(original), load(text)
    expected = [outcome(before, sample) for sample in samples]
    found = [
        f"eager, sample {number}: {got[0]} instead of {want[0]}"
        for number, (sample, want) in enumerate(zip(samples, expected))
        if not agree(want, got := outcome(now, sample))
    ]
    for target in targets:
        torch._dynamo.reset()
        try:
            run = captured(now, samples[0], target)
        except Exception as error:
            found.append(f"{target}: {type(error).__name__}: {str(error).strip().splitlines()[0]}")
            continue
        for number, (sample, want) in enumerate(zip(samples, expected)):
            got = outcome(run, sample)
            both_raise = isinstance(want[0], type) and isinstance(got[0], type)
            if not both_raise and not agree(want[0], got[0]):
                found.append(f"{target}, sample {number}: {got[0]} instead of {want[0]}")
    return found


def captured(function: Any, sample: Sequence[Any], target: str) -> Any:
    """`function` compiled, or exported: something to call."""
    import torch

    arguments = tuple(argument.clone() if isinstance(argument, torch.Tensor) else argument for argument in sample)
    if target == "compile":
        options = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
        compiled = torch.compile(function, fullgraph=True, backend="eager")

        def run(*inputs: Any) -> Any:
            with torch._dynamo.config.patch(options):
                return compiled(*inputs)

        run(*arguments)
        return run

    class Entry(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = function if isinstance(function, torch.nn.Module) else None

        def forward(self, *inputs: Any) -> Any:
            return function(*inputs)

    return torch.export.export(Entry(), arguments, strict=target == "strict").module()
