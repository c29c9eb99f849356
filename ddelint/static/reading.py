"""One file for the static pass: from its bytes to what a run wants to know of it. Runs in any process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ddelint.knowledge.operators import operators
from ddelint.nouns.readings import Reading
from ddelint.sources.source import SourceError, SourceFile, TooDeepError
from ddelint.static.program.survey import Asked, Survey, survey
from ddelint.system.digests import digest_of

if TYPE_CHECKING:  # a file without findings needs none of them
    from ddelint.nouns.diagnostics import Diagnostic
    from ddelint.static.program.context import Returns
    from ddelint.static.program.project import Project


def read(
    filename: str,
    data: bytes,
    asked: Asked = Asked(),  # noqa: B008 - it cannot be changed
    *,
    parse: bool = False,
    project: Project | None = None,
    roots: Iterable[str] = (),
    surveyed: Survey | None = None,
) -> Reading:
    """Check one file. With `parse`, a file that cannot matter is parsed, too: its syntax errors are findings.

    `project`: the files that this one may import from. `roots`: its functions that other files compile. `surveyed`:
    what was found of it with these, where it was looked at before.
    """
    if surveyed is None or surveyed.digest != digest_of(data):
        surveyed = survey(filename, data, asked, project, roots)
    elif project is not None:
        project.hand(filename, data)
    consulted = surveyed.consulted
    findings: Sequence[Diagnostic] = ()
    if surveyed.matters or parse:
        if project is not None:
            project.consulted = {}
        findings = _findings(filename, data, asked, parse, project, surveyed)
        if project is not None:
            others = {path: digest for path, digest in project.consulted.items() if path != filename}
            consulted = {**consulted, **others}
    return Reading(tuple(findings), surveyed.comments, surveyed.reaches, consulted)


def _findings(
    filename: str, data: bytes, asked: Asked, parse: bool, project: Project | None, surveyed: Survey
) -> Sequence[Diagnostic]:
    try:
        source = SourceFile.from_bytes(filename, data)
        if parse:
            with suppress(TooDeepError):  # it may be one function that does
                _ = source.tree
        if not surveyed.matters:
            return ()
        # a single file that says nothing of torch needs none of them, and what the cache knows no interpreter
        from ddelint.static.checks import check_index
        from ddelint.static.program.context import Context
        from ddelint.static.program.outline import OutlinedSource, may_compile, outlined
        from ddelint.static.program.prospects import Prospects
        from ddelint.static.program.regions import FileIndex

        source = outlined(source, surveyed.compiles)
        context = surveyed.context or Context()
        elsewhere = None if project is None else _elsewhere(project)
        if elsewhere is not None and context.sources:
            kinds = {call: elsewhere.kinds(filename, call[:-1]) for call in context.sources}
            giving = tuple(call for call, (gives_data, _) in kinds.items() if gives_data)
            tensors = tuple(call for call, (_, gives_tensors) in kinds.items() if gives_tensors)
            context = replace(context, sources=giving, tensor_sources=tensors)
        roots = context.roots | surveyed.roots | surveyed.named
        prospects: Prospects | None = None
        if isinstance(source, OutlinedSource) and not (
            asked.assume_compiled or (surveyed.of_framework and may_compile(source))
        ):
            prospects = Prospects(
                source.text, source.functions, context.sources, context.tensor_sources, context.inherited_tensors
            )
            names = {root.rpartition(".")[2] for root in roots}
            if not surveyed.comments and not _says_more(data) and prospects.nothing_asks(names):
                return ()
        index = FileIndex(source, replace(context, roots=roots, elsewhere=elsewhere), prospects)
        findings = check_index(index, assume_compiled=asked.assume_compiled)
        index.release()
        return findings
    except (TooDeepError, RecursionError):
        from ddelint.static.report.given_up import whole_file

        return [whole_file(SourceFile.from_bytes(filename, data))]
    except SourceError as error:
        return [syntax_error(error)]


def _elsewhere(project: Project) -> Returns:
    from ddelint.static.elsewhere import Elsewhere  # what the cache knows needs no interpreter

    if not isinstance(project.returns, Elsewhere):
        project.returns = Elsewhere(project)
    return project.returns


def _says_more(data: bytes) -> bool:
    """Whether the file may have findings outside of what asks, or says of itself what is compiled."""
    return any(token in data for token in operators().always_tokens)


def prepare() -> None:
    """Load what reading needs, so that processes that are forked find it."""
    from ddelint.static import checks

    _ = checks, operators()


def syntax_error(error: SourceError) -> Diagnostic:
    """The finding that a file does not parse."""
    from ddelint.knowledge.catalog import rule
    from ddelint.nouns.diagnostics import Diagnostic

    message = rule("DDE001").message.format(expression=str(error))
    return Diagnostic("DDE001", message, error.span, rule("DDE001").severity, detail=str(error))
