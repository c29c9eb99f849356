"""What a function gives that says nobody compiles it, by its text: numbers alone, or records for people to read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ddelint.knowledge import extensions
from ddelint.knowledge.operators import operators
from ddelint.static.program import scan
from ddelint.static.program.always_run import closed

_GIVES = re.compile(r"\n[ \t]++return\b[ \t]*+(?!None\b|self\b|True\b|False\b|[\"'\n]|$)")
_GIVEN = re.compile(r"(?:\n[ \t]++|[:;][ \t]*+)return\b[ \t]*+(?!None[ \t]*+(?:\n|$))([^\n]++)")
_RETURNED = re.compile(r"\n[ \t]++return (\w++)(?:(\()|(?=[ \t]*+\n|$))")
"""What is returned by its name alone, or is called to make that."""
_READ = ".item()"
_PLAIN = re.compile(r"[\w.]++(?:\([^()]{0,200}+\)[\w.]*+){1,9}")
"""Calls after calls: `x.sum().item()`."""
_WORD_OF_CLASS = re.compile(r"[A-Z]++[a-z0-9]*+|[a-z0-9]++")
_DEEPEST = 3
"""Functions that return what others return."""


def tells(name: str) -> bool:
    """Whether a class's name says that its objects tell how something went: `FitReport`."""
    words = {word.lower() for word in _WORD_OF_CLASS.findall(name)}
    return name[:1].isupper() and bool(words & operators().regions["eager_words"])


def gives_something(body: str) -> bool:
    """Whether a function returns anything that may be a tensor."""
    return _GIVES.search(body) is not None


def gives_numbers(body: str) -> bool:
    """Whether all that a function returns are numbers that it has made concrete: `return float(x.mean())`."""
    body = scan.without_prose(body)
    given = [match[1].rstrip() for match in _GIVEN.finditer(body)]
    return bool(given) and all(map(_is_number, given))


def gives_records(body: str, texts: Mapping[str, str], depth: int = 0) -> bool:
    """Whether all that a function returns are lists that it puts dictionaries into: they are for people to read.

    `texts`: those of the functions of its file.
    """
    returned = _RETURNED.findall(body)
    if not returned or depth > _DEEPEST:
        return False
    return all(
        gives_records(texts[name], texts, depth + 1)
        if called and name in texts
        else any(_is_record(thing, body) for thing in _put_into(name, body))
        for name, called in returned
    )


def _is_number(text: str) -> bool:
    """Whether an expression is a number by the call that makes it."""
    made = _conversion().match(text)
    if made is not None:
        return closed(text, made.end()) == len(text) - 1
    return text.endswith(_READ) and _PLAIN.fullmatch(text) is not None


@extensions.remembered
def _conversion() -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(sorted(operators().regions['conversions_to_numbers']))})\(")


def _is_record(thing: str, body: str) -> bool:
    return thing == "{" or re.search(rf"(?<![\w.]){thing} = (?:\{{|dict\()", body) is not None


def _put_into(name: str, body: str) -> list[str]:
    return re.findall(rf"(?<![\w.]){name}\.append\((\{{|\w++(?=\)))", body)
