"""Where the code for a GPU makes the host wait: which operators of a wrapper do, and which line of the program asks."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ddelint.nouns.diagnostics import Span
from ddelint.verify.generated_code import knowledge

_FRAME = re.compile(r'^ *File "([^"]+)", line (\d+), in .*\n(?: +(?!\^|File ")\S.*\n?)?( +\^[\^~]*)?', re.MULTILINE)
"""A frame of a stack as Python writes it, and below its line the mark of the part that called."""
_INDENT = 4
"""By which a stack's lines of code are indented."""


class Wrappers:
    """The wrappers of a program, and for each of their lines the stack of the program's own that it comes from."""

    def __init__(self) -> None:
        self._stacks: dict[str, Sequence[tuple[int, str]]] = {}

    def name(self, stacks: Sequence[tuple[int, str]]) -> str:
        """A file name for one more wrapper; `stacks`: from which line on which stack is meant."""
        name = f"<Inductor's code for a GPU, graph {len(self._stacks)}>"
        self._stacks[name] = sorted(stacks)
        return name

    def here(self) -> str:
        """The stack behind the wrapper's line that is running now; empty where none is."""
        frame: Any = sys._getframe()
        while frame is not None and frame.f_code.co_filename not in self._stacks:
            frame = frame.f_back
        if frame is None:
            return ""
        known = self._stacks[frame.f_code.co_filename]
        return next((stack for line, stack in reversed(known) if line <= frame.f_lineno), "")


def reads_of(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """How often the host waits in one call of an operator: for a value, or for how many elements there are."""
    table = knowledge()["profile"]
    if name in table["host_syncs"]:
        return 1
    if name not in table["masked"]:
        return 0
    leaves = torch.utils._pytree.tree_leaves(([arg for arg in args if isinstance(arg, (list, tuple))], dict(kwargs)))
    return sum(isinstance(leaf, torch.Tensor) and leaf.dtype in (torch.bool, torch.uint8) for leaf in leaves)


def frames_of(stack: str) -> tuple[Span, ...]:
    """The places of a stack, outermost first: of each line the part that called, where the stack marks it."""
    return tuple(_place(name, int(row), mark or "") for name, row, mark in _FRAME.findall(stack))


def _place(filename: str, row: int, mark: str) -> Span:
    line = linecache.getline(filename, row).rstrip()
    indent = len(line) - len(line.lstrip())
    start, end = len(mark) - len(mark.lstrip()), len(mark)
    if not mark.strip():
        return Span(filename, row, indent + 1, row, max(len(line), indent) + 1)
    return Span(filename, row, start - _INDENT + indent + 1, row, end - _INDENT + indent + 1)
