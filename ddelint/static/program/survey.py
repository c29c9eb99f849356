"""What a file says of itself and of others before anything in it is interpreted: by its text, most of it.

Who compiles whom is known once all files were surveyed; each is interpreted once, knowing that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ddelint.knowledge.operators import operators
from ddelint.sources.parsing import TOO_DEEP
from ddelint.sources.source import SourceError, SourceFile, TooDeepError
from ddelint.static.program.declared import Outline
from ddelint.static.program.kept_away import AWAY, split
from ddelint.static.program.named import compiled_by_name, given_as_entries
from ddelint.static.program.public import in_package, public_functions
from ddelint.static.program.scan import holds_comments, may_be_compiled, may_read, tests_one_of
from ddelint.system.digests import digest_of

if TYPE_CHECKING:  # a single file that says nothing of torch needs none of them
    from ddelint.static.program.context import Context
    from ddelint.static.program.imports import Reached
    from ddelint.static.program.project import Project


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be taken as compiled."""

    assume_compiled: bool = False
    """All functions."""
    compiled: Sequence[str] = ()
    """Patterns for the names of functions that a configuration in the folder `root` names."""
    root: str = ""
    public: bool = True
    """A package's public functions of tensors (`static/program/public`)."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known of one file before it is interpreted."""

    digest: str
    """Of the content that was surveyed."""
    comments: bool
    """Whether it holds comments that may silence findings, or be findings themselves."""
    of_framework: bool
    asks: bool
    """Whether it may have findings by its text, whatever other files compile."""
    named: frozenset[str]
    """Its functions that count as compiled by a configuration, or as public."""
    roots: frozenset[str] = frozenset()
    """Those that other files compile."""
    away: frozenset[str] = frozenset()
    """Those that functions of other files call which a compiler is kept away from."""
    compiles: bool = True
    """Whether its text may hold a call or a decorator that says what is compiled."""
    context: Context | None = None
    """What it learns from other files, where that was looked for."""
    inherited: frozenset[Reached] = frozenset()
    """Functions of other files that its classes, and what is `named`, make compiled."""
    handed: frozenset[Reached] = frozenset()
    """Those that it hands to a compiler, and that these call."""
    further: frozenset[tuple[str, str, str]] = frozenset()
    """Its function that others compile, and a function of another file that this one calls.

    Before the first stands `AWAY` where a compiler is kept away from what calls it, and no more than that where it is
    kept away from a function of this file.
    """
    consulted: Mapping[str, str | None] = field(default_factory=dict)
    """Other files that this rests on, by name, with their digests; None: it rests on there being none."""

    @property
    def matters(self) -> bool:
        """Whether it may have findings."""
        of_others = self.context is not None and bool(self.context.roots or self.context.sources)
        return self.asks or bool(self.named or self.roots) or of_others

    @property
    def reaches(self) -> tuple[tuple[str, str, str], ...]:
        """Functions of other files that are compiled because of this one: see Reading."""
        return tuple(sorted({("", *place) for place in self.inherited | self.handed} | self.further))


def survey(
    filename: str,
    data: bytes,
    asked: Asked,
    project: Project | None = None,
    roots: Iterable[str] = (),
    before: Survey | None = None,
) -> Survey:
    """Look at one file. `roots`: its functions that other files compile; `before`: what was found with fewer."""
    if project is not None:
        project.consulted = {}
        project.hand(filename, data)
    unchanged = before is not None and before.digest == digest_of(data)
    old = before if before is not None and unchanged else _alone(filename, data, asked, project)
    compiled, away = split(roots)
    found = replace(old, roots=compiled, away=away)
    if project is not None:
        if old.context is None or away != old.away:
            found = _without_away(filename, project, found)
        found = _among(filename, data, project, found, found.roots - old.roots)
        others = {path: digest for path, digest in project.consulted.items() if path != filename}
        found = replace(found, consulted={**found.consulted, **others})
    return found


def _alone(filename: str, data: bytes, asked: Asked, project: Project | None) -> Survey:
    """What does not depend on what other files compile."""
    of_framework = any(token in data for token in operators().framework_tokens)
    named = compiled_by_name(filename, data, asked.compiled, asked.root) if asked.compiled else frozenset()
    if of_framework:
        named |= given_as_entries(data)
    public = asked.public and not asked.assume_compiled and of_framework and in_package(filename)
    compiled = asked.assume_compiled or may_be_compiled(data)
    reads = (compiled or public) and may_read(data)
    # where a class may have an entry and nothing asks, nothing asks in a public function
    if public and (reads or (not _has_regions(data) and project is not None and project.sources(filename))):
        outline = project.outline(filename) if project is not None else None
        eager = project.eager_calls if project is not None else None
        named |= public_functions(filename, outline or Outline(data), project, eager)
    return Survey(digest_of(data), holds_comments(data), of_framework, compiled and reads, named)


def _without_away(filename: str, project: Project, found: Survey) -> Survey:
    """Without the interface that is none: what only functions call which a compiler is kept away from."""
    kept = project.calls.kept_away(filename)
    own, further = project.away_calls(filename, kept)
    edges = {(AWAY, *place) for place in further}
    for name in found.away:
        behind, further = project.away_calls(filename, [name])
        own |= behind
        edges |= {(f"{AWAY}{name}", *place) for place in further}
    if not found.named & (kept | own):
        return replace(found, further=found.further | edges)
    return replace(found, named=found.named - kept - own, context=None, further=found.further | edges)


def _among(filename: str, data: bytes, project: Project, found: Survey, new: frozenset[str]) -> Survey:
    """What it has to do with the other files; `new`: roots that were not known before."""
    if found.context is None and (found.matters or found.of_framework or _defines_an_entry(data)):
        context, inherited = project.inherits(filename)
        if found.named:
            inherited |= project.interface_calls(filename, found.named)
        tensors = context.inherited_tensors
        asks = found.asks or (bool(tensors) and tests_one_of(tensors, data.decode("utf-8", errors="replace")))
        found = replace(found, context=context, inherited=inherited, asks=asks)
    if found.context is None:
        return found
    compiles = found.roots or found.named or found.context.roots
    if not found.context.sources and (compiles or _has_regions(data)):
        found = replace(found, context=replace(found.context, sources=project.sources(filename)))
    further = {(root, *place) for root in sorted(new) for place in project.calls_of(filename, [root])}
    return _handing_over(filename, data, project, replace(found, further=found.further | further))


def _handing_over(filename: str, data: bytes, project: Project, found: Survey) -> Survey:
    """What the file hands to a compiler."""
    from ddelint.static.program.handed import compiled_elsewhere
    from ddelint.static.program.outline import may_compile, outlined
    from ddelint.static.program.regions import FileIndex

    context = found.context
    assert context is not None
    try:
        source = outlined(SourceFile.from_bytes(filename, data))
        found = replace(found, compiles=may_compile(source))
        compiles = found.of_framework and found.compiles
        if (compiles or found.matters) and not context.aliases:
            context = replace(context, aliases=project.aliases(filename))
            found = replace(found, context=context)
        if compiles:
            index = FileIndex(source, replace(context, roots=context.roots | found.roots | found.named))
            found = replace(found, handed=frozenset(compiled_elsewhere(index, project)))
            index.release()
    except (TooDeepError, SourceError, *TOO_DEEP):  # said where it is read, if it matters
        return found
    return found


def _defines_an_entry(data: bytes) -> bool:
    """Whether the file may have a module's `forward`, whatever it knows of torch."""
    return any(f"def {name}(".encode() in data for name in operators().regions["guessed_methods"])


def _has_regions(data: bytes) -> bool:
    """Whether the bytes may say that something is compiled."""
    return any(token in data for token in operators().region_tokens)
