"""The static pass over the files of a call: what the cache knows, what must be read, and in which processes."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ddelint.cache import Cache, Content, content_of, stamp_of
from ddelint.pipeline.gathering import Run
from ddelint.static.project import Project
from ddelint.static.reading import Reading, prepare, read
from ddelint.wire import from_wire, to_wire

FILES_A_PROCESS = 48
"""Fewer files than that are not worth a process of their own."""
AT_ONCE = 16
"""How many files a process is given at a time."""
BETWEEN_COLLECTIONS = 1000
"""Files after which what reference counting left behind is looked for."""
_NOTHING = Reading()


@dataclass(frozen=True, slots=True)
class Job:
    """One file to read."""

    path: str
    assume_compiled: bool
    parse: bool
    """Parse it in any case: somebody named it."""
    roots: tuple[str, ...] = ()
    """Its functions that other files compile."""
    remember: bool = True
    """Whether a cache wants to know what the file was."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a job; `error` where the file cannot be read."""

    path: str
    content: Content | None = None
    reading: Reading = _NOTHING
    error: str = ""


def check_files(files: Sequence[str], named: frozenset[str], run: Run) -> None:
    """Add what the static pass says of the files to `run`, in their order; `named`: those not found in a folder."""
    project = Project(files) if len(files) > 1 else None
    caches = _Caches(run, project)
    cached = run.options.cache
    jobs = {path: Job(path, run.options.at(path).assume_compiled, path in named, remember=cached) for path in files}
    readings: dict[str, Reading] = {}
    known: dict[str, tuple[str, ...]] = {}
    """The functions that were taken as compiled by other files when a file was read."""
    missing: list[Job] = []
    for path, job in jobs.items():
        found = caches.known(job)
        if found is None:
            missing.append(job)
        else:
            readings[path], known[path] = found
    run.progress.debug(f"static pass: {len(missing)} of {len(files)} files to read, the others are as they were")
    _read(missing, project, caches, readings, run)
    # what is compiled because of another file is known only now
    reached: dict[str, set[str]] = {}
    for reading in readings.values():
        for file, function in reading.reaches:
            reached.setdefault(file, set()).add(function)
    run.project, run.compiled = project, {path: tuple(sorted(functions)) for path, functions in reached.items()}
    again = [
        replace(job, roots=run.compiled.get(path, ()))
        for path, job in jobs.items()
        if path in readings and run.compiled.get(path, ()) != known.get(path, ())
    ]
    _read(again, project, caches, readings, run)
    caches.save()
    for path in files:
        if path in readings:
            run.static += readings[path].findings
            if readings[path].comments:
                run.sources.get(path)


def _read(
    jobs: Sequence[Job], project: Project | None, caches: _Caches, readings: dict[str, Reading], run: Run
) -> None:
    for number, (job, answer) in enumerate(zip(jobs, _answers(jobs, project, run.options.jobs), strict=True)):
        run.progress.share(number, len(jobs))
        if not answer.error:
            readings[answer.path] = answer.reading
            caches.take(job, answer)
        elif answer.error not in run.errors:
            run.errors.append(answer.error)


class _Caches:
    """The caches of a call: one for each folder and set of options that findings depend on."""

    def __init__(self, run: Run, project: Project | None) -> None:
        self._run = run
        self._project = project
        self._caches: dict[tuple[str, str], Cache] = {}
        self._digests: dict[str, str | None] = {}

    def _of(self, job: Job) -> Cache:
        enabled = self._run.options.cache
        among = self._project.signature if self._project is not None and enabled else ""
        salt = f"assume compiled: {job.assume_compiled}, parse: {job.parse}, among: {among}"
        options = self._run.options.at(job.path)
        key = (options.cache_folder, salt)
        if key not in self._caches:
            self._caches[key] = Cache(options.cache_folder, salt, enabled)
        return self._caches[key]

    def known(self, job: Job) -> tuple[Reading, tuple[str, ...]] | None:
        """What was read in the file, and which functions were taken as compiled by others; None: read it."""
        cache = self._of(job)
        if not cache.enabled:
            return None
        try:
            stamp = stamp_of(job.path)
            value = cache.get(job.path, stamp)
            if value is None and cache.holds(job.path):
                with open(job.path, "rb") as file:
                    value = cache.get(job.path, stamp, file.read())
            if value is None:
                return None
            reading = from_wire(Reading, value["reading"]) if "reading" in value else _NOTHING
            roots = tuple(map(str, value.get("roots", ())))
        except (OSError, TypeError, ValueError, KeyError, AttributeError):
            return None
        return (reading, roots) if all(self._is_as_it_was(*item) for item in reading.consulted.items()) else None

    def _is_as_it_was(self, path: str, digest: str | None) -> bool:
        if digest is None:
            return self._project is None or not self._project.holds(path)
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
            with open(path, "rb") as file:
                return content_of(file.read(), None).digest
        except OSError:
            return None

    def take(self, job: Job, answer: Answer) -> None:
        """Remember what was read."""
        cache = self._of(job)
        if answer.content is None or not cache.enabled:
            return
        value: dict[str, Any] = {}  # most files: nothing was found, and nothing need be said
        if answer.reading != _NOTHING:
            value["reading"] = to_wire(answer.reading)
        if job.roots:
            value["roots"] = list(job.roots)
        cache.put(answer.path, answer.content, value)

    def save(self) -> None:
        """Write what is new."""
        for cache in self._caches.values():
            cache.save()


def _answers(jobs: Sequence[Job], project: Project | None, processes: int) -> Iterator[Answer]:
    """Do the jobs, here or in several processes; the answers come in the order of the jobs."""
    if not jobs:
        return
    prepare()
    processes = min(processes, len(jobs) // FILES_A_PROCESS)
    with _without_collector():
        if processes < 2 or not _can_fork():
            for number, job in enumerate(jobs, 1):
                yield _do(job, project)
                if number % BETWEEN_COLLECTIONS == 0:
                    gc.collect()
            return
        yield from _in_processes(jobs, project, processes)


def _can_fork() -> bool:
    """Whether processes can be forked: where another thread runs, it may hold a lock that no process would give back.

    A process that is spawned runs the caller's `__main__` again, which may be a script that checks.
    """
    import threading

    return hasattr(os, "fork") and threading.active_count() == 1


def _in_processes(jobs: Sequence[Job], project: Project | None, processes: int) -> Iterator[Answer]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("fork")
    # what the initializer is given is not copied: a fork has it
    with ProcessPoolExecutor(processes, context, initializer=_start, initargs=(project,)) as pool:
        for answers in pool.map(_do_all, [jobs[i : i + AT_ONCE] for i in range(0, len(jobs), AT_ONCE)]):
            yield from answers


def _start(project: Project | None) -> None:
    global _project
    _project = project
    gc.freeze()
    gc.disable()


_done = 0
_project: Project | None = None
"""In a process of the pool: the files of the call."""


def _do_all(jobs: Sequence[Job]) -> list[Answer]:
    global _done
    answers = [_do(job, _project) for job in jobs]
    _done += len(jobs)
    if _done > BETWEEN_COLLECTIONS:
        _done = 0
        gc.collect()
    return answers


def _do(job: Job, project: Project | None) -> Answer:
    try:
        stamp = stamp_of(job.path)
        with open(job.path, "rb") as file:
            data = file.read()
    except OSError as error:
        return Answer(job.path, error=f"cannot read {job.path}: {error.strerror}")
    reading = read(
        job.path, data, assume_compiled=job.assume_compiled, parse=job.parse, project=project, roots=job.roots
    )
    return Answer(job.path, content_of(data, stamp) if job.remember else None, reading)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Syntax trees are many objects and hardly any garbage: looking for cycles in them costs a third of the time."""
    enabled = gc.isenabled()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()
