"""The static pass over the files of a call: what the cache knows, what must be read, and in which processes."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ddelint.cache import Cache, Content, Stamp, content_of, stamp_of
from ddelint.pipeline.gathering import Run
from ddelint.wire import from_wire, to_wire

if TYPE_CHECKING:
    from ddelint.static.reading import Reading

FILES_A_PROCESS = 48
"""Fewer files than that are not worth a process of their own."""
AT_ONCE = 16
"""How many files a process is given at a time."""
BETWEEN_COLLECTIONS = 200
"""Files after which what reference counting left behind is looked for."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file to read."""

    path: str
    assume_compiled: bool
    parse: bool
    """Parse it in any case: somebody named it."""
    stamp: Stamp | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a job, in plain values; `error` where the file cannot be read."""

    path: str
    content: Content | None = None
    value: Any = None
    error: str = ""


def check_files(files: Sequence[str], named: frozenset[str], run: Run) -> None:
    """Add what the static pass says of the files to `run`, in their order; `named`: those not found in a folder."""
    caches = _Caches(run)
    readings: dict[str, Reading] = {}
    jobs: list[Job] = []
    for path in files:
        job = Job(path, run.options.at(path).assume_compiled, path in named)
        known, stamp = caches.known(job)
        if known is not None:
            readings[path] = known
        else:
            jobs.append(Job(path, job.assume_compiled, job.parse, stamp))
    run.progress.debug(f"static pass: {len(jobs)} of {len(files)} files to read, the others are as they were")
    for number, (job, answer) in enumerate(zip(jobs, _answers(jobs, run.options.jobs), strict=True)):
        run.progress.share(number, len(jobs))
        if answer.error:
            if answer.error not in run.errors:
                run.errors.append(answer.error)
        else:
            readings[answer.path] = caches.take(job, answer)
    caches.save()
    for path in files:
        if path in readings:
            run.static += readings[path].findings
            if readings[path].comments:
                run.sources.get(path)


class _Caches:
    """The caches of a call: one for each folder and set of options that findings depend on."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._caches: dict[tuple[str, str], Cache] = {}

    def _of(self, job: Job) -> Cache:
        salt = f"assume compiled: {job.assume_compiled}, parse: {job.parse}"
        options = self._run.options.at(job.path)
        key = (options.cache_folder, salt)
        if key not in self._caches:
            self._caches[key] = Cache(options.cache_folder, salt, self._run.options.cache)
        return self._caches[key]

    def known(self, job: Job) -> tuple[Reading | None, Stamp | None]:
        """What is known of the file without reading it, or by its content; and its stamp."""
        cache = self._of(job)
        if not cache.enabled:
            return None, None
        try:
            stamp = stamp_of(job.path)
        except OSError:
            return None, None
        value = cache.get(job.path, stamp)
        if value is None and cache.holds(job.path):
            try:
                with open(job.path, "rb") as file:
                    value = cache.get(job.path, stamp, file.read())
            except OSError:
                return None, stamp
        return _reading(value), stamp

    def take(self, job: Job, answer: Answer) -> Reading:
        """Remember what was read."""
        reading = _reading(answer.value)
        assert reading is not None
        if answer.content is not None:
            self._of(job).put(answer.path, answer.content, answer.value)
        return reading

    def save(self) -> None:
        """Write what is new."""
        for cache in self._caches.values():
            cache.save()


def _reading(value: Any) -> Reading | None:
    from ddelint.static.reading import Reading

    if value == {}:  # most files: nothing was found, and nothing need be said
        return Reading()
    try:
        return from_wire(Reading, value) if value is not None else None
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _answers(jobs: Sequence[Job], processes: int) -> Iterator[Answer]:
    """Do the jobs, here or in several processes; the answers come in the order of the jobs."""
    if not jobs:
        return
    from ddelint.static import reading  # processes that are forked find the modules and tables loaded

    reading.prepare()
    processes = min(processes, len(jobs) // FILES_A_PROCESS)
    with _without_collector():
        if processes < 2:
            for number, job in enumerate(jobs, 1):
                yield _do(job)
                if number % BETWEEN_COLLECTIONS == 0:
                    gc.collect()
            return
        yield from _in_processes(jobs, processes)


def _in_processes(jobs: Sequence[Job], processes: int) -> Iterator[Answer]:
    import multiprocessing
    import threading
    from concurrent.futures import ProcessPoolExecutor

    # a fork starts in a millisecond, but only where no other thread could hold a lock
    forks = "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1
    context = multiprocessing.get_context("fork" if forks else "spawn")
    with ProcessPoolExecutor(processes, context, initializer=_start) as pool:
        for answers in pool.map(_do_all, [jobs[i : i + AT_ONCE] for i in range(0, len(jobs), AT_ONCE)]):
            yield from answers


def _start() -> None:
    gc.freeze()
    gc.disable()


_done = 0


def _do_all(jobs: Sequence[Job]) -> list[Answer]:
    global _done
    answers = [_do(job) for job in jobs]
    _done += len(jobs)
    if _done > BETWEEN_COLLECTIONS:
        _done = 0
        gc.collect()
    return answers


def _do(job: Job) -> Answer:
    from ddelint.static.reading import read

    try:
        with open(job.path, "rb") as file:
            data = file.read()
    except OSError as error:
        return Answer(job.path, error=f"cannot read {job.path}: {error.strerror}")
    reading = read(job.path, data, assume_compiled=job.assume_compiled, parse=job.parse)
    content = content_of(data, job.stamp) if job.stamp is not None else None
    value = {} if not (reading.findings or reading.comments) else to_wire(reading)
    return Answer(job.path, content, value)


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
