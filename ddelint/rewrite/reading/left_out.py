"""Tests for what callers, or whoever makes an object, may leave out: `bias is not None`, `"weights" in batch`.

Where one side of another test is compiled for all inputs, such a test behind it says what that side may come to do that
nobody has run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import terminal_name
from ddelint.rewrite.reading.changes_of_calls import functions_run_anywhere
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import enclosing_block
from ddelint.rewrite.reading.regions import leaves_at_its_end
from ddelint.sources.source import SourceFile

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def optional_tests(source: SourceFile, statement: ast.If, side: bool) -> Iterator[tuple[SourceFile, ast.expr]]:
    """Those in the arms of a branch, and behind it where the arm that is not compiled leaves: what is compiled goes on
    there; with those in what is called there, in other files of the project, too. Each with its file. `side`: the one
    that is compiled."""
    region: list[ast.stmt] = [*statement.body, *statement.orelse]
    function = next((n for n in source.ancestors(statement) if isinstance(n, _FUNCTIONS)), None)
    if leaves_at_its_end(statement.orelse if side else statement.body):
        for inner in (statement, *source.ancestors(statement)):
            if inner is function:
                break
            if isinstance(inner, ast.stmt):
                block = enclosing_block(source, inner)
                region += block[block.index(inner) + 1 :]
    parts: list[tuple[SourceFile, ast.AST]] = [(source, statement) for statement in region]
    for file, part in (*parts, *functions_run_anywhere(source, function, region)):
        yield from ((file, test) for test in _tests_in(part))


def _tests_in(part: ast.AST) -> Iterator[ast.expr]:
    tests = [node.test for node in ast.walk(part) if isinstance(node, (ast.If, ast.IfExp, ast.While))]
    asked = {inner for test in tests for inner in ast.walk(test)}
    for node in ast.walk(part):
        match node:
            case ast.If(test=test, body=body) if not all(isinstance(part, ast.Raise) for part in body):
                yield from _optional(test)
            case ast.IfExp(test=test) | ast.While(test=test):
                yield from _optional(test)
            case ast.BoolOp() if node not in asked:
                yield from _optional(node)
            case ast.comprehension(ifs=ifs):
                for test in ifs:
                    yield from _optional(test)


def _optional(test: ast.expr) -> Iterator[ast.expr]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _optional(operand)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _optional(value)
        case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            yield test
        case ast.Compare(left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()]):
            yield test
        case ast.Call(func=function) if terminal_name(function) in knowledge().asks_what_is_there:
            yield test
        case ast.Attribute(value=ast.Name(id="self")) | ast.Name():
            yield test
