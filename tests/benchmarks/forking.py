"""Forking the process at a question, against running the program again with the other answer.

    python tests/benchmarks/forking.py

The forking explorer copies the process wherever the other answer of a question is uncovered, lets the copy go on with
that answer (forking itself) to the end, takes over what it found, and goes on with its own. It saves what stands before
the question; it pays for copied pages, and cannot know that its own path would have covered the answer later.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trace_pass import MODELS, PROGRAMS, ROOT, in_fork, warm_up_process

from ddelint.nouns.diagnostics import Question
from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.trace.entries import Loader
from ddelint.trace.explorer import Budget, Explorer
from ddelint.trace.fake_run import Program
from ddelint.trace.importing import prepare_path

TURNS = 3


@dataclass
class Found:
    """What a copy tells the process that it was forked from."""

    covered: dict[int, set[Any]]
    """Hash of a site's key → the answers that were given."""
    questions: list[Question]
    runs: int


class Forking(Explorer):
    """As the explorer, but for one thing: a question forks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._elsewhere: dict[int, set[Any]] = {}
        self._told: int | None = None
        """In a copy: where it tells what it found."""

    def explore(self) -> None:
        """One run; the copies make the others."""
        self._runs += 1
        Program(self._entry, self._seed).run(self)
        if self._told is None:
            return
        covered = {hash(site.key): site.covered for site in self._sites.values()}
        with os.fdopen(self._told, "wb") as out:
            pickle.dump(Found(covered, self._questions, self._runs), out)
        os._exit(0)

    def _choose(self, site: Any, observer: Any, inquiry: Any) -> Any:
        answer = super()._choose(site, observer, inquiry)
        known = site.covered | self._elsewhere.get(hash(site.key), set()) | {answer, *site.tried}
        others = [] if site.kind == "integer" else [other for other in site.answers if other not in known]
        if not others:
            return answer
        site.tried[others[0]] = 1
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._told = writing
            self._runs += 1
            return others[0]
        os.close(writing)
        with os.fdopen(reading, "rb") as told:
            self._take_over(pickle.load(told))
        os.waitpid(child, 0)
        return answer

    def _take_over(self, found: Found) -> None:
        self._runs = found.runs
        self.note(found.questions)
        for key, answers in found.covered.items():
            self._elsewhere.setdefault(key, set()).update(answers)
        for site in self._sites.values():
            site.covered |= found.covered.get(hash(site.key), set())


def explored(kind: type[Explorer], entry: Any, options: SessionOptions) -> tuple[float, float, int, int]:
    """Wall and CPU seconds (of copies, too), runs, questions."""
    start, busy = time.perf_counter(), sum(os.times()[:4])
    explorer = kind(entry, options.paths, Budget(), 0)
    explorer.exports = True
    explorer.explore()
    found = explorer.result()
    return time.perf_counter() - start, sum(os.times()[:4]) - busy, found.runs, len(found.questions)


def compared(name: str, path: Path, blamed: str) -> None:
    """Print one row."""
    options = SessionOptions(EntrySpec(str(path)), (blamed,), ("export",))
    prepare_path(options)
    entry = Loader(options).load()
    cells = []
    for kind in (Explorer, Forking):
        turns = [in_fork(lambda kind=kind: explored(kind, entry, options)) for _ in range(TURNS)]
        wall, cpu = (statistics.median(turn[i] for turn in turns) * 1000 for i in (0, 1))
        cells.append(f"{wall:.0f} | {cpu:.0f} | {turns[0][2]} | {turns[0][3]}")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print one line a program."""
    warm_up_process()
    print("Milliseconds, medians of three.\n")
    print("| program | again: wall | CPU | runs | questions | forking: wall | CPU | runs | questions |")
    print("|---|" + "---:|" * 8)
    transformers = importlib.util.find_spec("transformers")
    libraries = "" if transformers is None else os.path.dirname(str(transformers.origin))
    programs = [(name, ROOT / "fixtures" / name, "") for name in PROGRAMS]
    for name, path, blamed in [*programs, *((name, path, libraries) for name, path in MODELS if libraries)]:
        in_fork(lambda name=name, path=path, blamed=blamed: compared(name, path, blamed or str(path)))


if __name__ == "__main__":
    main()
