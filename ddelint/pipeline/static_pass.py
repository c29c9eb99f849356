"""The static pass over the files of a call: what the cache knows, and what must be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ddelint.knowledge.cache import Content
from ddelint.nouns.readings import Reading
from ddelint.pipeline.caches import Caches
from ddelint.pipeline.gathering import Run, asked
from ddelint.static.program.kept_away import AWAY

if TYPE_CHECKING:  # what reads is loaded where something must be read
    from ddelint.pipeline.readers import Answer
    from ddelint.static.program.project import Project
    from ddelint.static.program.survey import Survey

MOST_ROUNDS = 12
"""Calls from file to file that are followed."""

_NO_ROOTS: tuple[str, ...] = ()
Reaches = tuple[tuple[str, str, str], ...]
"""See Reading."""


def check_files(files: Sequence[str], named: frozenset[str], run: Run) -> None:
    """Add what the static pass says of the files to `run`, in their order; `named`: those not found in a folder."""
    project = _project(files)
    caches = run.caches = Caches(run, named, project)
    readings: dict[str, Reading | None] = {}
    """None: nothing was found, and nothing need be said."""
    known: dict[str, tuple[str, ...]] = {}
    """The functions that were taken as compiled by other files when a file was read."""
    missing: dict[str, tuple[str, ...]] = {}
    for path in files:
        found = caches.known(path)
        if found is None:
            missing[path] = _NO_ROOTS
        else:
            readings[path], known[path] = found
    run.progress.debug(f"static pass: {len(missing)} of {len(files)} files to read, the others are as they were")
    reader = _Reader(project, caches, run)
    if project is None:
        wanted = missing
    else:
        reaches = {path: reading.reaches for path, reading in readings.items() if reading is not None}
        wanted = _surveyed(missing, files, known, reaches, reader)
    for path in wanted:
        readings.pop(path, None)  # where it was known, others compile more of it now
    reader.read(wanted, readings)
    known |= wanted
    run.project, run.compiled = project, {path: known[path] for path in files if known.get(path)}
    caches.save()
    for path in files:
        reading = readings.get(path)
        if reading is not None:
            run.static += reading.findings
            if reading.comments:
                run.sources.get(path)


def _surveyed(
    missing: Mapping[str, tuple[str, ...]],
    files: Sequence[str],
    known: Mapping[str, tuple[str, ...]],
    reaches: dict[str, Reaches],
    reader: _Reader,
) -> dict[str, tuple[str, ...]]:
    """The files to read, each with its functions that other files compile.

    What is compiled because of another file is known only when that was looked at, and what it calls only when it was
    looked at again because of that. `known`, `reaches`: of the files that are as they were.
    """
    roots = dict(known)
    again = dict(missing)
    for _ in range(MOST_ROUNDS):
        reaches |= reader.survey(again)
        roots |= again
        compiled = _compiled(reaches)
        again = {
            path: compiled.get(path, _NO_ROOTS)
            for path in files
            if path in roots and path not in reader.failed and compiled.get(path, _NO_ROOTS) != roots[path]
        }
        if not again:
            break
    return {path: roots[path] for path in files if path in reader.surveys}


def _compiled(reaches: Mapping[str, Reaches]) -> dict[str, tuple[str, ...]]:
    """The functions of each file that are compiled because of other files, as far as the files are known.

    With them, marked, those that are called by what a compiler is kept away from.
    """
    edges: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for path, reached in reaches.items():
        for own, file, function in reached:
            mark = AWAY if own.startswith(AWAY) else ""
            edges.setdefault((path, own), []).append((file, f"{mark}{function}"))
    waiting = [place for (_, own), places in edges.items() if own in ("", AWAY) for place in places]
    seen: set[tuple[str, str]] = set()
    while waiting:
        place = waiting.pop()
        if place not in seen:
            seen.add(place)
            waiting += edges.get(place, ())
    functions: dict[str, list[str]] = {}
    for file, function in sorted(seen):
        functions.setdefault(file, []).append(function)
    return {file: tuple(found) for file, found in functions.items()}


def _project(files: Sequence[str]) -> Project | None:
    if len(files) < 2:
        return None
    from ddelint.static.program.project import Project

    return Project(files)


class _Reader:
    """Has files surveyed, and read."""

    def __init__(self, project: Project | None, caches: Caches, run: Run) -> None:
        self._project = project
        self._caches = caches
        self._run = run
        self.surveys: dict[str, Survey] = {}
        self.failed: set[str] = set()
        self._contents: dict[str, Content | None] = {}

    def survey(self, wanted: Mapping[str, tuple[str, ...]]) -> dict[str, Reaches]:
        """What the files reach in others; `wanted`: each with its functions that other files compile."""
        found: dict[str, Reaches] = {}
        for answer in self._answers(wanted, survey=True):
            assert answer.surveyed is not None
            self.surveys[answer.path], self._contents[answer.path] = answer.surveyed, answer.content
            found[answer.path] = answer.surveyed.reaches
        return found

    def read(self, wanted: Mapping[str, tuple[str, ...]], readings: dict[str, Reading | None]) -> None:
        """Read the files, but for those of which the survey says all."""
        for path in list(wanted):
            surveyed = self.surveys.get(path)
            if surveyed is not None and not (surveyed.matters or self._caches.is_named(path)):
                readings[path] = _said_by(surveyed)
                self._caches.take(path, self._contents[path], readings[path], wanted[path])
        rest = {path: roots for path, roots in wanted.items() if path not in readings}
        for answer in self._answers(rest, survey=False):
            readings[answer.path] = answer.reading
            self._caches.take(answer.path, answer.content, answer.reading, rest[answer.path])

    def _answers(self, wanted: Mapping[str, tuple[str, ...]], survey: bool) -> Iterator[Answer]:
        if not wanted:
            return
        from ddelint.pipeline.readers import Job, answers

        run, caches = self._run, self._caches
        jobs = [
            Job(
                path,
                asked(path, run),
                caches.is_named(path),
                roots,
                self.surveys.get(path),
                survey,
                remember=run.options.cache,
            )
            for path, roots in wanted.items()
        ]
        for number, answer in enumerate(answers(jobs, self._project, run.options.jobs)):
            run.progress.share(number, len(jobs))
            if not answer.error:
                yield answer
                continue
            self.failed.add(answer.path)
            self.surveys.pop(answer.path, None)
            run.unread.add(answer.path)
            if answer.error not in run.errors:
                run.errors.append(answer.error)


def _said_by(surveyed: Survey) -> Reading | None:
    """What a reading would say of a file that need not be read."""
    if not (surveyed.comments or surveyed.reaches or surveyed.consulted):
        return None
    return Reading((), surveyed.comments, surveyed.reaches, surveyed.consulted)
