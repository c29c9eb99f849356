"""Reading files for the static pass, in this process or in several."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddelint.knowledge.cache import Content, content_of, stamp_of
from ddelint.nouns.readings import Reading
from ddelint.static.program.survey import Asked, Survey, survey
from ddelint.static.reading import prepare, read
from ddelint.system.files import LARGE, read_regular

if TYPE_CHECKING:
    from ddelint.static.program.project import Project

FILES_A_PROCESS = 48
"""Fewer files than that are not worth a process of their own."""
AT_ONCE = 16
"""How many files a process is given at a time."""
BETWEEN_COLLECTIONS = 1000
"""Files after which what reference counting left behind is looked for."""
_NOTHING = Reading()


@dataclass(slots=True)
class Job:
    """One file to survey, or to read."""

    path: str
    asked: Asked
    parse: bool
    """Parse it in any case: somebody named it."""
    roots: tuple[str, ...] = ()
    """Its functions that other files compile."""
    surveyed: Survey | None = None
    """What is known of it: with these roots where it is to be read, else with fewer."""
    survey: bool = False
    """Say only what it has to do with other files."""
    remember: bool = True
    """Whether a cache wants to know what the file was."""


@dataclass(slots=True)
class Answer:
    """What came of a job; `error` where the file cannot be read."""

    path: str
    content: Content | None = None
    surveyed: Survey | None = None
    reading: Reading | None = None
    """None: nothing was found, and nothing need be said."""
    error: str = ""


def answers(jobs: Sequence[Job], project: Project | None, processes: int) -> Iterator[Answer]:
    """Do the jobs, here or in several processes; the answers come in the order of the jobs."""
    processes = min(processes, len(jobs) // FILES_A_PROCESS)
    with _without_collector():
        if processes < 2 or not _can_fork():
            for number, job in enumerate(jobs, 1):
                yield _do(job, project)
                if number % BETWEEN_COLLECTIONS == 0:
                    gc.collect()
            return
        prepare()
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
    with ProcessPoolExecutor(processes, context, initializer=_start, initargs=(project, os.getpid())) as pool:
        try:
            for done in pool.map(_do_all, [jobs[i : i + AT_ONCE] for i in range(0, len(jobs), AT_ONCE)]):
                yield from done
        except BaseException:  # interrupted: nobody waits for what is being read
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _start(project: Project | None, parent: int) -> None:
    """In a process of the pool: end with the call, and leave Ctrl-C to it."""
    import signal

    from ddelint.trace.isolation import die_with_parent

    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    global _project
    _project = project
    gc.freeze()
    gc.disable()


_done = 0
_project: Project | None = None
"""In a process of the pool: the files of the call."""


def _do_all(jobs: Sequence[Job]) -> list[Answer]:
    global _done
    done = [_do(job, _project) for job in jobs]
    _done += len(jobs)
    if _done > BETWEEN_COLLECTIONS:
        _done = 0
        gc.collect()
    return done


def _do(job: Job, project: Project | None) -> Answer:
    try:
        stamp = stamp_of(job.path)
        data = read_regular(job.path, LARGE)
    except OSError as error:
        return Answer(job.path, error=f"cannot read {job.path}: {error.strerror}")
    surveyed, reading = job.surveyed, _NOTHING
    try:
        if job.survey:
            surveyed = survey(job.path, data, job.asked, project, job.roots, surveyed)
        else:
            reading = read(
                job.path, data, job.asked, parse=job.parse, project=project, roots=job.roots, surveyed=surveyed
            )
    except RecursionError:
        return Answer(job.path, error=f"{job.path} nests too deep to be checked")
    except Exception as error:  # the other files are still to be reported
        if os.environ.get("DDELINT_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error} (a bug in ddelint; DDELINT_DEBUG=1 shows where)"
        return Answer(job.path, error=f"cannot check {job.path}: {what}")
    content = content_of(data, stamp) if job.remember else None
    return Answer(job.path, content, surveyed, reading if reading != _NOTHING else None)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Syntax trees are many objects and hardly any garbage: looking for cycles in them costs a third of the time."""
    enabled = gc.isenabled()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # what was made meanwhile counts as old, so that it is not gone through at once
        gc.unfreeze()
        if enabled:
            gc.enable()
