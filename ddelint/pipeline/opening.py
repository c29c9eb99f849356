"""One program as sessions, whatever names it: an object of this process, or a file's entry."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddelint.errors import DdelintError
from ddelint.nouns.protocol import EntryFailure, EntrySpec
from ddelint.pipeline.entries import entry_specs, label, session_options
from ddelint.pipeline.gathering import PipelineError, roots
from ddelint.pipeline.sessions import open_entry, start_worker
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions, EntryOption
from ddelint.sources.source import SourceError, SourceFile

if TYPE_CHECKING:
    from ddelint.trace.session import Session


@dataclass(frozen=True)
class Call:
    """A program of this process and the arguments of one call."""

    program: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True)
class Opened:
    """A session of a program, or why there is none."""

    session: Session | EntryFailure
    label: str
    spec: EntrySpec


@contextmanager
def opened(program: Call | EntryOption, files: Sequence[str], options: CheckOptions) -> Iterator[Opened]:
    """A program's session; `files` are its own to blame. A program of this process runs in forks of it.

    Raises DdelintError for what cannot be a program.
    """
    opening = _live(program, files, options) if isinstance(program, Call) else _named(program, files, options)
    with opening as found:
        yield found


def files_of(program: Call | EntryOption) -> list[str]:
    """The file that defines a program."""
    if isinstance(program, EntryOption):
        return roots([(program.entry or "").rpartition(":")[0] or program.entry or "-"])
    code: Any = inspect.unwrap(program.program)
    with suppress(TypeError, OSError):
        return roots([inspect.getsourcefile(code if inspect.isroutine(code) else type(code)) or "-"])
    return []


def parameters_of(program: Call | EntryOption) -> tuple[str, ...]:
    """The names of a live program's parameters, in order; empty where they are not known."""
    if isinstance(program, EntryOption):
        return ()
    with suppress(TypeError, ValueError):
        called = getattr(program.program, "forward", program.program)
        return tuple(inspect.signature(called).parameters)
    return ()


@contextmanager
def _live(call: Call, files: Sequence[str], options: CheckOptions) -> Iterator[Opened]:
    from ddelint.trace import cells, live

    recorder = live.recorder_of(())
    recorder.given(call.program, call.args, dict(call.kwargs))
    if not recorder.captures:
        raise DdelintError(f"{call.program!r} cannot be traced: it is no function or module of yours")
    spec = live.entry_spec()
    with cells.written() as written:
        given = live.session_options(session_options(spec, files, options), tuple(written.files))
        with live.LiveCaptures(recorder, given, written) as captured:
            one = captured.run.captures[0]
            yield Opened(captured.open(0), one.label, replace(spec, filename=one.filename))


@contextmanager
def _named(entry: EntryOption, files: Sequence[str], options: CheckOptions) -> Iterator[Opened]:
    try:
        sources = [SourceFile.read(Path(name)) for name in files_of(entry)]
    except (OSError, SourceError) as error:
        raise PipelineError(f"cannot read {entry.entry}: {error}") from None
    (spec,) = entry_specs(files, sources, replace(options, entry=entry))
    with start_worker(options) as worker:
        session = open_entry(worker, session_options(spec, files, options), Silence())
        if isinstance(session, EntryFailure):
            yield Opened(session, label(spec), spec)
            return
        with closing(session):
            yield Opened(session, session.info.label, spec)
