"""What the interpreter saw, turned into diagnostics by the rules. This is the static pass's front door."""

from __future__ import annotations

import ast
import contextlib
import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from ddelint.sources.parsing import same_depth
from ddelint.sources.source import SourceFile
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.program.outline import OutlinedSource, outlined
from ddelint.static.program.regions import FileIndex
from ddelint.static.program.scan import might_matter
from ddelint.static.report import patterns
from ddelint.static.walk.interpreter import Interpreter
from ddelint.static.walk.walker import BudgetError

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic

__all__ = ["check_index", "check_source", "might_matter"]


def check_source(source: SourceFile, *, assume_compiled: bool = False) -> list[Diagnostic]:
    """All findings of the static pass in one file, in the order of the file.

    With `assume_compiled` every function counts as compiled. Raises SourceError where the file doesn't parse.
    What cannot be read to its end is among the findings (see given_up).
    """
    index = FileIndex(outlined(source))
    try:
        return check_index(index, assume_compiled=assume_compiled)
    finally:
        index.release()


def check_index(index: FileIndex, *, assume_compiled: bool = False) -> list[Diagnostic]:
    """As `check_source`, of a file whose definitions have been looked up. Raises SourceError."""
    with _no_collection(), same_depth():
        found = [*_shown(index, assume_compiled), *_undecidable(index, assume_compiled)]
    if isinstance(index.source, OutlinedSource) and index.source.too_deep:
        from ddelint.static.report.given_up import not_parsed

        found += [not_parsed(index.source, node) for node in index.source.too_deep]
    if found:
        from ddelint.static.report.findings import each_once

        found = each_once(found)
    return found


def _shown(index: FileIndex, assume_compiled: bool) -> list[Diagnostic]:
    """What the text of the file shows. What makes findings is loaded where there are any: most files are clean."""
    places = list(patterns.places(index, assume_compiled))
    if not places:
        return []
    from ddelint.static.report.findings import of_places

    return of_places(index.source, places)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """A syntax tree is many objects and no garbage: looking for cycles in it costs a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _undecidable(index: FileIndex, assume_compiled: bool) -> list[Diagnostic]:
    source = index.source
    interpreter = Interpreter(index)
    given_up: list[Diagnostic] = []
    for root in index.roots(assume_compiled):
        if index.has_inputs or index.matters(root.node):
            given_up += _read(interpreter, root.node, partial(interpreter.run, root))
    while (late := interpreter.following.late(index)) is not None:
        given_up += _read(interpreter, late[0].node, partial(interpreter.run_late, *late))
    found: list[Diagnostic] = []
    if interpreter.events:
        from ddelint.static.report.findings import of_events

        found = of_events(source, interpreter.events, interpreter.invariants)
    interpreter.release()
    return [*found, *given_up]


def _read(
    interpreter: Interpreter, node: FunctionNode | ast.Lambda, interpret: Callable[[], None]
) -> Iterator[Diagnostic]:
    """Interpret one function; what is given up is said, and what was found until then is right."""
    try:
        interpret()
    except RecursionError:
        from ddelint.static.report.given_up import nested_too_deep

        yield nested_too_deep(interpreter.source, node, interpreter.row)
    except BudgetError:
        from ddelint.static.report.given_up import out_of_steps

        yield out_of_steps(interpreter.source, node, interpreter.row, interpreter.granted)
