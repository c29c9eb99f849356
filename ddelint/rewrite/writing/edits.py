"""The smallest edits between two texts, and edits of several fixes as those of one."""

from __future__ import annotations

import ast
import difflib
import re
import textwrap
from collections.abc import Sequence

from ddelint.nouns.diagnostics import Edit, Span
from ddelint.sources.source import SourceFile


def without_repeats(edits: Sequence[Edit]) -> list[Edit]:
    """The edits of several fixes, each import only once: those that go to one place are put together."""
    places: dict[Span, list[Edit]] = {}
    for edit in dict.fromkeys(edits):
        places.setdefault(edit.span, []).append(edit)
    return [edit for group in places.values() for edit in (_united(group) if len(group) > 1 else group)]


def _united(edits: Sequence[Edit]) -> list[Edit]:
    """Insertions at one place, those of import lines and of further names for a from-import each as one."""
    names = [edit for edit in edits if _FURTHER_NAMES.fullmatch(edit.content)]
    lines = [edit for edit in edits if _are_imports(edit.content)]
    others = [edit for edit in edits if edit not in names and edit not in lines]
    if names:
        parts = dict.fromkeys(part for edit in names for part in _FURTHER_NAME.findall(edit.content))
        names = [Edit(names[0].span, "".join(parts))]
    return [*names, *_united_lines(lines), *others]


_FURTHER_NAME = re.compile(r",\s*\w+")
_FURTHER_NAMES = re.compile(r"(,\s*\w+)+")


def _are_imports(text: str) -> bool:
    try:
        statements = ast.parse(textwrap.dedent(text)).body
    except SyntaxError:
        return False
    return bool(statements) and all(isinstance(s, (ast.Import, ast.ImportFrom)) for s in statements)


def imported_names(text: str) -> set[str]:
    """The names that inserted text brings where it is nothing but imports, or further names for a from-import."""
    if _FURTHER_NAMES.fullmatch(text):
        return set(re.findall(r"\w+", text))
    if not _are_imports(text):
        return set()
    aliases = (alias for s in ast.parse(textwrap.dedent(text)).body for alias in getattr(s, "names", ()))
    return {(alias.asname or alias.name).partition(".")[0] for alias in aliases}


def _united_lines(edits: Sequence[Edit]) -> list[Edit]:
    if len(edits) < 2:
        return list(edits)
    plain: dict[str, None] = {}
    names: dict[str, set[str]] = {}
    for statement in (s for edit in edits for s in ast.parse(textwrap.dedent(edit.content)).body):
        if isinstance(statement, ast.ImportFrom):
            names.setdefault(statement.module or "", set()).update(map(ast.unparse, statement.names))
        else:
            plain[ast.unparse(statement)] = None
    first = edits[0].content
    before, after = first[: len(first) - len(first.lstrip())], first[len(first.rstrip()) :]
    ending = next((found for found in ("\r\n", "\n", "\r") if found in first), "\n")
    lines = [*plain, *(f"from {module} import {', '.join(sorted(words))}" for module, words in names.items())]
    between = ending + before[len(before.rstrip(" \t")) :]
    return [Edit(edits[0].span, before + between.join(lines) + after)]


def minimal_edits(before: SourceFile, after: str) -> tuple[Edit, ...]:
    """Small edits that turn `before` into `after`: one for each run of changed lines, cut down to whole words."""
    old, new = before.lines, SourceFile(before.filename, after).lines
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    matcher = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    edits = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        removed = "".join(old[head + i1 : head + i2])
        added = "".join(new[head + j1 : head + j2])
        front, back = _shared(removed, added) if tag == "replace" else (0, 0)
        start = before.offset(head + i1 + 1, 1) + front
        end = start + len(removed) - front - back
        span = Span(before.filename, *before.position(start), *before.position(end))
        edits.append(Edit(span, added[front : len(added) - back]))
    return tuple(edits)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many of the first members, or characters, are the same."""
    return next((index for index, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other)))


_WORD = re.compile(r"\w")


def _shared(old: str, new: str) -> tuple[int, int]:
    """How many characters two texts share in front and behind; no word, line end or pair of brackets is cut."""
    front = _alike(old, new)
    while front and _cuts(old, front) | _cuts(new, front):
        front -= 1
    back = _alike(old[front:][::-1], new[front:][::-1])
    while back and _cuts(old, len(old) - back) | _cuts(new, len(new) - back):
        back -= 1
    return front, next((b for b in range(back, -1, -1) if _closed(old, front, b) and _closed(new, front, b)), back)


def _closed(text: str, front: int, back: int) -> bool:
    """Whether what is left of `text` closes as many brackets as it opens."""
    middle = text[front : len(text) - back]
    return not _cuts(text, len(text) - back) and all(middle.count(a) == middle.count(b) for a, b in ("()", "[]", "{}"))


def _cuts(text: str, at: int) -> bool:
    """Whether position `at` lies inside a word or a line end of `text`."""
    if not 0 < at < len(text):
        return False
    pair = text[at - 1 : at + 1]
    return pair == "\r\n" or (bool(_WORD.match(pair[0])) and bool(_WORD.match(pair[1])))
