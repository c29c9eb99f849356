"""Where the boxes and arrows of a flow stand: from its origins at the top down to the question."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ddelint.report.flow import Flow, Step
from ddelint.report.style import width_of

CODE, WORDS = 7.3, 6.1
"""Pixels of a column of code (12 pixels, monospaced) and of words, on average."""
LONGEST = 58
"""Columns of a box's text; the whole text is its tooltip."""
ROW = 700.0
"""Pixels that boxes side by side may take."""
HEIGHT, GAP_X, GAP_Y, PADDING, LANE = 44.0, 22.0, 30.0, 12.0, 14.0


@dataclass(frozen=True, slots=True)
class Box:
    """A box with two lines of text; `kind` is birth, step or question."""

    kind: str
    step: Step
    code: str
    words: str
    x: float
    y: float
    width: float
    height: float = HEIGHT

    @property
    def middle(self) -> float:
        """The x of its centre."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a box's lower edge to the next one's upper edge, as an SVG path."""

    path: str


@dataclass(frozen=True, slots=True)
class Graph:
    """A drawing of `width` by `height` pixels."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    width: float
    height: float


def graph_of(flow: Flow) -> Graph:
    """The drawing of a flow."""
    origins = [[("step", step)] for step in flow.origins]
    rows = _rows([("birth", step) for step in flow.births])
    layers = [*origins, *rows, *([("step", step)] for step in flow.steps), [("question", flow.question)]]
    sizes = [[_width(step) for _, step in row] for row in layers]
    width = max(_total(row) for row in sizes)
    boxes: list[list[Box]] = []
    y = 1.0
    for row, widths in zip(layers, sizes, strict=True):
        x = 1 + (width - _total(widths)) / 2
        placed = []
        for (kind, step), size in zip(row, widths, strict=True):
            placed.append(Box(kind, step, _cut(step.code), _cut(_words(step)), x, y, size))
            x += size + GAP_X
        boxes.append(placed)
        y += HEIGHT + GAP_Y
    before, chain = boxes[: len(origins)], boxes[len(origins) + len(rows) :]
    born = boxes[len(origins) : len(origins) + len(rows)]
    arrows = [_arrow(upper[0], lower[0]) for part in (before, chain) for upper, lower in itertools.pairwise(part)]
    far = [(box, chain[0][0]) for row in born[:-1] for box in row]
    arrows += [_arrow(birth, chain[0][0]) for birth in (born[-1] if born else [])]
    if before and born:
        births = [box for row in born for box in row]
        link = (before[-1][0], births[flow.traced])
        if link[1] in born[0]:
            arrows.append(_arrow(*link))
        else:
            far.append(link)
    arrows += [_around(start, end, width + LANE * lane) for lane, (start, end) in enumerate(far, 1)]
    everything = tuple(box for row in boxes for box in row)
    return Graph(everything, tuple(arrows), width + 2 + LANE * len(far), y - GAP_Y + 1)


def _rows(births: list[tuple[str, Step]]) -> list[list[tuple[str, Step]]]:
    """Births side by side where they all fit, else one below the other."""
    if births and _total([_width(step) for _, step in births]) <= ROW:
        return [births]
    return [[birth] for birth in births]


def _words(step: Step) -> str:
    words = step.words.replace("`", "")
    return f"line {step.span.row}: {words}" if step.span is not None else words


def _width(step: Step) -> float:
    return max(width_of(_cut(step.code)) * CODE, width_of(_cut(_words(step))) * WORDS, 90.0) + 2 * PADDING


def _total(widths: list[float]) -> float:
    return sum(widths) + GAP_X * (len(widths) - 1)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _arrow(above: Box, below: Box) -> Arrow:
    start, end = above.y + above.height, below.y - 5
    target = min(max(above.middle, below.x + PADDING), below.x + below.width - PADDING)
    half = (start + end) / 2
    return Arrow(
        f"M{above.middle:.1f} {start:.1f} C{above.middle:.1f} {half:.1f} {target:.1f} {half:.1f} {target:.1f} {end:.1f}"
    )


def _around(above: Box, below: Box, lane: float) -> Arrow:
    """Past the boxes in between: out to the right, down, and back in."""
    start, end = above.y + above.height / 2, below.y + below.height / 2
    return Arrow(f"M{above.x + above.width:.1f} {start:.1f} H{lane:.1f} V{end:.1f} H{below.x + below.width + 5:.1f}")
