"""One file for the static pass: from its bytes to what a run wants to know of it. Runs in any process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ddelint.catalog import rule
from ddelint.diagnostics import Diagnostic
from ddelint.operators import operators
from ddelint.source import SourceError, SourceFile, TooDeepError
from ddelint.static.program.declared import Outline
from ddelint.static.program.handed import compiled_elsewhere
from ddelint.static.program.named import compiled_by_name
from ddelint.static.program.outline import OutlinedSource, may_compile, outlined
from ddelint.static.program.project import Context, Project, Returns
from ddelint.static.program.prospects import Prospects
from ddelint.static.program.public import in_package, public_functions
from ddelint.static.program.regions import FileIndex
from ddelint.static.program.scan import holds_comments, might_matter
from ddelint.static.report.given_up import whole_file


@dataclass(frozen=True, slots=True)
class Reading:
    """What the static pass read in one file."""

    findings: tuple[Diagnostic, ...] = ()
    comments: bool = False
    """Whether it holds comments that may silence findings, or be findings themselves."""
    reaches: tuple[tuple[str, str, str], ...] = ()
    """Functions of other files that are compiled because of this one: the file, and `fn` or `Class.method`.

    Before them the function of this file because of which they are, where others compile that; else nothing.
    """
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
    compiled: Sequence[str] = (),
    root: str = "",
    public: bool = True,
) -> Reading:
    """Check one file. With `parse`, a file that cannot matter is parsed, too: its syntax errors are findings.

    `project`: the files that this one may import from. `roots`: its functions that other files compile. `compiled`:
    patterns for the names of functions that are compiled, too, by a configuration in the folder `root`.
    `public`: so are a package's public functions of tensors (`static/program/public`).
    """
    known = operators()
    if project is not None:
        project.consulted.clear()
        project.hand(filename, data)
    comments = holds_comments(data)
    of_framework = any(token in data for token in known.framework_tokens)
    named = compiled_by_name(filename, data, compiled, root) if compiled else frozenset()
    public = public and not assume_compiled and of_framework and in_package(filename)
    if public and might_matter(data, assume_compiled=True):
        outline = project.outline(filename) if project is not None else None
        named |= public_functions(filename, outline or Outline(data), project)
    matters = bool(roots) or bool(named) or might_matter(data, assume_compiled)
    context, reached = Context(), frozenset[tuple[str, str]]()
    further: set[tuple[str, str, str]] = set()
    sources: tuple[str, ...] = ()
    roots = frozenset(roots)
    if project is not None:
        if matters or of_framework or _defines_an_entry(data):
            context, reached = project.inherits(filename)
            if roots or named or context.roots or any(token in data for token in known.region_tokens):
                sources = project.sources(filename)
            matters = matters or bool(context.roots) or bool(sources)
        if named:
            reached |= project.calls_of(filename, named)
        for other in sorted(roots):
            further |= {(other, *place) for place in project.calls_of(filename, [other])}
    roots |= named
    findings: list[Diagnostic] = []
    try:
        if matters or parse or (project is not None and of_framework):
            source = SourceFile.from_bytes(filename, data)
            if parse:
                with suppress(TooDeepError):  # it may be one function that does
                    _ = source.tree
            source = outlined(source)
            compiles = of_framework and may_compile(source)
            prospects: Prospects | None = None
            if matters and isinstance(source, OutlinedSource) and not (compiles or assume_compiled):
                prospects = Prospects(source.text, source.functions, sources)
                names = {root.rpartition(".")[2] for root in (*roots, *context.roots)}
                matters = comments or _says_more(data) or not prospects.nothing_asks(names)
            hands = compiles and project is not None
            if matters or hands:
                if project is not None:
                    context = replace(
                        context,
                        aliases=project.aliases(filename),
                        roots=context.roots | roots,
                        sources=sources,
                        elsewhere=_elsewhere(project),
                    )
                elif roots:
                    context = replace(context, roots=roots)
                index = FileIndex(source, context, prospects)
                if project is not None and hands:
                    reached |= compiled_elsewhere(index, project)
                if matters:
                    from ddelint.static.checks import check_index  # what the cache knows needs no interpreter

                    findings = check_index(index, assume_compiled=assume_compiled)
                index.release()
    except (TooDeepError, RecursionError):
        return Reading((whole_file(SourceFile.from_bytes(filename, data)),) if matters or parse else (), comments)
    except SourceError as error:
        return Reading((syntax_error(error),) if matters or parse else (), comments)
    consulted = {} if project is None else {path: d for path, d in project.consulted.items() if path != filename}
    reaches = sorted({("", *place) for place in reached} | further)
    return Reading(tuple(findings), comments, tuple(reaches), consulted)


def _elsewhere(project: Project) -> Returns:
    from ddelint.static.elsewhere import Elsewhere  # what the cache knows needs no interpreter

    if not isinstance(project.returns, Elsewhere):
        project.returns = Elsewhere(project)
    return project.returns


def _says_more(data: bytes) -> bool:
    """Whether the file may have findings outside of what asks, or says of itself what is compiled."""
    return any(token in data for token in operators().always_tokens)


def _defines_an_entry(data: bytes) -> bool:
    """Whether the file may have a module's `forward`, whatever it knows of torch."""
    return any(f"def {name}(".encode() in data for name in operators().regions["guessed_methods"])


def prepare() -> None:
    """Load what reading needs, so that processes that are forked find it."""
    from ddelint.static import checks

    _ = checks, operators()


def syntax_error(error: SourceError) -> Diagnostic:
    """The finding that a file does not parse."""
    message = rule("DDE001").message.format(expression=str(error))
    return Diagnostic("DDE001", message, error.span, rule("DDE001").severity, detail=str(error))
