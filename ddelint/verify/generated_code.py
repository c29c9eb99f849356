"""The code that Inductor writes: made comparable, held against another, and what was decided otherwise.

Runs in the worker; torch is not needed for it. How the code reads is data: rules/measuring.toml.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ddelint.knowledge.catalog import rules_folder
from ddelint.nouns.measurements import Divergence


@dataclass(frozen=True, slots=True)
class Difference:
    """How one program's code differs from another's."""

    changed: int
    lines: int
    divergences: tuple[Divergence, ...]


@cache
def knowledge() -> dict[str, Any]:
    """rules/measuring.toml."""
    return tomllib.loads((rules_folder() / "measuring.toml").read_text("utf-8"))


def kernel_calls(codes: Sequence[str]) -> int:
    """How often the code calls a kernel that Inductor wrote."""
    pattern = re.compile(knowledge()["code"]["kernel_call"], re.MULTILINE)
    return sum(len(pattern.findall(code)) for code in codes)


def normalized(code: str) -> list[str]:
    """The lines that say what is computed, with symbols, buffers, temporaries and hashes without their numbers."""
    table = knowledge()["code"]
    end = min((at for mark in table["ends"] if (at := code.find(mark)) >= 0), default=len(code))
    dropped = [re.compile(pattern) for pattern in table["dropped"]]
    renamed = [(re.compile(pattern), name) for pattern, name in table["numbered"]]
    lines = []
    for line in code[:end].splitlines():
        if any(pattern.match(line) for pattern in dropped):
            continue
        for pattern, name in renamed:
            line = pattern.sub(name, line)
        lines.append(line.rstrip())
    return lines


def without_checks(codes: Sequence[str]) -> list[str]:
    """The code of each graph, made comparable, without what only tests that sizes are within their bounds."""
    dropped = [re.compile(pattern) for pattern in knowledge()["code"]["checks"]]
    lines = [line for code in codes for line in normalized(code)]
    return [line for line in lines if not any(pattern.match(line) for pattern in dropped)]


def difference(backed: Sequence[str], unbacked: Sequence[str]) -> Difference:
    """What `unbacked` (the code of each graph) has otherwise than `backed`."""
    one = [line for code in backed for line in normalized(code)]
    two = [line for code in unbacked for line in normalized(code)]
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
    gone, new = [], []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            gone += one[a:b]
            new += two[c:d]
    # what only moved is no other decision
    moved = Counter(gone) & Counter(new)
    divergences = list(_divergences(Counter(gone) - moved, Counter(new) - moved))
    return Difference(len(new) + len(gone), len(two), tuple(divergences))


def _divergences(gone: Counter[str], new: Counter[str]) -> list[Divergence]:
    found = []
    left = [gone.copy(), new.copy()]
    for decision in knowledge()["decision"]:
        patterns = [re.compile(pattern) for pattern in decision["patterns"]]
        sides = []
        for lines in left:
            shown: Counter[str] = Counter()
            for line, times in list(lines.items()):
                words = [match[1] for pattern in patterns for match in pattern.finditer(line)]
                if words:
                    del lines[line]
                for word in words:
                    shown[word.strip()] += times
            sides.append(shown)
        only = sides[0] - sides[1], sides[1] - sides[0]
        if any(only):
            closes = "" if decision.get("harmless") else decision["closes"]
            found.append(Divergence(decision["name"], dict(only[0]), dict(only[1]), closes))
    rest = left[0] - left[1], left[1] - left[0]
    if any(rest) and not any(divergence.closes for divergence in found):
        found.append(Divergence("other", {"lines": rest[0].total()}, {"lines": rest[1].total()}, "hint"))
    return found
