"""What a function's text or name says that no compiler follows: it reads files, hands tensors on to NumPy, trains."""

from __future__ import annotations

import re

from ddelint.knowledge import extensions
from ddelint.knowledge.operators import operators
from ddelint.static.program import scan

_CONDITION = re.compile(r"\s*+(?:(?:if|elif|else|except|case)\b|while\b(?! +(?:True|1)\b|[^\n]*?(?:[<>]|!=)))")
"""What may pass over the block behind it: not a loop that counts, `while step < steps`."""
_DEFINED = re.compile(r"\s*+(?:async\s++)?(?:def|class)\b")
_WITHIN_LINE = re.compile(r"\b(?:if|else|and|or|lambda)\b")
_BRACKET = re.compile(r"[()\[\]{}]")
_BRACKET_OR_END = re.compile(r"[()\[\]{}\n]")
_RETURN = re.compile(r"(?:\n[ \t]++|:[ \t]*+)return\b")
"""The second is that of `if x is None: return`."""
_WORD_OF_NAME = re.compile(r"[a-z0-9]++")

Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def is_eager(text: str, start: int = 0) -> bool:
    """Whether a function does what no compiler follows; its body begins at `start`."""
    return _holds(_eager(), text) and _holds(_eager(), scan.without_prose(text[start:]))


def is_always_eager(text: str, more: Patterns = ()) -> bool:
    """Whether each call of it does so, and with it whoever calls it; `more`: what else no compiler follows."""
    return _always((*_eager_for_callers(), *more), text, each=True)


def trains(text: str, *, each: bool = False) -> bool:
    """Whether a function trains something whatever its settings are: nobody compiles it as one graph.

    `each`: each call of it does, also one that returns before anything is asked.
    """
    return _always(_training(), text, each)


def may_train(text: str) -> bool:
    """Whether anything in a file may train something."""
    return _holds(_training(), text)


def makes_parameters(text: str) -> bool:
    """Whether a function makes parameters: it prepares a module."""
    return _holds(_preparing(), text)


def is_always_run(text: str, place: int, *, each: bool = False) -> bool:
    """Whether all that asks in a text leads to a place of it: no `if` is around that, and nothing returns before.

    `each`: whether each call leads there, also one that asks nothing.
    """
    before = text[:place]
    ways_out = [way.start() for way in _RETURN.finditer(before) if not _goes_on(before[way.end() :].removesuffix("("))]
    if ways_out and (each or scan.asks(before[: ways_out[-1]])):
        return False
    lines = before.splitlines()
    if _WITHIN_LINE.search(lines[-1]) or " if " in text[place:].partition("\n")[0]:
        return False
    if (":" in lines[-1] and _CONDITION.match(lines[-1])) or _is_chosen(text, place):
        return False
    inner = _indentation(lines[-1])
    outermost = _indentation(next((line for line in lines if _DEFINED.match(line)), ""))
    for line in reversed(lines[:-1]):
        indentation = _indentation(line)
        if line.strip() and indentation < inner:
            inner = indentation + (line.lstrip()[0] in ")]}")  # the end of a header of several lines
            if _CONDITION.match(line) or (indentation > outermost and _DEFINED.match(line)):
                return False
    return True


def _is_chosen(text: str, place: int) -> bool:
    """Whether the brackets around a place, or around the call that it begins, ask whether that is computed.

    `(solve(x)`, and in the next line `if exact else x)`.
    """
    call = text.startswith("(", place - 1)
    depth, start = 0, -1
    for bracket in reversed(list(_BRACKET.finditer(text, 0, place - call))):
        depth += 1 if bracket[0] in "([{" else -1
        if depth > 0:
            depth, start = 0, bracket.end()
    if start < 0:
        return False
    behind = closed(text, place) if call else place
    return any(_WITHIN_LINE.search(part) for part in (text[start:place], text[behind : closed(text, start)]))


def closed(text: str, start: int) -> int:
    """Where the bracket is closed behind which a text begins."""
    depth = 1
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in "([{" else -1
        if not depth:
            return bracket.start()
    return len(text)


def _goes_on(text: str) -> bool:
    """Whether a text ends within the statement that it begins with."""
    depth = 0
    for mark in _BRACKET_OR_END.finditer(text):
        if mark[0] == "\n":
            if depth <= 0:
                return False
        else:
            depth += 1 if mark[0] in "([{" else -1
    return True


def _always(patterns: Patterns, text: str, each: bool = False) -> bool:
    if not _holds(patterns, text) or text.count('"""') % 2:  # which begins in the example of a docstring
        return False
    text = scan.without_prose(text)
    found = (match for _, pattern in patterns for match in pattern.finditer(text))
    return any(is_always_run(text, match.end(), each=each) for match in found)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def reads_files(name: str) -> bool:
    """Whether a function's name says that it makes something of a file: `from_json`, `load_database`."""
    return bool(words_in(name) & operators().regions["file_words"])


def keeps_states(name: str) -> bool:
    """Whether a function's name says that it makes or reads the states of modules: `convert_state_dict`."""
    return any(kept in name for kept in operators().regions["kept_states"])


def is_test(name: str) -> bool:
    """Whether a function's name says that it tests what was computed: `test_outputs`."""
    return name.startswith(tuple(operators().regions["testing"]))


def is_fit(name: str) -> bool:
    """Whether a method's name is that of one of scikit-learn's that fit: it keeps numbers on its object."""
    return name in operators().regions["fitting"]


def words_in(name: str) -> frozenset[str]:
    """The words in a name."""
    return frozenset(_WORD_OF_NAME.findall(name.lower()))


def _holds(patterns: Patterns, text: str) -> bool:
    return any(literal in text and pattern.search(text) is not None for literal, pattern in patterns)


@extensions.remembered
def _eager() -> Patterns:
    return _patterns("eager_text")


@extensions.remembered
def _eager_for_callers() -> Patterns:
    return _patterns("eager_text", "eager_alone")


@extensions.remembered
def _preparing() -> Patterns:
    return _patterns("preparing_text")


@extensions.remembered
def _training() -> Patterns:
    return _patterns("training_text")


def _patterns(key: str, without: str = "") -> Patterns:
    """Each with a text that each match holds, where that is plain: to look for it costs a tenth."""
    found: list[tuple[str, re.Pattern[str]]] = []
    regions = operators().regions
    for pattern in sorted(regions[key] - (regions[without] if without else frozenset())):
        escaped = pattern.replace(r"\b", "")
        literal = escaped.replace("\\", "")
        found.append((literal if re.escape(literal) == escaped else "", re.compile(pattern)))
    return tuple(found)
