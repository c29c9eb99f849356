"""What an expression is, as far as names, types seen in a run, and operators say: tensor, number, bool, or known."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import StrEnum

from ddelint.knowledge.operators import dotted_name
from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.bindings import type_at
from ddelint.rewrite.reading.dtypes import (
    DTYPES_OF_NUMBERS,
    dtype_argument,
    literal_dtype,
    named_dtype,
    registered_buffer,
)
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.named import put_under
from ddelint.rewrite.reading.names import bindings, called, places_of_stores


class Kind(StrEnum):
    """The kinds of values that a test can be about."""

    TENSOR = "tensor"
    NUMBER = "number"
    """A Python number, or a symbol that stands for one."""
    BOOL = "bool"
    STATIC = "static"
    """Known while tracing: None, strings, flags, lists, modules."""
    UNKNOWN = "unknown"


NUMBERS = {"int": "int", "symint": "int", "float": "float", "symfloat": "float", "bool": "bool", "symbool": "bool"}
"""The kinds of numbers that a run saw (`TypeFact.kind`), each with Python's type for it."""
_OF_FACTS = {
    "tensor": Kind.TENSOR,
    **{kind: Kind.BOOL if number == "bool" else Kind.NUMBER for kind, number in NUMBERS.items()},
}
_TENSOR_ATTRIBUTES = frozenset(("T", "mT", "H", "data", "grad", "real", "imag"))
_STATIC_ATTRIBUTES = frozenset(("shape", "dtype", "device", "training", "is_cuda"))
_DIMENSIONS = frozenset(("axis", "dim", "keepdim"))
_RANGE = frozenset(("start", "end", "step"))
_WIDE = frozenset(("float32", "float64"))
"""Floats whose sum is of the same type under autocast, too."""
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Kinds:
    """Answers about the expressions of one site's function."""

    context: Context

    def of(self, node: ast.expr, depth: int = 0) -> Kind:
        """The kind of `node`; UNKNOWN where nothing says."""
        if depth > _DEEPEST:
            return Kind.UNKNOWN
        match node:
            case ast.Constant(value=bool() | None):
                return Kind.STATIC
            case ast.Constant(value=value):
                return Kind.NUMBER if isinstance(value, (int, float)) else Kind.STATIC
            case ast.JoinedStr() | ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.ListComp():
                return Kind.STATIC
            case ast.Name() | ast.Attribute():
                return self._named(node, depth)
            case ast.NamedExpr(value=value):
                return self.of(value, depth + 1)
            case ast.Subscript():
                return self._subscript(node, depth)
            case ast.Call():
                return self._call(node, depth)
            case ast.Compare(ops=ops, left=left, comparators=comparators):
                if all(isinstance(op, (ast.Is, ast.IsNot)) for op in ops):
                    return Kind.STATIC
                if any(isinstance(op, (ast.In, ast.NotIn)) for op in ops):
                    return Kind.STATIC if self.of(left) is Kind.STATIC else Kind.BOOL  # a key, a flag
                return self._compared([self.of(side, depth + 1) for side in (left, *comparators)])
            case ast.BoolOp(values=values):
                kinds = [self.of(value, depth + 1) for value in values]
                if Kind.TENSOR in kinds:
                    return Kind.TENSOR
                return kinds[0] if len(set(kinds)) == 1 else Kind.UNKNOWN
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Kind.STATIC if self.of(operand, depth + 1) is Kind.STATIC else Kind.BOOL
            case ast.UnaryOp(operand=operand):
                return self.of(operand, depth + 1)
            case ast.BinOp(left=left, right=right):
                kinds = [self.of(left, depth + 1), self.of(right, depth + 1)]
                if Kind.TENSOR in kinds:
                    return Kind.TENSOR
                return Kind.UNKNOWN if Kind.UNKNOWN in kinds else kinds[0]
            case ast.IfExp(body=body):
                return self.of(body, depth + 1)
        return Kind.UNKNOWN

    def _compared(self, sides: list[Kind]) -> Kind:
        if Kind.TENSOR in sides:
            return Kind.TENSOR
        if all(side is Kind.STATIC for side in sides):
            return Kind.STATIC
        return Kind.UNKNOWN if Kind.UNKNOWN in sides else Kind.BOOL

    def is_setting(self, node: ast.expr) -> bool:
        """Whether it is a bool of Python's whatever goes in, or the opposite of one: `not self.training`."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.is_setting(operand)
            case ast.Attribute():
                fact = self.fact(node)
                return fact is not None and fact.kind == "bool" and self.of(node) is Kind.STATIC
        return False

    def _named(self, node: ast.Name | ast.Attribute, depth: int) -> Kind:
        fact = self.fact(node)
        if fact is not None:
            is_known = fact.kind == "bool" and isinstance(node, ast.Attribute) and self._is_known(node)
            return Kind.STATIC if is_known else _OF_FACTS.get(fact.kind, Kind.STATIC)
        if isinstance(node, ast.Attribute):
            if node.attr in _TENSOR_ATTRIBUTES and self.of(node.value, depth + 1) is Kind.TENSOR:
                return Kind.TENSOR
            if node.attr in {"ndim", "itemsize", "nbytes"}:
                return Kind.NUMBER
            return Kind.STATIC if node.attr in _STATIC_ATTRIBUTES else Kind.UNKNOWN
        defined = definition(self.context, node.id)
        return self.of(defined, depth + 1) if defined is not None else Kind.UNKNOWN

    def _is_known(self, node: ast.Attribute) -> bool:
        """Whether the bool that a run saw there is a setting: one of torch's, or one that the file gives a value only
        while objects are made, of which this is none that the function makes itself."""
        if node.attr in _STATIC_ATTRIBUTES:
            return True
        source, root = self.context.site.source, dotted_name(node).partition(".")[0]
        if not root or isinstance(definition(self.context, root), ast.Call):
            return False
        made = [
            any(isinstance(above, ast.FunctionDef) and above.name == "__init__" for above in source.ancestors(value))
            for value in put_under(source, node.attr)
        ]
        return bool(made) and all(made)

    def _subscript(self, node: ast.Subscript, depth: int) -> Kind:
        match node.value:
            case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size")):
                return Kind.STATIC if isinstance(node.slice, ast.Slice) else Kind.NUMBER
        if (known := self.fact(node)) is not None:  # the static pass knows parts of what it reports
            return _OF_FACTS.get(known.kind, Kind.STATIC)
        fact = self.fact(node.value)
        if fact is not None and fact.element is not None:
            return _OF_FACTS.get(fact.element.kind, Kind.STATIC)
        inner = self.of(node.value, depth + 1)
        return inner if inner is Kind.TENSOR else Kind.UNKNOWN

    def _call(self, node: ast.Call, depth: int) -> Kind:
        table = knowledge()
        name = called(node)
        if self.context.types and (fact := self.fact(node)) is not None:
            return _OF_FACTS.get(fact.kind, Kind.STATIC)
        if name in table.static:
            return Kind.STATIC
        if name == "item" and isinstance(node.func, ast.Attribute):
            return Kind.BOOL if self.dtype(node.func.value) == "bool" else Kind.NUMBER
        if name in table.questions or is_float_question(node):
            return Kind.BOOL
        if isinstance(node.func, ast.Name):
            if name in {"len", "int", "float", "round", "ord", "id"}:
                return Kind.NUMBER
            if name in {"bool", "any", "all"}:
                return Kind.BOOL
            if name in {"max", "min", "abs", "sum"} and node.args:
                kinds = [self.of(argument, depth + 1) for argument in node.args]
                return Kind.TENSOR if Kind.TENSOR in kinds else Kind.NUMBER
            if name in {"str", "list", "tuple", "dict", "set", "range", "type", "repr"}:
                return Kind.STATIC
        if not isinstance(node.func, ast.Attribute):
            return Kind.UNKNOWN
        if name in table.numbers:
            return Kind.STATIC if name in {"size", "stride"} and not node.args and not node.keywords else Kind.NUMBER
        if is_torch(node.func.value):
            return Kind.TENSOR
        receiver = self.of(node.func.value, depth + 1)
        if name in {"tolist", "numpy", "split", "chunk", "unbind", "items", "keys", "values", "get"}:
            return Kind.UNKNOWN
        if receiver is Kind.TENSOR or (receiver is Kind.UNKNOWN and name in (table.reductions | table.boolean)):
            return Kind.TENSOR
        return Kind.UNKNOWN

    def fact(self, node: ast.expr) -> TypeFact | None:
        """What a run saw under the text of a name, attribute chain or other node."""
        return type_at(self.context, ast.unparse(node), node)

    def dtype(self, node: ast.expr, depth: int = 0) -> str:
        """The dtype of a tensor expression (`bool`, `int64`), or `integer`, or empty where nothing says."""
        fact = self.fact(node)
        if fact is not None and fact.kind == "tensor" and fact.dtype:
            return fact.dtype
        if depth > _DEEPEST:
            return ""
        match node:
            case ast.Compare():
                return "bool"
            case ast.UnaryOp(operand=operand):
                return self.dtype(operand, depth + 1)
            case ast.BinOp(left=left, right=right):
                dtypes = {self.dtype(side, depth + 1) for side in (left, right) if not _is_integer_literal(side)}
                if len(dtypes) != 1 or (isinstance(node.op, (ast.Div, ast.Pow)) and not dtypes <= _WIDE):
                    return ""
                (dtype,) = dtypes
                return dtype if dtype != "bool" or not any(map(_is_integer_literal, (left, right))) else "int64"
            case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=1)) if self._gives_places(call):
                return "integer"
            case ast.Attribute(value=ast.Call() as call, attr="indices") if self._gives_places(call):
                return "integer"
            case ast.Subscript(value=ast.Call() as call) if _lists_places(call):
                return "int64"
            case ast.Subscript(value=value):
                return self.dtype(value, depth + 1)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                buffer = registered_buffer(self.context, name)
                made = Kinds(buffer[0]).dtype(buffer[1], depth + 1) if buffer is not None else ""
                return made if is_integer(made) else ""  # one of floats may be converted with its module
            case ast.Attribute(value=value, attr=attr) if attr in _TENSOR_ATTRIBUTES:
                return self.dtype(value, depth + 1)
            case ast.Call():
                return self._dtype_of_call(node, depth)
            case ast.Name():
                defined = definition(self.context, node.id)
                if defined is not None:
                    return self.dtype(defined, depth + 1)
        return ""

    def _dtype_of_call(self, node: ast.Call, depth: int) -> str:
        table, name, subject, said = knowledge(), called(node), tensor_argument(node), dtype_argument(node)
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg in {None, "out"} for k in node.keywords):
            return ""  # what is handed on may say a dtype; a result that is given has its own
        inner = self.dtype(subject, depth + 1) if subject is not None else ""
        if isinstance(said, ast.Attribute) and said.attr == "dtype":
            return self.dtype(said.value, depth + 1)
        if said is not None:
            return named_dtype(said)
        if name in table.boolean:
            return "uint8" if name in {"all", "any"} and inner == "uint8" else "bool"
        if name in table.literal and node.args:
            element = fact.element if (fact := self.fact(node.args[0])) is not None else None
            return literal_dtype(node.args[0]) or (
                DTYPES_OF_NUMBERS.get(element.kind, "") if element is not None else ""
            )
        if name in table.integer:
            return "integer" if self._gives_integers(node) else ""
        if name in table.accumulating:
            return "int64" if is_integer(inner) else inner if inner in _WIDE else ""
        if name in table.of_floats:
            return inner if inner in _WIDE and not self._may_promote(node, inner, depth) else ""
        if name in table.choosing and len(node.args) == 3:
            given = {self.dtype(value, depth + 1) for value in node.args[1:] if self.of(value) is not Kind.NUMBER}
            return given.pop() if len(given) == 1 and given <= _WIDE else ""
        if name in table.dtypes and not node.args and isinstance(node.func, ast.Attribute):
            return table.dtypes[name]
        if name in table.viewing and len(node.args) == 1 and not self._is_shape(node.args[0]):
            return named_dtype(node.args[0])  # `x.view(torch.float64)`
        return inner if name in table.same_dtype and not self._may_promote(node, inner, depth) else ""

    def _gives_integers(self, node: ast.Call) -> bool:
        """Whether an operator that gives integers does so of what it is given: `arange(n)` of an integer."""
        table, name = knowledge(), called(node)
        if name in table.weighing:
            others = own_arguments(node) + [k.value for k in node.keywords if k.arg == table.weighing[name]]
            return all(isinstance(other, ast.Constant) and other.value is None for other in others[:1])
        if name not in table.counted_off:
            return True
        return all(map(self.is_whole_number, [*node.args, *(k.value for k in node.keywords if k.arg in _RANGE)]))

    def is_whole_number(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether it is an int of Python's, or a symbol for one: a literal, a size, what was seen to be one."""
        fact = self.fact(node)
        if fact is not None:
            return NUMBERS.get(fact.kind) == "int"
        if depth > _DEEPEST:
            return False
        match node:
            case ast.Constant(value=value):
                return type(value) is int
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.is_whole_number(operand, depth + 1)
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod(), left=left, right=right):
                return self.is_whole_number(left, depth + 1) and self.is_whole_number(right, depth + 1)
            case ast.Call(func=ast.Name(id="len" | "int")) | ast.Subscript(value=ast.Attribute(attr="shape")):
                return not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice)
            case (
                ast.Call(func=ast.Attribute(value=value, attr="size"), args=[_])
                | ast.Attribute(value=value, attr="ndim")
            ):
                return self.of(value) is Kind.TENSOR
            case ast.Call(func=ast.Attribute(value=value, attr=attr), args=[]) if attr in knowledge().whole:
                return self.of(value) is Kind.TENSOR
            case ast.Call(func=ast.Name(id="max" | "min"), args=[_, _, *_] as args, keywords=[]):
                return all(self.is_whole_number(argument, depth + 1) for argument in args)
            case ast.Call(func=ast.Attribute(value=value, attr="item"), args=[]):
                return is_integer(self.dtype(value, depth + 1))
            case ast.Name():
                defined = definition(self.context, node.id)
                return defined is not None and self.is_whole_number(defined, depth + 1)
        return False

    def _is_shape(self, node: ast.expr) -> bool:
        match node:
            case ast.Tuple() | ast.List() | ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size")):
                return True
            case ast.Subscript(value=ast.Attribute(attr="shape")) | ast.BinOp(op=ast.Add()):
                return True
        fact = self.fact(node)
        return self.is_whole_number(node) or (fact is not None and fact.kind in {"tuple", "list"})

    def _gives_places(self, node: ast.Call) -> bool:
        """Whether a call gives values and their places: `topk`, `max` along a dimension (not of two tensors)."""
        table, name = knowledge(), called(node)
        if name not in table.with_places or (name in table.reductions and reduces_all(node)):
            return False
        return name not in table.promoting or all(map(self.is_whole_number, own_arguments(node)[:1]))

    def _may_promote(self, node: ast.Call, dtype: str, depth: int) -> bool:
        """Whether a further argument may give the result another dtype than `dtype`."""
        if called(node) not in knowledge().promoting:
            return False
        given = [*own_arguments(node), *(k.value for k in node.keywords if k.arg not in _DIMENSIONS)]
        return not all(_is_integer_literal(value) or self.dtype(value, depth + 1) == dtype for value in given)

    def shape(self, node: ast.expr, depth: int = 0) -> tuple[str, ...] | None:
        """The sizes of a tensor expression as text; None where nothing says."""
        fact = self.fact(node)
        if fact is not None and fact.kind == "tensor" and fact.shape is not None:
            return fact.shape
        if depth > _DEEPEST:
            return None
        match node:
            case ast.Compare(left=left, comparators=[right]) | ast.BinOp(left=left, right=right):
                shapes = [
                    () if self.of(side) in (Kind.NUMBER, Kind.BOOL) else self.shape(side, depth + 1)
                    for side in (left, right)
                ]
                if shapes[0] == () or shapes[1] == ():
                    return shapes[1] if shapes[0] == () else shapes[0]
                return shapes[0] if shapes[0] == shapes[1] else None
            case ast.UnaryOp(operand=operand):
                return self.shape(operand, depth + 1)
            case ast.Call() if called(node) in knowledge().reductions and reduces_all(node):
                return ()
            case ast.Subscript(value=value, slice=ast.Constant(value=int())):
                inner = self.shape(value, depth + 1)
                return inner[1:] if inner else None
            case ast.Subscript(value=value, slice=ast.Slice()):
                inner = self.shape(value, depth + 1)
                return ("?", *inner[1:]) if inner else None
            case ast.Name():
                defined = definition(self.context, node.id)
                if defined is not None:
                    return self.shape(defined, depth + 1)
        return None


def is_torch(node: ast.expr) -> bool:
    """Whether a chain starts at torch or one of its usual module names (`torch.linalg`, `F`)."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return False
    text = ast.unparse(node)
    return text.split(".")[0] == "torch" or text in {"F", "functional", "nn.functional"}


def is_float_question(node: ast.Call) -> bool:
    """Whether a call asks of one float what it is: `math.isnan(x)`, or `isnan(x)` by its own name."""
    questions = knowledge().float_questions
    return called(node) in questions.values() and ast.unparse(node.func) in questions


def tensor_argument(node: ast.Call) -> ast.expr | None:
    """What a method or function is applied to: `x` of `x.sum()` and of `torch.sum(x)`."""
    if isinstance(node.func, ast.Attribute) and not is_torch(node.func.value):
        return node.func.value
    return node.args[0] if node.args else None


def own_arguments(node: ast.Call) -> list[ast.expr]:
    """The positional arguments behind what a method or function is applied to."""
    subject = tensor_argument(node)
    return [argument for argument in node.args if argument is not subject]


def reduces_all(node: ast.Call) -> bool:
    """Whether a reduction is over all dimensions: no `dim` is given."""
    return not own_arguments(node) and not any(k.arg in {"dim", "axis", "keepdim", None} for k in node.keywords)


def _lists_places(node: ast.Call) -> bool:
    """Whether a call gives the places where a mask is true: `nonzero`, `where` of nothing else."""
    return called(node) in knowledge().listings and not own_arguments(node)


def _is_integer_literal(node: ast.expr) -> bool:
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(value, ast.Constant) and type(value.value) is int


def is_whole(dtype: str) -> bool:
    """Whether a dtype is one of integers, not of booleans."""
    return dtype.startswith(("int", "uint"))


def is_integer(dtype: str) -> bool:
    """Whether a dtype is one of integers or booleans."""
    return dtype.startswith(("int", "uint", "bool"))


def definition(context: Context, name: str) -> ast.expr | None:
    """The value of the one plain assignment to `name` in the site's function; None where there are several."""
    function = context.site.function
    if function is None or bindings(function, name) != 1:
        return None
    for node in places_of_stores(function, name):
        match next(context.site.source.ancestors(node), None):
            case ast.Assign(targets=[_], value=value) | ast.NamedExpr(value=value):
                return value
            case ast.AnnAssign(value=value):
                return value
    return None
