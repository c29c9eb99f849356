"""An arm whose divisors, logarithms and roots see a harmless value where the arm isn't chosen.

Without it the gradient of the arm that isn't chosen can be NaN, and NaN times zero is NaN.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import applied
from ddelint.rewrite.parts.nothing import spread_of_two
from ddelint.rewrite.reading.around import is_read, number_kind
from ddelint.rewrite.reading.computed_before import computed_before
from ddelint.rewrite.reading.divisors import counts_something, is_above_zero, least_said
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition, is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.writing.rewrites import Expr, Part

FLOATS = "torch.where({}, torch.full((), {}, dtype=torch.float64), {}).item()"
"""A choice between two Python floats: as a tensor of the default dtype, one would be rounded."""
INTEGERS = "torch.where({}, {}, {}).item()"
"""The same between two integers."""


@dataclass(frozen=True, slots=True)
class Protection:
    """How an arm is kept harmless where it isn't chosen."""

    safe: bool = True
    """Whether it is at all."""
    bounded: bool = True
    """Whether a float is kept from zero by the bound that the test says it has, which is short, and lets NaN
    through."""
    again: bool = False
    """Whether what has a name from before is computed again of what is harmless, for a gradient of zero is NaN behind a
    root of zero."""
    few: bool = False
    """Whether averages of nothing, and what has no value of one, get one."""


PROTECTED, UNPROTECTED = Protection(), Protection(safe=False)


def harmless(context: Context, node: ast.expr, test: Expr, taken: bool, way: Protection = PROTECTED) -> Expr | None:
    """An arm that is computed where it isn't chosen, too; None where it has nothing to protect.

    `test` is the choice's condition as built; the arm is chosen where it is true (`taken`) or false.
    """
    if not way.safe:
        return None
    arm = _Arm(context, test, taken, way)
    arm.visit(node)
    return context.write.replaced(node, arm.changes) if arm.changes else None


def may_harm(context: Context, node: ast.AST) -> bool:
    """Whether what is divided by, or was computed before, has a gradient that is NaN at times."""
    value: ast.expr | None = None
    match node:
        case ast.BinOp(op=ast.Div(), right=ast.Call() as divisor):
            value = divisor
        case ast.Name(ctx=ast.Load()):
            value = computed_before(context, node)
    if value is None:
        return False
    unsafe = knowledge().unsafe_gradients.keys() | knowledge().spreads
    return any(called(n) in unsafe if isinstance(n, ast.Call) else isinstance(n, ast.Div) for n in ast.walk(value))


def reduces_few(context: Context, node: ast.AST) -> bool:
    """Whether a reduction has no value of as few rows as there may be: an average of nothing, what spreads of one."""
    match node:
        case ast.Call():
            return called(node) in knowledge().spreads or _averages_few(Kinds(context), node)
    return False


def _averages_few(kinds: Kinds, node: ast.Call) -> bool:
    """Whether a call averages what is counted at run time, of which there may be nothing."""
    if called(node) not in knowledge().averages:
        return False
    call = applied(node)
    if call is None or ast.unparse(call.named.get("reduction", ast.Constant("mean"))) != "'mean'":
        return False
    return any(isinstance(inner, ast.expr) and _is_of_run_time(kinds, inner) for inner in ast.walk(call.tensor))


def _is_of_run_time(kinds: Kinds, node: ast.expr) -> bool:
    """Whether a tensor has as many rows as data says."""
    match node:
        case ast.Subscript(slice=ast.Constant() | ast.Slice() | ast.Tuple()):
            return False
        case ast.Subscript(slice=index):
            return kinds.dtype(index) == "bool" or _is_of_run_time(kinds, index)
        case ast.Name() | ast.Attribute():
            shape = kinds.shape(node)
            if shape is not None:
                return not all(size.isdecimal() for size in shape)
            said = definition(kinds.context, node.id) if isinstance(node, ast.Name) else None
            return isinstance(said, ast.Subscript) and _is_of_run_time(kinds, said)
    return False


@dataclass
class _Arm:
    context: Context
    test: Expr
    taken: bool
    way: Protection
    changes: dict[ast.AST, Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.write, self.kinds = self.context.write, Kinds(self.context)
        self.counted = _counted(self.context.site.decision)

    def visit(self, node: ast.AST) -> None:
        """Collect what takes the place of the operands inside `node` that can do harm."""
        unsafe = knowledge().unsafe_gradients
        match node:
            case ast.Subscript(value=rows, slice=index) if ast.unparse(rows) in self.counted:
                place = ast.unparse(index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index)
                if place in ("0", "-1"):
                    self.changes[rows] = self._padded(rows, first=place == "0")
                    return
            case ast.Call(func=ast.Attribute(attr=name), args=arguments, keywords=[]) if name in knowledge().extremes:
                reduced = self._whole(node, arguments)
                if reduced is not None:
                    self.changes[reduced] = self._extended(reduced, knowledge().extremes[name])
                    return
            case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod()) if not isinstance(node.right, ast.Constant):
                divisor = self._divisor(node)
                if divisor is not None and (again := self._again(node.right)) is not None:
                    divisor = self._filled(again, 1)
                if divisor is not None:
                    self.visit(node.left)
                    self.changes[node.right] = divisor
                    return
            case ast.Call(func=ast.Attribute(value=owner)) if called(node) in unsafe:
                operand = self._operand(node, owner)
                if operand is not None:
                    self.changes[operand] = self._filled(operand, unsafe[called(node)])
                    return
            case ast.Call() if self.way.few and _averages_few(self.kinds, node):
                inner = replace(self, changes={})
                for child in ast.iter_child_nodes(node):
                    inner.visit(child)
                self.changes[node] = self._filled(self.write.replaced(node, inner.changes), 0)
                return
            case ast.Call() if (spread := self._spread(node)) is not None:
                self.changes |= spread
                return
            case ast.Call() if self.way.few and (masks := self._masks_of_spread(node)):
                for mask in masks:
                    self.changes[mask] = self.write.expr("{} | ~{}" if self.taken else "{} | {}", mask, self.test)
                return
            case ast.Name(ctx=ast.Load()) if (again := self._again(node)) is not None:
                self.changes[node] = again
                return
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    def _spread(self, node: ast.Call) -> dict[ast.AST, Expr] | None:
        return spread_of_two(self.context, node) if self.way.again or self.way.few else None

    def _masks_of_spread(self, node: ast.Call) -> list[ast.expr]:
        """The mask of what a call takes the spread of, wherever it stands: where the arm isn't chosen it may select
        everything. None where there are several."""
        call = applied(node) if called(node) in knowledge().spreads else None
        inside = ast.walk(call.tensor) if call is not None else ()
        subscripts = [inner for inner in inside if isinstance(inner, ast.Subscript)]
        masks = [inner.slice for inner in subscripts if self.kinds.dtype(inner.slice) == "bool"]
        return masks if len({ast.unparse(mask) for mask in masks}) == 1 else []

    def _again(self, node: ast.expr) -> Expr | None:
        """A float tensor computed again, of harmless operands; None where it can do no harm."""
        value: ast.expr | None = node
        if isinstance(node, ast.Name):
            is_float = self.kinds.dtype(node).startswith(("float", "bfloat"))
            value = computed_before(self.context, node) if self.way.again and is_float else None
        if value is None or not self.way.again or self.kinds.of(node) is Kind.NUMBER:
            return None
        return harmless(self.context, value, self.test, self.taken, Protection(again=True))

    def _padded(self, rows: ast.expr, first: bool) -> Expr:
        """One harmless row more, so that there is one to take where the arm isn't chosen."""
        row = self.write.expr("{rows}.new_zeros(1, *{rows}.shape[1:])", rows=rows)
        return self.write.expr("torch.cat([{}])", [rows, row] if first else [row, rows])

    def _whole(self, node: ast.Call, arguments: list[ast.expr]) -> ast.expr | None:
        """The counted tensor that a call reduces as a whole: there may be nothing, and then it would raise."""
        assert isinstance(node.func, ast.Attribute)
        owner = node.func.value
        of_torch = is_torch(owner) or ast.unparse(owner) == self.write.torch
        rows = owner if not arguments else arguments[0] if of_torch else None
        if rows is None or len(arguments) > 1:
            return None
        if ast.unparse(rows) in self.counted:
            return rows if self.kinds.dtype(rows).startswith(("float", "bfloat")) else None
        return rows if self._is_selected(rows) else None

    def _is_selected(self, rows: ast.expr) -> bool:
        """Whether something is a float for each place where a mask is true: `x[mask]`, `x[mask].abs()`."""
        match rows:
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[], keywords=[]):
                plain = knowledge().same_dtype - knowledge().reductions - knowledge().with_places
                return name in plain and self._is_selected(inner)
            case ast.Subscript(value=whole, slice=mask) if self.kinds.dtype(mask) == "bool":
                shape, masked = self.kinds.shape(whole), self.kinds.shape(mask)
                is_flat = shape is not None and len(shape) in (1, len(masked) if masked is not None else 1)
                return is_flat and self.kinds.dtype(whole).startswith(("float", "bfloat"))
        return False

    def _extended(self, rows: ast.expr, extreme: str) -> Expr:
        """One row more behind, which is never the one that is looked for where there is another."""
        if ast.unparse(rows) not in self.counted:
            return self.write.expr("torch.nn.functional.pad({}, (0, 1), value={})", rows, self.write.expr(extreme))
        template = "{rows}.new_full((1, *{rows}.shape[1:]), {extreme})"
        row = self.write.expr(template, rows=rows, extreme=self.write.expr(extreme))
        return self.write.expr("torch.cat([{}])", [rows, row])

    def _divisor(self, division: ast.BinOp) -> Expr | None:
        node = division.right
        if self.kinds.of(node) in (Kind.TENSOR, Kind.UNKNOWN):
            return self._filled(node, 1)
        kind, decision = number_kind(self.kinds, node), self.context.site.decision
        least = least_said(decision, node, self.taken) if self.way.bounded or kind != "float" else None
        if least is None and (not is_read(self.kinds, node) or is_above_zero(self.kinds, node)):
            return None
        if least is None and counts_something(self.kinds, decision, node, self.taken):
            least = ast.Constant(1)
        if least is not None:
            return self.write.expr("torch.sym_max({}, {})", node, least)
        if not (self._has_gradient(division.left) or self._may_raise(division)):
            return None
        match kind:
            case "float":
                return self._filled(node, 1.0, FLOATS)
            case "int":
                return self._filled(node, 1, INTEGERS)
        return None

    def _may_raise(self, division: ast.BinOp) -> bool:
        """Whether a division by zero gives an error, not infinity: of numbers, or of integers."""
        return not isinstance(division.op, ast.Div) or self.kinds.of(division.left) is Kind.NUMBER

    def _has_gradient(self, node: ast.expr) -> bool:
        parts = (inner for inner in ast.walk(node) if isinstance(inner, ast.expr))
        return any(fact is not None and fact.requires_grad for fact in map(self.kinds.fact, parts))

    def _operand(self, node: ast.Call, owner: ast.expr) -> ast.expr | None:
        """What a function of torch or a method of a tensor is computed of."""
        is_dotted = isinstance(owner, (ast.Name, ast.Attribute))
        if is_torch(owner) or (is_dotted and ast.unparse(owner).split(".")[0] == self.write.torch):
            return node.args[0] if node.args else None
        return owner if self.kinds.of(owner) in (Kind.TENSOR, Kind.UNKNOWN) else None

    def _filled(self, operand: Part, value: float, choice: str = "torch.where({}, {}, {})") -> Expr:
        return self.write.expr(choice, self.test, *((operand, value) if self.taken else (value, operand)))


def _counted(test: ast.expr | None) -> set[str]:
    """Texts of what a test asks the size of: `hits` of `hits.numel() > 0`, `len(hits)`, `hits.shape[0]`."""
    found: set[str] = set()
    for node in ast.walk(test) if test is not None else ():
        match node:
            case (
                ast.Call(func=ast.Attribute(value=rows, attr="numel" | "size" | "nelement"))
                | ast.Call(func=ast.Name(id="len"), args=[rows])
                | ast.Attribute(value=rows, attr="shape")
            ):
                found.add(ast.unparse(rows))
    return found
