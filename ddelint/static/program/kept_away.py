"""Functions that their authors keep a compiler away from, by the lines above them: `@torch.compiler.disable`.

Nobody compiles what only these call, unless a compiler is only kept away from the function's own lines
(`recursive=False`): `AWAY` marks that among what a file reaches, and among its functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ddelint.knowledge import extensions

if TYPE_CHECKING:  # what reads files is loaded where one must be read
    from ddelint.static.program.declared import Outline

AWAY = "~"
"""Before the name of a function that one which is kept away from a compiler calls."""

_DECORATED = re.compile(r"@([\w.]++)([^\n]*+)\n(?:@[^\n]*+\n){0,20}(?:async )?def (\w++)")


def kept_away(outline: Outline) -> frozenset[str]:
    """The module-level functions of a file of which a compiler sees neither the body nor what it calls."""
    if not any(word in outline.text for word in _last_words()):
        return frozenset()
    return frozenset(name for given, arguments, name in _at_margin(outline.text) if _is_away(outline, given, arguments))


def split(roots: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Functions that others compile, and those that only what is kept away from a compiler is known to call."""
    given = frozenset(roots)
    away = frozenset(root for root in given if root.startswith(AWAY))
    return given - away, frozenset(root.removeprefix(AWAY) for root in away)


def _at_margin(text: str) -> Iterable[tuple[str, str, str]]:
    """Each decorator at the margin, its arguments, and the function that it stands above."""
    place = text.find("@")
    while place >= 0:
        if not place or text[place - 1] == "\n":
            match = _DECORATED.match(text, place)
            if match is not None:
                yield match[1], match[2], match[3]
        place = text.find("@", place + 1)


def _is_away(outline: Outline, name: str, arguments: str) -> bool:
    """Whether a decorator of this (dotted) name, as the file imports it, keeps a compiler away from all that runs."""
    first, _, rest = name.partition(".")
    way = outline.imports.get(first)
    if way is None or way.level:
        return False
    full = ".".join(part for part in (way.module, way.name, rest) if part)
    known = _regions()
    if full in known["disabling"]:
        return full not in known["disabling_alone"] and not any(
            re.search(rf"\b{argument}\s*+=(?!\s*+True\b)", arguments) for argument in known["disabling_argument"]
        )
    return full in known["custom_operators"]


def _regions() -> Mapping[str, frozenset[str]]:
    from ddelint.knowledge.operators import operators  # files that the cache knows need none

    return operators().regions


@extensions.remembered
def _last_words() -> frozenset[str]:
    known = _regions()
    return frozenset(name.rpartition(".")[2] for name in known["disabling"] | known["custom_operators"])
