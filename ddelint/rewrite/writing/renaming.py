"""Other names in a piece of code, and assignments that give a name another object."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import TypeVar, cast

import libcst as cst

from ddelint.rewrite.reading.names import is_compiling_of
from ddelint.rewrite.writing.brackets import fitted

Node = TypeVar("Node", bound=cst.CSTNode)


def renamed(tree: Node, names: Mapping[str, str]) -> Node:
    """`tree` with names, chains of attributes (`a.b`) or items of dictionaries (`a['b']`) replaced.

    Attributes and keywords of the same words stay.
    """
    return cast(Node, tree.visit(_Renaming(names))) if names else tree


def answered(tree: Node, name: str) -> Node:
    """`tree` with `name` in the place of `torch.compiler.is_compiling()`."""
    return cast(Node, tree.visit(_Answering(name)))


def rebound(tree: Node) -> Node:
    """`tree` with `x += v` written as `x = x + v`."""
    return cast(Node, tree.visit(_Rebinding()))


def picked_by_tensors(tree: Node, indices: Collection[str]) -> Node:
    """`tree` with `x[n.reshape(1)][0]` for `x[n]`, where the index is one of `indices`, as `ast.unparse` writes them,
    which are tensors of a number: an index that is a tensor with a dimension picks without a question."""
    return cast(Node, tree.visit(_Picking(indices)))


class _Answering(cst.CSTTransformer):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        asks = not original_node.args and is_compiling_of(_chain(original_node.func))
        return cst.Name(self.name) if asks else updated_node


class _Picking(cst.CSTTransformer):
    def __init__(self, indices: Collection[str]) -> None:
        super().__init__()
        self.indices = indices

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        match original_node.slice, updated_node.slice:
            case [cst.SubscriptElement(slice=cst.Index(value=read, star=None))], [
                cst.SubscriptElement(slice=cst.Index(value=index))
            ] if _text(read) in self.indices:
                place = cst.Call(fitted(cst.Attribute(index, cst.Name("reshape"))), [cst.Arg(cst.Integer("1"))])
                rows = updated_node.with_changes(slice=[cst.SubscriptElement(cst.Index(place))])
                return cst.Subscript(rows, [cst.SubscriptElement(cst.Index(cst.Integer("0")))])
        return updated_node


def _text(tree: cst.CSTNode) -> str:
    """A piece of code as `ast.unparse` writes it."""
    return ast.unparse(ast.parse(f"({cst.Module([]).code_for_node(tree)})"))


class _Rebinding(cst.CSTTransformer):
    def leave_AugAssign(self, original_node: cst.AugAssign, updated_node: cst.AugAssign) -> cst.Assign:
        target = updated_node.target
        operator = getattr(cst, type(updated_node.operator).__name__.removesuffix("Assign"))
        value = fitted(cst.BinaryOperation(target, operator(), updated_node.value))
        return cst.Assign([cst.AssignTarget(target)], value)


class _Renaming(cst.CSTTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self.names.get(updated_node.value, updated_node.value))

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        name = self.names.get(_chain(original_node))
        return cst.Name(name) if name else updated_node.with_changes(attr=original_node.attr)

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        name = self.names.get(_chain(original_node))
        return cst.Name(name) if name else updated_node

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)


def _chain(node: cst.CSTNode) -> str:
    """`a.b.c` of a chain of attributes, `a['b']` of an item, as `ast.unparse` writes them; empty for anything else."""
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=value, attr=attribute) if chain := _chain(value):
            return f"{chain}.{attribute.value}"
        case cst.Subscript(value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            return f"{chain}[{key.evaluated_value!r}]" if (chain := _chain(value)) else ""
    return ""
