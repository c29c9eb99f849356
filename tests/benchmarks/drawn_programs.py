"""Small programs that nobody wrote: how many of those that need a fix come out clean?

    python tests/benchmarks/drawn_programs.py [--count N] [--seed N] [--most N] [--timeout SECONDS] [--keep FOLDER]

Draws `count` programs of one to `most` productions of `tests/rewrite/grammar.py`, and does with each what
`whole_programs.py` does: check with --unsafe-fixes, then the word of `tests/end_to_end/judge.py` on the original and on
what was written. Programs that export and compile as they are do not count. Prints a line for each, and the share.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from measuring import ROOT
from whole_programs import TARGETS, treated

sys.path.insert(0, str(ROOT / "tests" / "rewrite"))

from grammar import Program, programs
from judge import Judge


def drawn(count: int, number: int, most: int) -> list[Program]:
    """`count` different programs, the same for the same seed."""
    found: dict[str, Program] = {}

    @seed(number)
    @settings(
        max_examples=4 * count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(most))
    def draw(program: Program) -> None:
        found.setdefault(program.text, program)

    draw()
    # the first are the simplest that hypothesis can think of
    return list(found.values())[-count:]


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--keep", type=Path, help="leave the programs, before and after, in this folder")
    options = parser.parse_args()
    words: collections.Counter[str] = collections.Counter()
    left: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary, Judge() as judge:
        folder = options.keep or Path(temporary)
        (folder / "after").mkdir(parents=True, exist_ok=True)
        for number, program in enumerate(drawn(options.count, options.seed, options.most)):
            path = folder / f"drawn_{number:03}.py"
            path.write_text(program.text, "utf-8")
            before = judge(path, targets=TARGETS)
            if not before.fails:
                word, seconds = "as it is", 0.0
            else:
                outcome = treated(path, folder / "after", judge, options.timeout, safe=False)
                word, seconds = outcome.word, outcome.seconds
            words[word.partition(" (")[0]] += 1
            if word not in ("clean", "as it is"):
                left.update(program.made_of)
            print(f"{path.stem} {word} {seconds:.0f} s: {', '.join(program.made_of)}", flush=True)
    needing = sum(words.values()) - words["as it is"]
    print(f"{words['clean']} of {needing} that need a fix come out clean; all: {dict(words)}; left: {dict(left)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
