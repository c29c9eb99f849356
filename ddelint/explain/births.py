"""Where symbols were made, and what is known of them, as logs, reports and printed graphs say it."""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ddelint.explain.cleaning import Line
from ddelint.explain.frames import RawFrame, Stack, locations
from ddelint.explain.ownership import blamed, is_framework

SYMBOL = re.compile(r"\bz?[uisf]+\d+\b")
"""A symbol's name: `u0` (unbacked), `s0` (backed), `zuf0`, `zf0` (floats), `i0` and `f0` (unbacked, torch 2.1)."""
_CREATED = re.compile(
    r"create_unbacked_sym\w{1,40} (?P<symbol>\w+) \[(?P<lower>[^,\]]{0,300}), (?P<upper>[^\]]{0,300})\]"
    r"\s*(?:at )?(?P<rest>.*)"
)
_RANGE = re.compile(
    r"(?:constrain_symbol_range (?P<symbol>\w+) |_update_var_to_range (?P<updated>\w+) = VR)"
    r"\[(?P<lower>[^,\]]{0,300}), (?P<upper>[^\]]{0,300})\]"
)
_GRAPH_SYMBOL = re.compile(r"\b(u\d+|zuf\d+)\b")
_GRAPH_NODE = re.compile(r"^\s*\w+: \"(?:Sym\(|[a-z]\w*\[)")
_REPLACED = re.compile(r"derived by replacing (?P<pairs>.{1,500}?) in (?=[^\n]{0,500}? and its negation)")
_PAIR = re.compile(r"`(?P<symbol>\w+)` with (?P<names>.{1,500}?)(?=, `|$)")
_LOCAL = re.compile(r"^\s+(?P<name>[A-Za-z_]\w*): \['(?P<symbol>[usz]\w*(?<=\d))'\]$")
_SOURCES = re.compile(r", where (?P<sources>\{[^}\n]{0,2000}\})")
_SIZE_LIKE = re.compile(r"\(Size-like symbols: (?P<symbols>[^)]{0,2000})\)")
_FARTHEST_NODE = 30


@dataclass(frozen=True, slots=True)
class Birth:
    """Where a symbol was made: the blamed frame (None: unknown), and its first range. Infinite bounds are None."""

    symbol: str
    row: int
    """In the pasted text."""
    frame: RawFrame | None = None
    lower: int | None = None
    upper: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What one message says of its symbols."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Symbol → what the user's code calls it."""
    sizes: frozenset[str] = frozenset()
    """Symbols that are sizes of tensors."""


def births(lines: Sequence[Line], stacks: Sequence[Stack], paths: Sequence[str]) -> list[Birth]:
    """Every birth that a text reports, in its order."""
    found: list[Birth] = []
    for line in lines:
        if "create_unbacked" in line.text and (match := _CREATED.search(line.text)) is not None:
            frame = next((f for f in locations(match["rest"]) if not is_framework(f.filename)), None)
            found.append(Birth(match["symbol"], line.row, frame, _bound(match["lower"]), _bound(match["upper"])))
        elif "range" in line.text and (match := _RANGE.search(line.text)) is not None:
            symbol = match["symbol"] or match["updated"]
            found.append(Birth(symbol, line.row, None, _bound(match["lower"]), _bound(match["upper"])))
    for stack in stacks:
        if stack.role == "birth" and (who := blamed(stack.frames, paths, traced=False)) is not None and who[1]:
            found.append(Birth(stack.symbol, stack.first, stack.frames[who[0]]))
    found += _from_graphs(lines, stacks)
    return sorted(found, key=lambda birth: birth.row)


class Known:
    """What is known of each symbol as a text goes on: of several compilations, the last one before a row counts."""

    def __init__(self, found: Sequence[Birth]) -> None:
        self._waiting = deque(found)
        self._known: dict[str, Birth] = {}

    def at(self, row: int) -> dict[str, Birth]:
        """Symbol → birth, as reported up to `row`. Rows must not decrease from call to call."""
        while self._waiting and self._waiting[0].row <= row:
            self._learn(self._waiting.popleft())
        return dict(self._known)

    def _learn(self, birth: Birth) -> None:
        before = self._known.get(birth.symbol)
        if before is None:
            self._known[birth.symbol] = birth
        elif birth.frame is not None and before.frame is not None:
            self._known[birth.symbol] = _with_bounds(birth, before)
        else:
            self._known[birth.symbol] = Birth(
                birth.symbol,
                birth.row,
                birth.frame or before.frame,
                before.lower if birth.lower is None else birth.lower,
                before.upper if birth.upper is None else birth.upper,
            )


def facts(message: Sequence[Line]) -> Facts:
    """What a message's own lines say of its symbols."""
    names: dict[str, str] = {}
    sizes: set[str] = set()
    for line in message:
        if "Size-like" in line.text and (match := _SIZE_LIKE.search(line.text)) is not None:
            sizes |= set(SYMBOL.findall(match["symbols"]))
        if "derived by replacing" in line.text and (match := _REPLACED.search(line.text)) is not None:
            for pair in _PAIR.finditer(match["pairs"]):
                names[pair["symbol"]] = min(pair["names"].split(" or "), key=len)
        if ", where {" in line.text and (match := _SOURCES.search(line.text)) is not None:
            names |= _sources(match["sources"])
        elif line.text.endswith("']") and (match := _LOCAL.match(line.text)) is not None:
            names.setdefault(match["symbol"], match["name"])
    return Facts(names, frozenset(sizes))


def _sources(text: str) -> dict[str, str]:
    """`{'s77': "L['x'].size()[0]"}` as torch prints it."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {}
    return {str(symbol): str(source) for symbol, source in found.items()} if isinstance(found, dict) else {}


def _with_bounds(birth: Birth, before: Birth) -> Birth:
    """A second word on the same symbol: a graph's comment has no bounds."""
    if birth.lower is None and birth.upper is None and birth.frame == before.frame:
        return before
    return birth


def _bound(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _from_graphs(lines: Sequence[Line], stacks: Sequence[Stack]) -> list[Birth]:
    """The node of a printed graph in which a symbol is first named, with the comment above it."""
    comments = {stack.first: stack.frames[0] for stack in stacks if stack.role == "graph"}
    if not comments:
        return []
    found: list[Birth] = []
    seen: set[str] = set()
    current: tuple[RawFrame, int] | None = None
    for line in lines:
        if line.row in comments:
            if line.row < (current[1] if current is not None else 0):
                seen.clear()
            current = comments[line.row], line.row
        elif line.text.startswith(("def forward(", "class ")):
            seen.clear()  # a graph of its own
        elif current is not None and _GRAPH_NODE.match(line.text) and line.row - current[1] <= _FARTHEST_NODE:
            for symbol in _GRAPH_SYMBOL.findall(line.text.partition(" = ")[0]):
                if symbol not in seen:
                    seen.add(symbol)
                    found.append(Birth(symbol, current[1], current[0]))
    return found
