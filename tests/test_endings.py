"""However a call ends, it leaves no process behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="waits for /proc")

PATIENCE = 120
"""Seconds after which a test gives up; none is spent where all is well."""
POOL = """
import os, sys
from ddelint.pipeline import readers

def wait_for_ever(jobs):
    os.write(1, f"{os.getpid()}\\n".encode())
    os.read(int(sys.argv[1]), 1)

readers._do_all = wait_for_ever
from ddelint.commands.endings import ended_by_signals
with ended_by_signals():
    jobs = [readers.Job(f"{number}.py", False, False) for number in range(200)]
    list(readers.answers(jobs, None, 2))
"""

DAEMON = """
import os
import torch

def model(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open({fifo!r}, "w") as file:
                file.write(str(os.getpid()))
            while True:
                os.read(os.pipe()[0], 1)
        os._exit(0)
    while True:
        os.read(os.pipe()[0], 1)

def make_inputs(seed):
    return (torch.zeros(2),)
"""


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """What this process ignores (in the background of a shell, under `nohup`) its children would ignore, too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    ignored = [number for number, handler in before.items() if handler is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def gone(pid: int) -> bool:
    """Whether a process ends; a zombie that nobody has waited for has."""
    for _ in range(1_000_000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_the_processes_of_the_static_pass_end_with_it(number: signal.Signals) -> None:
    held, kept = os.pipe()
    call = subprocess.Popen(
        [sys.executable, "-c", POOL, str(held)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(held,),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    assert call.stdout is not None
    workers = [int(call.stdout.readline()) for _ in range(2)]
    call.send_signal(number)
    call.wait()
    assert [gone(pid) for pid in workers] == [True, True]
    os.close(held)
    os.close(kept)
    call.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_what_an_entry_has_sent_into_the_background_ends_with_the_call(number: signal.Signals, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "model.py").write_text(DAEMON.format(fifo=str(fifo)))
    call = subprocess.Popen(
        [sys.executable, "-m", "ddelint", "model.py", "--entry", "model.py:model", "--no-cache"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)) as reader:
        ready, _, _ = select.select([reader], [], [], PATIENCE)
        assert ready, "the entry did not run"
        daemon = int(reader.read())
    call.send_signal(number)
    _, said = call.communicate()
    assert gone(daemon)
    if number is not signal.SIGKILL:
        assert call.returncode == 2
        assert said.endswith("ddelint: error: interrupted\n")
