"""Comments that silence findings: `# ddelint: ignore[DDE101]`, `# ddelint: skip-file`, `# noqa: DDE101`.

Comments are found by Python's tokenizer, so the same words inside a string mean nothing.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ddelint.knowledge.catalog import rule, rules
from ddelint.knowledge.extensions import prefixes, remembered
from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Fix, Span
from ddelint.sources.source import SourceFile

UNUSED = "DDE003"
_IGNORE = re.compile(r"#\s*ddelint:\s*ignore(?![\w-])(?:\s*\[(?P<codes>[^\]#]*)\]?)?", re.IGNORECASE)
"""Brackets that nobody closes are brackets: what was to be one rule must not silence all of them."""
_SKIP = re.compile(r"#\s*ddelint:\s*skip-file\b", re.IGNORECASE)
_NOQA = re.compile(r"#\s*noqa:\s*(?P<codes>[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*)", re.IGNORECASE)


@remembered
def _code() -> re.Pattern[str]:
    """A code, or what codes begin with."""
    return re.compile(rf"\b(?:{'|'.join(prefixes())})\d*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment. `span` covers the words themselves."""

    span: Span
    codes: tuple[str, ...] | None
    """Codes or prefixes of codes; None: all of them. Empty: brackets without any, which silence nothing."""
    whole_file: bool
    noqa: bool = False

    def covers(self, diagnostic: Diagnostic) -> bool:
        """Whether the comment silences the finding: it stands on one of the finding's lines and names its code."""
        if diagnostic.code == UNUSED or diagnostic.span.filename != self.span.filename:
            return False
        if self.whole_file:
            return True
        if not diagnostic.span.row <= self.span.row <= diagnostic.span.end_row:
            return False
        return self.codes is None or any(known.startswith(code) for code in self.codes for known in diagnostic.codes)


@lru_cache(maxsize=64)
def suppressions(source: SourceFile) -> tuple[Suppression, ...]:
    """The file's suppression comments, in its order. A file that cannot be tokenized gives those before the error."""
    if "ddelint:" not in source.text and not any(prefix in source.text for prefix in prefixes()):
        return ()
    found: list[Suppression] = []
    for token in _comments(source):
        row, column = token.start[0], token.start[1] + 1
        for pattern in (_SKIP, _IGNORE, _NOQA):
            for match in pattern.finditer(token.string):
                listed = match.groupdict().get("codes")
                codes = None if listed is None else tuple(dict.fromkeys(_codes(listed, pattern is _NOQA)))
                if pattern is _NOQA and not codes:
                    continue
                span = Span(source.filename, row, column + match.start(), row, column + match.end())
                found.append(Suppression(span, codes, pattern is _SKIP, pattern is _NOQA))
    return tuple(found)


def _words(listed: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", listed) if word]


def _codes(listed: str, noqa: bool) -> Iterator[str]:
    """The codes, and prefixes of codes, in what a comment lists."""
    if noqa:  # other tools' codes are among them
        yield from (code.upper() for code in _code().findall(listed))
    else:
        yield from filter(None, map(_code_of, _words(listed)))


def _code_of(word: str) -> str:
    """The code, or prefix of codes, that a word in brackets stands for; a rule's name is one, too. Empty: none."""
    if _code().fullmatch(word):
        return word.upper()
    return next((found.code for found in rules().values() if found.name == word.lower()), "")


def apply(
    source: SourceFile,
    diagnostics: Sequence[Diagnostic],
    *,
    traced: bool = False,
    traceable: Callable[[], bool] = lambda: False,
) -> list[Diagnostic]:
    """The diagnostics that no comment silences, and DDE003 for each comment that silences none.

    A comment about rules that only the tracer finds is called unused only where the run `traced` the file. So is one
    about rules that the tracer finds, too, where something is there to be traced (`traceable`).
    """
    comments = suppressions(source)
    if not comments:
        return list(diagnostics)
    kept: list[Diagnostic] = []
    used: dict[Suppression, set[str]] = {comment: set() for comment in comments}
    for diagnostic in diagnostics:
        covering = [comment for comment in comments if comment.covers(diagnostic)]
        for comment in covering:
            for known in diagnostic.codes:
                used[comment].update(code for code in comment.codes or () if known.startswith(code))
                used[comment].add(known)
        if not covering:
            kept.append(diagnostic)
    skipped = any(comment.whole_file for comment in comments)
    for comment in comments:
        if skipped and not comment.whole_file:
            continue
        if comment.codes is None:
            if not used[comment] and (traced or not traceable()):
                kept.append(_unused(source, comment, ()))
        elif not comment.codes:
            kept.append(_without_rules(source, comment))
        else:
            silent = (code for code in comment.codes if code not in used[comment])
            unused = tuple(code for code in silent if _would_be_found(code, traced, traceable))
            if unused:
                kept.append(_unused(source, comment, unused))
    return sorted(kept, key=lambda d: (d.span.filename, d.span.row, d.span.column, d.code))


def _would_be_found(code: str, traced: bool, traceable: Callable[[], bool]) -> bool:
    """Whether this run would have found what the code (or prefix) names."""
    if code == UNUSED:
        return False
    named = [found for found in rules().values() if found.code.startswith(code)]
    if traced or not named or all(found.found_by == ("static",) for found in named):
        return True
    return any("static" in found.found_by for found in named) and not traceable()


def _comments(source: SourceFile) -> Iterator[tokenize.TokenInfo]:
    reader = io.StringIO(source.text, newline="").readline
    try:
        for token in tokenize.generate_tokens(reader):
            if token.type == tokenize.COMMENT:
                yield token
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def _without_rules(source: SourceFile, comment: Suppression) -> Diagnostic:
    """DDE003 for brackets that name no rule: somebody meant one, so that the comment is theirs to fix."""
    found = rule(UNUSED)
    text = source.segment(comment.span)
    message = found.message.format(expression=f"`{text}`") + ": it names no rule"
    return Diagnostic(UNUSED, message, comment.span, found.severity, ("static",), text)


def _unused(source: SourceFile, comment: Suppression, unused: tuple[str, ...]) -> Diagnostic:
    found = rule(UNUSED)
    remaining = tuple(word for word in _listed(source, comment) if (_code_of(word) or word.upper()) not in unused)
    text = source.segment(comment.span)
    expression = text if not remaining or not unused else ", ".join(unused)
    edit = _removal(source, comment, remaining if unused else ())
    fix = Fix(
        Applicability.SAFE, "remove the suppression that nothing needs", (edit,), "remove_suppression", Claim.EQUIVALENT
    )
    message = found.message.format(expression=f"`{expression}`")
    unknown = [code for code in unused if not any(known.startswith(code) for known in rules())]
    if unknown:
        message += f": there is no rule {', '.join(f'`{code}`' for code in unknown)}"
    return Diagnostic(
        UNUSED,
        message,
        comment.span,
        found.severity,
        ("static",),
        expression,
        fix=fix,
    )


def _listed(source: SourceFile, comment: Suppression) -> list[str]:
    """Everything the comment lists, other tools' codes included."""
    text = source.segment(comment.span)
    match = _NOQA.match(text) if comment.noqa else _IGNORE.match(text)
    listed = match.groupdict().get("codes") if match is not None else None
    return _words(listed or "")


def _removal(source: SourceFile, comment: Suppression, remaining: tuple[str, ...]) -> Edit:
    """The edit that takes the comment's unused part away, with the white space before it."""
    span = comment.span
    if remaining:
        listed = ", ".join(remaining)
        content = f"# noqa: {listed}" if comment.noqa else f"# ddelint: ignore[{listed}]"
        return Edit(span, content)
    line = source.lines[span.row - 1]
    before, after = line[: span.column - 1], line[span.end_column - 1 :]
    if after.strip():
        # more is said behind it: `# ddelint: ignore[DDE101] because …`, another tool's comment
        follows = after.lstrip()
        if follows.startswith("#"):
            end = span.end_column + len(after) - len(follows)
            return Edit(Span(span.filename, span.row, span.column, span.row, end), "")
        return Edit(span, "#")
    if not before.strip():
        return Edit(Span(span.filename, span.row, 1, span.row + 1, 1), "")
    start = len(before.rstrip()) + 1
    return Edit(Span(span.filename, span.row, start, span.row, span.end_column), "")
