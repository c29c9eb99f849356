"""Long lines of built code: the call or display that ends one, or the definition, gets a line for each of its parts.

So does a call or tuple of several parts one of which runs over lines. What has neither is broken before its operators.

Lines that stand in the source already stay as their author broke them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst


def laid_out(statement: Any, unit: str, indentation: str, longest: int, written: str) -> Any:
    """The statement with its lines of more than `longest` characters broken, where it stands at `indentation`.

    Lines of `written`, the text of the file, stay as somebody has written them.
    """
    return statement.visit(_Breaking(unit, len(indentation.expandtabs(4)), longest, written))


def broken_as_needed(value: Any, unit: str, depth: int, longest: int, written: str) -> Any:
    """An expression over several lines, at so many characters of indentation, and its parts where they need it.

    The same where it has nothing to break.
    """
    return _Breaking(unit, depth, longest, written)._as_far_as_needed(value, depth)


class _Breaking(cst.CSTTransformer):
    def __init__(self, unit: str, depth: int, longest: int, written: str) -> None:
        super().__init__()
        self.unit, self.depth, self.longest, self.written = unit, depth, longest, written
        self.continuing: set[cst.If] = set()
        """Those that are written `elif`."""

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> None:
        self.depth += len((node.indent or self.unit).expandtabs(4))

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> Any:
        self.depth -= len((original_node.indent or self.unit).expandtabs(4))
        return updated_node

    def leave_SimpleStatementLine(self, original_node: Any, updated_node: Any) -> Any:
        (small,) = updated_node.body if len(updated_node.body) == 1 else (None,)
        value = getattr(small, "value", None)
        if small is None or value is None:
            return updated_node
        is_long = self._is_long(original_node.with_changes(leading_lines=()))
        broken = self._as_far_as_needed(value, self.depth) if is_long else self._spread(value)
        return updated_node.with_changes(body=[small.with_changes(value=broken)])

    def visit_If(self, node: cst.If) -> None:
        if isinstance(node.orelse, cst.If):
            self.continuing.add(node.orelse)

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> Any:
        header = original_node.with_changes(orelse=None, body=_NO_BLOCK, leading_lines=())
        return self._with_test(header, updated_node, 2 if original_node in self.continuing else 0)

    def leave_While(self, original_node: cst.While, updated_node: cst.While) -> Any:
        return self._with_test(original_node.with_changes(orelse=None, body=_NO_BLOCK, leading_lines=()), updated_node)

    def _with_test(self, header: cst.CSTNode, node: Any, further: int = 0) -> Any:
        """A statement with its test broken where its header, and `further` characters, are too long for a line."""
        if not self._is_long(header, further - len("pass")):
            return node
        return node.with_changes(test=self._as_far_as_needed(node.test, self.depth))

    def leave_Decorator(self, original_node: cst.Decorator, updated_node: cst.Decorator) -> cst.Decorator:
        broken = _broken(updated_node.decorator, self.unit)
        long = broken is not None and self._is_long(original_node.with_changes(leading_lines=()))
        return updated_node.with_changes(decorator=broken) if long else updated_node

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        body = cst.SimpleStatementSuite([cst.Expr(cst.Ellipsis())], leading_whitespace=cst.SimpleWhitespace(""))
        header = original_node.with_changes(leading_lines=(), decorators=(), lines_after_decorators=(), body=body)
        members = updated_node.params.params
        plain = members and updated_node.params.deep_equals(cst.Parameters(members))
        if not plain or not self._is_long(header):
            return updated_node
        return updated_node.with_changes(
            whitespace_before_params=_line(self.unit), params=cst.Parameters(_a_line_each(members, self.unit))
        )

    def _as_far_as_needed(self, value: Any, depth: int) -> Any:
        """A call, tuple or operation with a line for each of its parts, and for parts of those that are too long."""
        field = "args" if isinstance(value, cst.Call) else "elements"
        deeper = depth + len(self.unit.expandtabs(4))
        if isinstance(value, (cst.Call, cst.Tuple)):
            parts = []
            for part in getattr(value, field):
                long = self._runs_out(part.with_changes(comma=cst.MaybeSentinel.DEFAULT), deeper + len(","))
                parts.append(part.with_changes(value=self._as_far_as_needed(part.value, deeper)) if long else part)
            value = value.with_changes(**{field: parts})
        return broken_once(self._operands(value, deeper), self.unit) or value

    def _operands(self, value: Any, depth: int) -> Any:
        """An operation that is broken before its operators, with operands broken that are too long by themselves."""
        fields: tuple[str, ...]
        match value:
            case cst.IfExp():
                fields = ("body", "test", "orelse")
            case cst.BooleanOperation(left=left, operator=operator) | cst.BinaryOperation(left=left, operator=operator):
                fields = ("left", "right")
                if isinstance(left, type(value)) and isinstance(left.operator, type(operator)) and not left.lpar:
                    value = value.with_changes(left=self._operands(left, depth))
                    fields = ("right",)
            case _:
                return value
        operands = {field: getattr(value, field) for field in fields}
        too_long = {f: operand for f, operand in operands.items() if self._runs_out(operand, depth + _BEFORE[f])}
        return value.with_changes(**{field: self._operand(operand, depth) for field, operand in too_long.items()})

    def _operand(self, value: Any, depth: int) -> Any:
        """An operand that is too long; where it is an operation that ends in brackets, only these are broken."""
        if isinstance(value, (cst.BooleanOperation, cst.BinaryOperation)) and not value.lpar:
            right = self._as_far_as_needed(value.right, depth)
            broken = value.with_changes(right=right)
            first = cst.Module([]).code_for_node(broken).splitlines()[0]
            if right is not value.right and depth + len(first) <= self.longest:
                return broken
        return self._as_far_as_needed(value, depth)

    def _runs_out(self, value: cst.CSTNode, depth: int) -> bool:
        """Whether an expression that was built is too long for a line."""
        text = cst.Module([]).code_for_node(value)
        return depth + len(text) > self.longest and "\n" not in text and text not in self.written

    def _spread(self, value: Any) -> Any:
        """A call or tuple that is built, with a line for each of several parts where one of them runs over lines."""
        first, *further = cst.Module([]).code_for_node(value).splitlines()
        field = "args" if isinstance(value, cst.Call) else "elements"
        if not further or first.strip() in self.written or not isinstance(value, (cst.Call, cst.Tuple)):
            return value
        parts = [part.with_changes(value=self._spread(part.value)) for part in getattr(value, field)]
        spread: Any = value.with_changes(**{field: parts})
        runs_over = any("\n" in cst.Module([]).code_for_node(part.value) for part in parts)
        return _broken(spread, self.unit) if runs_over and len(parts) > 1 else spread

    def _is_long(self, line: cst.CSTNode, further: int = 0) -> bool:
        """Whether a node of one line, with so many further characters, is built, and too long."""
        text = cst.Module([]).code_for_node(line).strip()
        long = self.depth + len(text) + further > self.longest
        return long and "\n" not in text and text not in self.written


_BEFORE = {"body": 0, "left": 0, "right": len("and "), "test": len("if "), "orelse": len("else ")}
"""What stands before an operand on its line."""
_NO_BLOCK = cst.SimpleStatementSuite([cst.Pass()], leading_whitespace=cst.SimpleWhitespace(""))


def broken_once(value: Any, unit: str) -> Any:
    """An expression over several lines: a call or tuple by its parts, all else before its operators; None where it has
    neither."""
    return _broken(value, unit) or _at_operators(value, unit)


def _at_operators(value: Any, unit: str) -> Any:
    """An operation in parentheses of their own lines, broken before each of its loosest operators, or None."""
    match value:
        case cst.BooleanOperation() | cst.BinaryOperation() | cst.Comparison() | cst.IfExp():
            return _before_operators(value.visit(_Deeper(unit)), unit).with_changes(
                lpar=[cst.LeftParen(whitespace_after=_line(unit))], rpar=[cst.RightParen(whitespace_before=_line(""))]
            )
    return None


def _before_operators(value: Any, unit: str) -> Any:
    match value:
        case cst.BooleanOperation(left=left, operator=operator) | cst.BinaryOperation(left=left, operator=operator):
            if isinstance(left, type(value)) and isinstance(left.operator, type(operator)) and not left.lpar:
                left = _before_operators(left, unit)
            return value.with_changes(left=left, operator=operator.with_changes(whitespace_before=_line(unit)))
        case cst.Comparison(comparisons=targets):
            broken = [
                target.with_changes(operator=target.operator.with_changes(whitespace_before=_line(unit)))
                for target in targets
            ]
            return value.with_changes(comparisons=broken)
        case cst.IfExp():
            return value.with_changes(whitespace_before_if=_line(unit), whitespace_before_else=_line(unit))
    return value


def _broken(value: Any, unit: str) -> Any:
    """A call (indexed or not) or tuple with a line for each of its parts; None for anything else."""
    match value:
        case cst.Call(args=[cst.Arg(value=cst.GeneratorExp(lpar=[])) as only]):  # behind it no comma may stand
            inner: Any = only.visit(_Deeper(unit))
            inner = inner.with_changes(whitespace_after_arg=_line(""))
            return value.with_changes(whitespace_before_args=_line(unit), args=[inner])
        case cst.Call(args=[_, *_] as args):
            return value.with_changes(whitespace_before_args=_line(unit), args=_a_line_each(args, unit))
        case cst.ListComp() | cst.SetComp() | cst.DictComp():
            inner = value.visit(_Deeper(unit))
            return _within_brackets(inner, unit, _line("")).with_changes(for_in=_before_for(inner.for_in, unit))
        case cst.List(elements=[_, *_]) | cst.Set(elements=[_, *_]) | cst.Dict(elements=[_, *_]):
            closing = cst.SimpleWhitespace("")  # the last comma ends its line
            return _within_brackets(value, unit, closing).with_changes(elements=_a_line_each(value.elements, unit))
        case cst.Subscript(value=inner) | cst.Attribute(value=inner) if broken := _broken(inner, unit):
            return value.with_changes(value=broken)
        case cst.Call(args=[], func=cst.Attribute() as method) if broken := _broken(method, unit):
            return value.with_changes(func=broken)
        case cst.UnaryOperation(expression=inner) if broken := _broken(inner, unit):
            return value.with_changes(expression=broken)
        case cst.Tuple(elements=[_, *_] as elements):
            return value.with_changes(
                lpar=[cst.LeftParen(whitespace_after=_line(unit))],
                rpar=[cst.RightParen()],
                elements=_a_line_each(elements, unit),
            )
    return None


def _within_brackets(value: Any, unit: str, before_closing: cst.BaseParenthesizableWhitespace) -> Any:
    """A list, set or dictionary, or a comprehension of one, that begins behind the line of its opening bracket."""
    left, right = ("lbracket", "rbracket") if isinstance(value, (cst.List, cst.ListComp)) else ("lbrace", "rbrace")
    opening = getattr(value, left).with_changes(whitespace_after=_line(unit))
    return value.with_changes(
        **{left: opening, right: getattr(value, right).with_changes(whitespace_before=before_closing)}
    )


def _before_for(clause: cst.CompFor, unit: str) -> cst.CompFor:
    """The loops of a comprehension, and their conditions, on a line each."""
    inner = None if clause.inner_for_in is None else _before_for(clause.inner_for_in, unit)
    conditions = [condition.with_changes(whitespace_before=_line(unit)) for condition in clause.ifs]
    return clause.with_changes(whitespace_before=_line(unit), ifs=conditions, inner_for_in=inner)


def _line(unit: str) -> cst.ParenthesizedWhitespace:
    return cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace(unit))


def _a_line_each(members: Any, unit: str) -> list[Any]:
    last = len(members) - 1
    return [
        member.visit(_Deeper(unit)).with_changes(comma=cst.Comma(whitespace_after=_line(unit if number < last else "")))
        for number, member in enumerate(members)
    ]


class _Deeper(cst.CSTTransformer):
    """Moves the further lines of an expression one level in."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def leave_ParenthesizedWhitespace(self, original_node: Any, updated_node: cst.ParenthesizedWhitespace) -> Any:
        blanks = updated_node.last_line.with_changes(value=self.unit + updated_node.last_line.value)
        return updated_node.with_changes(last_line=blanks) if updated_node.indent else updated_node


def one_more(members: Sequence[Any], new: Any, before: Any) -> list[Any]:
    """Arguments, or other members divided by commas, and one more, on a line of its own where the others are.

    `before`: the blank before the first of them.
    """
    if not members:
        return [new]
    *others, last = members
    blank = getattr(others[-1].comma, "whitespace_after", None) if others else before
    if isinstance(blank, cst.ParenthesizedWhitespace):
        blank = cst.ParenthesizedWhitespace(indent=blank.indent, last_line=blank.last_line)  # without its comment
    else:
        blank = cst.SimpleWhitespace(" ")
    new = new.with_changes(comma=last.comma)
    if isinstance(last, cst.Arg):  # the line end before the closing bracket, where no comma stands there
        new = new.with_changes(whitespace_after_arg=last.whitespace_after_arg)
        last = last.with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
    return [*others, last.with_changes(comma=cst.Comma(whitespace_after=blank)), new]
