"""A test as a tensor of one boolean, as torch.where wants it: `&`, `|`, `~` for and, or, not; no `.item()`."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.counted import elements_behind, most_of_each, rows_behind
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.kinds import NUMBERS, Kind, Kinds
from ddelint.rewrite.reading.names import called, draws_random, is_pure
from ddelint.rewrite.reading.optional import may_be_none
from ddelint.rewrite.writing.rewrites import Expr, Part
from ddelint.sources.compiling import answer_while_compiling

MEMBER = "({} == {}).any()"
"""What `element in tensor` asks (torch/_tensor.py, Tensor.__contains__), of the tensor and the element."""
SAME = "({} == {}).all() if {}.shape == {}.shape else {}.new_zeros((), dtype=torch.bool)"
"""What `torch.equal(a, b)` asks, of a, b, a, b and a. Tensors of other shapes are not equal, and may be compared all
the same (one row with several)."""
_FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))
"""Types of numbers that are the same in double precision, which Python compares in."""
_LEAST_PRECISION, _LEAST_EXPONENT = 256, 13
"""What the mantissa of bfloat16 and the exponent of float16 hold."""


class NotAPredicate(Exception):
    """A test that cannot be said as a tensor."""


@dataclass
class Truths:
    """Builds the tensor form of tests for one site; `names` renames what a test reads."""

    context: Context
    device: Part | None = None
    """The device of the chosen values (`x.device`), for a condition on Python numbers."""
    assume_tensor: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    bound: bool = False
    """Whether the names that tests bind with `:=` have their values before."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """How many rows tensors have at least where what is built is asked."""

    def __post_init__(self) -> None:
        self.kinds, self.write = Kinds(self.context), self.context.write

    def of(self, node: ast.expr) -> Expr:
        """The predicate for `node`. Raises NotAPredicate."""
        match node:
            case ast.NamedExpr(target=target) if self.bound:
                return self.of(target)
            case ast.NamedExpr():
                raise NotAPredicate("an assignment inside the test")
            case ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=operand)):
                return self.of(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.write.expr("~{}", self.of(operand))
            case ast.BoolOp(op=operator, values=values):
                if any(self.kinds.of(value) is Kind.STATIC for value in values):
                    raise NotAPredicate("a part that is known while tracing")
                both = isinstance(operator, ast.And)
                return self.write.joined(ast.BitAnd() if both else ast.BitOr(), self._in_a_row(values, both))
            case ast.Call(func=ast.Name(id="bool"), args=[argument]):
                return self.of(argument)
            case ast.IfExp(test=test, body=body, orelse=orelse) if (known := answer_while_compiling(test)) is not None:
                return self.of(body if known else orelse)
            case ast.Call(func=ast.Name(id="any" | "all" as name), args=[several], keywords=[]):
                return self._several(name, several)
            case ast.Call(func=ast.Attribute(attr="item", value=value), args=[]) if self.kinds.dtype(value) == "bool":
                return self.of(value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner)), args=[_, _, *_]) if owner in {
                "torch",
                self.write.torch,
            } and called(node) in {"equal", "allclose"}:
                return self._whole(node)
            case ast.Compare(left=left, ops=[_, _, *_] as operators, comparators=comparators):
                sides = [left, *comparators]
                if not all(is_pure(side) for side in sides):
                    raise NotAPredicate("a chained comparison with an effect")
                return self.write.joined(ast.BitAnd(), [self._link(*link) for link in zip(sides, operators, sides[1:])])
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as operator], comparators=[right]) if (
                self.kinds.of(right) is Kind.TENSOR
            ):
                found = self.write.expr(MEMBER, self._leaf(right), self._leaf(left))
                return found if isinstance(operator, ast.In) else self.write.expr("~{}", found)
            case ast.Compare(
                left=left, ops=[ast.In() | ast.NotIn() as operator], comparators=[ast.Tuple(elts=[_, *_] as several)]
            ) if is_pure(node) and (
                isinstance(left, ast.Constant) or all(isinstance(x, ast.Constant) for x in several)
            ):
                equal = [self._link(left, ast.Eq(), each) for each in several]
                found = self.write.joined(ast.BitOr(), equal)
                return found if isinstance(operator, ast.In) else self.write.expr("~{}", found)
            case ast.Compare(ops=[ast.In() | ast.NotIn() | ast.Is() | ast.IsNot()]):
                raise NotAPredicate("membership or identity")
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if self.kinds.of(node) is not Kind.STATIC:
                return self._link(left, operator, right, node)
        kind = self.kinds.of(node)
        if kind is Kind.STATIC:
            raise NotAPredicate("known while tracing")
        if may_be_none(self.context.site.source, node):
            raise NotAPredicate("None at times, whose truth is no number's")
        leaf = self._leaf(node)
        if kind is Kind.TENSOR or (kind is Kind.UNKNOWN and self.assume_tensor):
            return self._flat(node, leaf if self.kinds.dtype(node) in ("bool", "") else self._nonzero(leaf))
        return self.number(self._nonzero(leaf) if kind is Kind.NUMBER else self._counted(node, leaf))

    def _counted(self, node: ast.expr, flag: Expr) -> Expr:
        """A flag; one of run time as 1 or 0.

        Torch 2.13's Inductor fills no tensor with an `and` or `or` of tests (`'Or' object has no attribute 'expand'`),
        and does not have a flag that was read in the backward pass.
        """
        fact = self.kinds.fact(node)
        return self.write.expr("torch.sym_ite({}, 1, 0)", flag) if fact and fact.kind == "symbool" else flag

    def _in_a_row(self, values: Sequence[ast.expr], answer: bool) -> list[Expr]:
        """The predicates of operands, each asked where those in front of it come to `answer`."""
        built, rows = [], dict(self.rows)
        for value in values:
            built.append(replace(self, rows=rows).of(value))
            rows = most_of_each(rows, rows_behind(value, answer))
        return built

    def _several(self, name: str, several: ast.expr) -> Expr:
        """`any(x.max() > 2 for x in xs)`, `all(flags)`: the predicates side by side. Raises NotAPredicate."""
        match several:
            case ast.List(elts=[_, *_] as parts) | ast.Tuple(elts=[_, *_] as parts):
                return self.write.joined(ast.BitAnd() if name == "all" else ast.BitOr(), [self.of(p) for p in parts])
            case ast.GeneratorExp(elt=part, generators=each) | ast.ListComp(elt=part, generators=each):
                if any(one.ifs for one in each) or not is_pure(several):
                    raise NotAPredicate("a part of what is gone through")
                iterated = [(one.iter, self.write.renamed(one.iter, self.names)) for one in each]
                return self._stacked(name, self.write.replaced(several, dict([(part, self.of(part)), *iterated])))
        fact = self.kinds.fact(several)
        members = [] if fact is None else [fact.element] if fact.element else [item for _, item in fact.items]
        if members and all(member.kind in NUMBERS for member in members):
            device = [] if self.device is None else [self.write.keyword("device", self.device)]
            return self.write.expr("torch.tensor({}).{name}()", [self._leaf(several), *device], name=name)
        if not members or any(member.kind != "tensor" or member.shape != () for member in members):
            raise NotAPredicate("no tensors of one element")
        return self._stacked(name, self._leaf(several))

    def _stacked(self, name: str, several: Expr) -> Expr:
        return self.write.expr("torch.stack({}).{name}()", self.write.listed(several), name=name)

    def _leaf(self, node: ast.expr) -> Expr:
        """What a test reads, under the names that it has there; `len(t)`, which demands a number, as a size."""
        changes = elements_behind(self.context, node, self.rows)
        for inner in ast.walk(node):
            match inner:
                case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as rows]) if self.kinds.of(rows) is Kind.TENSOR:
                    changes[inner] = self.write.expr("{}.shape[0]", rows)
                case ast.NamedExpr(target=target) if self.bound:
                    changes[inner] = self.write.expression(target)
        built = self.write.replaced(node, changes) if changes else node
        return self.write.renamed(built, self.names)

    def _nonzero(self, built: Expr) -> Expr:
        return self.write.expr("{} != 0", built)

    def _flat(self, node: ast.expr, built: Expr) -> Expr:
        return self.write.expr("{}.reshape(())", built) if self.kinds.shape(node) else built

    def number(self, built: Expr) -> Expr:
        """The predicate for a test of Python numbers as built."""
        if self.device is None:
            return self.write.expr("torch.full((), {}, dtype=torch.bool)", built)
        return self.write.expr("torch.full((), {}, dtype=torch.bool, device={})", built, self.device)

    def _link(self, left: ast.expr, operator: ast.cmpop, right: ast.expr, whole: ast.expr | None = None) -> Expr:
        """One comparison; `t.sum().item() > 4` as `t.sum() > 4`, where that is the same for every number."""
        node = whole or ast.Compare(left=left, ops=[operator], comparators=[right])
        kind = self.kinds.of(node)
        if kind is Kind.TENSOR or (whole is not None and kind is Kind.UNKNOWN and self.assume_tensor):
            return self._flat(node, self._leaf(node) if whole else self._compared(left, operator, right))
        read = [self._read(side) for side in (left, right)]
        items = [side for side in read if side is not None]
        whole_numbers = all(self.kinds.dtype(item).startswith(("int", "uint")) for item in items)
        if items and ((len(items) == 2 and whole_numbers) or self._is_exact(left, right)):
            return self._compared(read[0] or left, operator, read[1] or right)
        if items and whole_numbers and (sides := self._of_whole(read, (left, right))):
            return self.write.operation(sides[0], operator, sides[1])
        whole_reads = any(isinstance(side, ast.Call) and called(side) == "int" for side in (left, right))
        if items and not whole_reads and all(self.kinds.dtype(item) in _FLOATS for item in items):
            return self.write.operation(self._wide(read[0], left), operator, self._wide(read[1], right))
        floats = [side for side in (left, right) if self._is_float_of_run_time(side)]
        if floats:
            sides = [self._held(side) if side in floats else self._leaf(side) for side in (left, right)]
            return self.write.operation(sides[0], operator, sides[1])
        return self.number(self._leaf(node) if whole else self._compared(left, operator, right))

    def _is_float_of_run_time(self, node: ast.expr) -> bool:
        """Whether a number that is compared is, or is worked out of, a float that was read from a tensor."""
        facts = (self.kinds.fact(inner) for inner in ast.walk(node) if isinstance(inner, (ast.Name, ast.Attribute)))
        return number_kind(self.kinds, node) == "float" and any(fact and fact.kind == "symfloat" for fact in facts)

    def _held(self, number: ast.expr) -> Expr:
        """A float as a tensor, in Python's precision.

        A test of the float itself is worked out again in the backward pass, where torch 2.13's Inductor does not have
        the float (`name 'zuf0' is not defined`).
        """
        if self.device is None:
            return self.write.expr("torch.full((), {}, dtype=torch.float64)", self._leaf(number))
        return self.write.expr("torch.full((), {}, dtype=torch.float64, device={})", self._leaf(number), self.device)

    def _compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Expr:
        return self.write.operation(self._leaf(left), operator, self._leaf(right))

    def _of_whole(self, read: Sequence[ast.expr | None], sides: Sequence[ast.expr]) -> list[Expr]:
        """Sides of a comparison of a whole number that is read with a number; none where no dtype holds both.

        Torch compares them in the tensor's dtype with an integer, which wraps there (300 with `uint8`), and in single
        precision with a float: in Python, neither loses anything. Double precision orders all integers as they are
        against a float below 2**53; of one that has no value in the text that is taken for granted.
        """
        (item,) = (item for item in read if item is not None)
        (number,) = (side for item, side in zip(read, sides) if item is None)
        kind, dtype = number_kind(self.kinds, number), self.kinds.dtype(item)
        if dtype == "uint64" or _is_beyond_double(number):
            return []
        if kind in ("int", "bool"):
            fits = dtype == "int64" or _holds(dtype, number)
            template = "{}" if fits else "{}.long()"
        else:
            template = "{}.double()"
        return [
            self._leaf(side) if item is None else self.write.expr(template, self._leaf(item))
            for item, side in zip(read, sides)
        ]

    def _wide(self, item: ast.expr | None, node: ast.expr) -> Expr:
        """A side of a comparison of floats: what is read from a tensor as Python has it, in double precision."""
        built = self._leaf(node if item is None else item)
        is_wide = item is None or self.kinds.dtype(item) == "float64"
        return built if is_wide else self.write.expr("{}.double()", built)

    def _read(self, node: ast.expr) -> ast.expr | None:
        match node:
            case ast.Call(func=ast.Attribute(attr="item", value=value), args=[]):
                return value
            case ast.Call(func=ast.Name(id="int" | "float"), args=[value], keywords=[]) if (
                self.kinds.of(value) is Kind.TENSOR
            ):
                return value
        return None

    def _is_exact(self, *sides: ast.expr) -> bool:
        """Whether a number that is read is compared with a literal that every float type holds as it is, integers with
        one that is a float."""
        match sides:
            case (ast.Call() as read, ast.Constant(value=int() | float() as bound)) | (
                ast.Constant(value=int() | float() as bound),
                ast.Call() as read,
            ):
                item = self._read(read)
                dtype = self.kinds.dtype(item) if item is not None else ""
                mantissa, exponent = math.frexp(bound)
                small = (mantissa * _LEAST_PRECISION).is_integer() and abs(exponent) <= _LEAST_EXPONENT
                if dtype.startswith(("int", "uint")):
                    return isinstance(bound, float) and small
                return dtype.startswith(("float", "bfloat")) and called(read) != "int" and small
        return False

    def _whole(self, node: ast.Call) -> Expr:
        """`torch.equal(a, b)` or `torch.allclose(a, b)`, element by element."""
        first, second = node.args[:2]
        shapes = [self.kinds.shape(first), self.kinds.shape(second)]
        if None not in shapes and shapes[0] != shapes[1]:
            raise NotAPredicate("shapes that differ")
        if called(node) == "equal":
            if not all(is_pure(side) and not draws_random(side) for side in (first, second)):
                raise NotAPredicate("what is compared would be computed twice")
            a, b = self._leaf(first), self._leaf(second)
            return self.write.expr(SAME, a, b, a, b, a)
        return self.write.expr("torch.isclose({}).all()", [*map(self._leaf, node.args), *node.keywords])


def _holds(dtype: str, number: ast.expr) -> bool:
    """Whether a dtype of integers holds a literal, as it is."""
    try:
        value = ast.literal_eval(number)
    except ValueError:
        return False
    bits = int(dtype.lstrip("uint"))
    low, high = (0, 1 << bits) if dtype.startswith("uint") else (-(1 << (bits - 1)), 1 << (bits - 1))
    return bool(low <= value < high)


def _is_beyond_double(number: ast.expr) -> bool:
    """Whether a float that is written out is one beside which double precision does not hold each integer."""
    match number:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_beyond_double(operand)
        case ast.Constant(value=float(value)):
            return abs(value) >= 2**53 and math.isfinite(value)
    return False
