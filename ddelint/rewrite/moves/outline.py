"""The last resort: the smallest region that cannot be traced becomes a custom operator.

The region's statements become a function of what they read. In eager that function is called; while compiling, a
custom operator around it, which runs it unseen. The operator's fake kernel is not written here: the search lets the
tracer read it off what the operator returns. Where a floating-point operand comes in, the gradient is an operator of
its own that runs the region again under autograd.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddelint.diagnostics import Claim, Edit, Span, TypeFact
from ddelint.rewrite.candidate import Candidate, Context, NotOffered, move
from ddelint.rewrite.expressions import (
    block_text,
    comments_in,
    draws_random,
    enclosing_block,
    fresh_name,
    indent_unit,
    is_elif,
    names_written,
    owns_lines,
    parses,
    torch_name,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.outlined import Operand, Output, Region, gradient_definition, operator_definition
from ddelint.rewrite.proposals import headers
from ddelint.rewrite.regions import (
    assigned_on_every_way,
    bound_inside,
    changed_in_place,
    ends_in_return,
    free_names,
    leaves_a_loop,
    may_alias,
    separate_names,
)
from ddelint.source import SourceFile

NAME = "outline"
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


class _NotThis(Exception):
    """The region cannot be an operator."""


@move(NAME)
def outline(context: Context) -> Iterator[Candidate]:
    """The smallest region around what asks becomes a custom operator; where that fails, a larger one.

    Raises NotOffered, which says why there is none.
    """
    reasons: list[str] = []
    found = False
    for make in _attempts(context):
        try:
            region = make.region(context)
            candidate = _written(context, region)
        except (_NotThis, ValueError) as error:
            reasons.append(f"{make}: {error}")
            continue
        if candidate is not None:
            found = True
            yield candidate
    if not found:
        raise NotOffered("; ".join(dict.fromkeys(reasons)) or "nothing around it is a region of its own")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A region to try: an expression, or the statements `first` to `last` of a block."""

    expression: ast.expr | None = None
    block: tuple[ast.stmt, ...] = ()
    position: int = 0

    def __str__(self) -> str:
        if self.expression is not None:
            return f"`{' '.join(ast.unparse(self.expression).split())}`"
        return f"line {self.block[self.position].lineno}"

    def region(self, context: Context) -> Region:
        """The region with its operands and outputs. Raises _NotThis."""
        if self.expression is not None:
            return _of_expression(context, self.expression)
        return _of_statements(context, self.block, self.position)


def _attempts(context: Context) -> Iterator[_Attempt]:
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
                yield _Attempt(expression=node)
            if isinstance(parent, (ast.comprehension, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.JoinedStr)):
                break
            node = parent
    statement: ast.AST | None = site.statement
    while isinstance(statement, ast.stmt) and statement is not site.function:
        if not is_elif(source, statement):
            block = tuple(enclosing_block(source, statement))
            yield _Attempt(block=block, position=block.index(statement))
        statement = source.parents.get(statement)


# ---------------------------------------------------------------------- what a region reads and gives


def _of_expression(context: Context, node: ast.expr) -> Region:
    if Kinds(context).of(node) is not Kind.TENSOR:
        raise _NotThis("not a tensor")
    statement = ast.Expr(node)
    region = Region([statement], node)
    _allowed(context, [statement])
    _read_operands(context, region, frozenset())
    region.outputs = [Output("", "Tensor", _is_floating(context, node), may_alias(node))]
    return region


def _of_statements(context: Context, block: Sequence[ast.stmt], position: int) -> Region:
    """The shortest run of statements around `position` whose values can be handed in and out."""
    first, last = position, position
    for _ in range(2 * _MOST_STATEMENTS):
        body = list(block[first : last + 1])
        if len(body) > _MOST_STATEMENTS:
            raise _NotThis("too many statements")
        region = Region(body)
        _allowed(context, body)
        obstacle = _outputs(context, region, block, last)
        if obstacle:
            if last + 1 == len(block):
                raise _NotThis(obstacle)
            last += 1
            continue
        changed = changed_in_place(body)
        wrong = _read_operands(context, region, changed, soft=True)
        if wrong:
            earlier = [i for i in range(first) if wrong in names_written(block[i])]
            if not earlier:
                raise _NotThis(f"`{wrong}` cannot be handed over")
            first = earlier[-1]
            continue
        return region
    raise _NotThis("too many statements")


def _allowed(context: Context, body: Sequence[ast.stmt]) -> None:
    """Raises _NotThis where the statements do what an operator must not."""
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Global() | ast.Nonlocal() | ast.Delete():
                    raise _NotThis("more than a computation")
                case ast.Attribute(ctx=ast.Store()):
                    raise _NotThis(f"`{ast.unparse(node)}` is assigned")
                case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef() | ast.Import() | ast.ImportFrom():
                    raise _NotThis("a definition")
                case ast.Name(id="super" | "locals" | "__class__"):
                    raise _NotThis(f"`{node.id}`")
        if draws_random(statement):
            raise _NotThis("it draws random numbers")
        if leaves_a_loop(statement):
            raise _NotThis("it leaves a loop")
    for root in changed_in_place(body):
        if not root.isidentifier():
            raise _NotThis(f"`{root}` is changed in place")
    function = context.site.function
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)} if function else set()
    assigned = names_written(*function.body) if function else set()
    for root in changed_in_place(body) & (parameters - assigned):
        raise _NotThis(f"the argument `{root}` is changed in place")


def _read_operands(context: Context, region: Region, changed: frozenset[str] | set[str], soft: bool = False) -> str:
    """Fill in the operands. The name that cannot be one, where `soft`; else raises _NotThis."""
    site = context.site
    local = _local_names(context)
    source = site.source
    wanted = (free_names(region.body) | (set(region.names) - assigned_on_every_way(region.body))) & local
    nodes: dict[str, ast.expr] = {}
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
        while not _annotation(context, ast.unparse(chain)):
            parent = source.parents.get(chain)
            if not isinstance(parent, ast.Attribute) or not isinstance(parent.ctx, ast.Load):
                break
            chain = parent
        text = ast.unparse(chain)
        if not _annotation(context, text):
            if soft and node.id != "self":
                return node.id
            raise _NotThis(f"`{text}` cannot be handed to an operator")
        if not _defined_before(context, node.id, region):
            raise _NotThis(f"`{node.id}` has no value before")
        nodes.setdefault(text, chain)
    for text, chain in nodes.items():
        name = text if isinstance(chain, ast.Name) else _parameter_name(context, text, taken)
        taken.add(name)
        if name != text:
            region.replacements[text] = name
        fact = context.type_of(text)
        floating = fact is not None and fact.kind == "tensor" and fact.dtype.startswith(("float", "bfloat"))
        listed = fact is not None and fact.element is not None and fact.element.requires_grad
        if listed:
            raise _NotThis(f"gradients flow into the list `{text}`")
        annotation = _annotation(context, text)
        if name in changed and annotation.startswith("list"):
            if soft and isinstance(chain, ast.Name):
                return name  # the statement that makes the list belongs to the region, too
            raise _NotThis(f"the list `{text}` is changed")
        copied = name in changed and annotation == "Tensor"
        region.operands.append(Operand(name, text, annotation, floating, copied))
    if not any(operand.annotation == "Tensor" for operand in region.operands):
        raise _NotThis("it reads no tensor")
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


def _annotation(context: Context, text: str) -> str:
    """The type of a parameter without `torch.` (`Tensor`, `int`, `list[Tensor]`); empty where it cannot be one."""
    fact = context.type_of(text)
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
        return _returned(context, region, returns)
    function = context.site.function
    assert function is not None
    inside = {node for statement in region.body for node in ast.walk(statement)}
    elsewhere = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in inside
    }
    looping = any(isinstance(parent, (ast.For, ast.While)) for parent in context.site.source.ancestors(region.body[0]))
    after = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node not in inside
        and node.lineno > (region.body[-1].end_lineno or region.body[-1].lineno)
    }
    written = names_written(*region.body) | changed_in_place(region.body)
    names = sorted(written & (elsewhere if looping else after))
    if not names:
        return "nothing comes out"
    separate = separate_names(region.body)
    for name in names:
        fact = context.type_of(name)
        annotation = _annotation_of(fact) if fact is not None else ""
        if annotation not in ("Tensor", "int", "float"):
            return f"`{name}` cannot come out of an operator"
        floating = fact is not None and fact.dtype.startswith(("float", "bfloat"))
        aliases = annotation == "Tensor" and name not in separate
        region.outputs.append(Output(name, annotation, floating, aliases))
    region.names = names
    region.several = len(names) > 1
    return ""


def _returned(context: Context, region: Region, returns: Sequence[ast.Return]) -> str:
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


# ---------------------------------------------------------------------- the text


def _written(context: Context, region: Region) -> Candidate | None:
    site = context.site
    source, function = site.source, site.function
    assert function is not None
    torch, imports = torch_name(source)
    unit = indent_unit(source, function)
    base = fresh_name(source, f"_{function.name.strip('_')}_region")
    operands = region.operands
    lines = _helper(context, region, base, unit)
    lines += ["", "", *operator_definition(region, base, unit, torch, _namespace(source))]
    if any(o.differentiable for o in operands) and any(o.differentiable for o in region.outputs):
        lines += ["", "", *gradient_definition(region, base, unit, torch, _namespace(source))]
    call = f"({base}_op if {torch}.compiler.is_compiling() else {base})({', '.join(o.text for o in operands)})"
    if region.expression is not None:
        span = source.span(region.expression)
        replacement = Edit(span, call)
        if comments_in(source, span):
            raise _NotThis("comments inside")
    else:
        first, last = source.span(region.body[0]), source.span(region.body[-1])
        if not (owns_lines(source, region.body[0]) and owns_lines(source, region.body[-1])):
            raise _NotThis("a shared line")
        span = Span(source.filename, first.row, first.column, last.end_row, last.end_column)
        target = f"{', '.join(region.names)} = " if region.names else "return "
        replacement = Edit(span, target + call)
    edits = (_before_top_level(source, function, lines), replacement)
    if not parses(source, edits):
        return None
    return Candidate(
        NAME,
        Claim.RESTRUCTURED,
        "what cannot be traced becomes a custom operator, which the compiler calls without looking inside",
        edits,
        imports,
        notes=(
            "the operator must be registered where the exported program runs",
            "nothing in it is fused or optimized",
        ),
        decisions=(),
        last_resort=True,
    )


def _namespace(source: SourceFile) -> str:
    """A namespace for operators: the module's name, with its package's."""
    path = Path(source.filename)
    parts = [path.stem]
    if path.with_name("__init__.py").exists():
        parts.insert(0, path.parent.name)
    text = re.sub(r"\W", "_", "_".join(parts))
    return text if text[:1].isalpha() else f"ops{text}" if text.startswith("_") else f"ops_{text}"


def _before_top_level(source: SourceFile, function: ast.stmt, lines: Sequence[str]) -> Edit:
    top = function
    for parent in source.ancestors(function):
        if isinstance(parent, ast.stmt):
            top = parent
    decorators = getattr(top, "decorator_list", [])
    row = decorators[0].lineno if decorators else top.lineno
    while row > 1 and source.lines[row - 2].startswith("#"):
        row -= 1
    text = "".join(f"{line}{source.newline}" for line in (*lines, "", ""))
    return Edit(Span(source.filename, row, 1, row, 1), text)


def _helper(context: Context, region: Region, base: str, unit: str) -> list[str]:
    """The region as a function of its operands."""
    header = f"def {base}({', '.join(o.name for o in region.operands)}):"
    source = context.site.source
    if region.expression is not None:
        text = _with_parameters(source, region, source.segment(region.expression))
        broken = "\n" in text
        value = f"({text})" if broken else text
        lines = f"{unit}return {value}".splitlines()
    else:
        text = block_text(source, region.body, unit) or ""
        if not text:
            raise _NotThis("lines that cannot be moved")
        lines = _with_parameters(source, region, text).splitlines()
        if region.names:
            lines.append(f"{unit}return {', '.join(region.names)}")
    return [header, *lines]


def _with_parameters(source: SourceFile, region: Region, text: str) -> str:
    """`text` with attribute chains replaced by the parameters that stand for them."""
    for chain, name in sorted(region.replacements.items(), key=lambda item: -len(item[0])):
        pattern = r"(?<![\w.])" + re.escape(chain) + r"(?!\w)"
        text = re.sub(pattern, name, text)
    return text
