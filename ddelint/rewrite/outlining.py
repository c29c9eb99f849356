"""The smallest part of a function around what asks that can be taken out of it, with its operands and results."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ddelint.diagnostics import TypeFact
from ddelint.rewrite.bindings import type_at, type_behind
from ddelint.rewrite.candidate import Candidate, Context, NotOffered
from ddelint.rewrite.expressions import (
    draws_random,
    enclosing_block,
    is_elif,
    names_read,
    names_written,
    torch_name,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.outlined import Operand, Output, Region
from ddelint.rewrite.proposals import headers
from ddelint.rewrite.regions import (
    assigned_on_every_way,
    bound_inside,
    changed_in_place,
    ends_in_return,
    free_names,
    leaves_a_loop,
    live_behind,
    may_alias,
    separate_names,
)

_MOST_STATEMENTS = 12
"""Statements of one block that a region may span."""
_ANNOTATIONS = {
    "int": "int",
    "symint": "int",
    "float": "float",
    "symfloat": "float",
    "bool": "bool",
    "str": "str",
}
_OF_PYTHON_TYPES = {"torch.dtype": "dtype", "torch.device": "device"}


class NotOutlined(Exception):
    """The region cannot be an operator."""


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

    def region(self, context: Context) -> Region:
        """The region with its operands and outputs. Raises NotOutlined."""
        if self.expression is not None:
            return _of_expression(context, self.expression)
        return _of_statements(context, self.block, self.position, self.typed, self.further)


def outlined(
    context: Context, written: Callable[[Context, Region], Candidate | None], typed: bool = True
) -> Iterator[Candidate]:
    """What `written` makes of each region around the site, the smallest first.

    Raises NotOffered, with the reason for each region, where it makes nothing of any.
    """
    reasons: list[str] = []
    found = False
    for attempt in attempts(context, typed):
        try:
            candidate = written(context, attempt.region(context))
        except (NotOutlined, ValueError) as error:
            reasons.append(f"{attempt}: {error}")
            continue
        if candidate is not None:
            found = True
            yield candidate
    if not found:
        raise NotOffered("; ".join(dict.fromkeys(reasons)) or "nothing around it is a region of its own")


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
        if not is_elif(source, statement):
            block = tuple(enclosing_block(source, statement))
            position = block.index(statement)
            yield Attempt(block=block, position=position, typed=typed)
            for further in range(1, len(block) - position):
                # one type is known of a name: NumPy's array that a tensor is made of is taken for the tensor
                if not _made_of(block[position + further - 1], block[position + further]):
                    break
                yield Attempt(block=block, position=position, typed=typed, further=further)
        statement = source.parents.get(statement)


def _made_of(statement: ast.stmt, following: ast.stmt) -> bool:
    """Whether `following` gives a name that `statement` gave a value another one, made of the first."""
    return bool(names_written(statement) & names_written(following) & names_read(following))


# ---------------------------------------------------------------------- what a region reads and gives


def _of_expression(context: Context, node: ast.expr) -> Region:
    if Kinds(context).of(node) is not Kind.TENSOR:
        raise NotOutlined("not a tensor")
    statement = ast.Expr(node)
    region = Region([statement], node)
    _allowed(context, [statement])
    _read_operands(context, region, frozenset())
    region.outputs = [Output("", "Tensor", _is_floating(context, node), may_alias(node))]
    return _settled(region)


def _of_statements(context: Context, block: Sequence[ast.stmt], position: int, typed: bool, further: int = 0) -> Region:
    """The shortest run of statements around `position` whose values can be handed in and out."""
    first, last = position, position + further
    for _ in range(2 * _MOST_STATEMENTS):
        body = list(block[first : last + 1])
        if len(body) > _MOST_STATEMENTS:
            raise NotOutlined("too many statements")
        region = Region(body, typed=typed)
        _allowed(context, body, typed)
        obstacle = _outputs(context, region, block, last)
        if obstacle:
            if last + 1 == len(block):
                raise NotOutlined(obstacle)
            last += 1
            continue
        changed = changed_in_place(body)
        wrong = _read_operands(context, region, changed, soft=True)
        if wrong:
            earlier = [i for i in range(first) if wrong in names_written(block[i])]
            if not earlier:
                raise NotOutlined(f"`{wrong}` cannot be handed over")
            first = earlier[-1]
            continue
        return _settled(region)
    raise NotOutlined("too many statements")


def _settled(region: Region) -> Region:
    """The region once its operands and outputs are known. Raises NotOutlined where it draws others in the backward."""
    draws = any(draws_random(statement) for statement in region.body)
    if region.typed and draws and region.differentiable:
        raise NotOutlined("it draws random numbers, and its gradient would draw others")
    region.random = draws or any(map(_calls_helpers, region.body))
    return region


def _calls_helpers(statement: ast.stmt) -> bool:
    """Whether it calls a function that is not shown, and may draw numbers: a helper's, or NumPy's own."""
    return any(
        isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id))
            or (isinstance(node.func, ast.Attribute) and "random" in ast.unparse(node.func.value).split("."))
        )
        for node in ast.walk(statement)
    )


def _allowed(context: Context, body: Sequence[ast.stmt], typed: bool = True) -> None:
    """Raises NotOutlined where the statements do what an operator must not."""
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Global() | ast.Nonlocal() | ast.Delete():
                    raise NotOutlined("more than a computation")
                case ast.Attribute(ctx=ast.Store()) if typed:
                    raise NotOutlined(f"`{ast.unparse(node)}` is assigned")
                case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef() | ast.Import() | ast.ImportFrom():
                    raise NotOutlined("a definition")
                case ast.Name(id="super" | "locals" | "__class__"):
                    raise NotOutlined(f"`{node.id}`")
        if leaves_a_loop(statement):
            raise NotOutlined("it leaves a loop")
    if not typed:
        return
    for root in changed_in_place(body):
        if not root.isidentifier():
            raise NotOutlined(f"`{root}` is changed in place")
    function = context.site.function
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)} if function else set()
    assigned = names_written(*function.body) if function else set()
    for root in changed_in_place(body) & (parameters - assigned):
        raise NotOutlined(f"the argument `{root}` is changed in place")


def _read_operands(context: Context, region: Region, changed: frozenset[str] | set[str], soft: bool = False) -> str:
    """Fill in the operands. The name that cannot be one, where `soft`; else raises NotOutlined."""
    site = context.site
    local = _local_names(context)
    source = site.source
    wanted = (free_names(region.body) | (set(region.names) - assigned_on_every_way(region.body))) & local
    nodes: dict[str, ast.expr] = {}
    place = region.expression if region.expression is not None else region.body[0]
    taken = set(names_written(*region.body)) | bound_inside(region.body)
    reads = [
        node
        for statement in region.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id in wanted
    ]
    unread = wanted - {node.id for node in reads}
    reads.sort(key=lambda node: (node.lineno, node.col_offset))
    for node in [*reads, *(ast.Name(id=name, ctx=ast.Load()) for name in sorted(unread))]:
        chain: ast.expr = node
        while not _annotation(context, ast.unparse(chain), region.typed, place):
            parent = source.parents.get(chain)
            if not isinstance(parent, ast.Attribute) or not isinstance(parent.ctx, ast.Load):
                break
            chain = parent
        text = ast.unparse(chain)
        if not _annotation(context, text, region.typed, place):
            if soft and node.id != "self":
                return node.id
            raise NotOutlined(f"`{text}` cannot be handed to an operator")
        if not _defined_before(context, node.id, region):
            raise NotOutlined(f"`{node.id}` has no value before")
        nodes.setdefault(text, chain)
    for text, chain in nodes.items():
        name = text if isinstance(chain, ast.Name) else _parameter_name(context, text, taken)
        taken.add(name)
        if name != text:
            region.replacements[text] = name
        fact = type_at(context, text, place)
        floating = fact is not None and fact.kind == "tensor" and fact.dtype.startswith(("float", "bfloat"))
        listed = fact is not None and fact.element is not None and fact.element.requires_grad
        if listed and region.typed:
            raise NotOutlined(f"gradients flow into the list `{text}`")
        annotation = _annotation(context, text, region.typed, place)
        if name in changed and annotation.startswith("list"):
            if soft and isinstance(chain, ast.Name):
                return name  # the statement that makes the list belongs to the region, too
            raise NotOutlined(f"the list `{text}` is changed")
        copied = name in changed and annotation == "Tensor"
        region.operands.append(Operand(name, text, annotation, floating, copied))
    if region.typed and not any(operand.annotation == "Tensor" for operand in region.operands):
        raise NotOutlined("it reads no tensor")
    return ""


def _local_names(context: Context) -> set[str]:
    """Names of the functions around the site that are not the module's."""
    source = context.site.source
    found: set[str] = set()
    node: ast.AST | None = context.site.function
    while node is not None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            found |= {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
            body = node.body if isinstance(node.body, list) else []
            found |= names_written(*body)
        node = source.parents.get(node)
    return found


def _defined_before(context: Context, name: str, region: Region) -> bool:
    """Whether an argument, or a line above the region, gives `name` a value."""
    first = region.expression if region.expression is not None else region.body[0]
    functions = [
        node for node in context.site.source.ancestors(first) if isinstance(node, (ast.FunctionDef, ast.Lambda))
    ]
    return any(
        (isinstance(inner, ast.arg) and inner.arg == name)
        or (
            isinstance(inner, ast.Name)
            and inner.id == name
            and isinstance(inner.ctx, ast.Store)
            and (inner.lineno, inner.col_offset) < (first.lineno, first.col_offset)
        )
        for function in functions
        for inner in ast.walk(function)
    )


def _parameter_name(context: Context, text: str, taken: set[str]) -> str:
    base = text.rpartition(".")[2]
    while base in taken or base == torch_name(context.site.source)[0]:
        base += "_"
    return base


def _annotation(context: Context, text: str, typed: bool, place: ast.AST) -> str:
    """The type of a parameter without `torch.` (`Tensor`, `int`, `list[Tensor]`); empty where it cannot be one."""
    if not typed:
        return "object"
    fact = type_at(context, text, place)
    if fact is None:
        return ""
    return _annotation_of(fact)


def _annotation_of(fact: TypeFact) -> str:
    if fact.kind == "tensor":
        return "Tensor"
    if fact.python_type in _OF_PYTHON_TYPES:
        return _OF_PYTHON_TYPES[fact.python_type]
    if fact.kind in ("list", "tuple") and fact.python_type in ("list", "tuple") and fact.element is not None:
        inner = _annotation_of(fact.element)
        return f"list[{inner}]" if inner in ("Tensor", "int", "float", "bool") and fact.length else ""
    return _ANNOTATIONS.get(fact.kind, "")


def _is_floating(context: Context, node: ast.expr) -> bool:
    dtype = Kinds(context).dtype(node)
    return not dtype or dtype.startswith(("float", "bfloat"))


def _outputs(context: Context, region: Region, block: Sequence[ast.stmt], last: int) -> str:
    """Fill in what comes out; gives what stands in the way."""
    returns = [node for statement in region.body for node in ast.walk(statement) if isinstance(node, ast.Return)]
    if returns:
        if not ends_in_return(region.body):
            return "it returns on one side"
        region.returns = True
        return _returned(context, region, returns)
    written = names_written(*region.body) | changed_in_place(region.body)
    names = sorted(written & live_behind(context.site.source, region.body[-1]))
    if not names:
        return "nothing comes out" if region.typed else ""
    separate = separate_names(region.body)
    for name in names:
        fact = type_behind(context, name, region.body)
        annotation = _annotation_of(fact) if fact is not None else ""
        if region.typed and annotation not in ("Tensor", "int", "float"):
            return f"`{name}` cannot come out of an operator"
        floating = fact is not None and fact.dtype.startswith(("float", "bfloat"))
        aliases = annotation == "Tensor" and name not in separate
        region.outputs.append(Output(name, annotation, floating, aliases))
    region.names = names
    region.several = len(names) > 1
    return ""


def _returned(context: Context, region: Region, returns: Sequence[ast.Return]) -> str:
    if not region.typed:
        return ""
    kinds = Kinds(context)
    separate = separate_names(region.body)
    forms: list[list[Output]] = []
    tuples = {isinstance(node.value, ast.Tuple) for node in returns}
    if len(tuples) > 1:
        return "it returns different structures"
    for node in returns:
        if node.value is None:
            return "it returns nothing"
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        form = []
        for value in values:
            kind = kinds.of(value)
            fact = kinds.fact(value)
            annotation = "Tensor" if kind in (Kind.TENSOR, Kind.UNKNOWN) else ""
            if fact is not None:
                annotation = _annotation_of(fact)
            if annotation not in ("Tensor", "int", "float") or isinstance(value, (ast.Dict, ast.Starred, ast.List)):
                return f"`{ast.unparse(value)}` cannot come out of an operator"
            named = isinstance(value, ast.Name) and value.id in separate
            aliases = annotation == "Tensor" and not named and may_alias(value)
            form.append(Output("", annotation, _is_floating(context, value), aliases))
        forms.append(form)
    if len({tuple(output.annotation for output in form) for form in forms}) > 1:
        return "it returns different structures"
    region.outputs = [
        Output("", parts[0].annotation, any(p.differentiable for p in parts), any(p.aliases for p in parts))
        for parts in zip(*forms)
    ]
    region.several = isinstance(returns[0].value, ast.Tuple)
    return ""
