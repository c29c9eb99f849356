"""The smallest part of a function around what asks that can be taken out of it, with its operands and results."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from ddelint.nouns.diagnostics import TypeFact
from ddelint.nouns.protocol import RETURNED
from ddelint.rewrite.candidate import Context, NotOffered
from ddelint.rewrite.parts.outlining.forms import TENSOR, Form, Way
from ddelint.rewrite.parts.outlining.operands import OutOfReach, read_operands
from ddelint.rewrite.parts.outlining.region import BUFFERS, PARAMETERS, NotOutlined, Region, Result
from ddelint.rewrite.parts.outlining.results import is_floating, read_results
from ddelint.rewrite.reading.around import headers
from ddelint.rewrite.reading.bindings import type_behind
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.managers import is_of_torch_or_python
from ddelint.rewrite.reading.names import draws_random, enclosing_block, names_read, names_written
from ddelint.rewrite.reading.regions import leaves_a_loop, may_alias
from ddelint.rewrite.writing.rewrites import Rewrite
from ddelint.sources.source import SourceFile

_MOST_STATEMENTS = 40
"""Statements of one block that a region may span."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A region to try: an expression, or the statements `first` to `last` of a block."""

    expression: ast.expr | None = None
    block: tuple[ast.stmt, ...] = ()
    position: int = 0
    typed: bool = True
    """Whether everything must have a type that an operator can take; else any object may go in and out."""
    further: int = 0
    """How many statements behind belong to the region in any case."""

    def __str__(self) -> str:
        if self.expression is not None:
            return f"`{' '.join(ast.unparse(self.expression).split())}`"
        line = f"line {self.block[self.position].lineno}"
        return f"{line} and {self.further} more" if self.further else line

    def region(self, context: Context, way: Way = Way.OUT) -> Region:
        """The region with its operands and results. Raises NotOutlined."""
        if self.expression is not None:
            return _of_expression(context, self.expression)
        return _of_statements(context, self, way)


def outlined(context: Context, written: Callable[[Context, Region], Rewrite], typed: bool = True) -> Iterator[Rewrite]:
    """What `written` makes of each region around the site, the smallest first.

    Raises NotOffered, with the reason for each region, where it makes nothing of any.
    """
    reasons: list[str] = []
    found = False
    for attempt in (larger for one in attempts(context, typed) for larger in _past_lists(context, one)):
        for way in (Way.OUT, Way.OUT_READ):
            try:
                region = attempt.region(context, way)
                if way is Way.OUT_READ and not any(result.form.counted for result in region.results):
                    continue
                rewrites = _ways_to_write(context, region, written)
            except (NotOutlined, OutOfReach, ValueError) as error:
                reasons.append(f"{attempt}: {error}")
                break
            found = True
            yield from rewrites
    if not found:
        raise NotOffered("; ".join(dict.fromkeys(reasons)) or "nothing around it is a region of its own")


def _past_lists(context: Context, attempt: Attempt) -> Iterator[Attempt]:
    """An attempt; where a list of numbers comes out of it, which is asked for its length when it is read again, larger
    ones up to the first out of which none does."""
    yield attempt
    with suppress(NotOutlined, OutOfReach, ValueError):
        for further in range(attempt.further + 1, len(attempt.block) - attempt.position):
            if not any(map(_is_list_of_numbers, attempt.region(context).results)):
                break
            attempt = replace(attempt, further=further)
            yield attempt


def _is_list_of_numbers(result: Result) -> bool:
    return result.form.counted and result.form.annotation.startswith(("list[", "tuple["))


def _ways_to_write(context: Context, region: Region, written: Callable[[Context, Region], Rewrite]) -> list[Rewrite]:
    """The region without any state of its modules coming out, where something else does, and with what they may change.

    That is their buffers, then parameters that require no gradient, too: a teacher's that follows its student.
    Raises NotOutlined where nothing comes out either way.
    """
    rewrites = []
    if not region.typed or region.outputs(context.write, "result"):
        rewrites.append(written(context, region))
    states = [(BUFFERS,)] if any(module.form.buffers for module in region.modules) else []
    if any(module.form.frozen for module in region.modules):
        states.append((PARAMETERS, *(states[0] if states else ())))
    for region.states in states:
        rewrites.append(written(context, region))
    if not rewrites:
        raise NotOutlined("nothing comes out")
    return rewrites


def attempts(context: Context, typed: bool = True) -> Iterator[Attempt]:
    """Expressions from what asks outwards, then statements of each block outwards."""
    site = context.site
    if site.function is None or isinstance(site.function, ast.AsyncFunctionDef):
        return
    source = site.source
    # the truth of what an operator returns would be asked just the same
    if (
        context.kind != "truth"
        and isinstance(site.node, ast.expr)
        and any(header is site.node or site.node in set(ast.walk(header)) for header in headers(site.statement))
    ):
        node: ast.AST | None = site.node
        while isinstance(node, ast.expr):
            parent = source.parents.get(node)
            called_itself = isinstance(parent, ast.Call) and parent.func is node
            if isinstance(node, (ast.Call, ast.Subscript, ast.BinOp, ast.IfExp)) and not called_itself:
                yield Attempt(expression=node)
            if isinstance(parent, (ast.comprehension, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.JoinedStr)):
                break
            node = parent
    statement: ast.AST | None = site.statement
    while isinstance(statement, ast.stmt) and statement is not site.function:
        if not context.write.is_elif(statement):
            block = tuple(enclosing_block(source, statement))
            position = block.index(statement)
            yield Attempt(block=block, position=position, typed=typed)
            for further, (one, following) in enumerate(pairwise(block[position:]), 1):
                # one type is known of a name: NumPy's array that a tensor is made of is taken for the tensor
                if not names_written(one) & names_written(following) & names_read(following):
                    break
                yield Attempt(block=block, position=position, typed=typed, further=further)
        statement = source.parents.get(statement)


# ---------------------------------------------------------------------- how far a region reaches


def _of_expression(context: Context, node: ast.expr) -> Region:
    if Kinds(context).of(node) is not Kind.TENSOR:
        raise NotOutlined("not a tensor")
    region = Region([ast.Expr(node)], node)
    _allowed(region.body, typed=True)
    form = Form(TENSOR, TENSOR, is_floating(context, node))
    region.results = [Result("", form, (not may_alias(node, given_back=True),))]
    read_operands(context, region)
    match context.site.source.parents.get(node):
        case ast.Assign(targets=[ast.Name(id=name)]):
            region.results = [_with_history(region, region.results[0], context.type_of(name))]
    return _settled(region, context)


def _of_statements(context: Context, attempt: Attempt, way: Way) -> Region:
    """The shortest run of statements around a place whose values can be handed in and out."""
    block, first, last = attempt.block, attempt.position, attempt.position + attempt.further
    for _ in range(2 * _MOST_STATEMENTS):
        body = list(block[first : last + 1])
        if len(body) > _MOST_STATEMENTS:
            break
        region = Region(body, typed=attempt.typed)
        _allowed(body, attempt.typed)
        obstacle = read_results(context, region, way)
        if obstacle:
            if last + 1 == len(block):
                raise NotOutlined(obstacle)
            last += 1
            continue
        try:
            read_operands(context, region)
        except OutOfReach as error:
            earlier = [i for i in range(first) if error.name in names_written(block[i])]
            if not earlier and error.name in region.targets and last + 1 < len(block):
                last += 1  # what only some of its arms bind may be read nowhere but in what follows
                continue
            if not earlier:
                raise
            first = earlier[-1]
            continue
        if not region.results and not region.given_back and not region.modules and region.typed:
            if last + 1 == len(block):
                raise NotOutlined("nothing comes out")
            last += 1
            continue
        facts = [_fact_behind(context, region, result) for result in region.results]
        region.results = [_with_history(region, result, fact) for result, fact in zip(region.results, facts)]
        return _settled(region, context)
    raise NotOutlined("too many statements")


def _fact_behind(context: Context, region: Region, result: Result) -> TypeFact | None:
    """What a run saw of a result."""
    target = region.targets.get(result.name)
    return type_behind(context, target, region.body) if target is not None else context.type_of(RETURNED)


def _with_history(region: Region, result: Result, fact: TypeFact | None) -> Result:
    """A result, without a gradient where eager's had none although a module of the region has parameters."""
    if not region.modules or any(operand.form.floating or operand.form.parts for operand in region.values):
        return result
    has_none = fact is not None and fact.kind == "tensor" and not fact.requires_grad
    return replace(result, form=replace(result.form, floating=False)) if has_none else result


def _settled(region: Region, context: Context) -> Region:
    """The region once its operands and results are known. Raises NotOutlined where it draws others in the backward."""
    draws = any(draws_random(statement) for statement in region.body)
    if region.typed and draws and region.differentiable:
        raise NotOutlined("it draws random numbers, and its gradient would draw others")
    region.random = draws or any(_calls_helpers(statement, context.site.source) for statement in region.body)
    return region


def _calls_helpers(statement: ast.stmt, source: SourceFile) -> bool:
    """Whether it calls a function that is not shown, and may draw numbers: a helper's, or NumPy's own.

    What the file takes from torch is known by its name (see `draws_random`).
    """
    return any(
        isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and not is_of_torch_or_python(node.func, source))
            or (isinstance(node.func, ast.Attribute) and "random" in ast.unparse(node.func.value).split("."))
        )
        for node in ast.walk(statement)
    )


def _allowed(body: Sequence[ast.stmt], typed: bool) -> None:
    """Raises NotOutlined where the statements do what a function of their own cannot."""
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Global() | ast.Nonlocal() | ast.Delete():
                    raise NotOutlined("more than a computation")
                case ast.ClassDef() | ast.AsyncFunctionDef():
                    raise NotOutlined("a definition")
                case ast.Name(id="super" | "locals" | "__class__"):
                    raise NotOutlined(f"`{node.id}`")
        if leaves_a_loop(statement):
            raise NotOutlined("it leaves a loop")
