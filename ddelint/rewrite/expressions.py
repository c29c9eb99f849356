"""Building source text from the text that is there: parentheses, negation, names, indentation, purity.

Moves locate with `ast` and take over the user's own text for every part that they don't change. Only where an operator
inside an expression changes is a libcst tree built, so that blanks and comments around it stay.
"""

from __future__ import annotations

import ast
import builtins
import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum

from ddelint.diagnostics import Edit, Span
from ddelint.rewrite.candidate import Context, Import
from ddelint.rewrite.knowledge import knowledge
from ddelint.source import SourceFile

_MIRRORED_OPERATORS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATOR_TEXT: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class Binding(IntEnum):
    """How tightly an expression binds; a place asks for at least its own level."""

    ANY = 0
    """An argument of a call, the right side of an assignment."""
    OR = 2
    AND = 3
    NOT = 4
    COMPARED = 5
    BITWISE = 6
    ARITHMETIC = 8
    PRIMARY = 12
    """Something that `.item()` can be appended to."""


def binding(node: ast.expr) -> int:
    """How tightly the text of `node` binds when it stands without parentheses."""
    match node:
        case ast.NamedExpr() | ast.Yield() | ast.YieldFrom() | ast.Starred():
            return -1
        case ast.Lambda() | ast.IfExp():
            return 1
        case ast.BoolOp(op=ast.Or()):
            return Binding.OR
        case ast.BoolOp():
            return Binding.AND
        case ast.UnaryOp(op=ast.Not()):
            return Binding.NOT
        case ast.Compare():
            return Binding.COMPARED
        case ast.BinOp(op=ast.BitOr() | ast.BitXor() | ast.BitAnd()):
            return Binding.BITWISE
        case ast.BinOp(op=ast.LShift() | ast.RShift()):
            return Binding.BITWISE + 1
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return Binding.ARITHMETIC
        case ast.BinOp():
            return Binding.ARITHMETIC + 1
        case ast.UnaryOp() | ast.Await():
            return Binding.ARITHMETIC + 2
        case ast.Constant(value=value) if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
            return Binding.PRIMARY - 1
    return Binding.PRIMARY


def text_of(source: SourceFile, node: ast.expr, place: int = Binding.ANY) -> str:
    """The text of `node`, in parentheses where `place` or a line break outside of brackets needs them.

    A tuple or generator that stands without its own parentheses gets them.
    """
    text = source.segment(node)
    if isinstance(node, (ast.Tuple, ast.GeneratorExp)) and not text.startswith("("):
        return f"({text})"
    if binding(node) < place or not stands_alone(text):
        return f"({text})"
    return text


def stands_alone(text: str) -> bool:
    """Whether `text` is an expression that needs no surrounding brackets (no bare line breaks)."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def wrapped(text: str, place: int) -> str:
    """A piece of built text (one expression), in parentheses where `place` needs them."""
    try:
        node = ast.parse(f"(\n{text}\n)", mode="eval").body
    except SyntaxError:
        return f"({text})"
    return f"({text})" if binding(node) < place or not stands_alone(text) else text


def negated(source: SourceFile, node: ast.expr) -> str:
    """The text of `not node`: a single comparison gets the opposite operator, `not x` becomes `x`."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return text_of(source, operand)
        case ast.Compare(ops=[operator], comparators=[_]):
            return with_operator(text_of(source, node), _MIRRORED_OPERATORS[type(operator)])
        case ast.Constant(value=bool() as value):
            return repr(not value)
    return f"not {text_of(source, node, Binding.NOT)}"


def opposite(operator: ast.cmpop) -> type[ast.cmpop]:
    """The comparison that holds exactly where `operator` does not (numbers without NaN)."""
    return _MIRRORED_OPERATORS[type(operator)]


def with_operator(text: str, operator: type[ast.cmpop]) -> str:
    """`text`, one comparison, with its operator replaced; blanks and comments around the operator stay."""
    import libcst

    tree = libcst.parse_expression(text)
    if not isinstance(tree, libcst.Comparison) or len(tree.comparisons) != 1:
        raise ValueError(f"not one comparison: {text}")
    old = tree.comparisons[0].operator
    new = getattr(libcst, "LessThanEqual" if operator is ast.LtE else _LIBCST_NAMES[operator])
    fresh = new(whitespace_before=old.whitespace_before, whitespace_after=old.whitespace_after)  # type: ignore[attr-defined]
    changed = tree.with_changes(comparisons=[tree.comparisons[0].with_changes(operator=fresh)])
    return libcst.Module(body=[]).code_for_node(changed)


_LIBCST_NAMES: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "Equal",
    ast.NotEq: "NotEqual",
    ast.Lt: "LessThan",
    ast.Gt: "GreaterThan",
    ast.GtE: "GreaterThanEqual",
    ast.Is: "Is",
    ast.IsNot: "IsNot",
    ast.In: "In",
    ast.NotIn: "NotIn",
}


def replaced(source: SourceFile, node: ast.expr | ast.stmt, changes: Iterable[tuple[ast.expr, str]]) -> str:
    """The text of `node` with the text of some nodes inside it replaced."""
    start_span = source.span(node)
    start = source.offset(start_span.row, start_span.column)
    text = source.segment(node)
    pieces: list[tuple[int, int, str]] = []
    for inner, new in changes:
        span = source.span(inner)
        pieces.append(
            (source.offset(span.row, span.column) - start, source.offset(span.end_row, span.end_column) - start, new)
        )
    for begin, end, new in sorted(pieces, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def renamed(source: SourceFile, node: ast.expr, names: Mapping[str, str]) -> str:
    """The text of `node` with names replaced. Names bound inside `node` (lambdas, comprehensions) must not clash.

    Raises ValueError where a name cannot be found in the text.
    """
    changes = [
        (inner, names[inner.id]) for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id in names
    ]
    if any(source.segment(inner) != inner.id for inner, _ in changes if isinstance(inner, ast.Name)):
        raise ValueError("a name whose place is not known")  # inside f-strings, before Python 3.12
    text = replaced(source, node, changes)
    return text if stands_alone(text) and not isinstance(node, (ast.Tuple, ast.GeneratorExp)) else f"({text})"


# ---------------------------------------------------------------------- names and effects


def names_read(*nodes: ast.AST) -> set[str]:
    """Names that are loaded anywhere in `nodes`."""
    return {
        inner.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    }


def names_written(*nodes: ast.AST) -> set[str]:
    """Names that are bound anywhere in `nodes`, comprehension variables not counted."""
    found: set[str] = set()
    for node in nodes:
        for inner in _walk_scope(node):
            match inner:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    found.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found.add(name)
                case ast.alias(name=name, asname=asname):
                    found.add((asname or name).split(".")[0])
                case ast.ExceptHandler(name=str(name)):
                    found.add(name)
                case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    found.add(name)
    return found


def bound_before(function: ast.AST, statement: ast.stmt) -> set[str]:
    """A function's parameters, and the names that it binds above `statement`."""
    place = (statement.lineno, statement.col_offset)
    return {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)} | {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and (node.lineno, node.col_offset) < place
    }


def _walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Like ast.walk, without the insides of nested functions and comprehensions."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if isinstance(
            current,
            (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.FunctionDef, ast.ClassDef),
        ):
            continue
        pending.extend(ast.iter_child_nodes(current))


def targets_written(statement: ast.stmt) -> set[str]:
    """Texts of the names, attributes and subscripted values that a statement changes: `y`, `self.x`, `out`."""
    found: set[str] = set()
    for inner in ast.walk(statement):
        match inner:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                found.add(ast.unparse(inner))
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                found.add(ast.unparse(value))
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if _in_place(attr):
                found.add(ast.unparse(value))
    return found


def _in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def called(node: ast.Call) -> str:
    """The last part of what a call calls: `sum` of `x.sum()`."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def is_pure(node: ast.AST) -> bool:
    """Whether evaluating `node` once more, or where it wasn't, changes nothing: no assignment, no known effect.

    A call of an unknown function counts as pure unless its name says otherwise (`add_`, `append`, `print`): the
    rewritten program is run against the original before it is kept.
    """
    table = knowledge()
    for inner in ast.walk(node):
        match inner:
            case ast.NamedExpr() | ast.Yield() | ast.YieldFrom() | ast.Await():
                return False
            case ast.Call():
                name = called(inner)
                if _in_place(name) or name in table.impure:
                    return False
    return True


def cannot_raise(node: ast.expr, ranked: bool = True) -> bool:
    """Whether an operand is computed without an error where a short circuit would have left it out.

    Sizes by their number only where the dimensions are `ranked`: nothing before the operand asks how many there are.
    """
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value):
            return cannot_raise(value, ranked)
        case ast.Subscript(value=ast.Attribute(value=value, attr="shape"), slice=place):
            return ranked and _is_number(place) and cannot_raise(value, ranked)
        case ast.Call(func=ast.Attribute(value=value) as method, args=arguments, keywords=[]):
            plain = method.attr in knowledge().total and all(_is_number(place) for place in arguments)
            return plain and (ranked or not arguments) and cannot_raise(value, ranked)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return name in knowledge().total and all(cannot_raise(argument, ranked) for argument in arguments)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            return cannot_raise(operand, ranked)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return cannot_raise(left, ranked) and cannot_raise(right, ranked)
        case ast.BoolOp(values=values):
            return all(cannot_raise(value, ranked) for value in values)
        case ast.Compare(left=left, ops=operators, comparators=sides):
            contained = any(isinstance(operator, (ast.In, ast.NotIn)) for operator in operators)
            displays = (ast.Tuple, ast.List, ast.Set)
            return (not contained or isinstance(sides[-1], displays)) and all(
                cannot_raise(side, ranked) for side in (left, *sides)
            )
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return all(cannot_raise(element, ranked) for element in elements)
    return False


def _is_number(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def asks_rank(*nodes: ast.AST) -> bool:
    """Whether anything in `nodes` asks how many dimensions there are."""
    return any(
        (inner.attr if isinstance(inner, ast.Attribute) else inner.id) in knowledge().ranks
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, (ast.Attribute, ast.Name))
    )


def draws_random(node: ast.AST) -> bool:
    """Whether `node` calls something that draws random numbers, by its name."""
    table = knowledge()
    return any(
        isinstance(inner, ast.Call) and (called(inner).rstrip("_") in table.random or "dropout" in called(inner))
        for inner in ast.walk(node)
    )


def fresh_name(source: SourceFile, base: str) -> str:
    """`base`, or `base_2` and so on where the file already uses that name."""
    used = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    used |= {node.arg for node in ast.walk(source.tree) if isinstance(node, ast.arg)} | set(dir(builtins))
    name, number = base, 2
    while name in used:
        name, number = f"{base}_{number}", number + 1
    return name


# ---------------------------------------------------------------------- lines and blocks


def begins_line(source: SourceFile, statement: ast.stmt) -> bool:
    """Whether only white space stands before the statement on its line."""
    return source.lines[statement.lineno - 1][: source.span(statement).column - 1].strip() == ""


def owns_lines(source: SourceFile, statement: ast.stmt) -> bool:
    """Whether no other statement shares the lines of this one (a comment may)."""
    if not begins_line(source, statement) or statement.end_lineno is None:
        return False
    span = source.span(statement)
    rest = source.lines[span.end_row - 1][span.end_column - 1 :].strip()
    return rest == "" or rest.startswith("#")


def is_elif(source: SourceFile, statement: ast.stmt) -> bool:
    """Whether an `if` statement is written `elif`."""
    return isinstance(statement, ast.If) and source.segment(statement).startswith("elif")


def indent_unit(source: SourceFile, statement: ast.stmt | None = None) -> str:
    """One level of indentation, as the block around `statement` (or the file) has it."""
    candidates: list[ast.AST] = [] if statement is None else [statement, *source.ancestors(statement)]
    for node in [*candidates, *ast.walk(source.tree)]:
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and body and isinstance(body[0], ast.stmt):
            outer, inner = source.indentation(node), source.indentation(body[0])
            if body[0].lineno > node.lineno and inner.startswith(outer) and len(inner) > len(outer):
                return inner[len(outer) :]
    return "    "


def enclosing_block(source: SourceFile, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements that `statement` is a member of."""
    parent = source.parents.get(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return block
    return [statement]


def block_text(source: SourceFile, body: Sequence[ast.stmt], indentation: str) -> str | None:
    """The lines of `body` (comments before its statements included) at another indentation, without a last newline.

    None where the block shares lines with something else, or its lines aren't indented alike.
    """
    if not body or not all(owns_lines(source, statement) for statement in body):
        return None
    first, last = body[0], body[-1]
    old = source.indentation(first)
    start = first.lineno
    decorators = getattr(first, "decorator_list", [])
    if decorators:
        start = decorators[0].lineno
    end = last.end_lineno or last.lineno
    protected = _inside_strings(body)
    lines: list[str] = []
    for row in range(start, end + 1):
        line = source.lines[row - 1]
        if row in protected:
            lines.append(line)
        elif not line.strip():
            lines.append(line.lstrip(" \t"))
        elif line.startswith(old):
            lines.append(indentation + line[len(old) :])
        elif line.lstrip().startswith("#") or _continues(body, row):
            lines.append(indentation + line.lstrip() if line.lstrip().startswith("#") else line)
        else:
            return None
    return "".join(lines).rstrip("\r\n")


def _inside_strings(body: Sequence[ast.stmt]) -> set[int]:
    """Rows that begin inside a string."""
    rows: set[int] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.JoinedStr) or (
                isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
            ):
                rows.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    return rows


def _continues(body: Sequence[ast.stmt], row: int) -> bool:
    """Whether `row` continues a statement that began on an earlier row."""
    starts = {node.lineno for statement in body for node in ast.walk(statement) if isinstance(node, ast.stmt)}
    return row not in starts


def here(source: SourceFile, node: ast.AST) -> Span:
    """The empty span before `node`."""
    span = source.span(node)
    return Span(source.filename, span.row, span.column, span.row, span.column)


def after(source: SourceFile, node: ast.AST) -> Span:
    """The empty span after `node`."""
    span = source.span(node)
    return Span(source.filename, span.end_row, span.end_column, span.end_row, span.end_column)


def line_start(source: SourceFile, row: int) -> Span:
    """The empty span at the start of a line."""
    return Span(source.filename, row, 1, row, 1)


def insert_before(source: SourceFile, statement: ast.stmt, lines: Sequence[str]) -> Edit:
    """New lines before `statement`, at its indentation (each line may be indented further)."""
    indentation, newline = source.indentation(statement), source.newline
    text = "".join(f"{indentation}{line}{newline}" if line else newline for line in lines)
    row = statement.lineno
    decorators = getattr(statement, "decorator_list", [])
    if decorators:
        row = decorators[0].lineno
    return Edit(line_start(source, row), text)


def joined(source: SourceFile, statement: ast.stmt, lines: Sequence[str]) -> str:
    """Lines that stand in the place of `statement`: the first where it began, the others at its indentation."""
    return (source.newline + source.indentation(statement)).join(lines)


def removal(source: SourceFile, statement: ast.stmt) -> Edit:
    """Take out the lines of a statement, its trailing comment and newline included."""
    end = statement.end_lineno or statement.lineno
    return Edit(
        Span(source.filename, statement.lineno, 1, end, len(source.lines[end - 1]) + 1)
        if end == len(source.lines)
        else Span(source.filename, statement.lineno, 1, end + 1, 1),
        "",
    )


def wrap_edits(source: SourceFile, node: ast.expr, before: str, place: int, behind: str = "") -> tuple[Edit, ...]:
    """Insert `before` and `behind` around `node`, which gets parentheses where `place` needs them."""
    opened, closed = ("(", ")") if binding(node) < place else ("", "")
    span = source.span(node)
    line = source.lines[span.row - 1]
    glued = span.column > 1 and (line[span.column - 2].isalnum() or line[span.column - 2] == "_")
    edits = [Edit(here(source, node), (" " if glued else "") + before + opened)]
    if closed + behind:
        edits.append(Edit(after(source, node), closed + behind))
    return tuple(edits)


def parses(source: SourceFile, edits: Sequence[Edit]) -> bool:
    """Whether the text after `edits` is still Python, and another text than before."""
    try:
        text = source.apply(edits)
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return text != source.text


# ---------------------------------------------------------------------- torch's own name


def torch_name(source: SourceFile) -> tuple[str, tuple[Import, ...]]:
    """What the file calls torch, and the import that it lacks."""
    for statement in source.tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "torch" and alias.asname:
                    return alias.asname, ()
                if alias.name == "torch" or (alias.name.startswith("torch.") and alias.asname is None):
                    return "torch", ()
    return "torch", (Import("torch"),)


SYMBOLIC_SHAPES = "torch.fx.experimental.symbolic_shapes"


def symbolic(name: str) -> Import:
    """The import of one of torch's functions over symbolic booleans (`sym_or`, `guard_or_false`)."""
    return Import(SYMBOLIC_SHAPES, name)


def compiling(context: Context) -> str:
    """`torch.compiler.is_compiling()`, with the file's name for torch."""
    return f"{torch_name(context.site.source)[0]}.compiler.is_compiling()"


def asks_compiling(node: ast.AST) -> bool:
    """Whether a test already asks if the program is being compiled."""
    return any(
        isinstance(inner, ast.Attribute) and inner.attr in {"is_compiling", "is_exporting", "is_dynamo_compiling"}
        for inner in ast.walk(node)
    )


def comments_in(source: SourceFile, span: Span) -> list[str]:
    """The texts of the comments that begin inside `span`, in order."""
    if "#" not in source.segment(span):
        return []
    first, last = source.offset(span.row, span.column), source.offset(span.end_row, span.end_column)
    return [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(source.text, newline="").readline)
        if token.type == tokenize.COMMENT and first <= source.offset(token.start[0], token.start[1] + 1) < last
    ]


def has_comment(source: SourceFile, span: Span) -> bool:
    """Whether a comment begins inside `span`."""
    return bool(comments_in(source, span))


LONGEST_LINE = 110


def laid_out(lines: Sequence[str], depth: int, unit: str) -> list[str]:
    """Built lines, with a call that ends a line too long for `depth` columns of indentation put on several lines."""
    result: list[str] = []
    for line in lines:
        stripped = line.lstrip()
        own = line[: len(line) - len(stripped)]
        long = depth + len(line.expandtabs(4)) > LONGEST_LINE and "\n" not in line
        value = _last_value(stripped) if long else None
        if value is None:
            result.append(line)
            continue
        parts: list[ast.expr] = list(value.elts if isinstance(value, ast.Tuple) else value.args)
        texts = [ast.get_source_segment(stripped, part) or "" for part in parts]
        if isinstance(value, ast.Call):
            texts += [ast.get_source_segment(stripped, keyword) or "" for keyword in value.keywords]
        head = stripped[: parts[0].col_offset].rstrip("( ")
        head = f"{head} (" if isinstance(value, ast.Tuple) else f"{head}("
        inner = laid_out([f"{own}{unit}{text}," for text in texts], depth, unit)
        result += [own + head, *inner, own + ")"]
    return result


def _last_value(line: str) -> ast.Call | ast.Tuple | None:
    """The call or tuple that is the whole value of an assignment or return."""
    try:
        statement = ast.parse(f"def f():\n {line}").body[0].body[0]  # type: ignore[attr-defined]
    except SyntaxError:
        return None
    ast.increment_lineno(statement, -1)
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Expr) or not isinstance(value, (ast.Call, ast.Tuple)):
        return None
    parts = value.elts if isinstance(value, ast.Tuple) else value.args
    if not parts or any(isinstance(part, ast.Starred) for part in parts):
        return None
    for node in ast.walk(statement):
        if hasattr(node, "col_offset"):
            node.col_offset -= 1
            node.end_col_offset -= 1  # type: ignore[attr-defined]
    return value
