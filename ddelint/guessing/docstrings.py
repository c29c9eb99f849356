"""What docstrings and comments say of a parameter."""

from __future__ import annotations

import re

_MOST_LINES = 4


def said_of(name: str, *texts: str) -> str:
    """The lines of docstrings that describe a parameter (`x: (B, T, C) …`, `:param x:`, `x (Tensor): …`), joined."""
    head = re.compile(
        rf"^[ \t]{{0,60}}(?:[-*][ \t]{{1,4}})?(?::param(?:[ \t]{{1,4}}[\w.]{{1,60}})?[ \t]{{1,4}}|:arg[ \t]{{1,4}})?"
        rf"[`*]{{0,4}}{re.escape(name)}[`*]{{0,4}}[ \t]{{0,8}}(?:\([^)\n]{{0,200}}\)|\[[^\]\n]{{0,200}}\])?"
        r"[ \t]{0,60}(?::|-|=|[ \t]{2}|\n[ \t])",
        re.MULTILINE,
    )
    for text in texts:
        match = head.search(text)
        if match is None:
            continue
        lines = text[match.start() :].lstrip("\n").splitlines()
        kept = [lines[0]]
        indent = len(lines[0]) - len(lines[0].lstrip())
        for line in lines[1:_MOST_LINES]:
            if not line.strip() or len(line) - len(line.lstrip()) <= indent:
                break
            kept.append(line)
        return " ".join(line.strip() for line in kept)
    return ""


def commented(name: str, text: str) -> str:
    """A comment in the body of a function that gives a parameter's shape: `# x: (B, T, C)`, `# x is [N, 4]`."""
    match = re.search(
        rf"#[ \t]{{0,8}}{re.escape(name)}[ \t]{{0,8}}(?::|is|=|has shape|shape:?)(.*)$", text, re.MULTILINE
    )
    return match[1].strip() if match else ""
