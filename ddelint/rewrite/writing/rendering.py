"""A rewrite becomes edits of text, once for all moves.

What every rewrite must keep is seen to here: comments, an `elif` that stays one, lines of their own, words that would
run together, f-strings whose places are unknown, and that the result is Python. A rewrite that cannot keep it is not
offered.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import libcst as cst

from ddelint.nouns.diagnostics import Edit, Span
from ddelint.rewrite.candidate import Candidate, Import
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.writing.brackets import Enclosing, binding, bracketed, place_of, runs_over
from ddelint.rewrite.writing.edits import minimal_edits
from ddelint.rewrite.writing.fitting import fitting
from ddelint.rewrite.writing.imports import torch_name
from ddelint.rewrite.writing.layout import laid_out
from ddelint.rewrite.writing.pieces import UNKEPT, comments, has_false_place, is_elif, is_enclosed, rows
from ddelint.rewrite.writing.rewrites import Changes, Rewrite, Run
from ddelint.rewrite.writing.style import longest_line
from ddelint.rewrite.writing.writer import writer
from ddelint.sources.source import SourceFile

_FOR_A_TOOL = re.compile(r"#\s*(?:[\w-]+:|no\w+\b)")
"""How a comment begins that means its line to a tool: `# type: ignore`, `# pragma: no cover`, `# noqa`, `# nosec`."""


class _Lost(Exception):
    """Something that the rewrite would not keep."""


def rendered(source: SourceFile, move: str, rewrite: Rewrite) -> Candidate | None:
    """The candidate with the edits of a rewrite, or None where it loses something or is not Python."""
    try:
        edits = [*_file_edits(source, rewrite.changes)]
        for other, changes in rewrite.elsewhere.items():
            edits += _file_edits(other, changes)
    except (_Lost, SyntaxError, ValueError, cst.ParserSyntaxError, cst.CSTValidationError):
        return None
    if not edits:
        return None
    return Candidate(
        move,
        rewrite.claim,
        rewrite.message,
        tuple(edits),
        tuple(_imports(source, rewrite.changes, [edit for edit in edits if edit.span.filename == source.filename])),
        rewrite.notes,
        rewrite.proof,
        tuple(source.span(node) for node in rewrite.decisions),
        preferred=rewrite.preferred,
        unlikely=rewrite.unlikely,
        last_resort=rewrite.last_resort,
        spreads=rewrite.spreads,
        side=rewrite.side,
        doubt=rewrite.doubt,
    )


def unrendered(rewrite: Rewrite) -> Hashable:
    """What a rewrite changes, as built: of several that are alike, one is rendered, which costs more than building."""
    module = cst.Module([])

    def built(new: Any) -> Hashable:
        if isinstance(new, (list, tuple)):
            return tuple(map(built, new))
        return module.code_for_node(new) if isinstance(new, cst.CSTNode) else new

    everywhere = [rewrite.changes, *rewrite.elsewhere.values()]
    return tuple((old, built(new)) for changes in everywhere for old, new in changes.items())


def _file_edits(source: SourceFile, changes: Changes) -> list[Edit]:
    """The edits of one file, none where they change nothing. Raises SyntaxError where the result is not Python."""
    fits = fitting(source, changes)
    texts = [(old, span, text) for old, new in fits.changes.items() for span, text in _texts(source, old, new)]
    said = "".join(text for _, _, text in texts)
    if UNKEPT in said:
        raise _Lost("how a statement stands")
    texts.sort(key=lambda change: _order(source, change[0]))
    found = [edit for old, span, text in texts for edit in _edits(source, old, span, text, said)]
    blanks = [Edit(span, text) for span, text in fits.blanks.items()]
    starts = {_start(source.span(old)) for old in fits.changes if isinstance(old, ast.expr)}
    in_front = [edit for edit in blanks if _start(edit.span) in starts]
    behind = [edit for edit in blanks if _start(edit.span) not in starts]
    edits = sorted((*in_front, *found, *behind), key=lambda edit: edit.span)
    text = source.apply(edits)
    ast.parse(text)
    return edits if text != source.text else []


def _start(span: Span) -> tuple[int, int]:
    return span.row, span.column


def _order(source: SourceFile, node: ast.AST) -> tuple[int, Span]:
    """Which of two lines goes first that are put into one place: what is behind an inner statement, then an outer."""
    first = node.statements[0] if isinstance(node, Run) else node
    return -len(list(source.ancestors(first))), source.span(first)


def _imports(source: SourceFile, changes: Changes, edits: Sequence[Edit]) -> Iterator[Import]:
    """What the new text says that the file has no name for; an import whose name changes brings its own."""
    renamed = {new.value for old, new in changes.items() if isinstance(old, ast.alias) and isinstance(new, cst.Name)}
    said, torch = " ".join(edit.content for edit in edits), writer(source).torch
    if re.search(r"(?<![\w.])torch\b", said) and torch_name(source) is None:
        yield Import("torch")
    for name, needed in knowledge().imports.items():
        name = f"{torch}{name.removeprefix('torch')}" if name.startswith("torch.") else name
        if name not in renamed and re.search(rf"(?<![\w.]){re.escape(name)}\b", said):
            yield Import(*needed)


# ---------------------------------------------------------------------- the text of a change


def _texts(source: SourceFile, old: ast.AST, new: Any) -> Iterator[tuple[Span, str]]:
    """The places that change, and what they get."""
    if not isinstance(old, (ast.stmt, Run)):
        yield _of_expression(source, old, new)
        return
    lines = list(new) if isinstance(new, (list, tuple)) else [new]
    if isinstance(old, Run):
        yield _of_statements(source, old.statements, lines)
        return
    kept = next((number for number, line in enumerate(lines) if line is old), None)
    if kept is None or (kept == 0 and len(lines) == 1):
        yield _of_statements(source, [old], lines)
        return
    if is_elif(source, old):
        raise _Lost("an elif, before and behind which nothing can stand")
    first, last = rows(source, old)
    ending = source.lines[last - 1]
    apart = _stands_apart(source, old, lines)
    if lines[:kept]:
        while apart and first > 1 and source.lines[first - 2].startswith("#"):
            first -= 1  # its comment stays with it
        text = _code(source, lines[:kept], old)
        yield Span(source.filename, first, 1, first, 1), text + 2 * source.newline if apart else text
    if lines[kept + 1 :]:
        text = _code(source, lines[kept + 1 :], old)
        if apart:
            follows = last < len(source.lines) and source.lines[last].strip()
            text = f"{2 * source.newline}{text}{2 * source.newline if follows else ''}"
        if ending.endswith(("\n", "\r")):
            yield Span(source.filename, last + 1, 1, last + 1, 1), text
        else:
            end = len(ending) + 1
            yield Span(source.filename, last, end, last, end), source.newline + text.rstrip("\r\n")


def _stands_apart(source: SourceFile, old: ast.stmt, lines: Sequence[Any]) -> bool:
    """Whether two blank lines belong between a statement and its new neighbours: definitions of the module."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, cst.FunctionDef, cst.ClassDef)
    return isinstance(source.parents.get(old), ast.Module) and any(isinstance(s, definitions) for s in (old, *lines))


def _of_expression(source: SourceFile, old: ast.AST, new: Any) -> tuple[Span, str]:
    if has_false_place(source, old):
        raise _Lost("inside an f-string, in a place that Python does not know")
    loose = isinstance(old, ast.expr) and binding(new) < place_of(source, old)
    if loose or (runs_over(new) and not is_enclosed(source, old)):
        new = bracketed(new)
    span = source.span(old)
    statement = cst.SimpleStatementLine([cst.Expr(new)])
    text = _printed(source, [statement], source.indentation(old)).strip()
    glued = re.search(r"\w$", source.lines[span.row - 1][: span.column - 1]) and re.match(r"\w", text)
    return span, f" {text}" if glued else text


def _of_statements(source: SourceFile, old: Sequence[ast.stmt], lines: Sequence[Any]) -> tuple[Span, str]:
    first, last = rows(source, old[0])[0], rows(source, old[-1])[1]
    span = Span(source.filename, first, 1, last, len(source.lines[last - 1]) + 1)
    return span, _code(source, lines, old[0])


def _code(source: SourceFile, lines: Sequence[Any], old: ast.stmt) -> str:
    """The text of statements in the place of `old`, its lines no longer than the file's may be."""
    write, indentation = writer(source), source.indentation(old)
    longest = longest_line(source.filename)
    held: list[Any] = [statement.visit(Enclosing()) for statement in write.block(lines)]
    body = [laid_out(each, write.unit, indentation, longest, source.text) for each in held]
    if is_elif(source, old) and body:
        whole = len(body) == 1 and isinstance(body[0], cst.If)
        return _continued(source, body[0] if whole else cst.Else(cst.IndentedBlock(body)), indentation)
    return _printed(source, body, indentation)


def _printed(source: SourceFile, body: Sequence[Any], indentation: str) -> str:
    """The text of statements at an indentation."""
    module = cst.Module([], default_indent=writer(source).unit, default_newline=source.newline)
    if not body:
        return ""
    if not indentation:
        return "".join(module.code_for_node(statement) for statement in body)
    text = module.code_for_node(cst.If(cst.Name("_"), cst.IndentedBlock(body, indent=indentation)))
    return text[len(f"if _:{source.newline}") :]


def _continued(source: SourceFile, other: cst.If | cst.Else, indentation: str) -> str:
    """The text of what follows an `if` at an indentation: `elif` or `else`."""
    outer = cst.If(cst.Name("_"), cst.IndentedBlock([cst.parse_statement("pass")]), other)
    return "".join(_printed(source, [outer], indentation).splitlines(keepends=True)[2:])


# ---------------------------------------------------------------------- the smallest edits


def _edits(source: SourceFile, old: ast.AST, span: Span, text: str, said: str) -> tuple[Edit, ...]:
    """The smallest edits, the comments of what goes kept: behind the first or last line where one stood there, else
    above."""
    if span.is_empty:
        return (Edit(span, text),)
    before = source.segment(span)
    lost = [comment for comment in comments(before) if comment not in said]
    if isinstance(old, (ast.stmt, Run)):
        text = _with_comments(source, old.statements[-1] if isinstance(old, Run) else old, text, lost)
        text = text if before.endswith(("\n", "\r")) else text.rstrip("\r\n")
    elif lost:
        raise _Lost("a comment")
    inner = minimal_edits(SourceFile(source.filename, before), text)
    if isinstance(old, (ast.expr, ast.keyword, ast.alias)) and not all(edit.span.is_empty for edit in inner):
        return (Edit(span, text),)  # a node that is replaced goes as a whole; words put around it are insertions
    return tuple(Edit(_moved(edit.span, span), edit.content) for edit in inner)


def _with_comments(source: SourceFile, old: ast.stmt, text: str, lost: list[str]) -> str:
    whole = source.span(old)
    tail = source.lines[whole.end_row - 1][whole.end_column - 1 :].rstrip("\r\n")
    if lost and text and tail.strip() == lost[-1] and "#" not in text.rstrip().rpartition("\n")[2]:
        text = f"{text.rstrip()}{tail}{source.newline}"
        lost = lost[:-1]
    if lost and comments(source.lines[whole.row - 1])[-1:] == lost[:1]:
        # what is said of a loop is about all that takes its place
        is_alone = len(lost) == 1 and not isinstance(old, (ast.For, ast.While))
        with_first = _behind_first_line(text, lost[0], longest_line(source.filename), is_alone=is_alone)
        text, lost = (text, lost) if with_first is None else (with_first, lost[1:])
    return "".join(f"{source.indentation(old)}{comment}{source.newline}" for comment in lost) + text


def _behind_first_line(text: str, comment: str, longest: int, *, is_alone: bool) -> str | None:
    """The text with a comment behind its first line; None where one stands there, and for prose that is too long there,
    or goes on in further comments."""
    first, *rest = text.splitlines(keepends=True) or [""]
    stripped = first.rstrip()
    line = f"{stripped}  {comment}"
    if not stripped or not (_FOR_A_TOOL.match(comment) or (is_alone and len(line) <= longest)):
        return None
    commented = "".join([line, first[len(stripped) :], *rest])
    return commented if comments(commented) == [comment, *comments(text)] else None


def _moved(inner: Span, outer: Span) -> Span:
    """A span within the text of another one, in the file."""
    shift = outer.column - 1
    return Span(
        outer.filename,
        inner.row + outer.row - 1,
        inner.column + (shift if inner.row == 1 else 0),
        inner.end_row + outer.row - 1,
        inner.end_column + (shift if inner.end_row == 1 else 0),
    )
