"""Builds code for one file as libcst trees: pieces of the source as they stand, put into templates.

Moves reach it as `context.write`. Built code says `torch`; what the file calls it is put in here, and what has to be
imported is found when the rewrite is rendered.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import libcst as cst

from ddelint.rewrite.reading.names import names_read
from ddelint.rewrite.writing import templates
from ddelint.rewrite.writing.layout import one_more
from ddelint.rewrite.writing.pieces import Pieces, comments, is_elif
from ddelint.rewrite.writing.renaming import answered, picked_by_tensors, rebound, renamed
from ddelint.rewrite.writing.rewrites import Expr, Lines, Part, Statements
from ddelint.rewrite.writing.style import quote
from ddelint.rewrite.writing.templates import HOLE, Filling, Template
from ddelint.sources.source import SourceFile

_OPPOSITES: dict[type[cst.CSTNode], type[cst.CSTNode]] = {
    cst.Equal: cst.NotEqual,
    cst.LessThan: cst.GreaterThanEqual,
    cst.GreaterThan: cst.LessThanEqual,
    cst.Is: cst.IsNot,
    cst.In: cst.NotIn,
}
_OPPOSITES |= {after: before for before, after in _OPPOSITES.items()}
_BLANK_LINE = (cst.EmptyLine(indent=False),)


class Writer(Pieces):
    """Builds code for one file."""

    # ------------------------------------------------------------------ templates

    def expr(self, template: str, *parts: Part | Sequence[Part], **named: Part | Sequence[Part]) -> Expr:
        """`expr("torch.sym_max({}, {})", a, b)`: a sequence of parts fills the arguments or elements at its hole."""
        found = templates.expression(template, self.torch)
        return cast(Expr, self._filling(dict(zip(found.unnamed, parts, strict=True)) | named).filled(found))

    def lines(self, template: str, **named: Part | Sequence[Any]) -> Statements:
        """Statements from a template; a hole that stands alone on its line takes statements."""
        return templates.flat(map(self._filling(named).filled, templates.statements(template, self.torch, self.unit)))

    def apart(self, parts: Sequence[Lines]) -> Statements:
        """Definitions of a module, two blank lines between each of the parts."""
        found: Statements = []
        for part in filter(None, parts):
            first, *rest = self.block(part)
            found += [first.with_changes(leading_lines=2 * _BLANK_LINE) if found else first, *rest]
        return found

    def given(self, lines: Sequence[str]) -> Statements:
        """Statements that come as lines of Python from elsewhere, in which `torch` is the module.

        Raises Unwritable where they are none.
        """
        names = {"torch": self.torch} if self.torch != "torch" else {}
        return [renamed(statement, names) for statement in self._parsed("\n".join(lines)).body]

    def given_parameters(self, texts: Sequence[str]) -> cst.Parameters:
        """Parameters that come as text from elsewhere: `x`, `least=0.5`, `*`. Raises Unwritable where they are none."""
        (function,) = self.given([f"def _({', '.join(texts)}):", " pass"])
        return cast(cst.FunctionDef, function).params

    def expression(self, node: Part) -> Expr:
        """What `of` gives for an expression."""
        return cast(Expr, self.of(node))

    def _filling(self, parts: Mapping[str, Any]) -> Filling:
        return Filling(parts, self.of, self.block)

    def keyword(self, name: str, value: Part) -> cst.Arg:
        """`name=value`: an argument among those that fill a hole, or in the place of another one."""
        return cast(cst.Call, self.expr("_({name}={value})", name=name, value=value)).args[0]

    def starred(self, value: Part) -> cst.Arg:
        """`*value`: an argument or element among those that fill a hole."""
        return cast(cst.Call, self.expr("_(*{})", value)).args[0]

    def listed(self, several: Part) -> Expr:
        """What a generator, a comprehension or anything else that is gone through gives, as a list."""
        built = self.expression(several)
        if isinstance(built, cst.GeneratorExp):
            return cst.ListComp(built.elt, built.for_in)
        return built if isinstance(built, (cst.ListComp, cst.List, cst.Tuple)) else self.expr("list({})", built)

    def slice(self, lower: Part | None, upper: Part | None) -> cst.BaseSlice:
        """`lower : upper`: a place among those that fill a subscript, or in the place of another one."""
        bounds = {name: part for name, part in (("lower", lower), ("upper", upper)) if part is not None}
        begin, end = "{lower} " if lower is not None else "", " {upper}" if upper is not None else ""
        built = cast(cst.Subscript, self.expr(f"_[{begin}:{end}]", **bounds))
        return built.slice[0].slice

    def string(self, text: str) -> cst.SimpleString:
        """A string literal, in the quotes that the file prefers."""
        return cst.SimpleString(quote(self.source, text))

    # ------------------------------------------------------------------ what many moves build

    @property
    def compiling(self) -> Expr:
        """`torch.compiler.is_compiling()`."""
        return self.expr("torch.compiler.is_compiling()")

    def beside(self, compiled: Lines, eager: Lines) -> Statements:
        """`if torch.compiler.is_compiling():` what the compiler takes, `else:` (or `elif`) what eager keeps."""
        kept, built = self.block(eager), self.block(compiled)
        other: cst.If | cst.Else = cst.Else(cst.IndentedBlock(kept))
        if len(kept) == 1 and isinstance(kept[0], cst.If):
            other = kept[0]
        if _defines(built):
            other = other.with_changes(leading_lines=_BLANK_LINE)
        return [cst.If(self.compiling, cst.IndentedBlock(built), other)]

    def without_else(self, branch: ast.If) -> cst.If:
        """The `if` with its own block alone."""
        return cast(cst.If, self.block([branch])[-1]).with_changes(orelse=None)

    def otherwise(self, branch: ast.If) -> Statements:
        """What stands under the `else` of an `if`, or its `elif`, as statements, with the comments above it."""
        match cast(cst.If, self.block([branch])[-1]).orelse:
            case cst.If() as other:
                return [other]
            case cst.Else(
                leading_lines=above, body=cst.IndentedBlock(body=[cst.SimpleStatementLine() as first, *rest])
            ):
                return [first.with_changes(leading_lines=[*above, *first.leading_lines]), *rest]
        return self.block(branch.orelse)

    def either(self, compiled: Part, eager: Part) -> Expr:
        """`compiled if torch.compiler.is_compiling() else eager`."""
        return self.expr("{} if {} else {}", compiled, self.compiling, eager)

    def while_compiling(self, lines: Lines, known: Sequence[Part] = ()) -> Statements:
        """`if torch.compiler.is_compiling():` around lines that return: what eager does stands behind it.

        `known`: what has to hold besides.
        """
        built, asked = self.block(lines), self.joined(ast.And(), [self.compiling, *known])
        return [cst.If(asked, cst.IndentedBlock(built, footer=_BLANK_LINE if _defines(built) else ()))]

    def in_eager(self, lines: Lines) -> Statements:
        """`if not torch.compiler.is_compiling():` around lines that the compiler does without."""
        return [cst.If(self.expr("not {}", self.compiling), cst.IndentedBlock(self.block(lines)))]

    def negated(self, node: Part) -> Expr:
        """`not node`: one comparison gets the opposite operator, `not x` becomes `x`."""
        built = self.of(node)
        match built:
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                return inner
            case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=old) as target]):
                blanks = {name: getattr(old, name) for name in ("whitespace_before", "whitespace_after")}
                new: Any = _OPPOSITES[type(old)](**blanks)
                return built.with_changes(comparisons=[target.with_changes(operator=new)])
            case cst.Name(value="True" | "False" as value):
                return cst.Name("False" if value == "True" else "True")
        return self.expr("not {}", built)

    def operation(self, left: Part, operator: ast.cmpop | ast.operator | ast.boolop, right: Part) -> Expr:
        """`left operator right`, for an operator of `ast`: `ast.Lt()`, `ast.Add()`, `ast.And()`."""
        hole = ast.Name("{}")
        match operator:
            case ast.cmpop():
                return self.expr(ast.unparse(ast.Compare(hole, [operator], [hole])), left, right)
            case ast.boolop():
                return self.expr(ast.unparse(ast.BoolOp(operator, [hole, hole])), left, right)
        return self.expr(ast.unparse(ast.BinOp(hole, operator, hole)), left, right)

    def joined(self, operator: ast.operator | ast.boolop, parts: Sequence[Part]) -> Expr:
        """`a and b and c`, for an operator of `ast`."""
        built = self.expression(parts[0])
        for part in parts[1:]:
            built = self.operation(built, operator, part)
        return built

    def tuple(self, parts: Sequence[Part]) -> Expr:
        """`a, b`, in parentheses where its place needs them; `(a,)` and `()` have them everywhere."""
        listed = cast(cst.List, self.expr("[{}]", list(parts)))
        built = cst.Tuple(listed.elements)
        return built.with_changes(lpar=(), rpar=()) if len(parts) > 1 else built

    def assigned(self, target: Part, value: Part, operator: ast.operator | None = None) -> Statements:
        """`target = value`; with an operator of `ast`, `target += value`."""
        if operator is None:
            return self.lines("{target} = {value}", target=target, value=value)
        template = ast.unparse(ast.AugAssign(ast.Name("{target}"), operator, ast.Name("{value}")))
        return self.lines(template, target=target, value=value)

    def renamed(self, node: Part, names: Mapping[str, str]) -> Expr:
        """A piece with names or chains of attributes replaced; what a lambda or comprehension binds must not clash."""
        return cast(Expr, renamed(self.of(node), names))

    def renamed_lines(self, body: Lines, names: Mapping[str, str]) -> Statements:
        """Statements with names or chains of attributes replaced."""
        return [renamed(statement, names) for statement in self.block(body)]

    def answered_lines(self, lines: Lines, name: str) -> Statements:
        """Statements with `name` in the place of `torch.compiler.is_compiling()`."""
        return [answered(statement, name) for statement in self.block(lines)]

    def rebound_lines(self, body: Sequence[ast.stmt]) -> Statements:
        """Statements with `x += v` written as `x = x + v`."""
        return [rebound(statement) for statement in self.block(body)]

    def picked_by_tensors(self, lines: Lines, indices: Collection[str]) -> Statements:
        """Statements with `x[n.reshape(1)][0]` for `x[n]`, where `n` is one of `indices`, which are tensors."""
        return [picked_by_tensors(statement, indices) for statement in self.block(lines)]

    def with_keyword(self, call: Part, name: str, value: Part) -> Expr:
        """A call with one more keyword argument, on a line of its own where the others are."""
        built = cast(cst.Call, self.of(call))
        return built.with_changes(args=one_more(built.args, self.keyword(name, value), built.whitespace_before_args))

    def with_manager(self, block: ast.With, manager: Part) -> Statements:
        """A `with` statement with one more context manager, inside of the others."""
        (built,) = cast(list[cst.With], self.block([block]))
        before = getattr(built.lpar, "whitespace_after", None)
        return [built.with_changes(items=one_more(built.items, cst.WithItem(self.expression(manager)), before))]

    def replaced(self, node: ast.expr, changes: Mapping[Any, cst.CSTNode]) -> Expr:
        """A piece with some of the nodes inside it replaced."""
        if node in changes:
            return cast(Expr, changes[node])
        tree = self.marked(node, {each: f"{HOLE}{number}" for number, each in enumerate(changes)})
        template = Template(tree, templates.ways(tree))
        return cast(Expr, self._filling({str(n): new for n, new in enumerate(changes.values())}).filled(template))

    # ------------------------------------------------------------------ questions about the source

    def is_elif(self, statement: ast.stmt) -> bool:
        """Whether an `if` statement is written `elif`."""
        return is_elif(self.source, statement)

    def has_comments(self, node: ast.AST) -> bool:
        """Whether a comment stands inside a node."""
        return bool(comments(self.source.segment(node)))

    def reads(self, node: Part) -> set[str]:
        """Names that a piece reads."""
        if isinstance(node, ast.AST):
            return names_read(node)
        code = cst.Module([]).code_for_node(self.of(node))
        return names_read(ast.parse(f"(\n{code}\n)", mode="eval"))

    def code(self, node: Part) -> str:
        """The text of a node on one line, for messages."""
        return " ".join(cst.Module([]).code_for_node(self.of(node)).split())


def _defines(body: Sequence[cst.BaseStatement]) -> bool:
    return any(isinstance(statement, cst.FunctionDef) for statement in body)


@lru_cache(maxsize=16)
def writer(source: SourceFile) -> Writer:
    """The one writer of a text: its candidates share it."""
    return Writer(source)
