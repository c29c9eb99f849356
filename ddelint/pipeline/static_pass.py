"""The static pass over the files of a call: what the cache knows, and what must be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ddelint.knowledge.cache import Cache, Content, content_of, stamp_of
from ddelint.pipeline.gathering import Run
from ddelint.system.files import LARGE, read_regular

if TYPE_CHECKING:  # what reads is loaded where something must be read
    from ddelint.pipeline.readers import Answer
    from ddelint.static.program.project import Project
    from ddelint.static.program.survey import Asked, Survey
    from ddelint.static.reading import Reading

MOST_ROUNDS = 12
"""Calls from file to file that are followed."""

_NO_ROOTS: tuple[str, ...] = ()
Reaches = tuple[tuple[str, str, str], ...]
"""See Reading."""


def check_files(files: Sequence[str], named: frozenset[str], run: Run) -> None:
    """Add what the static pass says of the files to `run`, in their order; `named`: those not found in a folder."""
    project = _project(files)
    caches = _Caches(run, named, project)
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
    """The functions of each file that are compiled because of other files, as far as the files are known."""
    edges: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for path, reached in reaches.items():
        for own, file, function in reached:
            edges.setdefault((path, own), []).append((file, function))
    waiting = [place for (_, own), places in edges.items() if not own for place in places]
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

    def __init__(self, project: Project | None, caches: _Caches, run: Run) -> None:
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
                caches.asked(path),
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
    from ddelint.static.reading import Reading

    return Reading((), surveyed.comments, surveyed.reaches, surveyed.consulted)


class _Caches:
    """The caches of a call: one for each folder and set of options that findings depend on."""

    def __init__(self, run: Run, named: frozenset[str], project: Project | None) -> None:
        self._run = run
        self._named = named
        self._project = project
        self._caches: dict[tuple[str, str], Cache] = {}
        self._digests: dict[str, str | None] = {}

    def assumes(self, path: str) -> bool:
        """Whether all functions of the file are taken as compiled."""
        return self._run.options.at(path).assume_compiled

    def asked(self, path: str) -> Asked:
        """What of the file is to be taken as compiled."""
        from ddelint.static.program.survey import Asked

        options = self._run.options.at(path)
        return Asked(options.assume_compiled, options.compiled, options.root, options.public_functions)

    def is_named(self, path: str) -> bool:
        """Whether somebody named the file: it is parsed in any case."""
        return path in self._named

    def _of(self, path: str) -> Cache:
        enabled = self._run.options.cache
        among = self._project.signature if self._project is not None and enabled else ""
        salt = f"assume compiled: {self.assumes(path)}, parse: {self.is_named(path)}, among: {among}"
        options = self._run.options.at(path)
        if not options.public_functions:
            salt += ", public functions: not compiled"
        if options.compiled:
            salt += f", compiled: {options.compiled} in {options.root}"
        key = (options.cache_folder, salt)
        if key not in self._caches:
            self._caches[key] = Cache(options.cache_folder, salt, enabled)
        return self._caches[key]

    def known(self, path: str) -> tuple[Reading | None, tuple[str, ...]] | None:
        """What was read in the file, and which functions were taken as compiled by others; None: read it."""
        cache = self._of(path)
        if not cache.enabled:
            return None
        try:
            stamp = stamp_of(path)
            value = cache.get(path, stamp)
            if value is None and cache.holds(path):
                value = cache.get(path, stamp, read_regular(path, LARGE))
            if value is None:
                return None
            reading = _reading(value["reading"]) if "reading" in value else None
            roots = tuple(map(str, value.get("roots", ())))
        except (OSError, TypeError, ValueError, KeyError, AttributeError):
            return None
        consulted = reading.consulted if reading is not None else {}
        return (reading, roots) if all(self._is_as_it_was(*item) for item in consulted.items()) else None

    def _is_as_it_was(self, path: str, digest: str | None) -> bool:
        held = self._project is not None and self._project.holds(path)
        if digest is None:
            return not held
        if not held:  # left out of this call: nothing is taken from it
            return False
        if path not in self._digests:
            self._digests[path] = self._digest(path)
        return self._digests[path] == digest

    def _digest(self, path: str) -> str | None:
        for cache in self._caches.values():
            try:
                known = cache.digest(path, stamp_of(path))
                if known is not None:
                    return known
            except OSError:
                return None
        try:
            return content_of(read_regular(path, LARGE), None).digest
        except OSError:
            return None

    def take(self, path: str, content: Content | None, reading: Reading | None, roots: tuple[str, ...]) -> None:
        """Remember what was read, with these functions taken as compiled by others."""
        cache = self._of(path)
        if content is None or not cache.enabled:
            return
        value: dict[str, Any] = {}
        if reading is not None:
            from ddelint.nouns.wire import to_wire

            value["reading"] = to_wire(reading)
        if roots:
            value["roots"] = list(roots)
        cache.put(path, content, value)

    def save(self) -> None:
        """Write what is new."""
        problems: dict[str, None] = {}
        for cache in self._caches.values():
            cache.save()
            if cache.problem:
                problems[cache.problem] = None
        for problem in problems:
            self._run.progress.debug(f"the cache is not used: {problem}")


def _reading(value: Any) -> Reading:
    from ddelint.nouns.wire import from_wire
    from ddelint.static.reading import Reading

    return from_wire(Reading, value)
