"""The code for a GPU of the programs of a folder, before and after their fixes, as the table of docs/gpu.md.

    python tests/benchmarks/gpu_code.py FOLDER [NAME...] [--gpu sm_90] [--samples 12] [--timeout 900]

A program defines `make_inputs` and is what is to be fixed, or is a script that names a `package` whose module it builds
as `model`: then the folders of the package's files that ask something of data are. Nothing is written: the code is that
of the text as `--fix --unsafe-fixes` would leave it, and of the program as it is where nothing was found. One row is
printed as soon as it is known. Needs Triton (pip install ddelint[gpu]), and no GPU.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from measuring import ENVIRONMENT, ROOT

sys.path.insert(0, str(ROOT / "tests" / "end_to_end"))
sys.path.insert(0, str(ROOT))

from issues_table import check

from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.trace.worker_process import Worker

HEADINGS = ("program", "assembled", "interpreted", "inputs", "kernels", "graphs before", "launches", "host reads", "s")
_PACKAGE = re.compile(r'^package = "([\w-]+)"$', re.MULTILINE | re.IGNORECASE)


def paths_and_entry(program: Path, worker: Worker) -> tuple[list[str], list[str]]:
    """What is to be fixed, and the options that name the entry."""
    named = _PACKAGE.search(program.read_text("utf-8"))
    if named is None:
        return [str(program)], []
    spec = find_spec(module_of(named[1]))
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{named[1]} is not installed")
    session = worker.open(SessionOptions(EntrySpec(str(program), "model"), (str(Path(spec.origin).parent),)))
    if isinstance(session, EntryFailure):
        raise RuntimeError(session.message)
    try:
        asked = [question for question in session.trace({}).questions if question.kind != "other"]
    finally:
        session.close()
    folders = dict.fromkeys(str(Path(question.span.filename).parent) for question in asked)
    return list(folders), ["--entry", f"{program}:model"]


def module_of(package: str) -> str:
    """What is imported of a package, given its own name or its distribution's."""
    imported = (name for name, known in packages_distributions().items() if package in known)
    return next(imported, package)


def examined(program: Path, worker: Worker, options: list[str], timeout: float) -> dict[str, Any]:
    """What is known of the program's code for a GPU, its notes among it. Raises RuntimeError where nothing is."""
    paths, entry = paths_and_entry(program, worker)
    if paths:
        first, *others = paths
        fixing = [*entry, *options, "--unsafe-fixes", "--target", "export,compile", "--timeout", str(timeout)]
        checked = check(Path(first), *others, *fixing, timeout=2 * timeout)
        if checked.error:
            raise RuntimeError(checked.error)
        found = [finding["evidence"] for finding in checked.findings if finding["evidence"]]
        known = [{**evidence["gpu"], "notes": evidence["notes"]} for evidence in found if evidence.get("gpu")]
        if known:
            return known[-1]
        if any(finding["refused"] for finding in checked.findings):
            raise RuntimeError("no verified fix")
    return as_it_is(program, [*entry, *options], timeout)


def as_it_is(program: Path, options: list[str], timeout: float) -> dict[str, Any]:
    """The same of a program in which nothing is to be fixed."""
    command = [sys.executable, "-P", "-m", "ddelint", "verify", str(program), *options, "--target", "compile"]
    done = subprocess.run(
        [*command, "--timeout", str(timeout), "--output-format", "json"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=2 * timeout,
        check=False,
    )
    (found,) = json.loads(done.stdout)
    if found["gpu"] is None:
        raise RuntimeError(str(found["failure"]))
    return found["gpu"]


def cells(gpu: dict[str, Any]) -> Iterator[str]:
    """The cells of a row behind its name."""
    before = gpu["before"] or {}
    yield {True: "yes", False: "no", None: "-"}[gpu["assembled"]]
    yield {True: "equal", False: "differs", None: "-"}[gpu["interpreted"]]
    yield _number(gpu["inputs"])
    yield f"{_number(before.get('kernels'))} → {_number(gpu['kernels'])}"
    yield _number(before.get("graphs"))
    for name in ("launches", "host_reads"):
        yield f"{_number(before.get(name))} → {_number(gpu[name])}"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def rows(programs: list[Path], options: list[str], timeout: float) -> Iterator[str]:
    """The rows, each followed by what is to be said where it is not plainly equal."""
    with Worker() as worker:
        for program in programs:
            started = time.monotonic()
            try:
                gpu = examined(program, worker, options, timeout)
            except (RuntimeError, ModuleNotFoundError, ValueError, subprocess.TimeoutExpired) as error:
                yield f"| {program.stem} | {' | ' * (len(HEADINGS) - 2)}|\n<!-- {type(error).__name__}: {error} -->"
                continue
            yield f"| {' | '.join((program.stem, *cells(gpu), f'{time.monotonic() - started:.0f}'))} |"
            if gpu["interpreted"] is not True:
                yield from (f"<!-- {note} -->" for note in gpu["notes"])


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--gpu", default="sm_90")
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--timeout", type=float, default=900.0)
    given = parser.parse_args()
    programs = [
        path.resolve() for path in sorted(given.folder.glob("*.py")) if not given.names or path.stem in given.names
    ]
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}", flush=True)
    for line in rows(programs, ["--gpu", given.gpu, "--samples", str(given.samples)], given.timeout):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
