"""What stands in while compiling, inside of branches that are for compiling or for eager alone."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import libcst as cst

from ddelint.rewrite.writing.renaming import renamed
from ddelint.sources.compiling import answer_while_compiling


def settled(text: str, stand_ins: Mapping[str, str]) -> str:
    """`text` with `f(x) if torch.compiler.is_compiling() else x` as that side which its branch takes.

    `stand_ins`: new names that such a value is given, by the old ones. Where eager gives `x` alone, it is called `x`.
    """
    module = cst.parse_module(text)
    old_names = {new: old for old, new in stand_ins.items()}
    return module.visit(_Settling(old_names, None, module.default_indent)).code


class _Settling(cst.CSTTransformer):
    def __init__(self, old_names: Mapping[str, str], is_compiling: bool | None, indent: str) -> None:
        super().__init__()
        self.old_names, self.is_compiling, self.indent = old_names, is_compiling, indent

    def visit_If(self, node: cst.If) -> bool:
        return _sides(node.test) == (None, None)

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        body, otherwise = _sides(original_node.test)
        if (body, otherwise) == (None, None):
            return updated_node
        return updated_node.with_changes(
            body=original_node.body.visit(self._where(body)),
            orelse=original_node.orelse and original_node.orelse.visit(self._where(otherwise)),
        )

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.BaseExpression:
        known = self.is_compiling is not None and _sides(original_node.test) == (True, False)
        if not known or not isinstance(original_node.orelse, (cst.Name, cst.Attribute)):
            return updated_node
        side = updated_node.body if self.is_compiling else updated_node.orelse
        stood_alone = any(isinstance(left.whitespace_after, cst.ParenthesizedWhitespace) for left in updated_node.lpar)
        nearer = side.visit(_Nearer(self.indent)) if stood_alone else side
        return nearer if isinstance(nearer, cst.BaseExpression) else side

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.BaseSuite:
        kept = [statement for statement in updated_node.body if not self._is_old_name(statement)]
        if self.is_compiling is not False or not kept or len(kept) == len(updated_node.body):
            return updated_node
        return renamed(updated_node.with_changes(body=kept), self.old_names)

    def _where(self, is_compiling: bool | None) -> _Settling:
        return _Settling(self.old_names, self.is_compiling if is_compiling is None else is_compiling, self.indent)

    def _is_old_name(self, statement: cst.BaseStatement) -> bool:
        match statement:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(cst.Name(new))], value=cst.Name(old))]
            ):
                return self.old_names.get(new) == old
        return False


class _Nearer(cst.CSTTransformer):
    """Lines within brackets one step nearer to the margin: those around them are gone."""

    def __init__(self, indent: str) -> None:
        super().__init__()
        self.indent = indent

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.ParenthesizedWhitespace:
        nearer = updated_node.last_line.value.removeprefix(self.indent)
        return updated_node.with_changes(last_line=cst.SimpleWhitespace(nearer))


def _sides(test: cst.BaseExpression) -> tuple[bool | None, bool | None]:
    """Whether the arms of a test are for compiling (True), for eager (False), or may be for either (None)."""
    node = ast.parse(cst.Module([]).code_for_node(test), mode="eval").body
    answer = answer_while_compiling(node)
    if answer is None:
        return None, None
    compiled = None if any(isinstance(inner, ast.BoolOp) for inner in ast.walk(node)) else True
    return (compiled, False) if answer else (False, compiled)
