"""Whole programs, written as users write them: which of them export and compile once ddelint has rewritten them?

    python tests/benchmarks/whole_programs.py [NAME...] [--timeout SECONDS] [--safe] [--keep FOLDER]

For each program of `tests/end_to_end/programs`: what `ddelint check COPY --unsafe-fixes` would write, one program at a
time, and the word of `tests/end_to_end/judge.py`, which shares no code with ddelint: eager on 64 seeds, export
(non-strict) and a full-graph compile (backend `eager`), each replayed on 8 seeds. Prints a table; `--keep` leaves there
the rewritten programs and what ddelint said of them, with the rewrites that it refused.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from measuring import ROOT

sys.path.insert(0, str(ROOT / "tests" / "end_to_end"))

from issues_table import Checked, check
from judge import Judge, Verdict

PROGRAMS = ROOT / "tests" / "end_to_end" / "programs"
TARGETS = ("export", "compile")


@dataclass(frozen=True)
class Outcome:
    """What became of one program."""

    name: str
    seconds: float
    checked: Checked
    after: Verdict

    @property
    def word(self) -> str:
        """`clean`, `half` (one of the targets passes), or what else came of it."""
        if self.checked.error or self.after.failure:
            return self.checked.error or self.after.failure
        if self.after.eager_differences:
            return f"EAGER CHANGED ({self.after.eager_differences[0]})"
        passing = sum(verdict.ok for verdict in self.after.targets.values())
        return {len(TARGETS): "clean", 0: "not"}.get(passing, "half")

    @property
    def row(self) -> str:
        """The row of the table."""
        errors = [finding for finding in self.checked.findings if finding["severity"] == "error"]
        fixed = [finding for finding in errors if finding["fix"] is not None]
        targets = " | ".join(str(self.after.targets.get(name, "-")) for name in TARGETS)
        return f"| {self.name} | {self.word} | {targets} | {len(errors)} | {len(fixed)} | {self.seconds:.0f} |"


def treated(program: Path, folder: Path, judge: Judge, timeout: float, *, safe: bool) -> Outcome:
    """Check a copy, apply what would be written, and judge it."""
    copy, patch = folder / program.name, folder / f"{program.stem}.patch"
    shutil.copy(program, copy)
    options = ["--trace", "--timeout", str(timeout), "--patch", str(patch), "--verbose"]
    options += ["--output-format", f"full:{folder / program.stem}.txt"]
    started = time.monotonic()
    checked = check(copy, *options, *([] if safe else ["--unsafe-fixes"]), timeout=2 * timeout + 60)
    seconds = time.monotonic() - started
    if patch.exists() and patch.stat().st_size:
        subprocess.run(["git", "apply", str(patch)], cwd=folder, check=True)
    return Outcome(program.stem, seconds, checked, judge(program, copy, targets=TARGETS))


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--timeout", type=float, default=900.0)
    parser.add_argument("--safe", action="store_true", help="without --unsafe-fixes")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    programs = [p for p in sorted(PROGRAMS.glob("*.py")) if not options.names or p.stem in options.names]
    print("| program | outcome | export | compile | errors found | fixed | seconds |\n|---|---|---|---|---:|---:|---:|")
    outcomes = []
    with tempfile.TemporaryDirectory() as temporary, Judge() as judge:
        folder = (options.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for program in programs:
            outcomes.append(treated(program, folder, judge, options.timeout, safe=options.safe))
            print(outcomes[-1].row, flush=True)
    print(f"\nclean: {sum(outcome.word == 'clean' for outcome in outcomes)} of {len(outcomes)}")
    return 1 if any(outcome.after.eager_differences for outcome in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
