"""Memory of a whole check, all of its processes together, over that of one trace.

    python tests/benchmarks/memory.py [-j N] [FILE | FILE:ENTRY=PATHS ...]

A process's proportional set size (PSS: a page that forks share counts once, in parts) is summed over the process and
all below it, ten times a second; the most of these sums counts, in MiB. `one trace` is one process that imports torch,
loads the entry and traces it; `finding` is `check --no-suggest`, `whole` is `check --unsafe-fixes`, both without what
earlier calls know. `at the peak` lists what each process held then (Python where no name is given). Needs /proc.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from measuring import ROOT

MODELS = ROOT / "tests" / "benchmarks" / "models"
FILES = (ROOT / "fixtures" / "quickstart" / "model.py", MODELS / "ten_sites.py", MODELS / "nine_lines.py")
LOOKS = 0.1
TRACE = """
import sys
from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.trace import entries, importing
from ddelint.trace.explorer import trace_entry
file, _, name = sys.argv[1].partition(":")
options = SessionOptions(EntrySpec(file, name or None), tuple(sys.argv[2:]))
importing.prepare_path(options)
loader = entries.Loader(options)
loader.warm()
entry = loader.load()
entries.run_eagerly(entry, 0, 8)
assert trace_entry(entry, options.paths, options).failure is None
"""


def tree(root: int) -> list[int]:
    """A process and all below it, each after its parent."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parent = int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(name))
    found = [root]
    for number in found:
        found += parents.get(number, ())
    return found


def share(number: int) -> float:
    """What a process holds, in MiB; pages that others hold, too, in parts."""
    try:
        lines = Path("/proc", str(number), "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def name_of(number: int) -> str:
    """What a process runs: `python`, `cc1plus`."""
    try:
        return Path("/proc", str(number), "comm").read_text().strip()
    except OSError:
        return "?"


def peak(command: list[str]) -> tuple[float, list[tuple[float, str]]]:
    """The most that a command and its processes held together, and what each of them did then, the largest first."""
    most: tuple[float, list[tuple[float, str]]] = (0.0, [])
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            held = sorted(((share(number), name_of(number)) for number in tree(process.pid)), reverse=True)
            most = max(most, (sum(one for one, _ in held), held))
            time.sleep(LOOKS)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return most


def row(given: str, jobs: int) -> str:
    """The table's row of a program."""
    entry, _, paths = given.partition("=")
    path = entry.partition(":")[0]
    paths = paths or path
    trace, _ = peak([sys.executable, "-c", TRACE, entry, paths])
    check = [sys.executable, "-m", "ddelint", "check", paths, "--no-cache", "--isolated", "-j", str(jobs)]
    check += ["--entry", entry] if ":" in entry else []
    finding, _ = peak([*check, "--no-suggest"])
    whole, held = peak([*check, "--unsafe-fixes"])
    largest = ", ".join(f"{one:.0f} {name}" if name != "python" else f"{one:.0f}" for one, name in held if one >= 10)
    name = Path(path).name
    return f"| {name} | {trace:.0f} | {finding:.0f} | {whole:.0f} | {largest} | {whole / trace:.1f} |"


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1)
    parser.add_argument("programs", nargs="*", default=list(map(str, FILES)))
    given = parser.parse_args()
    print("| program | one trace | finding | whole | at the peak, by process | whole / one trace |")
    print("|---|---:|---:|---:|---|---:|")
    for program in given.programs:
        print(row(program, given.j), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
