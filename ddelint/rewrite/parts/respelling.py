"""Statements said in words that more moves know: a `match` on a number as `if`s, `:=` on a line of its own, what asks a
float about NaN as what asks the tensor, a test for None as part of the test that it repeats, reductions
behind an emptiness test that take nothing, too, rows behind a test of a number that are there for each, lists that
grow by `+=`.

The moves read the new text; what they make of it is offered as one change of the text that there is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context
from ddelint.rewrite.parts.cutting import cut_alike
from ddelint.rewrite.parts.growing import appended_one_by_one
from ddelint.rewrite.parts.in_range import rows_in_range
from ddelint.rewrite.parts.none_for_nothing import asked_once
from ddelint.rewrite.parts.nothing import of_nothing_too
from ddelint.rewrite.parts.one_row import rows_for_nothing
from ddelint.rewrite.reading.around import behind_known, is_unconditional
from ddelint.rewrite.reading.bindings import moved_row
from ddelint.rewrite.reading.kinds import Kind, Kinds, is_float_question
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import asks_compiling, enclosing_block, is_pure, names_read, position
from ddelint.rewrite.reading.polarity import general_path, general_side
from ddelint.rewrite.writing.edits import minimal_edits
from ddelint.rewrite.writing.rewrites import Rewrite, Statements, Writer
from ddelint.sources.sites import Block, Role, site_of
from ddelint.sources.source import SourceFile

_MOVE = "respelled"
_UNRECORDED = "which case an input takes is not recorded"


@dataclass(frozen=True, slots=True)
class Respelling:
    """A site in the new text; `decided` says whether the tests there stand in the text that there is, too."""

    before: Context
    context: Context
    decided: bool
    likelier: bool = False
    """Whether what moves make of the words that there are will hardly do."""
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """New names by the old ones that they stand for while compiling."""

    def said(self, candidate: Candidate) -> Candidate | None:
        """What a move offers for the new text, as a change of the text that there is; None where it changes others."""
        source, new = self.before.site.source, self.context.site.source
        if any(edit.span.filename != source.filename for edit in candidate.edits):
            return None
        text = new.apply(candidate.edits)
        if self.stand_ins:
            from ddelint.rewrite.writing.compiling import settled  # loads libcst

            text = settled(text, self.stand_ins)
        edits = minimal_edits(source, text)
        decision = self.before.site.decision
        if self.decided and decision is not None:
            return replace(candidate, edits=edits, decisions=(source.span(decision),))
        # one case is seldom the general one, and what chooses between all of them answers the others, too
        one_sided = candidate.unlikely or candidate.claim is Claim.GENERAL_PATH
        doubt = candidate.doubt or _UNRECORDED
        return replace(candidate, edits=edits, decisions=(), doubt=doubt, unlikely=one_sided)


def respelled(context: Context) -> Iterator[Respelling]:
    """The site's statement in other words, where there are any."""
    statement = context.site.statement
    for rewrite, asked in (*_cases_as_tests(context, statement), *_names_before(context, statement)):
        new = _context(context, rewrite, asked)
        if new is not None:
            yield Respelling(context, new, not isinstance(statement, ast.Match))
    fused = asked_once(context)
    if fused is not None and context.site.decision is not None:
        new = _context(context, fused.rewrite, ast.unparse(context.site.decision), moved=fused.moved)
        if new is not None:
            yield Respelling(context, new, decided=True, likelier=True)
    for rewrite, asked, likelier, stand_ins in (
        *((rewrite, asked, True, {}) for rewrite, asked in _sizes_for_lengths(context)),
        *((rewrite, asked, True, {}) for rewrite, asked in _asked_of_tensors(context)),
        *((rewrite, asked, False, {}) for rewrite, asked in appended_one_by_one(context)),
        *((rewrite, asked, False, {}) for rewrite, asked in _known_first(context)),
        *_taking_nothing(context),
        *((rewrite, asked, True, {}) for rewrite, asked in _cut_alike(context)),
        *((rewrite, asked, likelier, {}) for rewrite, asked, likelier in _rows_for_each(context)),
    ):
        new = _context(context, rewrite, asked, stand_ins)
        if new is not None:
            yield Respelling(context, new, decided=True, likelier=likelier, stand_ins=stand_ins)


def _context(
    context: Context,
    rewrite: Rewrite,
    asked: str,
    stand_ins: Mapping[str, str] = MappingProxyType({}),
    moved: Callable[[int], int] | None = None,
) -> Context | None:
    """The context in the new text; None where the rewrite cannot be written. `asked`: what asks there.

    `stand_ins`: names whose new ones are of the same types there. `moved`: where the rows of the text there is are in
    the new one, where not all of those from the statement on have moved by the same.
    """
    from ddelint.rewrite.writing.rendering import rendered  # loads libcst

    source, first = context.site.source, context.site.statement.lineno
    asked = ast.unparse(ast.parse(asked, mode="eval").body)  # which brackets there are may differ
    candidate = rendered(source, _MOVE, rewrite)
    if candidate is None:
        return None
    new = SourceFile(source.filename, source.apply(candidate.edits), source.encoding)
    further = len(new.lines) - len(source.lines)
    if moved is None:
        first_row, row_of = first, lambda row: row + further * (row >= first)
    else:
        first_row, row_of = moved(first), moved
    found = [
        node
        for node in ast.walk(new.tree)
        if isinstance(node, ast.expr)
        and first_row <= node.lineno
        and ast.unparse(node) == asked
        and not _is_target(node)
    ]
    if not found:
        return None
    sites = [site_of(new, node) for node in sorted(found, key=position)]
    # what a test asks may be read in its arms, too, which stand before it in `a if test else b`
    site = next((site for site in sites if site.role is context.site.role), sites[0])
    types = {moved_row(key, row_of): fact for key, fact in context.types.items()}
    for old, name in stand_ins.items():
        types |= {re.sub(rf"\b{old}\b", name, key): fact for key, fact in types.items()}
    diagnostic = replace(context.diagnostic, span=site.span, expression=asked)
    return replace(context, site=site, diagnostic=diagnostic, types=types, asked=())


# ---------------------------------------------------------------------- cases


def _cases_as_tests(context: Context, statement: ast.stmt) -> Iterator[tuple[Rewrite, str]]:
    """`match n: case 0: … case 1 | 2: … case _: …` → `if n == 0: … elif n == 1 or n == 2: … else: …`."""
    if not isinstance(statement, ast.Match) or not is_pure(statement.subject):
        return
    write, subject = context.write, statement.subject
    tests: list[ast.expr | None] = []
    for case in statement.cases:
        test = _test_of(subject, case.pattern)
        if test is None or (tests and tests[-1] is None):
            return
        known = isinstance(test, ast.Constant)
        if case.guard is not None and _capture(case):
            return
        if case.guard is not None:
            test = case.guard if known else ast.BoolOp(ast.And(), [test, case.guard])
        tests.append(None if known and case.guard is None else test)
    if tests[0] is None:
        return
    parts: dict[str, Any] = {}
    text = ""
    for number, (case, test) in enumerate(zip(statement.cases, tests)):
        parts[f"body{number}"] = [*_captured(write, subject, case), *case.body]
        if test is None:
            text += f"else:\n    {{body{number}}}\n"
        else:
            parts[f"test{number}"] = write.expr(ast.unparse(test).replace("{", "{{").replace("}", "}}"))
            text += f"{'elif' if number else 'if'} {{test{number}}}:\n    {{body{number}}}\n"
    first = ast.unparse(tests[0])
    yield Rewrite("", {statement: write.lines(text.strip(), **parts)}), first


def _capture(case: ast.match_case) -> str:
    """The name that a case gives to whatever comes; empty where it gives none."""
    match case.pattern:
        case ast.MatchAs(pattern=None, name=str() as name):
            return name
    return ""


def _captured(write: Writer, subject: ast.expr, case: ast.match_case) -> Statements:
    return write.assigned(_capture(case), subject) if _capture(case) else []


def _test_of(subject: ast.expr, pattern: ast.pattern) -> ast.expr | None:
    """The test that a pattern stands for: true where it fits anything; None where it is more than a test."""
    match pattern:
        case ast.MatchAs(pattern=None):
            return ast.Constant(True)
        case ast.MatchValue(value=value):
            return ast.Compare(subject, [ast.Eq()], [value])
        case ast.MatchSingleton(value=bool() as value):
            return subject if value else ast.UnaryOp(ast.Not(), subject)
        case ast.MatchOr(patterns=patterns):
            tests = [_test_of(subject, inner) for inner in patterns]
            known = [test for test in tests if test is not None and not isinstance(test, ast.Constant)]
            return ast.BoolOp(ast.Or(), known) if len(known) == len(tests) else None
    return None


# ---------------------------------------------------------------------- lengths


def _sizes_for_lengths(context: Context) -> Iterator[tuple[Rewrite, str]]:
    """`if len(x):`, `if not len(x):` → `if x.shape[0] > 0:`, `if x.shape[0] == 0:`."""
    match context.site.decision:
        case ast.Call(func=ast.Name(id="len"), args=[rows]) as test:
            template = "{}.shape[0] > 0"
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="len"), args=[rows])) as test:
            template = "{}.shape[0] == 0"
        case _:
            return
    if Kinds(context).of(rows) is Kind.TENSOR:
        built = context.write.expr(template, rows)
        yield Rewrite("", {test: built}), context.write.code(built)


# ---------------------------------------------------------------------- floats


def _asked_of_tensors(context: Context) -> Iterator[tuple[Rewrite, str]]:
    """`if math.isnan(x.item()):`, `if np.isfinite(float(x)):` → `if torch.isnan(x):`, `if torch.isfinite(x):`."""
    test = context.site.decision
    changes: dict[ast.AST, Any] = {}
    for node in ast.walk(test) if test is not None else ():
        if isinstance(node, ast.Call) and is_float_question(node) and len(node.args) == 1 and not node.keywords:
            tensor = _tensor_read(context, node.args[0])
            if tensor is not None:
                operator = knowledge().float_questions[ast.unparse(node.func)]
                changes[node] = context.write.expr("torch.{operator}({})", tensor, operator=operator)
    if test is not None and changes:
        yield Rewrite("", changes), context.write.code(context.write.replaced(test, changes))


def _tensor_read(context: Context, number: ast.expr) -> ast.expr | None:
    """The tensor that a float is read from: `x` of `x.item()`, of `float(x)`, and where it is handed over as it is."""
    match number:
        case ast.Call(func=ast.Attribute(attr="item", value=tensor), args=[]):
            return tensor
        case ast.Call(func=ast.Name(id="float"), args=[tensor], keywords=[]):
            return _tensor_read(context, tensor)
    return number if Kinds(context).of(number) is Kind.TENSOR else None


# ---------------------------------------------------------------------- what is known


def _known_first(context: Context) -> Iterator[tuple[Rewrite, str]]:
    """`if i > 0 and n[i] == n[i - 1]: …` → `if i > 0:` around `if n[i] == n[i - 1]: …`.

    What is known keeps the rest from being asked, or computed, where it has no value.
    """
    statement, write = context.site.statement, context.write
    match statement:
        case ast.If(test=ast.BoolOp(values=operands) as test, body=body, orelse=[]) if test is context.site.decision:
            known, asking = behind_known(context, test)
        case _:
            return
    if known and [*known, *asking] == operands and not asks_compiling(test) and not write.is_elif(statement):
        first, rest = (write.joined(ast.And(), operands) for operands in (known, asking))
        lines = write.lines("if {first}:\n    if {rest}:\n        {body}", first=first, rest=rest, body=body)
        yield Rewrite("", {statement: lines}), write.code(rest)


# ---------------------------------------------------------------------- nothing


def _taking_nothing(context: Context) -> Iterator[tuple[Rewrite, str, bool, Mapping[str, str]]]:
    """`if n == 0: …`, `x.max(0)` → the same, `x` with a row more: the general path runs where there is nothing, too.

    With each whether it is known that something there may be of nothing, and which names stand for others.
    """
    test = context.site.decision
    side = general_side(test) if test is not None else None
    if test is None or side is None or asks_compiling(test) or context.site.block in (Block.RAISES, Block.WARNS):
        return
    path = general_path(context, test, side)
    sure, all_of_them = (of_nothing_too(context, test, path, known=known) for known in (True, False))
    if sure:
        yield Rewrite("", sure), ast.unparse(test), True, {}
    if len(all_of_them) > len(sure):
        yield Rewrite("", all_of_them), ast.unparse(test), False, {}
    filled, stand_ins = rows_for_nothing(context, test, path)
    if filled:
        inside = {node: new for node, new in filled.items() if node in set(ast.walk(test))}
        asked = context.write.code(context.write.replaced(test, inside)) if inside else ast.unparse(test)
        yield Rewrite("", filled), asked, False, stand_ins


# ---------------------------------------------------------------------- rows


def _rows_for_each(context: Context) -> Iterator[tuple[Rewrite, str, bool]]:
    """`if i == n: …`, `x[i]` → the same, some row where `x` has none `i`; so for `if i < n: x[i] = v`.

    With each whether the test keeps `i` in range: that it does where it compares with more than a constant, and not
    where it reads all of these rows itself.
    """
    site, statement = context.site, context.site.statement
    test = site.decision
    if test is None or asks_compiling(test) or site.block in (Block.RAISES, Block.WARNS):
        return
    path: list[ast.AST] = []
    if site.role is Role.IF_TEST and isinstance(statement, ast.If):
        block = enclosing_block(site.source, statement)
        path += [*statement.body, *statement.orelse, *block[block.index(statement) + 1 :]]
    elif isinstance(choice := site.source.parents.get(test), ast.IfExp):
        path += [choice.body, choice.orelse]
    changes = rows_in_range(context, test, path)
    if changes:
        compared = [node for node in ast.walk(test) if isinstance(node, ast.Compare)]
        by_constant = all(isinstance(node.comparators[0], ast.Constant) for node in compared)
        yield Rewrite("", dict(changes)), ast.unparse(test), not (by_constant or _reads_the_same(test, changes))


def _reads_the_same(test: ast.expr, rows: Mapping[ast.AST, Any]) -> bool:
    """Whether a test reads all of these rows itself, and says nothing else of the numbers that it reads them by."""
    read = [node for node in ast.walk(test) if isinstance(node, ast.Subscript)]
    inside = {inner for node in read for inner in ast.walk(node.slice)}
    said = {node.id for node in ast.walk(test) if isinstance(node, ast.Name) and node not in inside}
    texts = {ast.unparse(node) for node in read}
    return all(
        isinstance(row, ast.Subscript) and ast.unparse(row) in texts and not names_read(row.slice) & said
        for row in rows
    )


def _cut_alike(context: Context) -> Iterator[tuple[Rewrite, str]]:
    """The arms of a branch that cuts what is too long, so that both give as much."""
    site, statement = context.site, context.site.statement
    if not isinstance(statement, ast.If) or site.decision is not statement.test or not statement.orelse:
        return
    changes = {} if asks_compiling(statement.test) else cut_alike(context, statement)
    if changes:
        yield Rewrite("", changes), ast.unparse(statement.test)


# ---------------------------------------------------------------------- names


def _names_before(context: Context, statement: ast.stmt) -> Iterator[tuple[Rewrite, str]]:
    """`return a / (n if (n := f(x)) > 0 else 1)` → `n = f(x)`, then the same about `n`."""
    source, write, site = context.site.source, context.write, context.site
    whole = _evaluated_first(statement)
    if whole is None or write.is_elif(statement) or not isinstance(site.node, ast.expr):
        return
    named = [node for node in ast.walk(whole) if isinstance(node, ast.NamedExpr)]
    if len(named) != 1 or not is_pure(named[0].value) or not is_unconditional(source, named[0], statement):
        return
    (node,) = named
    others = [inner for inner in ast.walk(whole) if isinstance(inner, ast.Call) and node not in set(ast.walk(inner))]
    if any(not is_pure(call) for call in others):
        return
    name = write.expression(node.target.id)
    changes: dict[ast.AST, Any] = {
        statement: [*write.assigned(node.target.id, node.value), statement],
        whole: write.replaced(whole, {node: name}),
    }
    asked = site.decision if site.decision is not None and node in set(ast.walk(site.decision)) else site.node
    named_only = _Named().visit(ast.parse(ast.unparse(asked), mode="eval").body)
    yield Rewrite("", changes), ast.unparse(named_only)


def _is_target(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)


class _Named(ast.NodeTransformer):
    """Names in the place of the assignments that make them."""

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.Name:
        return ast.Name(node.target.id, ast.Load())


def _evaluated_first(statement: ast.stmt) -> ast.expr | None:
    """What a statement evaluates before it does anything."""
    match statement:
        case ast.Return(value=ast.expr() as value) | ast.Assign(value=value) | ast.Expr(value=value):
            return value
        case ast.AugAssign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.If(test=value):
            return value
    return None
