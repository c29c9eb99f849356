"""What is made of others' text before anybody sees it: names, expressions and messages may hold anything.

Escape sequences would rule the terminal, a newline begins a line of its own (`::error::` is a command to GitHub), and
bidirectional controls show code in another order than it runs in (https://trojansource.codes).
"""

from __future__ import annotations

import re

_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROLS = "\x00-\x1f\x7f-\x9f"
_LINE_ENDS = "\u2028\u2029"
_HIDDEN = re.compile(f"[{_CONTROLS}{_LINE_ENDS}{_BIDIRECTIONAL}\ud800-\udfff\ufeff\ufffe\uffff]")
_COLOUR = re.compile("\x1b\\[(?:0|[0-9](?:;[0-9]{1,2})?|[0-9]{2})m")
"""The colours of `report.style`: nothing else that begins with an escape is one."""
_COMMAND = re.compile(r"^\s*(?:::|##\[)")
"""How a line begins that a runner of GitHub Actions obeys (actions/runner, ActionCommand.cs: blanks don't matter)."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\x1b"}


def visible(text: str, keep: str = "\t") -> str:
    """`text` with what is not seen as itself spelled out as `repr` does it, but for characters in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(lambda found: found[0] if found[0] in keep else spelled_out(found[0]), text)


def visible_line(text: str, colours: bool = False) -> str:
    """One line of a report, which is no command to a forge; our own `colours` stay."""
    text = _COMMAND.sub(lambda found: found[0][:-1] + " " + found[0][-1], text)
    if not colours:
        return visible(text)
    end, pieces = 0, []
    for colour in _COLOUR.finditer(text):
        pieces += [visible(text[end : colour.start()]), colour[0]]
        end = colour.end()
    return "".join([*pieces, visible(text[end:])])


def spelled_out(character: str) -> str:
    """One character as an escape: `\\n`, `\\x1b`, `\\u202e`."""
    number = ord(character)
    return _SHORT.get(character) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")
