"""What of a file an editor offers to trace: where "Trace this entry" stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from ddelint.server.positions import overlap
from ddelint.settings.options import EntryOption, Reference
from ddelint.sources.source import SourceError, SourceFile
from ddelint.trace.offers import static_offer

TRACE = "ddelint.trace"
TITLE = "Trace this entry"


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A definition at a file's top level that can be traced; rows count from 1."""

    name: str
    row: int
    end_row: int

    def command(self, uri: str) -> types.Command:
        """What traces it."""
        return types.Command(TITLE, TRACE, arguments=[uri, self.row - 1])

    @property
    def range(self) -> types.Range:
        """Its lines."""
        return types.Range(types.Position(self.row - 1, 0), types.Position(self.end_row, 0))


def entry_points(path: Path, text: str, configured: Sequence[EntryOption]) -> list[EntryPoint]:
    """The entries that the configuration names in the file, else what the file offers by itself; none where it does not
    parse."""
    source = SourceFile(str(path), text)
    names = set()
    for entry in configured:
        reference = Reference.parse(entry.entry or "")
        if reference.filename is not None and Path(reference.filename).resolve() == path.resolve():
            names.add(reference.name)
    if not names:
        offer = static_offer(source)
        names = {_name_of(offer, path)} if offer is not None else set()
    try:
        return [point for point in _definitions(source.tree.body) if point.name in names]
    except SourceError:
        return []


def _name_of(offer: str, path: Path) -> str:
    """`Model` of `model.py:Model, inputs from make_inputs(seed)`; the file's name may have any characters."""
    return offer.removeprefix(f"{path.name}:").partition(",")[0].removesuffix("()")


def _definitions(body: Sequence[ast.stmt]) -> Iterator[EntryPoint]:
    for node in body:
        end = node.end_lineno or node.lineno
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield EntryPoint(name, node.lineno, end)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield EntryPoint(name, node.lineno, end)
            case ast.If() | ast.Try() | ast.With():
                yield from _definitions(node.body)


def lenses(uri: str, points: Sequence[EntryPoint]) -> list[types.CodeLens]:
    """A lens above each."""
    return [types.CodeLens(types.Range(point.range.start, point.range.start), point.command(uri)) for point in points]


def actions(uri: str, points: Sequence[EntryPoint], where: types.Range) -> list[types.CodeAction]:
    """The command as a code action, for the entry around a range."""
    return [
        types.CodeAction(f"{TITLE}: {point.name}", kind=types.CodeActionKind.QuickFix, command=point.command(uri))
        for point in points
        if overlap(point.range, where)
    ]
