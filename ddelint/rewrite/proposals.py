"""What the value moves share: where to look around a site, number kinds, and candidates built from replaced nodes."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.rewrite.candidate import Candidate, Context, Import
from ddelint.rewrite.expressions import Binding, binding, insert_before, owns_lines, parses, torch_name, wrapped
from ddelint.rewrite.kinds import Kind, Kinds, definition
from ddelint.source import SourceFile

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def headers(statement: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement evaluates itself, not those of the blocks inside it."""
    match statement:
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(iter=iterated, target=target) | ast.AsyncFor(iter=iterated, target=target):
            return [iterated, target]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.context_expr for item in items]
        case ast.Match(subject=subject):
            return [subject]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Try():
            return []
    return [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.expr)]


def around(context: Context) -> Iterator[ast.expr]:
    """Expressions of the site's statement, nearest first: what asks, what stands in it, what it stands in, the rest."""
    site = context.site
    seen: set[int] = set()
    groups: list[Iterable[ast.AST]] = []
    if isinstance(site.node, ast.expr):
        groups.append(ast.walk(site.node))
        chain = []
        for parent in site.source.ancestors(site.node):
            if isinstance(parent, ast.stmt):
                break
            chain.append(parent)
        groups.append(chain)
    groups += [ast.walk(header) for header in headers(site.statement)]
    for group in groups:
        for node in group:
            if isinstance(node, ast.expr) and id(node) not in seen:
                seen.add(id(node))
                yield node


def origins(context: Context, depth: int = 2) -> Iterator[ast.expr]:
    """What `around` gives, then the same for the one definition of each name in it, `depth` steps back."""
    found = list(around(context))
    yield from found
    seen = {id(node) for node in found}
    for _ in range(depth):
        names = dict.fromkeys(node.id for node in found if isinstance(node, ast.Name))
        values = [value for name in names if (value := definition(context, name)) is not None]
        found = [node for value in values for node in ast.walk(value) if isinstance(node, ast.expr)]
        found = [node for node in found if id(node) not in seen]
        seen.update(id(node) for node in found)
        yield from found


def in_formatted_string(source: SourceFile, node: ast.AST) -> bool:
    """Whether `node` stands in an f-string, inside which Python before 3.12 gives no true positions."""
    return sys.version_info < (3, 12) and any(isinstance(parent, ast.JoinedStr) for parent in source.ancestors(node))


def place_of(source: SourceFile, node: ast.expr) -> int:
    """How tightly a text must bind that takes the place of `node`."""
    match source.parents.get(node):
        case ast.Attribute() | ast.Await():
            return Binding.PRIMARY
        case ast.Call(func=func) if func is node:
            return Binding.PRIMARY
        case ast.Subscript(value=value) if value is node:
            return Binding.PRIMARY
        case ast.BinOp(op=ast.Pow()):
            return Binding.PRIMARY
        case ast.BinOp() as parent:
            return binding(parent) + (1 if parent.right is node else 0)
        case ast.UnaryOp(op=ast.Not()):
            return Binding.NOT
        case ast.UnaryOp():
            return Binding.ARITHMETIC + 2
        case ast.Compare():
            return Binding.COMPARED + 1
        case ast.BoolOp() as parent:
            return binding(parent) + 1
        case ast.IfExp():
            return Binding.OR
        case ast.Starred():
            return Binding.BITWISE
        case ast.FormattedValue():
            return Binding.PRIMARY
    return Binding.ANY


def swap(source: SourceFile, node: ast.expr, text: str) -> Edit:
    """Put `text` in the place of `node`, in parentheses where that place needs them."""
    return Edit(source.span(node), wrapped(text, place_of(source, node)))


def offer(
    context: Context,
    move: str,
    claim: Claim,
    message: str,
    changes: Sequence[tuple[ast.expr, str]] = (),
    *,
    edits: Sequence[Edit] = (),
    imports: Sequence[Import] = (),
    notes: Sequence[str] = (),
    decisions: Sequence[Span] = (),
    spreads: bool = False,
) -> Iterator[Candidate]:
    """The candidate that replaces nodes (and makes further `edits`), or nothing where the result is not Python."""
    source = context.site.source
    if any(in_formatted_string(source, node) or _loses_comment(source, node, text) for node, text in changes):
        return
    every = tuple(sorted([*(swap(source, node, text) for node, text in changes), *edits], key=lambda e: e.span))
    if every and parses(source, every):
        yield Candidate(
            move,
            claim,
            message,
            every,
            tuple(dict.fromkeys(imports)),
            tuple(notes),
            decisions=tuple(decisions),
            spreads=spreads,
        )


def offer_beside(
    context: Context, move: str, message: str, edits: Sequence[Edit], imports: Sequence[Import] = ()
) -> Iterator[Candidate]:
    """The candidate that puts a form for the compiler beside the code, which eager keeps."""
    site = context.site
    yield from offer(
        context,
        move,
        Claim.RESTRUCTURED,
        message,
        edits=edits,
        imports=(*torch_name(site.source)[1], *imports),
        notes=("the code stands twice: once for eager, once for the compiler",),
        decisions=(site.source.span(site.decision),) if site.decision is not None else (),
    )


def _loses_comment(source: SourceFile, node: ast.expr, text: str) -> bool:
    """Whether a comment inside `node` would not stand in the text that replaces it."""
    segment = source.segment(node)
    if "#" not in segment or "\n" not in segment:
        return False
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"(\n{segment}\n)").readline))
    except (tokenize.TokenError, SyntaxError):
        return True
    return any(token.type == tokenize.COMMENT and token.string not in text for token in tokens)


def lines_before(source: SourceFile, statement: ast.stmt, lines: Sequence[str]) -> Edit | None:
    """New lines before `statement`, or None where it does not begin its line or is an `elif`."""
    if not _begins(source, statement):
        return None
    return insert_before(source, statement, lines)


def lines_behind(source: SourceFile, statement: ast.stmt, lines: Sequence[str]) -> Edit | None:
    """New lines below `statement` at its indentation, or None where it shares its lines."""
    if not owns_lines(source, statement):
        return None
    row = (statement.end_lineno or statement.lineno) + 1
    indentation, newline = source.indentation(statement), source.newline
    text = "".join(f"{indentation}{line}{newline}" for line in lines)
    last = source.lines[row - 2]
    if not last.endswith(("\n", "\r")):
        end = Span(source.filename, row - 1, len(last) + 1, row - 1, len(last) + 1)
        return Edit(end, newline + text.removesuffix(newline))
    return Edit(Span(source.filename, row, 1, row, 1), text)


def _begins(source: SourceFile, statement: ast.stmt) -> bool:
    line = source.lines[statement.lineno - 1]
    column = source.span(statement).column
    return not line[: column - 1].strip() and not line[column - 1 :].startswith("elif")


def number_kind(kinds: Kinds, node: ast.expr, depth: int = 0) -> str:
    """`int`, `float` or `bool` for an expression that is a Python number or symbol; empty where nothing tells."""
    if depth > 8:
        return ""
    fact = kinds.fact(node)
    if fact is not None:
        return {"symint": "int", "symfloat": "float", "symbool": "bool"}.get(fact.kind, fact.kind) * (
            fact.kind in {"int", "float", "bool", "symint", "symfloat", "symbool"}
        )
    match node:
        case ast.Constant(value=bool()):
            return "bool"
        case ast.Constant(value=int()):
            return "int"
        case ast.Constant(value=float()):
            return "float"
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return "int"
        case ast.Call(func=ast.Attribute(attr="size" | "stride"), args=[_]):
            return "int"
        case ast.Call(func=ast.Attribute(attr="numel" | "dim" | "nelement" | "sym_int")):
            return "int"
        case ast.Call(func=ast.Name(id="len" | "int")):
            return "int"
        case ast.Call(func=ast.Name(id="float")) | ast.Call(func=ast.Attribute(attr="sym_float")):
            return "float"
        case ast.Call(func=ast.Attribute(value=receiver, attr="item"), args=[]):
            return _number_of(kinds.dtype(receiver))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return number_kind(kinds, operand, depth + 1)
        case ast.BinOp(left=left, right=right, op=operator):
            sides = {number_kind(kinds, left, depth + 1), number_kind(kinds, right, depth + 1)}
            if "" in sides:
                return ""
            if isinstance(operator, ast.Div) or "float" in sides:
                return "float"
            return "" if isinstance(operator, ast.Pow) else "int"
        case ast.Call(func=ast.Name(id="max" | "min") | ast.Attribute(attr="sym_max" | "sym_min"), args=args) if args:
            sides = {number_kind(kinds, argument, depth + 1) for argument in args}
            return sides.pop() if len(sides) == 1 else ""
        case ast.Name(id=name):
            value = definition(kinds.context, name)
            if value is not None:
                return number_kind(kinds, value, depth + 1)
            listed = looped_over(kinds.context, name)
            if listed is not None and listed_tensor(kinds, listed) is not None:
                return _number_of(kinds.dtype(listed_tensor(kinds, listed) or listed))
    return ""


def _number_of(dtype: str) -> str:
    if dtype == "bool":
        return "bool"
    if dtype.startswith(("int", "uint")):
        return "int"
    return "float" if dtype.startswith(("float", "bfloat")) else ""


def looped_over(context: Context, name: str) -> ast.expr | None:
    """What a `for` over `name` in the site's function runs through (`enumerate` and comprehensions included)."""
    function = context.site.function
    if function is None:
        return None
    for node in ast.walk(function):
        match node:
            case (
                ast.For(target=ast.Name(id=target), iter=iterated)
                | ast.comprehension(target=ast.Name(id=target), iter=iterated)
            ) if target == name:
                return iterated
            case (
                ast.For(
                    target=ast.Tuple(elts=[_, ast.Name(id=target)]),
                    iter=ast.Call(func=ast.Name(id="enumerate"), args=[iterated, *_]),
                )
                | ast.comprehension(
                    target=ast.Tuple(elts=[_, ast.Name(id=target)]),
                    iter=ast.Call(func=ast.Name(id="enumerate"), args=[iterated, *_]),
                )
            ) if target == name:
                return iterated
    return None


def listed_tensor(kinds: Kinds, node: ast.expr, depth: int = 0) -> ast.expr | None:
    """`t` where `node` is `t.tolist()`, or a name for it."""
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr="tolist"), args=[]):
            return tensor
        case ast.Name(id=name) if depth < 3:
            value = definition(kinds.context, name)
            return listed_tensor(kinds, value, depth + 1) if value is not None else None
    return None


def is_tensor(kinds: Kinds, node: ast.expr) -> bool:
    """Whether `node` is a tensor as far as anything tells, loops over tensors included."""
    if kinds.of(node) is Kind.TENSOR:
        return True
    if isinstance(node, ast.Name):
        iterated = looped_over(kinds.context, node.id)
        return iterated is not None and kinds.of(iterated) is Kind.TENSOR
    return False


def enclosing(source: SourceFile, node: ast.AST, wanted: type[ast.AST] | tuple[type[ast.AST], ...]) -> ast.AST | None:
    """The nearest ancestor of one of the `wanted` types within the same statement."""
    for parent in source.ancestors(node):
        if isinstance(parent, wanted):
            return parent
        if isinstance(parent, ast.stmt):
            return None
    return None


def function_statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.stmt]:
    """Every statement of a function, those of its nested blocks included, nested functions not."""
    pending: list[ast.stmt] = list(reversed(function.body))
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, _SCOPES):
            continue
        inner: list[ast.stmt] = []
        for name in ("body", "orelse", "finalbody"):
            inner += getattr(statement, name, [])
        for handler in getattr(statement, "handlers", []):
            inner += handler.body
        pending += reversed(inner)


def statement_of(source: SourceFile, node: ast.AST) -> ast.stmt | None:
    """The innermost statement that `node` is part of."""
    if isinstance(node, ast.stmt):
        return node
    return next((parent for parent in source.ancestors(node) if isinstance(parent, ast.stmt)), None)
