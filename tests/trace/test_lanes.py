"""Requests side by side: answered as they would be one after the other, whatever happens to one of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from ddelint.nouns.diagnostics import TIME_IS_OVER
from ddelint.nouns.protocol import Compilation
from ddelint.trace.session import Session

Write = Callable[..., Path]
Open = Callable[..., Session]

PROGRAM = """
import os, signal, sys

def fn(x, n):
    if n > 4:
        return x + 1
    return x

def make_inputs(seed):
    return torch.ones(3), torch.tensor(seed)
"""
CRASHES = "    os.kill(os.getpid(), signal.SIGKILL)\n"
KILLS_ITS_PARENT = "    os.kill(os.getppid(), signal.SIGKILL)\n"
HANGS = "    while True: pass\n"


def changed(path: Path, added: str, old: str = "    return x\n") -> dict[str, str]:
    """The program with something before its last line."""
    text = path.read_text("utf-8")
    assert old in text
    return {str(path): text.replace(old, added + old)}


def processes_below(pid: int) -> set[int]:
    """The processes that descend from one (Linux)."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            with contextlib.suppress(FileNotFoundError):
                found |= {child} | processes_below(child)
    return found


def test_what_was_begun_is_answered_as_what_is_asked(write: Write, opened: Open) -> None:
    path = write(PROGRAM)
    texts = [changed(path, f"    x = x * {number}\n") for number in range(6)]
    one_by_one = opened(path)
    expected = [one_by_one.trace(text).questions for text in texts]
    session = opened(path, jobs=3)
    for text in texts:
        session.ahead.trace(text)
        session.ahead.compare(text, (), 4, True)
    assert [session.trace(text).questions for text in texts] == expected
    assert [session.compare(text, (), 4, True).equal for text in texts] == [number == 1 for number in range(6)]


@pytest.mark.slow
def test_what_dies_beside_others_is_asked_again_alone(write: Write, opened: Open) -> None:
    path = write(PROGRAM)
    dying = [changed(path, text) for text in (CRASHES, KILLS_ITS_PARENT, CRASHES)]
    alone = opened(path)
    expected = [alone.trace(text).failure for text in dying]
    session = opened(path, jobs=2)
    for text in (*dying, {}):
        session.ahead.trace(text)
    found = [session.trace(text).failure for text in dying]
    assert [failure and failure.kind for failure in found] == [failure and failure.kind for failure in expected]
    assert session.trace({}).questions == opened(path).trace({}).questions


def test_new_text_that_cannot_be_loaded_twice_is_traced_by_a_process_that_has_not_seen_the_old_one(
    write: Write, opened: Open
) -> None:
    path = write(
        "torch.library.define('lanes_demo::op', '(Tensor x) -> Tensor')\n"
        "def fn(x):\n    return x + 1\n\ndef make_inputs(seed):\n    return torch.ones(2),\n"
    )
    session = opened(path, jobs=2)
    overlay = {str(path): path.read_text("utf-8").replace("def fn", "NUMBER = 2\n\n\ndef fn")}
    session.ahead.trace(overlay)
    assert session.trace(overlay).failure is None


def test_what_is_forgotten_ends_at_once_and_the_next_is_answered(write: Write, opened: Open) -> None:
    path = write(PROGRAM)
    session = opened(path, jobs=2)
    hanging = changed(path, HANGS)
    for number in range(2):
        session.ahead.compile({str(path): hanging[str(path)] + f"# {number}\n"}, ("strict",), 1, "eager")
    session.ahead.compile(hanging, ("compile",), 1, "inductor")
    session.forget()
    assert len(session.trace({}).questions) == 1
    assert session.compile({}, ("compile",), 0, "lowering").failure is None


def test_memory_is_that_of_one_request(write: Write, opened: Open) -> None:
    path = write(PROGRAM)
    # more than a share, less than the whole
    takes = changed(path, "    held = bytearray(600 * 2**20)\n    held[::4096] = b'x' * len(held[::4096])\n")
    session = opened(path, jobs=2, memory=2**30)
    session.ahead.compare(takes, (), 1, True)
    session.ahead.trace({})
    assert session.compare(takes, (), 1, True).failure is None


def test_closing_ends_the_clones(write: Write, opened: Open) -> None:
    path = write(PROGRAM)
    before = processes_below(os.getpid())
    session = opened(path, jobs=3)
    session.trace({})
    started = processes_below(os.getpid()) - before
    assert len(started) >= 5  # the keeper, the zygote, and its clones
    session.ahead.trace(changed(path, HANGS))
    session.close()
    while started & processes_below(os.getpid()):
        pass


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_entrys_time_is_that_of_all_its_requests(write: Write, opened: Open, jobs: int) -> None:
    path = write(PROGRAM)
    session = opened(path, jobs=jobs)
    hanging = changed(path, HANGS)
    session.ends_at = monotonic() + 4
    found = session.compile(hanging, ("strict",), 1, "eager")
    assert found.failure is not None or not any(result.ok for result in found.results)
    session.ends_at = monotonic()
    traced = session.trace({})
    assert traced.failure is not None
    assert (traced.failure.kind, traced.failure.message) == ("timeout", TIME_IS_OVER)
    session.ends_at = None
    assert session.trace({}).failure is None


def steps_of(texts: list[dict[str, str]]) -> Generator[dict[str, Any], Compilation, list[bool]]:
    """Compiles one text after the other, and gives which of them went through."""
    found = []
    for text in texts:
        compilation = yield {"overlay": text, "targets": ("strict",), "samples": 0, "backend": "eager"}
        found.append(all(result.ok for result in compilation.results) and compilation.failure is None)
    return found


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_chain_goes_on_while_other_things_are_asked(write: Write, opened: Open, jobs: int) -> None:
    path = write(PROGRAM)
    session = opened(path, jobs=jobs)
    fixed = {str(path): path.read_text("utf-8").replace("if n > 4:", "if len(x) > 4:")}
    chain = session.follow(steps_of([{}, fixed, {}]))
    assert len(session.trace({}).questions) == 1
    assert chain.result() == [False, True, False]
    late = session.follow(steps_of([{}, fixed]))
    session.ends_at = monotonic()
    assert late.result()[-1] is False
