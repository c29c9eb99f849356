"""What the static pass could not read to its end is a finding: a report without findings means that there are none."""

from __future__ import annotations

import ast

from ddelint.knowledge.catalog import rule
from ddelint.nouns.diagnostics import Diagnostic
from ddelint.nouns.spans import Span
from ddelint.sources.parsing import TOO_DEEP, parse
from ddelint.sources.source import SourceFile
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.program.outline import functions_in

CODE = "DDE004"


def out_of_steps(source: SourceFile, node: FunctionNode | ast.Lambda, row: int, steps: int) -> Diagnostic:
    """A function took all its steps and was looked at up to `row`; no `steps`: the file's were used up before it."""
    name = _name(node)
    if not steps:
        return _finding(
            name, f"{name} was not looked at, the functions above it took all the steps of a file", source, node
        )
    return _finding(
        name,
        f"gave up reading {name} after {steps:,} steps, what stands behind row {row} was not looked at",
        source,
        node,
    )


def nested_too_deep(source: SourceFile, node: FunctionNode | ast.Lambda, row: int) -> Diagnostic:
    """A function nests too deep in `row`."""
    name = _name(node)
    text = f"gave up reading {name} in row {row}, which nests too deep, what stands behind it was not looked at"
    return _finding(name, text, source, node)


def not_parsed(source: SourceFile, node: FunctionNode) -> Diagnostic:
    """A function nests too deep for Python's parser."""
    name = _name(node)
    return _finding(name, f"{name} nests too deep to be parsed, nothing in it was looked at", source, node)


def whole_file(source: SourceFile) -> Diagnostic:
    """A file nests too deep for Python's parser, or for anything that is to go over its tree."""
    span = _deep_place(source)
    return _diagnostic("", "the file nests too deep to be read, nothing in it was looked at", span)


def _deep_place(source: SourceFile) -> Span:
    """The header of the first function that does not parse by itself; the file's first character where all do."""
    for body in functions_in(source.text):
        try:
            parse(f"if 1:\n{source.text[body.start : body.end]}", source.filename)
        except TOO_DEEP:
            column = source.text.index("def", body.start) - body.start + 1
            return Span(source.filename, body.row, column, body.row, column + len(f"def {body.name}"))
        except (SyntaxError, ValueError):
            continue
    return Span(source.filename, 1, 1, 1, 2)


def _name(node: FunctionNode | ast.Lambda) -> str:
    return "the lambda" if isinstance(node, ast.Lambda) else f"`{node.name}`"


def _finding(expression: str, text: str, source: SourceFile, node: FunctionNode | ast.Lambda) -> Diagnostic:
    return _diagnostic(expression, text, _header(source, node))


def _header(source: SourceFile, node: FunctionNode | ast.Lambda) -> Span:
    """`def name`, or `lambda`: what a comment on the first line silences."""
    row, column = node.lineno, source.column(node.lineno, node.col_offset)
    line = source.lines[row - 1]
    word = "lambda" if isinstance(node, ast.Lambda) else node.name
    end = line.find(word, column - 1)
    return Span(source.filename, row, column, row, end + len(word) + 1 if end >= 0 else column + 1)


def _diagnostic(expression: str, text: str, span: Span) -> Diagnostic:
    found = rule(CODE)
    return Diagnostic(
        CODE, found.message.format(expression=text), span, found.severity, ("static",), expression.strip("`") or text
    )
