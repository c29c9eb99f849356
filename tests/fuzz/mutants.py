"""Mutants of real programs through the static pass and its fixes: `python tests/fuzz/mutants.py --seed 1 --count 9999`.

A mutant must not end the call, whatever it is. What is fixed must parse, must bring no further fix, and must be what
the edits of the findings make.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from ddelint.nouns.diagnostics import Applicability, Edit
from ddelint.pipeline import run_check
from ddelint.report.formats import Rendering, render
from ddelint.report.model import Report, Silence
from ddelint.report.style import Style
from ddelint.rewrite.writing.edits import without_repeats
from ddelint.settings.options import CheckOptions, Mode
from ddelint.sources.source import SourceError, SourceFile

CHECKOUT = Path(__file__).parents[2]
PATIENCE = 120
"""Seconds after which a mutant counts as one that never ends; none is spent where all is well."""
NAME = os.path.abspath("mutant.py")
_ODD = [
    "\x00", "\x0c", "\ufeff", "\u202e", "\u2028", "\r", "\r\n", "\t", "\\\n", "\\", "'''", '"""', "#", ";", ":", "(",
    ")", "[", "]", "{", "}", "@", "->", ":=", "=", "==", " if ", " else ", " for ", " in ", "async ", "await ",
    "yield ", "lambda: ", "not ", "*", "**", "~", ".", "...", ",", "0x", "1e999", "1_000_000_000_000", "é", "ﬁ", "𝐱",
    "\udcff", "f'{", "}'", "f'{x!r:>{y}}'", "match x:\n", "case _:\n", "try:\n", "except* E:\n", "finally:\n",
    "with x as y:\n", "global x\n", "nonlocal x\n", "del x\n", "# ddelint: ignore\n", "# noqa: DDE1\n",
    "# ddelint: ignore[DDE101]\n",
    "# ddelint: skip-file\n", "import torch\n", ".item()", ".shape[0]", ".nonzero()", "[mask]", "if x.sum() > 0: ",
    "assert x.any()", "torch._check(", "int(", "len(", "@torch.compile\n", "return ", "raise ValueError()\n",
    "class C: pass\n", "def f(): pass\n", "print(x)\n",
]  # fmt: skip
_AROUND = [("(", ")"), ("not ", ""), ("-", ""), ("[", "]"), ("x + ", ""), ("a.", ""), ("f(", ")")]
Mutation = Callable[[random.Random, str, Sequence[str]], str]


def sources() -> list[str]:
    """The programs that mutants are made of."""
    paths = sorted((CHECKOUT / "fixtures").rglob("*.py"))
    return [path.read_bytes().decode(errors="replace") for path in paths]


def _line(draw: random.Random, text: str, other: Sequence[str]) -> str:
    """A line gone, twice, elsewhere, from another program, or with another indentation."""
    lines = text.splitlines(keepends=True) or [""]
    at = draw.randrange(len(lines))
    match draw.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case 2:
            lines.insert(draw.randrange(len(lines)), lines.pop(at))
        case 3:
            lines.insert(at, draw.choice(draw.choice(other).splitlines(keepends=True) or [""]))
        case 4:
            lines[at] = " " * draw.choice([1, 2, 4, 8]) + lines[at]
        case _:
            lines[at] = lines[at].lstrip() if draw.random() < 0.5 else lines[at].replace("    ", "\t", 1)
    return "".join(lines)


def _characters(draw: random.Random, text: str, other: Sequence[str]) -> str:
    """Some characters gone, twice, or in another order."""
    start = draw.randrange(len(text) + 1)
    end = min(len(text), start + draw.choice([1, 1, 2, 5, 20]))
    piece = text[start:end]
    return text[:start] + draw.choice(["", piece * 2, piece[::-1], piece.swapcase()]) + text[end:]


def _odd(draw: random.Random, text: str, other: Sequence[str]) -> str:
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(_ODD) + text[at:]


def _spliced(draw: random.Random, text: str, other: Sequence[str]) -> str:
    """The beginning of one program and the end of another."""
    second = draw.choice(other)
    return text[: draw.randrange(len(text) + 1)] + second[draw.randrange(len(second) + 1) :]


def _words(draw: random.Random, text: str, other: Sequence[str]) -> str:
    """Two words exchanged, or one everywhere for another."""
    words = sorted({word for word in text.replace("(", " ").replace(".", " ").split() if word.isidentifier()})
    if len(words) < 2:
        return text
    one, two = draw.sample(words, 2)
    return text.replace(one, two) if draw.random() < 0.5 else text.replace(one, two, 1)


def _nested(draw: random.Random, text: str, other: Sequence[str]) -> str:
    """An expression wrapped many times, or a statement that goes on and on."""
    count = draw.choice([3, 30, 90, 300])
    at = draw.randrange(len(text) + 1)
    opening, closing = draw.choice(
        [("(", ")"), ("not ", ""), ("-", ""), ("[", "]"), ("x + ", ""), ("a.", ""), ("f(", ")")]
    )
    line = text.find("\n", at)
    line = len(text) if line < 0 else line
    return text[:at] + opening * count + text[at:line] + closing * count + text[line:]


def _line_ends(draw: random.Random, text: str, other: Sequence[str]) -> str:
    return text.replace("\n", draw.choice(["\r\n", "\r", "\n\n", "\\\n", "\x0c\n"]), draw.choice([1, 5, -1]))


MUTATIONS: tuple[Mutation, ...] = (_line, _line, _characters, _odd, _odd, _spliced, _words, _nested, _line_ends)


def mutants(seed: int, count: int) -> Iterator[bytes]:
    """`count` mutants; the same for the same seed."""
    draw = random.Random(seed)
    programs = sources()
    for _ in range(count):
        text = draw.choice(programs)
        for _ in range(draw.choice([1, 2, 4, 8])):
            changed = draw.choice(MUTATIONS)(draw, text, programs)
            if draw.random() < 0.1 or _parses(changed):  # what does not parse shows little, and seldom gets better
                text = changed
        data = text.encode("utf-8", "surrogateescape")
        if draw.random() < 0.1:
            cookie = draw.choice(["latin-1", "cp1252", "utf-7", "unicode_escape", "shift_jis", "none", "punycode"])
            data = f"# coding: {cookie}\n".encode() + data
        if draw.random() < 0.05:
            data = data[: draw.randrange(len(data) + 1)] + bytes([draw.randrange(256)])
        yield data


def _parses(text: str) -> bool:
    with warnings.catch_warnings(action="ignore"):
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def wrong(data: bytes) -> str:
    """What is wrong with what ddelint makes of a file; empty: nothing."""
    with _limited():
        try:
            return _wrong(data)
        except _Endless:
            return "never ends"
        except BaseException as error:
            return "".join(traceback.format_exception(error))


def _wrong(data: bytes) -> str:
    report = _checked(data)
    if report.errors:
        return f"errors: {report.errors}"
    for name in ("full", "json", "github"):
        render(report, Rendering(Style(), name))
    new = report.rewritten.get(NAME)
    if new is None:
        return ""
    source = SourceFile.from_bytes(NAME, data)
    fixes = [finding.fix for finding in report.diagnostics if finding.fix is not None]
    edits = [edit for fix in fixes if fix.applicability is not Applicability.DISPLAY for edit in fix.edits]
    told = _applied(source, [edit for edit in edits if edit.span.filename == NAME])
    if told != new:
        return f"the edits make something else:\n--- told\n{told}\n--- written\n{new}"
    try:
        _ = SourceFile(NAME, new, source.encoding).tree
    except SourceError as error:
        return f"the fixed text does not parse: {error}\n{new}"
    again = _checked(source.encode(new))
    if again.errors or again.rewritten:
        return f"fixes bring further fixes: {again.errors}\n{''.join(again.diffs.values())}\n--- after\n{new}"
    return ""


def _checked(data: bytes) -> Report:
    options = CheckOptions(
        mode=Mode.STATIC, cache=False, diff=True, unsafe_fixes=True, stdin=data, stdin_filename="mutant.py"
    )
    return run_check(["-"], options, Silence())


def _applied(source: SourceFile, edits: Sequence[Edit]) -> str | None:
    try:
        return source.apply(without_repeats(edits))
    except ValueError:
        return None


class _Endless(BaseException):
    pass


class _limited:
    """Ends what goes on for too long."""

    def __enter__(self) -> None:
        def ring(number: int, frame: FrameType | None) -> None:
            raise _Endless

        self._before = signal.signal(signal.SIGALRM, ring)
        signal.alarm(PATIENCE)

    def __exit__(self, *_: object) -> None:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, self._before)


def main() -> int:
    """Try many; what is wrong goes to a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--keep", type=Path, default=Path("mutants"), help="where those go that show something wrong")
    given = parser.parse_args()
    found = 0
    for number, data in enumerate(mutants(given.seed, given.count)):
        problem = wrong(data)
        if problem:
            found += 1
            given.keep.mkdir(exist_ok=True)
            (given.keep / f"{given.seed}-{number}.py").write_bytes(data)
            (given.keep / f"{given.seed}-{number}.txt").write_text(problem, errors="backslashreplace")
            print(f"{given.seed}-{number}: {problem.splitlines()[-1][:200]!a}", flush=True)
    print(f"{given.count} mutants, {found} show something wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
