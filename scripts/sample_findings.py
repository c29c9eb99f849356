"""A random sample of the static pass's findings under some folders, each with its code, to be judged by hand.

    python scripts/sample_findings.py --seed 1 --size 100 FOLDER...

Sampling is by place, without replacement, from all findings in the order of file and line: the same seed gives the same
sample for the same tree and version. docs/precision-log.md holds the verdicts.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.pipeline import run_check
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions, Mode


def findings(folders: list[str]) -> list[Diagnostic]:
    """All findings, in the order of file and place."""
    options = CheckOptions(mode=Mode.STATIC, cache=False, exclude=("__pycache__",), respect_gitignore=False)
    return list(run_check(folders, options, Silence()).remaining)


def shown(number: int, finding: Diagnostic, folders: list[str], above: int, below: int) -> str:
    """A finding with the lines around it, and where its value came from."""
    path = Path(finding.span.filename)
    lines = path.read_text("utf-8", errors="replace").splitlines()
    base = next(
        (Path(folder).resolve().parent for folder in folders if path.is_relative_to(Path(folder).resolve())), path
    )
    out = [f"=== {number} {path.relative_to(base)}:{finding.span.row}:{finding.span.column} {finding.code}"]
    out += [f"    {finding.message}"]
    rows = range(max(1, finding.span.row - above), min(len(lines), finding.span.end_row + below) + 1)
    out += [
        f"  {'>' if finding.span.row <= row <= finding.span.end_row else ' '} {row}: {lines[row - 1]}" for row in rows
    ]
    out += [f"    crumb {span.row}: {text}" for span, text in finding.breadcrumbs[1:]]
    out += [
        f"    symbol {s.name} = {s.expression} (line {s.created.row if s.created else '?'})" for s in finding.symbols
    ]
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--above", type=int, default=12)
    parser.add_argument("--below", type=int, default=3)
    parser.add_argument("--code", default="", help="only findings of codes with this prefix")
    given = parser.parse_args()
    everything = [d for d in findings(given.folders) if d.code.startswith(given.code)]
    sample = random.Random(given.seed).sample(everything, min(given.size, len(everything)))
    print(f"{len(everything)} findings: {dict(sorted(Counter(d.code for d in everything).items()))}")
    for number, finding in enumerate(sorted(sample, key=lambda d: (d.span, d.code)), 1):
        print(shown(number, finding, given.folders, given.above, given.below))


if __name__ == "__main__":
    main()
