"""Calls that end at their n-th step: `python tests/fuzz/killing.py` counts steps, with a number it ends there.

A step is what Python tells an audit hook (PEP 578): opening, renaming or removing a file, starting a process, and the
like. So every point between two of them can be tried, and none by chance.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
MARK = "DDELINT_KILLED_CALL"
STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.listdir", "os.scandir", "os.chmod", "os.chown",
         "os.fork", "os.posix_spawn", "subprocess.Popen", "socket.__new__", "os.setxattr", "os.kill", "os.putenv",
         "shutil.rmtree", "fcntl.flock", "import"}  # fmt: skip


def end_at(number: int, how: signal.Signals) -> None:
    """End this process, not its forks, at its n-th step from now."""
    owner, left = os.getpid(), number

    def step(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in STEPS and os.getpid() == owner:
            left -= 1
            if left == 0:
                os.kill(owner, how)

    sys.addaudithook(step)


def counted(path: str) -> None:
    """Write to a file how many steps this process took."""
    import atexit

    owner, count = os.getpid(), 0

    def step(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        count += event in STEPS and os.getpid() == owner

    def tell() -> None:
        if os.getpid() == owner:
            Path(path).write_text(str(count))

    sys.addaudithook(step)
    atexit.register(tell)


def ddelint(
    words: Sequence[str], folder: Path, mark: str, ends: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Call ddelint; `ends`: a number and a signal's name, or a file for the number of steps."""
    return subprocess.run(
        [sys.executable, "-P", str(Path(__file__)), ",".join(ends), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), MARK: mark, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def left_of(mark: str) -> list[int]:
    """Processes of a call that do not end (Linux)."""
    wanted = f"{MARK}={mark}".encode()
    for _ in range(3000):
        alive = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z" and wanted in (folder / "environ").read_bytes().split(b"\0"):
                    alive.append(int(folder.name))
            except OSError:
                continue
        if not alive:
            return []
    return alive


def main() -> None:
    """Arrange for the end, then run the command line."""
    ends, *words = sys.argv[1:]
    sys.argv[1:] = words
    from ddelint.__main__ import main as command

    match ends.split(","):
        case [number, name]:
            end_at(int(number), signal.Signals[name])
        case [path] if path:
            counted(path)
    command()


if __name__ == "__main__":
    main()
