"""Run ddelint over a folder of programs, and judge what it did without its help.

    python tests/end_to_end/issues_table.py FOLDER [--only REGEX] [--jobs N] [--safe] [--keep FOLDER]

For each program: `ddelint check COPY --fix --unsafe-fixes --output-format json` on a copy, a judgement of the original
and of the rewritten file (see judge.py), and a second `check` of the rewritten file, which must change nothing.
Prints a table and totals; exits 1 where an eager result changed, a control was flagged, or a second run changed a file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judge import Header, Judge, Verdict, header

ROOT = Path(__file__).resolve().parents[2]
QUIET = frozenset(("DDE003", "DDE004", "DDE005"))
"""Findings about the run, not about the program."""


@dataclass
class Checked:
    """What one `ddelint check` said and did."""

    exit_code: int
    findings: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""

    @property
    def codes(self) -> list[str]:
        """`DDE101:14`, in the order of the report."""
        return [f"{f['code']}:{f['location']['row']}" for f in self.findings]

    @property
    def about_data(self) -> bool:
        """Whether a finding says that data is asked for (an error, not a piece of advice)."""
        return any(f["severity"] == "error" and f["code"] not in QUIET for f in self.findings)


@dataclass
class Row:
    """One program of the table."""

    name: str
    header: Header
    before: Verdict
    check: Checked
    after: Verdict
    changed: bool
    second_run_changes: bool

    @property
    def failing(self) -> bool:
        """Whether the original fails in some target."""
        return self.before.fails

    @property
    def fixed(self) -> bool:
        """The original failed, and what ddelint wrote is clean by the judge's word."""
        return self.failing and self.changed and self.after.clean


def check(path: Path, *options: str, python: str = sys.executable, timeout: float = 600.0) -> Checked:
    """Run the command line on one path."""
    command = [python, "-P", "-m", "ddelint", "check", str(path), "--output-format", "json", "--no-cache", *options]
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=timeout, check=False, cwd=path.parent
        )
    except subprocess.TimeoutExpired:
        return Checked(-1, error="ran out of time")
    try:
        findings = json.loads(done.stdout)
    except ValueError:
        return Checked(done.returncode, error=(done.stderr.strip().splitlines() or ["no output"])[-1])
    return Checked(done.returncode, findings, done.stderr.strip() if done.returncode == 2 else "")


def treat(
    program: Path,
    folder: Path,
    judge: Judge,
    options: Sequence[str],
    before: Verdict | None = None,
    *,
    look: bool = False,
) -> Row:
    """Copy a program into `folder`, let ddelint rewrite the copy, judge both.

    With `look`, the row tells what a call without `--fix` finds; else what is left once the fixes are written. Where
    strict export alone still fails, which a call without `--target` doesn't ask for, it is asked for.
    """
    row = _treat(program, folder, judge, options, before, look)
    broken = {name for name, verdict in row.after.targets.items() if not verdict.ok}
    if row.changed and broken == {"strict"}:
        return _treat(program, folder, judge, (*options, "--target", "export,strict,compile"), row.before, look)
    return row


def _treat(
    program: Path, folder: Path, judge: Judge, options: Sequence[str], before: Verdict | None, look: bool
) -> Row:
    copy = folder / program.name
    shutil.copy(program, copy)
    text = copy.read_text("utf-8")
    found = check(copy, *options) if look else None
    checked = check(copy, "--fix", *options)
    checked = found if found is not None and not checked.error else checked
    rewritten = copy.read_text("utf-8")
    changed = rewritten != text
    before = before or judge(program)
    after = judge(program, copy) if changed else before
    again = False
    if changed:
        check(copy, "--fix", *options)
        again = copy.read_text("utf-8") != rewritten
        copy.write_text(rewritten, "utf-8")
    return Row(program.stem, header(program), before, checked, after, changed, again)


def treat_all(
    programs: Sequence[Path], folder: Path, options: Sequence[str] = ("--unsafe-fixes",), jobs: int = 1
) -> list[Row]:
    """All programs, `jobs` at a time, each thread with a judge of its own."""

    def some(part: Sequence[Path]) -> list[Row]:
        rows = []
        with Judge() as judge:
            for program in part:
                rows.append(treat(program, folder, judge, options, look=True))
                print(f"{program.stem}: {cell(rows[-1])}", file=sys.stderr, flush=True)
        return rows

    with ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(some, [programs[i::jobs] for i in range(jobs)]))
    return sorted((row for part in parts for row in part), key=lambda row: row.name)


def cell(row: Row) -> str:
    """`fixed`, `rewritten, still failing`, ... in a word or three."""
    if row.check.error:
        return f"error: {row.check.error[:60]}"
    if row.after.failure:
        return row.after.failure
    if row.after.eager_differences:
        return "EAGER CHANGED"
    if row.fixed:
        return "fixed"
    if row.changed:
        broken = [name for name, verdict in row.after.targets.items() if not verdict.ok]
        return f"rewritten; still fails: {', '.join(broken)}" if broken else "rewritten (did not fail)"
    return "not fixed" if row.failing else "-"


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        "| case | kind | unfixable | fails before | found | outcome | eager differences | second run changes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        fails = ", ".join(name for name, verdict in row.before.targets.items() if not verdict.ok) or "-"
        found = " ".join(row.check.codes) or "-"
        lines.append(
            f"| {row.name} | {row.header.kind} | {'yes' if row.header.unfixable else 'no'} | {fails} | {found} | "
            f"{cell(row)} | {len(row.after.eager_differences) or '-'} | {'YES' if row.second_run_changes else '-'} |"
        )
    return "\n".join(lines)


def totals(rows: Sequence[Row]) -> dict[str, str]:
    """The numbers that matter: name → `n of m`."""
    failing = [row for row in rows if row.failing and not row.header.control]
    fixable = [row for row in failing if not row.header.unfixable]
    controls = [row for row in rows if row.header.control]
    return {
        "failing programs with a finding": f"{sum(row.check.about_data for row in failing)} of {len(failing)}",
        "fixable programs fixed": f"{sum(row.fixed for row in fixable)} of {len(fixable)}",
        "unfixable programs fixed": f"{sum(row.fixed for row in failing if row.header.unfixable)} of "
        f"{len(failing) - len(fixable)}",
        "controls flagged": f"{sum(row.check.about_data for row in controls)} of {len(controls)}",
        "eager results changed": f"{sum(bool(row.after.eager_differences) for row in rows)} of {len(rows)}",
        "second runs that changed a file": f"{sum(row.second_run_changes for row in rows)} of {len(rows)}",
        "runs that ended in an error": f"{sum(bool(row.check.error) for row in rows)} of {len(rows)}",
    }


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression on the names")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--safe", action="store_true", help="without --unsafe-fixes")
    parser.add_argument("--keep", type=Path, help="leave the rewritten programs here")
    options = parser.parse_args()
    programs = [
        path
        for path in sorted(options.folder.glob("*.py"))
        if re.search(options.only, path.name) and "def make_inputs" in path.read_text("utf-8")
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = treat_all(programs, folder, () if options.safe else ("--unsafe-fixes",), options.jobs)
    print(table(rows))
    print()
    for name, value in totals(rows).items():
        print(f"{name}: {value}")
    wrong = [row for row in rows if row.after.eager_differences or row.second_run_changes]
    flagged = [row for row in rows if row.header.control and row.check.about_data]
    return 1 if wrong or flagged else 0


if __name__ == "__main__":
    raise SystemExit(main())
