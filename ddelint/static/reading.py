"""One file for the static pass: from its bytes to what a run wants to know of it. Runs in any process."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ddelint.catalog import rule
from ddelint.diagnostics import Diagnostic
from ddelint.operators import operators
from ddelint.source import SourceError, SourceFile
from ddelint.static.outline import may_compile, outlined
from ddelint.static.project import Context, Project
from ddelint.static.regions import FileIndex
from ddelint.static.scan import might_matter


@dataclass(frozen=True, slots=True)
class Reading:
    """What the static pass read in one file."""

    findings: tuple[Diagnostic, ...] = ()
    comments: bool = False
    """Whether it holds comments that may silence findings, or be findings themselves."""
    reaches: tuple[tuple[str, str], ...] = ()
    """Functions of other files that are compiled because of this one: the file, and `fn` or `Class.method`."""
    consulted: Mapping[str, str | None] = field(default_factory=dict)
    """Other files that this rests on, by name, with their digests; None: it rests on there being none."""


def read(
    filename: str,
    data: bytes,
    *,
    assume_compiled: bool = False,
    parse: bool = False,
    project: Project | None = None,
    roots: Iterable[str] = (),
) -> Reading:
    """Check one file. With `parse`, a file that cannot matter is parsed, too: its syntax errors are findings.

    `project`: the files that this one may import from. `roots`: its functions that other files compile.
    """
    comments = any(token in data for token in operators().comment_tokens)
    matters = bool(roots) or might_matter(data, assume_compiled)
    context, reached = Context(), frozenset[tuple[str, str]]()
    if project is not None:
        project.consulted.clear()
        context, reached = project.inherits(filename)
        matters = matters or bool(context.roots)
    try:
        compiles = project is not None and may_compile_others(data)
        findings: list[Diagnostic] = []
        if matters or parse or compiles:
            source = SourceFile.from_bytes(filename, data)
            if parse:
                _ = source.tree
            if project is not None and (matters or compiles):
                context = replace(context, aliases=project.aliases(filename), roots=context.roots | set(roots))
            if matters or compiles:
                index = FileIndex(outlined(source), context)
                if compiles and project is not None:
                    reached |= _compiled_elsewhere(index, project)
                if matters:
                    from ddelint.static.checks import check_index  # what the cache knows needs no interpreter

                    findings = check_index(index, assume_compiled=assume_compiled)
                index.release()
    except SourceError as error:
        return Reading((syntax_error(error),) if matters or parse else (), comments)
    consulted = {} if project is None else {path: d for path, d in project.consulted.items() if path != filename}
    return Reading(tuple(findings), comments, tuple(sorted(reached)), consulted)


def may_compile_others(data: bytes) -> bool:
    """Whether a file may hand functions of others to a compiling call. False is certain."""
    return any(token in data for token in operators().framework_tokens) and may_compile(data.decode("latin-1"))


def _compiled_elsewhere(index: FileIndex, project: Project) -> set[tuple[str, str]]:
    """The functions of other files that are handed to compiling calls in this one."""
    filename = index.source.filename
    found: set[tuple[str, str]] = set()
    for node in index.handed_over:
        if not isinstance(node, ast.Lambda):
            place = project.resolve(filename, ast.unparse(node))
            if isinstance(place, tuple) and place[0] != filename:
                found.add(place)
    return found


def prepare() -> None:
    """Load what reading needs, so that processes that are forked find it."""
    from ddelint.static import checks

    _ = checks, operators()


def syntax_error(error: SourceError) -> Diagnostic:
    """The finding that a file does not parse."""
    message = rule("DDE001").message.format(expression=str(error))
    return Diagnostic("DDE001", message, error.span, rule("DDE001").severity, detail=str(error))
