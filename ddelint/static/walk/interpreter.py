"""Abstract interpretation of functions over `ast`: what each expression may be, and where a value is demanded."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from ddelint.operators import dotted_name, operators, terminal_name
from ddelint.source import descend
from ddelint.static.domain.events import Event
from ddelint.static.domain.facts import NONNEGATIVE, decide_all
from ddelint.static.domain.state import Frame, Loop, Meeting, State, join_states
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    ClassReference,
    Comparison,
    Constant,
    Function,
    Instance,
    Known,
    Linear,
    Method,
    Module,
    Optional,
    Parent,
    Partial,
    Path,
    Series,
    Step,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    form_of,
    fresh_symbol,
    join,
    replace,
    series,
)
from ddelint.static.domain.widening import MOST_PASSES, WIDENED_FROM, settled, widen
from ddelint.static.program.regions import ClassInfo, FileIndex, FunctionNode, Root
from ddelint.static.walk import arguments, classes, hints
from ddelint.static.walk.arms import Arms, switch_of
from ddelint.static.walk.calls import Calls
from ddelint.static.walk.indexing import index_tensor, stored_at
from ddelint.static.walk.matching import Matching
from ddelint.static.walk.origins import Origins
from ddelint.static.walk.records import Records
from ddelint.static.walk.spines import FIRST, Link

MOST_ITEMS = 4
"""A comprehension over so many different things is interpreted for each of them."""
MOST_STEPS = 400_000
"""Nodes evaluated for one root, so that the next one has its share, too."""
MOST_STEPS_IN_A_FILE = 1_000_000
"""Nodes evaluated for all of a file's roots."""
MOST_TERMS = 64
"""A number that is made of more symbols is just a number."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NUMERIC = (Constant, Known, Unbacked)


class BudgetError(Exception):
    """The steps of a root, or of its file, are used up."""


class Interpreter:
    """Interprets the functions of one file. `events` grows in the order in which questions are met."""

    def __init__(self, index: FileIndex) -> None:
        self.index = index
        self.source = index.source
        self.events: list[Event] = []
        self._reported: set[tuple[object, ...]] = set()
        """What events are about: the same question again says nothing new."""
        self.steps = 0
        """Nodes evaluated so far, for all roots."""
        self._limit = MOST_STEPS
        """The number of steps at which the root is given up."""
        self.granted = 0
        """The number of steps that the root was given."""
        self.row = 0
        """The last row of the root that was looked at."""
        self.quiet = 0
        """Above zero: nothing is recorded (constructors run in eager)."""
        self.frames: list[Frame] = []
        self.scopes: list[tuple[Frame, State]] = []
        """The comprehensions being interpreted: the frame that each stands in, and what holds around it."""
        self.derived: dict[object, int] = {}
        """Symbols of non-linear expressions, by structure, so that the same expression is the same symbol."""
        self.calls = Calls(self)
        self.table = classes.Attributes(self)
        self.records = Records(self)
        self.origins = Origins(self)
        self.globals: dict[str, Value] = {}
        self.given: set[int] = set()
        """Outlines of tensors that come in as arguments: their sizes are known while tracing."""
        self._arms = Arms(self)
        self._expressions: dict[type, Callable[..., Value]] = {
            ast.BoolOp: self._boolean,
            ast.Compare: self._compare,
            ast.Constant: lambda node, state: Constant(node.value),
            ast.Dict: self._dict,
            ast.DictComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.IfExp: self._arms.conditional,
            ast.JoinedStr: self._formatted,
            ast.Lambda: lambda node, state: Function(node, None, state.names, self.frames[-1].owner, self.frames[-1]),
            ast.List: self._display,
            ast.ListComp: self._comprehension,
            ast.Name: self._name,
            ast.NamedExpr: self._named,
            ast.Set: self._display,
            ast.SetComp: self._comprehension,
            ast.Slice: self._slice,
            ast.Starred: lambda node, state: self.evaluate(node.value, state),
            ast.Tuple: self._display,
            ast.Yield: self._yielded,
            ast.YieldFrom: self._yielded,
        }
        self._links: dict[type, Link] = {
            ast.Attribute: self._attribute,
            ast.Await: lambda node, value, state: value,
            ast.BinOp: self._binary,
            ast.Call: self.calls.evaluate,
            ast.Subscript: self._subscript,
            ast.UnaryOp: self._unary,
        }
        self._statements: dict[type, Callable[..., State | None]] = {
            ast.AnnAssign: self._annotated_assign,
            ast.Assert: self._assert,
            ast.Assign: self._assign,
            ast.AsyncFor: self._for,
            ast.AsyncFunctionDef: self._define,
            ast.AsyncWith: self._with,
            ast.AugAssign: self._augmented,
            ast.Break: self._break,
            ast.ClassDef: lambda node, state: state,
            ast.Continue: self._continue,
            ast.Delete: self._delete,
            ast.Expr: self._expression_statement,
            ast.For: self._for,
            ast.FunctionDef: self._define,
            ast.If: self._arms.run,
            ast.Match: Matching(self).run,
            ast.Raise: lambda node, state: None,
            ast.Return: self._return,
            ast.Try: self._try,
            ast.While: self._while,
            ast.With: self._with,
        }
        if hasattr(ast, "TryStar"):
            self._statements[ast.TryStar] = self._try

    # ---- entry points

    def run(self, root: Root) -> None:
        """Interpret a function from its first line, its parameters being what their declaration says.

        Raises BudgetError, and RecursionError where it nests too deep; what was found until then is in `events`.
        """
        bound: Value | None = None
        if root.owner is not None and isinstance(root.node, FunctionNode) and _takes_self(root.node):
            bound = Instance(root.owner)
        function = Function(root.node, bound, None, root.owner)
        self._begin(root.node)
        state = State()
        given, named = arguments.of_entry(self, root, state)
        self.calls.invoke(function, given, named, state, root.node)

    def run_late(self, function: Function, entry: State) -> None:
        """Interpret a function whose calls led too deep. Raises as `run` does."""
        self._begin(function.node)
        self.calls.follow_late(function, entry)

    def returned(
        self,
        function: Function,
        arguments: list[Value],
        keywords: dict[str, Value],
        node: ast.Call,
        steps: int,
    ) -> Value:
        """What a call from another file returns; nothing is recorded. Raises as `run` does."""
        self._begin(function.node)
        self._limit = self.steps + steps
        self.quiet = 1
        self.frames.append(Frame(node, None))
        return self.calls.invoke(function, arguments, keywords, State(), node)

    def _begin(self, node: FunctionNode | ast.Lambda) -> None:
        self.frames, self.scopes, self.quiet = [], [], 0
        self.row = node.lineno
        self._limit = min(self.steps + MOST_STEPS, MOST_STEPS_IN_A_FILE)
        self.granted = max(self._limit - self.steps, 0)

    def record(
        self,
        node: ast.expr,
        question: str,
        value: Value | None,
        *,
        kind: str = "",
        subject: ast.expr | None = None,
        operator: str = "",
        rule: str = "",
        advice: bool = False,
        parts: tuple[tuple[ast.expr, Value], ...] = (),
        text: str = "",
    ) -> None:
        """Note that `node` demands something of `value`."""
        if self.quiet:
            return
        if not kind:
            kind = value.topic if isinstance(value, Unbacked) else "tensor" if isinstance(value, Tensor) else "number"
        born = value.birth if isinstance(value, Unbacked) else None
        reported = (node, question, kind, subject, operator, rule, advice, text, born)
        if reported in self._reported:
            return  # another call of the same function
        self._reported.add(reported)
        trail = value.trail if isinstance(value, (Unbacked, Tensor)) else None
        fact = self.origins.answered(value) if question == "truth" else ""
        self.events.append(
            Event(node, question, kind, value, trail, subject, operator, rule, advice, parts, text, fact)
        )

    def release(self) -> None:
        """Nothing more is asked. Its parts know each other: cutting the circles saves looking for them later."""
        shapes = self.calls.shapes
        for part in (shapes.products, shapes, self.calls, self.table, self.records, self.origins, self):
            vars(part).clear()

    # ---- expressions

    def evaluate(self, node: ast.expr, state: State) -> Value:
        """The value of an expression; demands that it makes on the way are recorded."""
        spine: list[ast.expr] = []
        kind = type(node)
        while (part := FIRST.get(kind)) is not None:
            spine.append(node)
            node = getattr(node, part)
            kind = type(node)
        self.steps += 1 + len(spine)
        if self.steps > self._limit:
            raise BudgetError
        handler = self._expressions.get(kind)
        value = UNKNOWN if handler is None else handler(node, state)
        while spine:
            link = spine.pop()
            value = self._links[type(link)](link, value, state)
        return value

    def _name(self, node: ast.Name, state: State) -> Value:
        value = state.names.get(node.id)
        return value if value is not None else self.global_value(node.id)

    def global_value(self, name: str) -> Value:
        """A name of the module, an import or a built-in."""
        value = self.globals.get(name)
        if value is None:
            value = self._global(name)
            self.globals[name] = value
        return value

    def _global(self, name: str) -> Value:
        index = self.index
        if name in index.functions:
            return Function(index.functions[name])
        if name in index.classes and name not in index.imports:
            return ClassReference(index.classes[name])
        if name in index.imports:
            return Path(index.imports[name])
        if name in index.constants:
            if index.always_false(name):
                return Constant(False)
            self.globals[name] = UNKNOWN  # what it is made of may name it
            try:
                return self.settled(index.constants[name])
            except (BudgetError, RecursionError):
                del self.globals[name]  # the next root is to see this as well
                raise
        return Path(f"builtins.{name}") if name in operators().builtins else UNKNOWN

    def settled(self, node: ast.expr, names: dict[str, Value] | None = None) -> Value:
        """The value of an expression that runs in eager, before anything is compiled."""
        self.quiet += 1
        self.frames.append(Frame(node, None))
        try:
            return classes.concrete(self.evaluate(node, State(dict(names or {}))))
        finally:
            self.frames.pop()
            self.quiet -= 1

    def _attribute(self, node: ast.Attribute, owner: Value, state: State) -> Value:
        if state.attributes:
            found = state.attributes.get(dotted_name(node))
            if found is not None:
                return found
        return self.attribute_of(owner, node, state)

    def attribute_of(self, owner: Value, node: ast.Attribute, state: State) -> Value:
        """`owner.attr`."""
        name = node.attr
        if isinstance(owner, Optional):
            owner = owner.inner
        if isinstance(owner, Path):
            return Path(f"{owner.name}.{name}")
        if isinstance(owner, Parent):
            return self._inherited(owner, name)
        if isinstance(owner, Tensor):
            return self._tensor_attribute(owner, name, state)
        if isinstance(owner, Instance):
            found = self.index.method(owner.cls, name)
            if found is not None:
                return self._method_value(found, owner, node, state)
            if name in operators().regions["record_methods"] and self.records.fields(owner.cls) is not None:
                return Method(owner, name)
            return self.records.field(owner, name)
        if isinstance(owner, ClassReference):
            regions = operators().regions
            found = self.index.method(owner.cls, name)
            if found is not None:
                return Function(found[0], None, None, found[1])
            run = self.index.autograd_forward(owner.cls) if name in regions["autograd_calls"] else None
            if run is not None:  # the context comes first, unless another method is given it
                alone = any(self.index.method(owner.cls, setup) for setup in regions["autograd_contexts"])
                context = None if alone else UNKNOWN
                return Function(run[0], context, None, run[1])
            return self.table.of(owner.cls, name)
        if isinstance(owner, Series) and owner.kind == "pair" and owner.items is not None and len(owner.items) == 2:
            return owner.items[1] if name in ("indices", "max") else owner.items[0]
        if isinstance(owner, (Series, Table, Unbacked)) or (isinstance(owner, Constant) and owner.value is not None):
            return Method(owner, name)
        if isinstance(owner, Module) and name in ("weight", "bias"):
            return Tensor(boolean=False)
        return UNKNOWN

    def _inherited(self, owner: Parent, name: str) -> Value:
        """`super().name`."""
        for base in self.index.bases(owner.cls)[1:]:
            if name in base.methods:
                return Function(base.methods[name], owner.bound, None, base)
        return UNKNOWN

    def _method_value(
        self, found: tuple[FunctionNode, ClassInfo], owner: Instance, node: ast.Attribute, state: State
    ) -> Value:
        function, cls = found
        decorators = {d.id for d in function.decorator_list if isinstance(d, ast.Name)}
        if "property" in decorators or "cached_property" in decorators:
            return self.calls.invoke(Function(function, owner, None, cls), [], {}, state, node)
        if "staticmethod" in decorators:
            return Function(function, None, None, cls)
        return Function(function, owner, None, cls)

    def _tensor_attribute(self, tensor: Tensor, name: str, state: State) -> Value:
        behaviour = operators().attributes.get(name)
        if behaviour == "shape":
            return self.shape_of(tensor, state)
        if behaviour == "known":
            return KNOWN
        if behaviour == "same":
            return tensor
        if behaviour == "reversed":
            return tensor.shaped(tuple(reversed(tensor.dims)) if tensor.complete else (), tensor.complete)
        if name in operators().known_methods or name in operators().returns:
            return Method(tensor, name)
        return UNKNOWN

    # ---- sizes

    def size_of(self, tensor: Tensor, position: int, state: State) -> Value:
        """The size of one dimension (negative positions count from the end)."""
        if position < 0 and tensor.complete:
            position += len(tensor.dims)
        if 0 <= position < len(tensor.dims):
            return tensor.dims[position]
        return Known(self.symbol_form((tensor.outline, position), state))

    def symbol_form(self, key: object, state: State) -> Linear:
        """The symbol of a size that is known while tracing, the same one for the same tensor and dimension."""
        symbol = self.derived.get(key)
        if symbol is None:
            symbol = self.derived[key] = fresh_symbol()
        form = Linear.of(symbol)
        state.facts.learn_bounds(form, NONNEGATIVE)
        return form

    def shape_of(self, tensor: Tensor, state: State) -> Series:
        """`tensor.shape`."""
        if tensor.complete:
            return series(tensor.dims, "tuple")
        element: Value = KNOWN
        for size in tensor.unbacked_dims:
            element = size
        return Series("shape", None, element if not tensor.dims else KNOWN, KNOWN)

    def new_size(
        self, birth: ast.expr, state: State, trail: Step | None, form: Linear | None = None, upper: float | None = None
    ) -> Unbacked:
        """A size that depends on data: not negative, and otherwise anything."""
        form = form if form is not None else Linear.of(fresh_symbol())
        state.facts.learn_bounds(form, NONNEGATIVE if upper is None else (0, upper))
        return Unbacked("size", birth, form, trail=trail)

    def at_most(self, count: Unbacked, size: Value, state: State) -> None:
        """A count of elements cannot exceed the size that it counts in."""
        form = form_of(size)
        if count.form is not None and form is not None:
            state.facts.learn(Comparison(count.form.plus(form, -1), ast.LtE))

    def product(self, sizes: Iterable[Value], state: State) -> Value:
        """The product of sizes (an element count)."""
        result: Value = Constant(1)
        for size in sizes:
            result = self.arithmetic(ast.Mult, result, size, state, None)
        return result

    # ---- arithmetic

    def _binary(self, node: ast.BinOp, left: Value, state: State) -> Value:
        right = self.evaluate(node.right, state)
        return self.binary(type(node.op), left, right, state, node)

    def binary(
        self, operator: type[ast.operator], left: Value, right: Value, state: State, node: ast.expr | None
    ) -> Value:
        """`left OPERATOR right` of any values."""
        left, right = bare(left), bare(right)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            if isinstance(left, Series) or isinstance(right, Series):
                return UNKNOWN
            if operator is ast.MatMult and isinstance(left, Tensor) and isinstance(right, Tensor):
                return self.calls.shapes.products.multiplied(left, right)
            return self.calls.shapes.broadcast((left, right), bitwise=operator in (ast.BitAnd, ast.BitOr, ast.BitXor))
        if isinstance(left, Series) and isinstance(right, Series) and operator is ast.Add:
            return _concatenated(left, right)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Series) and operator is ast.Mult:
                if isinstance(other, Unbacked) and node is not None:
                    self.record(node, "integer", other, parts=self.parts(node, state))
                return Series(one.kind, None, one.each, KNOWN)
        if isinstance(left, Constant) and isinstance(left.value, str):
            if operator is ast.Mod and isinstance(right, Unbacked) and node is not None:
                self.record(node, "failure", right, parts=self.parts(node, state), rule="DDE208")
            return KNOWN
        if isinstance(left, _NUMERIC) and isinstance(right, _NUMERIC):
            return self.arithmetic(operator, left, right, state, node)
        for value in (left, right):
            if isinstance(value, Unbacked):
                return replace(value, form=None, comparisons=(), loose=True)
        return UNKNOWN

    def arithmetic(
        self, operator: type[ast.operator], left: Value, right: Value, state: State, node: ast.expr | None
    ) -> Value:
        """Arithmetic of numbers, as a linear form where it is one."""
        first, second = form_of(left), form_of(right)
        form = self._combined(operator, first, second, state)
        unbacked = [value for value in (left, right) if isinstance(value, Unbacked)]
        if not unbacked:
            if isinstance(left, Constant) and isinstance(right, Constant):
                return _folded(operator, left.value, right.value)
            if any(isinstance(v, Constant) and not isinstance(v.value, (int, float)) for v in (left, right)):
                return KNOWN
            return Known(form)
        if form is not None and not form.terms:
            return Constant(form.constant)
        source = unbacked[0]
        topic = _shared_topic(unbacked)
        if topic == "size" and operator is ast.Sub:
            topic = "number"
        if all(value.topic == "bool" for value in unbacked) and operator in (ast.BitAnd, ast.BitOr):
            if operator is ast.BitAnd and len(unbacked) == 2:
                return replace(source, comparisons=unbacked[0].comparisons + unbacked[1].comparisons, form=None)
            return replace(source, comparisons=(), form=None)
        return replace(source, topic=topic, form=form, comparisons=(), offsets=source.offsets)

    def _combined(
        self, operator: type[ast.operator], first: Linear | None, second: Linear | None, state: State
    ) -> Linear | None:
        if first is None or second is None or len(first.terms) + len(second.terms) > MOST_TERMS:
            return None
        if operator is ast.Add:
            return first.plus(second)
        if operator is ast.Sub:
            return first.plus(second, -1)
        if operator is ast.Mult and not first.terms:
            return second.times(first.constant)
        if operator is ast.Mult and not second.terms:
            return first.times(second.constant)
        if not first.terms and not second.terms:
            folded = _folded(operator, first.constant, second.constant)
            return folded.form if isinstance(folded, Constant) else None
        if operator is ast.FloorDiv and second == Linear((), 1):
            return first
        if operator not in (ast.Mult, ast.FloorDiv, ast.Mod):
            return None
        if operator is ast.Mult:
            first, second = sorted((first, second), key=lambda form: (form.terms, form.constant))
        key = (operator, first, second)
        known = key in self.derived
        if not known:
            self.derived[key] = fresh_symbol()
        form = Linear.of(self.derived[key])
        low, _ = state.facts.bounds(first)
        if operator is ast.Mod and not second.terms and second.constant > 0:
            state.facts.learn_bounds(form, (0, second.constant - 1))
        elif low >= 0 and state.facts.bounds(second)[0] >= 0:
            state.facts.learn_bounds(form, NONNEGATIVE)
        return form

    def _unary(self, node: ast.UnaryOp, value: Value, state: State) -> Value:
        value = bare(value)
        if isinstance(node.op, ast.Not):
            verdict = self.decide(value, state)
            if verdict is None and self.asks(value):
                self.record(node, "truth", value, parts=self.parts(node.operand, state))
            return Constant(not verdict) if verdict is not None else KNOWN
        if isinstance(value, Tensor):
            return replace(value.renewed(), literal=value.literal and value.scalar)
        if isinstance(node.op, ast.USub) and isinstance(value, (Unbacked, Known)):
            form = value.form.times(-1) if value.form is not None else None
            if isinstance(value, Unbacked):
                return replace(value, form=form, topic="number", comparisons=())
            return Known(form)
        if isinstance(value, Constant) and isinstance(value.value, (int, float)):
            if isinstance(node.op, ast.USub):
                return Constant(-value.value)
            return value if isinstance(node.op, ast.UAdd) else KNOWN
        return value if isinstance(value, (Known, Unbacked)) else UNKNOWN

    # ---- truth

    def asks(self, value: Value) -> bool:
        """Whether Python's truth of the value is a question about data."""
        value = bare(value)
        return isinstance(value, (Tensor, Unbacked))

    def decide(self, value: Value, state: State) -> bool | None:
        """The truth of a value where it is settled; None where it isn't."""
        if isinstance(value, Constant):
            return bool(value.value)
        if isinstance(value, Unbacked):
            comparisons = value.comparisons
            if not comparisons and value.form is not None:
                comparisons = (Comparison(value.form, ast.NotEq),)
            return decide_all(state.facts, comparisons) if comparisons else None
        if isinstance(value, Series) and isinstance(value.length, Constant):
            return bool(value.length.value)
        if isinstance(value, (Function, ClassReference, Method, Partial)):
            return True
        if isinstance(value, Path) and value.name in operators().regions["false_at_run_time"]:
            return False
        return None

    def branch(self, node: ast.expr, state: State, whole: ast.expr | None = None) -> tuple[State | None, State | None]:
        """The states in which a test is true and false; None for a side that cannot be reached.

        Undecided operands are recorded, each by itself; with `whole`, the whole test is recorded once instead.
        """
        positive = True
        while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node, positive = node.operand, not positive
        if isinstance(node, ast.BoolOp):
            conjunction = isinstance(node.op, ast.And)
            left = Meeting()
            current: State | None = state
            for operand in node.values:
                if current is None:
                    break
                true, false = self.branch(operand, current, whole)
                leaves, current = (false, true) if conjunction else (true, false)
                if leaves is not None:
                    left.add(leaves)
            true, false = (current, left.joined()) if conjunction else (left.joined(), current)
        else:
            true, false = self.split(node, self._test_value(node, state, whole), state, whole)
        return (true, false) if positive else (false, true)

    def _test_value(self, node: ast.expr, state: State, whole: ast.expr | None) -> Value:
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            return self._chain(node, state, in_test=True, whole=whole)
        return self.evaluate(node, state)

    def split(
        self, node: ast.expr, value: Value, state: State, whole: ast.expr | None = None
    ) -> tuple[State | None, State | None]:
        """The states in which a value that `node` gave is true and false."""
        verdict = self.decide(value, state)
        if verdict is not None:
            return (state, None) if verdict else (None, state)
        asking = bare(value)
        if self.asks(asking):
            self.record(whole or node, "truth", asking, parts=self.parts(node, state))
        true, false = state.copy(), state
        if isinstance(asking, Unbacked):
            comparisons = asking.comparisons
            if not comparisons and asking.form is not None:
                comparisons = (Comparison(asking.form, ast.NotEq),)
            for comparison in comparisons:
                true.facts.learn(comparison)
            if len(comparisons) == 1:
                false.facts.learn(comparisons[0].negated())
        self._narrow(node, true, True)
        self._narrow(node, false, False)
        return true, false

    def _narrow(self, node: ast.expr, state: State, holds: bool) -> None:
        """What a test says about the types of names."""
        if state.choices and (switch := switch_of(node)):
            state.choose(switch[0], switch[1] is holds)
        match node:
            case ast.Compare(
                left=left, ops=[ast.Is() | ast.IsNot() as operator], comparators=[ast.Constant(value=None)]
            ):
                is_none = isinstance(operator, ast.Is) is holds
                self._rebind(left, state, lambda value: NONE if is_none else _without_none(value))
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, kinds]):
                self._narrow_type(subject, kinds, state, holds)
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="type"), args=[subject]), ops=[operator], comparators=[kinds]
            ):
                negated = isinstance(operator, (ast.IsNot, ast.NotEq, ast.NotIn))
                self._narrow_type(subject, kinds, state, holds is not negated)
            case ast.Call(func=func, args=[subject]) if self.index.dotted(func) == "torch.is_tensor":
                self._rebind(subject, state, lambda value: _as_tensor(value, holds))
            case ast.Name() | ast.Attribute() if holds:
                self._rebind(node, state, _without_none)
            case ast.NamedExpr(target=target) if holds:
                self._rebind(target, state, _without_none)

    def _narrow_type(self, subject: ast.expr, kinds: ast.expr, state: State, holds: bool) -> None:
        """What it says of `subject` that it is, or isn't, of one of these types."""
        tensor = hints.names_tensor(kinds, self.index)
        if tensor is True:
            self._rebind(subject, state, lambda value: _as_tensor(value, holds))
        elif tensor is False and holds:
            self._rebind(subject, state, lambda v: UNKNOWN if isinstance(bare(v), Tensor) else v)

    def _rebind(self, node: ast.expr, state: State, change: Callable[[Value], Value]) -> None:
        if isinstance(node, ast.NamedExpr):
            node = node.target
        if isinstance(node, ast.Name):
            if node.id in state.names:
                state.names[node.id] = change(state.names[node.id])
        elif isinstance(node, ast.Attribute) and (chain := dotted_name(node)):
            self.quiet += 1
            value = self.evaluate(node, state)
            self.quiet -= 1
            changed = change(value)
            if changed is not UNKNOWN or value is not UNKNOWN:
                state.attributes[chain] = changed

    def parts(self, node: ast.expr, state: State) -> tuple[tuple[ast.expr, Value], ...]:
        """The largest sub-expressions of a question that hold unbacked values (or tensors)."""
        if self.quiet:
            return ()
        found: list[tuple[ast.expr, Value]] = []
        waiting = deque([node])
        self.quiet += 1
        try:
            while waiting:
                current = waiting.popleft()
                match current:
                    case ast.Compare(left=left, comparators=comparators):
                        waiting += [left, *comparators]
                    case ast.BoolOp(values=values):
                        waiting += values
                    case ast.BinOp(left=left, right=right):
                        waiting += [left, right]
                    case ast.UnaryOp(operand=operand):
                        waiting.append(operand)
                    case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
                        value = bare(self.evaluate(current, state.copy()))
                        if isinstance(value, (Unbacked, Tensor)):
                            found.append((current, value))
        finally:
            self.quiet -= 1
        return tuple(found)

    def _boolean(self, node: ast.BoolOp, state: State) -> Value:
        conjunction = isinstance(node.op, ast.And)
        results: list[Value] = []
        asked = False
        current = state.copy()
        for position, operand in enumerate(node.values):
            value = self.evaluate(operand, current)
            if position == len(node.values) - 1:
                results.append(value)
                break
            verdict = self.decide(value, current)
            if verdict is None and self.asks(value) and not asked:
                asked = True
                self.record(node, "truth", bare(value), parts=self.parts(node, state))
            if verdict is (not conjunction):
                results.append(value)
                break
            if verdict is None:
                results.append(value)
                self.quiet += 1
                true, false = self.split(operand, value, current)
                self.quiet -= 1
                following = true if conjunction else false
                if following is None:
                    break
                current = following
        result = results[0]
        for other in results[1:]:
            result = join(result, other)
        if not conjunction and len(results) > 1:
            result = _without_none(result)
        return result

    # ---- comparisons

    def _compare(self, node: ast.Compare, state: State) -> Value:
        if len(node.ops) > 1:
            return self._chain(node, state, in_test=False)
        left = self.evaluate(node.left, state)
        right = self.evaluate(node.comparators[0], state)
        return self.compared(node, node.ops[0], left, right, state)

    def _chain(self, node: ast.Compare, state: State, in_test: bool, whole: ast.expr | None = None) -> Value:
        """`a < b < c`: Python asks for the truth of every link but the last, and a test asks for the last, too."""
        values = [self.evaluate(operand, state) for operand in (node.left, *node.comparators)]
        asked = False
        result: Value = KNOWN
        comparisons: list[Comparison] = []
        for position, operator in enumerate(node.ops):
            result = bare(self.compared(node, operator, values[position], values[position + 1], state))
            verdict = self.decide(result, state)
            if verdict is False:
                return Constant(False)
            last = position == len(node.ops) - 1
            if verdict is None and self.asks(result):
                if isinstance(result, Unbacked):
                    comparisons += result.comparisons
                if not last and not asked:
                    asked = True
                    self.record(whole or node, "truth", result, parts=self.parts(node, state))
            if last:
                if asked and in_test:
                    return KNOWN
                if isinstance(result, Unbacked) and in_test:
                    return replace(result, comparisons=tuple(comparisons))
                return result
        return result

    def compared(self, node: ast.Compare, operator: ast.cmpop, left: Value, right: Value, state: State) -> Value:
        """One link of a comparison."""
        if isinstance(operator, (ast.Is, ast.IsNot)):
            return _identity(operator, left, right)
        left, right = bare(left), bare(right)
        if isinstance(operator, (ast.In, ast.NotIn)):
            return self._membership(node, left, right, state)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            if isinstance(left, (Series, Table)) or isinstance(right, (Series, Table)) or NONE in (left, right):
                return UNKNOWN
            return self.calls.shapes.broadcast((left, right), mask=True)
        if isinstance(left, Unbacked) or isinstance(right, Unbacked):
            return self._undecided(operator, left, right)
        if isinstance(left, Constant) and isinstance(right, Constant):
            return _compared_constants(operator, left.value, right.value)
        if isinstance(left, Series) and isinstance(right, Series):
            return self._compared_runs(node, operator, left, right, state)
        if isinstance(left, (Known, Constant)) and isinstance(right, (Known, Constant)):
            return self._known_comparison(operator, left, right, state)
        return UNKNOWN if UNKNOWN in (left, right) else KNOWN

    def _compared_runs(
        self, node: ast.Compare, operator: ast.cmpop, left: Series, right: Series, state: State
    ) -> Value:
        """`x.shape == y.shape`: Python compares element by element, and asks at once."""
        if not isinstance(operator, (ast.Eq, ast.NotEq)):
            return KNOWN
        if left.items is None or right.items is None:
            pairs = [(left.each, right.each)]
        elif len(left.items) != len(right.items):
            return Constant(isinstance(operator, ast.NotEq))
        else:
            pairs = list(zip(left.items, right.items, strict=True))
        for one, other in pairs:
            one, other = bare(one), bare(other)
            if isinstance(one, _NUMERIC) and isinstance(other, _NUMERIC):
                result = self._undecided(ast.Eq(), one, other) if self.asks(one) or self.asks(other) else KNOWN
                if self.asks(result) and self.decide(result, state) is None:
                    self.record(node, "truth", result, parts=self.parts(node, state) or ((node, result),))
                    break
        return KNOWN

    def _known_comparison(self, operator: ast.cmpop, left: Value, right: Value, state: State) -> Value:
        first, second = form_of(left), form_of(right)
        if first is None or second is None:
            return KNOWN
        verdict = state.facts.decide(Comparison(first.plus(second, -1), type(operator)))
        # an input's size of 0 is left open: such code has its reasons
        return KNOWN if verdict is None else Constant(verdict)

    def _undecided(self, operator: ast.cmpop, left: Value, right: Value) -> Value:
        if any(isinstance(v, Constant) and not isinstance(v.value, (int, float)) for v in (left, right)):
            return KNOWN
        unbacked = [value for value in (left, right) if isinstance(value, Unbacked)]
        if any(isinstance(v, (Series, Table, Function, Module, Instance)) for v in (left, right)):
            return KNOWN
        topic = _shared_topic(unbacked)
        first, second = form_of(left), form_of(right)
        comparisons: tuple[Comparison, ...] = ()
        if first is not None and second is not None:
            comparisons = (Comparison(first.plus(second, -1), type(operator)),)
        loose = unbacked[0].loose or UNKNOWN in (left, right)
        return replace(unbacked[0], topic=topic, form=None, comparisons=comparisons, loose=loose)

    def _membership(self, node: ast.Compare, left: Value, right: Value, state: State) -> Value:
        if isinstance(right, Tensor):
            if not (isinstance(left, Constant) and isinstance(left.value, str)):
                # text is looked for in a dict or in text: what has it is no tensor, whatever it looked like
                self.record(node, "truth", right, parts=self.parts(node, state))
            return KNOWN
        elements: Value = UNKNOWN
        if isinstance(right, Series):
            if right.items == ():
                return Constant(isinstance(node.ops[0], ast.NotIn))
            elements = right.each
        if isinstance(left, (Tensor, Unbacked)) and isinstance(right, (Series, Table)):
            self.record(node, "truth", left, parts=self.parts(node, state))
        elif isinstance(elements, (Tensor, Unbacked)) and isinstance(left, (Tensor, Known, Constant)):
            if isinstance(left, Constant) and not isinstance(left.value, (int, float)):
                return KNOWN
            self.record(node, "truth", elements, parts=self.parts(node, state))
        return KNOWN

    # ---- displays, comprehensions, text

    def _display(self, node: ast.List | ast.Tuple | ast.Set, state: State) -> Value:
        kind = "tuple" if isinstance(node, ast.Tuple) else "list"
        items: list[Value] = []
        for element in node.elts:
            value = self.evaluate(element, state)
            if isinstance(element, ast.Starred):
                inner = bare(value)
                if isinstance(inner, Series) and inner.items is not None:
                    items += inner.items
                    continue
                return Series(kind, None, self.element_of(inner, state), KNOWN)
            if isinstance(node, ast.Set) and isinstance(bare(value), Unbacked):
                self.record(element, "failure", bare(value), parts=self.parts(element, state), rule="DDE208")
            items.append(value)
        return series(tuple(items), kind)

    def _dict(self, node: ast.Dict, state: State) -> Value:
        entries: dict[object, Value] = {}
        other: Value | None = None
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.evaluate(item, state)
            name = bare(self.evaluate(key, state)) if key is not None else UNKNOWN
            if isinstance(name, Constant):
                entries[name.value] = value
            else:
                other = value if other is None else join(other, value)
            if key is not None and isinstance(name, Unbacked):
                self.record(key, "failure", name, parts=self.parts(key, state), rule="DDE208")
        return Table(entries, UNKNOWN if other is None else other)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, state: State) -> Value:
        inner = state.copy()
        self.scopes.append((self.frames[-1], state))
        try:
            return self._comprehended(node, inner)
        finally:
            self.scopes.pop()

    def _comprehended(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, inner: State) -> Value:
        length: Value = KNOWN
        iterable: Value = UNKNOWN
        reachable: State | None = inner
        for position, generator in enumerate(node.generators):
            iterable = bare(self.evaluate(generator.iter, inner))
            self.iterated(generator.iter, iterable, inner)
            if position == 0:
                length = self.length_of(iterable)
            self.bind(generator.target, self.element_of(iterable, inner), inner, generator.iter)
            for test in generator.ifs:
                length = KNOWN
                if reachable is not None:
                    reachable, _ = self.branch(test, reachable)
            if reachable is None:
                return Series("list", (), UNKNOWN, Constant(0))
            inner = reachable
        if len(node.generators) > 1:
            length = KNOWN
        if isinstance(node, ast.DictComp):
            self.evaluate(node.key, inner)
            return Table({}, self.evaluate(node.value, inner))
        kind = "generator" if isinstance(node, ast.GeneratorExp) else "list"
        if iterable_items := self._one_by_one(node, iterable):
            # functions, say: what all of them may be together would be unknown
            only = node.generators[0]
            results: list[Value] = []
            for item in iterable_items:
                self.bind(only.target, item, inner, only.iter)
                results.append(self.evaluate(node.elt, inner))
            return series(tuple(results), kind)
        element = self.evaluate(node.elt, inner)
        return Series(kind, None, element, length)

    def _one_by_one(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, iterable: Value
    ) -> tuple[Value, ...] | None:
        """The few values that a comprehension goes over, where nothing can be said of them together."""
        if len(node.generators) > 1 or node.generators[0].ifs or not isinstance(iterable, Series):
            return None
        items = iterable.items
        if items is None or not 1 < len(items) <= MOST_ITEMS or UNKNOWN in items or iterable.each != UNKNOWN:
            return None
        return items

    def _formatted(self, node: ast.JoinedStr, state: State) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = bare(self.evaluate(part.value, state))
                if isinstance(value, Unbacked):
                    self.record(part.value, "failure", value, parts=self.parts(part.value, state), rule="DDE208")
        return KNOWN

    def _named(self, node: ast.NamedExpr, state: State) -> Value:
        value = self.evaluate(node.value, state)
        self.bind(node.target, value, state, node.value)
        for frame, outside in self.scopes:
            if frame is self.frames[-1]:
                # in a comprehension, the name belongs to the function around it
                outside.names[node.target.id] = state.names[node.target.id]
        return value

    def _yielded(self, node: ast.Yield | ast.YieldFrom, state: State) -> Value:
        self.frames[-1].generator = True
        if node.value is not None:
            self.evaluate(node.value, state)
        return UNKNOWN

    # ---- subscripts

    def _slice(self, node: ast.Slice, state: State) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.evaluate(part, state)
        return UNKNOWN

    def _subscript(self, node: ast.Subscript, owner: Value, state: State) -> Value:
        owner = self.records.as_series(bare(owner))
        if isinstance(owner, Tensor):
            return index_tensor(self, node, owner, state)
        if isinstance(node.slice, ast.Slice):
            if owner == UNKNOWN and self._cut_at_data(node.slice, state):
                # a list cut at such a place would ask, too: as likely as not it is a tensor
                return index_tensor(self, node, Tensor(), state)
            return self._sliced(node.slice, owner, state)
        if owner == UNKNOWN and isinstance(node.slice, (ast.Compare, ast.Name, ast.UnaryOp, ast.BinOp, ast.Call)):
            self.quiet += 1
            mask = bare(self.evaluate(node.slice, state))
            self.quiet -= 1
            if isinstance(mask, Tensor) and mask.boolean and not mask.scalar:
                # only a tensor takes a mask as an index
                return index_tensor(self, node, Tensor(), state)
        index = bare(self.evaluate(node.slice, state))
        if isinstance(owner, Series):
            return self._element(node, owner, index, state)
        if isinstance(owner, Table):
            if isinstance(index, (Unbacked, Tensor)) and not (isinstance(index, Tensor) and not owner.entries):
                self.record(
                    node, "failure", index, subject=node.slice, parts=self.parts(node.slice, state), rule="DDE202"
                )
            if isinstance(index, Constant) and _hashable(index.value) and index.value in owner.entries:
                return owner.entries[index.value]
            return owner.element
        if isinstance(owner, Function):
            # kernel[grid]
            return owner
        if isinstance(owner, Unbacked) and owner.group is not None:
            return replace(owner, form=Linear.of(fresh_symbol()), group=node)
        return UNKNOWN

    def _cut_at_data(self, node: ast.Slice, state: State) -> bool:
        self.quiet += 1
        bounds = [bare(self.evaluate(part, state)) for part in (node.lower, node.upper) if part is not None]
        self.quiet -= 1
        return any(isinstance(bound, Unbacked) for bound in bounds)

    def _sliced(self, node: ast.Slice, owner: Value, state: State) -> Value:
        bounds = [
            None if part is None else bare(self.evaluate(part, state)) for part in (node.lower, node.upper, node.step)
        ]
        if not isinstance(owner, Series):
            return UNKNOWN
        for part, bound in zip((node.lower, node.upper, node.step), bounds, strict=True):
            if part is not None and isinstance(bound, (Unbacked, Tensor)):
                parent = next(self.source.ancestors(node), None)
                target = parent if isinstance(parent, ast.Subscript) else part
                self.record(target, "integer", bound, subject=part, parts=self.parts(part, state), rule="DDE202")
        if owner.items is not None and all(b is None or isinstance(b, Constant) for b in bounds):
            values = [b.value if isinstance(b, Constant) else None for b in bounds]
            if all(v is None or isinstance(v, int) for v in values) and values[2] != 0:
                return replace(series(owner.items[slice(*values)], owner.kind), modules=owner.modules)
        return Series(owner.kind, None, owner.each, KNOWN, owner.modules)

    def _element(self, node: ast.Subscript, owner: Series, index: Value, state: State) -> Value:
        if isinstance(index, (Unbacked, Tensor)):
            self.record(node, "integer", index, subject=node.slice, parts=self.parts(node.slice, state), rule="DDE202")
            return owner.each
        if owner.items is not None and isinstance(index, Constant) and type(index.value) is int:
            if -len(owner.items) <= index.value < len(owner.items):
                return owner.items[index.value]
            return UNKNOWN
        if owner.kind == "shape":
            return self._shape_element(node, index, state, owner)
        return self.element_of(owner, state)

    def _shape_element(self, node: ast.Subscript, index: Value, state: State, owner: Series) -> Value:
        """`tensor.shape[i]` where the rank isn't known: ask the tensor again."""
        if isinstance(node.value, ast.Attribute):
            self.quiet += 1
            tensor = bare(self.evaluate(node.value.value, state))
            self.quiet -= 1
            if isinstance(tensor, Tensor) and isinstance(index, Constant) and type(index.value) is int:
                return self.size_of(tensor, index.value, state)
        return owner.each if isinstance(owner.each, Unbacked) else KNOWN

    # ---- iteration

    def length_of(self, value: Value) -> Value:
        """How many elements iteration gives."""
        if isinstance(value, Series):
            return value.length
        if isinstance(value, Tensor) and value.dims:
            return value.dims[0]
        return KNOWN

    def element_of(self, value: Value, state: State) -> Value:
        """One element of an iterable: any of them."""
        if isinstance(value, Series):
            element = value.each
            return _again(element)
        if isinstance(value, Tensor):
            if value.complete:
                return value.shaped(value.dims[1:]) if value.dims else value
            return value.shaped(value.dims[1:], False)
        if isinstance(value, Unbacked) and value.group is not None:
            return _again(value)
        return UNKNOWN

    def iterated(self, node: ast.expr, value: Value, state: State) -> None:
        """Iteration over `value`: its length must be known while tracing."""
        value = bare(value)
        length = self.length_of(value)
        if isinstance(value, Tensor) and isinstance(length, Unbacked):
            self.record(node, "operator", length, operator=operators().iteration, parts=((node, value),))

    def bind(self, target: ast.expr, value: Value, state: State, origin: ast.expr | None = None) -> None:
        """Assign `value` to a target, taking it apart where the target is a tuple."""
        if isinstance(target, ast.Name):
            if isinstance(value, Unbacked) and origin is not None:
                value = self._named_step(target.id, value, origin)
            elif value == UNKNOWN and isinstance(origin, (ast.Call, ast.Compare)):
                value = self._by_use(target.id, origin)
            state.names[target.id] = value
            if state.attributes:
                state.forget_attributes(target.id)
            if state.choices:
                state.forget_choices(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, state, origin)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, Series("list", None, UNKNOWN, KNOWN), state)
        elif isinstance(target, ast.Attribute):
            owner = self.evaluate(target.value, state)
            if state.choices:
                state.forget_choices(dotted_name(target))
            if isinstance(owner, Instance) and owner.fields is not None and isinstance(target.value, ast.Name):
                state.names[target.value.id] = replace(owner, fields={**owner.fields, target.attr: value})
            elif chain := dotted_name(target):
                state.attributes[chain] = value
        elif isinstance(target, ast.Subscript):
            self._store_item(target, value, state)

    def _by_use(self, name: str, origin: ast.Call | ast.Compare) -> Value:
        """What a name holds of whose making nothing is known, by what the function does with it."""
        frame = self.frames[-1]
        if not isinstance(frame.node, (*FUNCTIONS, ast.Lambda)):
            return UNKNOWN
        seen = self.calls.evidence(frame.node, frame.owner)
        if isinstance(origin, ast.Compare):
            return Tensor(boolean=True) if name in seen.array_like else UNKNOWN
        return Tensor() if name in seen.surely else UNKNOWN

    def _named_step(self, name: str, value: Unbacked, origin: ast.expr) -> Unbacked:
        trail = value.trail
        if trail is None or trail.node is origin or origin is value.birth:
            return value
        return replace(value, trail=Step(origin, f"`{name}` is computed from it", trail))

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, state: State, origin: ast.expr | None) -> None:
        value = self.records.as_series(bare(value))
        starred = any(isinstance(element, ast.Starred) for element in target.elts)
        items = value.items if isinstance(value, Series) else None
        if items is not None and not starred and len(items) == len(target.elts):
            for element, item in zip(target.elts, items, strict=True):
                self.bind(element, item, state, origin)
            return
        if items is not None and starred and len(items) >= len(target.elts) - 1:
            at = next(i for i, element in enumerate(target.elts) if isinstance(element, ast.Starred))
            end = len(items) - (len(target.elts) - at - 1)
            shared = (*items[:at], series(items[at:end]), *items[end:])
            for element, item in zip(target.elts, shared, strict=True):
                self.bind(element.value if isinstance(element, ast.Starred) else element, item, state, origin)
            return
        length = self.length_of(value)
        if isinstance(length, Unbacked) and isinstance(value, (Tensor, Series)) and origin is not None:
            self.record(origin, "operator", length, operator=operators().iteration, parts=((origin, value),))
        shape_like = isinstance(value, Series) and value.kind == "shape"
        for position, element in enumerate(target.elts):
            item = self.element_of(value, state)
            if shape_like and isinstance(origin, ast.Attribute):
                self.quiet += 1
                tensor = bare(self.evaluate(origin.value, state))
                self.quiet -= 1
                if isinstance(tensor, Tensor) and not starred:
                    item = self.size_of(tensor, position, state)
            self.bind(element, item, state)

    def _store_item(self, target: ast.Subscript, value: Value, state: State) -> None:
        owner = bare(self.evaluate(target.value, state))
        index = bare(self.evaluate(target.slice, state))
        root = target.value
        if isinstance(owner, Tensor):
            stored_at(self, target, state)
            if isinstance(root, ast.Name):
                state.names[root.id] = owner.renewed()
            return
        if (
            isinstance(owner, Series)
            and isinstance(index, (Unbacked, Tensor))
            and not isinstance(target.slice, ast.Slice)
        ):
            self.record(
                target, "integer", index, subject=target.slice, parts=self.parts(target.slice, state), rule="DDE202"
            )
        if isinstance(owner, Table):
            entries = dict(owner.entries)
            element = owner.element
            if isinstance(index, Constant) and _hashable(index.value):
                entries[index.value] = value
            else:
                if isinstance(index, Unbacked):
                    self.record(
                        target,
                        "failure",
                        index,
                        subject=target.slice,
                        parts=self.parts(target.slice, state),
                        rule="DDE202",
                    )
                element = join(element, value) if element != UNKNOWN else UNKNOWN
            self._assign_back(root, Table(entries, element), state)
        elif isinstance(owner, Series):
            self._assign_back(root, _with_element(owner, index, value), state)

    def _assign_back(self, root: ast.expr, value: Value, state: State) -> None:
        if isinstance(root, ast.Name):
            state.names[root.id] = value
        elif isinstance(root, ast.Attribute) and (chain := dotted_name(root)):
            state.attributes[chain] = value

    def mutated(self, receiver: ast.expr, value: Value, state: State) -> None:
        """A method changed what `receiver` holds: `value` is what it holds now."""
        self._assign_back(receiver, value, state)

    # ---- statements

    def block(self, body: list[ast.stmt], state: State | None) -> State | None:
        """Run statements; None where no path gets past them."""
        of_root = len(self.frames) == 1
        for statement in body:
            if state is None:
                return None
            if of_root and statement.lineno > self.row:
                self.row = statement.lineno
            handler = self._statements.get(type(statement))
            if handler is not None:
                state = handler(statement, state)
        return state

    def _assign(self, node: ast.Assign, state: State) -> State:
        value = self.evaluate(node.value, state)
        for target in node.targets:
            self.bind(target, value, state, node.value)
        return state

    def _annotated_assign(self, node: ast.AnnAssign, state: State) -> State:
        if node.value is not None:
            value = self.evaluate(node.value, state)
            if value == UNKNOWN:
                value = hints.value_of(node.annotation, self.index)
            self.bind(node.target, value, state, node.value)
        return state

    def _augmented(self, node: ast.AugAssign, state: State) -> State:
        target = node.target
        load: ast.expr
        if isinstance(target, ast.Name):
            load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        elif isinstance(target, ast.Attribute):
            load = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
        else:
            changed = bare(self.evaluate(target.value, state))
            self.evaluate(target.slice, state)
            self.evaluate(node.value, state)
            if isinstance(changed, Tensor):
                stored_at(self, target, state)
            if isinstance(target.value, ast.Name):
                owner = state.names.get(target.value.id)
                if isinstance(owner, Tensor):
                    state.names[target.value.id] = owner.renewed()
            return state
        left = self.evaluate(load, state)
        right = self.evaluate(node.value, state)
        self.bind(target, self.binary(type(node.op), left, right, state, node.value), state, node.value)
        return state

    def _delete(self, node: ast.Delete, state: State) -> State:
        for target in node.targets:
            if isinstance(target, ast.Name):
                state.names.pop(target.id, None)
        return state

    def _expression_statement(self, node: ast.Expr, state: State) -> State:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value, state)
        return state

    def _define(self, node: FunctionNode, state: State) -> State:
        frame = self.frames[-1]
        state.names[node.name] = Function(node, None, state.names, frame.owner, frame)
        return state

    def _return(self, node: ast.Return, state: State) -> None:
        value = self.evaluate(node.value, state) if node.value is not None else NONE
        self.frames[-1].returned.append((value, state))

    def _break(self, node: ast.Break, state: State) -> None:
        if self.frames[-1].loops:
            self.frames[-1].loops[-1].breaks.append(state)

    def _continue(self, node: ast.Continue, state: State) -> None:
        if self.frames[-1].loops:
            self.frames[-1].loops[-1].continues.append(state)

    def _assert(self, node: ast.Assert, state: State) -> State | None:
        single = isinstance(node.test, (ast.Name, ast.Call, ast.Attribute)) or (
            isinstance(node.test, ast.Compare) and len(node.test.ops) == 1
        )
        if node.msg is None and single:
            # export and Dynamo both turn `assert u > 2` itself into a run-time assertion; with a message, export asks
            value = bare(self.evaluate(node.test, state))
            if isinstance(value, Unbacked):
                self.quiet += 1
                true, _ = self.split(node.test, value, state)
                self.quiet -= 1
                return true
            return self.split(node.test, value, state, node.test)[0]
        true, _ = self.branch(node.test, state, node.test)
        return true

    def _while(self, node: ast.While, state: State) -> State | None:
        exits: list[State] = []
        frame = self.frames[-1]
        current: State | None = state
        open_ended = True
        for number in range(MOST_PASSES):
            if current is None:
                break
            entry = current.copy()
            true, false = self.branch(node.test, current)
            if false is not None:
                exits.append(false)
            loop = Loop()
            frame.loops.append(loop)
            end = self.block(node.body, true)
            frame.loops.pop()
            exits += loop.breaks
            again = [s for s in (end, *loop.continues) if s is not None]
            current = join_states([entry, *again]) if again else None
            if current is None or settled(entry, current, number == 0):
                open_ended = False
                break
            if number >= WIDENED_FROM:
                widen(entry, current)
        if current is not None and open_ended and not isinstance(node.test, ast.Constant):
            self.quiet += 1
            _, false = self.branch(node.test, current)
            self.quiet -= 1
            if false is not None:
                exits.append(false)
        elif current is not None and not exits and not isinstance(node.test, ast.Constant):
            exits.append(current)
        result = join_states(exits)
        return self.block(node.orelse, result) if node.orelse else result

    def _for(self, node: ast.For | ast.AsyncFor, state: State) -> State | None:
        iterable = bare(self.evaluate(node.iter, state))
        self.iterated(node.iter, iterable, state)
        if isinstance(iterable, Series) and iterable.items == ():
            return self.block(node.orelse, state)
        frame = self.frames[-1]
        breaks: list[State] = []
        current = state
        for number in range(MOST_PASSES):
            entry = current.copy()
            self.bind(node.target, self.element_of(iterable, entry), entry, node.iter)
            loop = Loop()
            frame.loops.append(loop)
            end = self.block(node.body, entry)
            frame.loops.pop()
            breaks += loop.breaks
            again = [s for s in (end, *loop.continues) if s is not None]
            before = current
            joined = join_states([current, *again])
            assert joined is not None
            current = joined
            if not again or settled(before, current, number == 0):
                break
            if number >= WIDENED_FROM:
                widen(before, current)
        after = self.block(node.orelse, current) if node.orelse else current
        return join_states([s for s in (after, *breaks) if s is not None])

    def _with(self, node: ast.With | ast.AsyncWith, state: State) -> State | None:
        for item in node.items:
            self.evaluate(item.context_expr, state)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, UNKNOWN, state)
        return self.block(node.body, state)

    def _try(self, node: ast.Try, state: State) -> State | None:
        before = state.copy()
        frame = self.frames[-1]
        returns = len(frame.returned)
        end = self.block(node.body, state)
        only_after_failure = end is None and len(frame.returned) > returns and not self._raises_while_traced(node)
        # an exception may come after any statement of the body
        reached = join_states([before.copy(), end.copy()]) if end is not None else before.copy()
        assert reached is not None
        ends = [self.block(node.orelse, end)] if end is not None else []
        for handler in node.handlers:
            start = reached.copy()
            if handler.name:
                start.names[handler.name] = UNKNOWN
            ends.append(self.block(handler.body, start))
        joined = None if only_after_failure else join_states([e for e in ends if e is not None])
        if not node.finalbody:
            return joined
        last = self.block(node.finalbody, joined if joined is not None else reached)
        return last if joined is not None else None

    def _raises_while_traced(self, node: ast.Try) -> bool:
        """Whether a handler may run though no operator fails: for what the body raises itself, or Python does."""
        raised = operators().regions["raised_while_tracing"]
        for handler in node.handlers:
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            if any(kind is not None and terminal_name(kind) in raised for kind in kinds):
                return True
        return any(isinstance(part, ast.Raise) for statement in node.body for part in descend(statement))


# ---- small questions about values


def _shared_topic(values: list[Unbacked]) -> str:
    topics = {value.topic for value in values}
    if len(topics) == 1:
        return topics.pop()
    return "size" if topics == {"size", "input"} else "number"


def _takes_self(node: FunctionNode) -> bool:
    names = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
    return not names & {"staticmethod", "classmethod"} and bool(node.args.args or node.args.posonlyargs)


def _without_none(value: Value) -> Value:
    if isinstance(value, Optional):
        return value.inner
    return UNKNOWN if value == NONE else value


def _as_tensor(value: Value, holds: bool) -> Value:
    if holds:
        inner = bare(value)
        return inner if isinstance(inner, Tensor) else Tensor()
    if isinstance(value, Optional):
        return NONE if isinstance(value.inner, Tensor) else value
    return UNKNOWN if isinstance(value, Tensor) else value


def _again(value: Value) -> Value:
    """Another element of the same kind: a symbol or tensor of its own."""
    if isinstance(value, Unbacked) and value.form is not None:
        return replace(value, form=Linear.of(fresh_symbol()))
    if isinstance(value, Tensor):
        return value.renewed()
    if isinstance(value, Series) and value.items is not None:
        return replace(value, items=tuple(_again(item) for item in value.items))
    if isinstance(value, Instance) and value.fields is not None:
        return replace(value, fields={name: _again(item) for name, item in value.fields.items()})
    return value


def _with_element(owner: Series, index: Value, value: Value) -> Series:
    """The run after `owner[index] = value`."""
    items = owner.items
    position = index.value if isinstance(index, Constant) and type(index.value) is int else None
    if items is not None and position is not None and -len(items) <= position < len(items):
        at = position % len(items)
        return replace(owner, items=(*items[:at], value, *items[at + 1 :]))
    return Series(owner.kind, None, join(owner.each, value), owner.length, owner.modules)


def _concatenated(left: Series, right: Series) -> Series:
    if left.items is not None and right.items is not None:
        return replace(series(left.items + right.items, left.kind), modules=left.modules)
    if left.items == ():
        return right
    if right.items == ():
        return left
    length = left.length if isinstance(left.length, Unbacked) else right.length
    return Series(left.kind, None, join(left.each, right.each), length if isinstance(length, Unbacked) else KNOWN)


def _hashable(value: object) -> bool:
    return isinstance(value, (str, int, float, bool, bytes, type(None)))


_FOLD: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def _folded(operator: type[ast.operator], left: object, right: object) -> Value:
    if type(left) is int and type(right) is int and operator in _FOLD and abs(left) < 2**40 and abs(right) < 2**40:
        if operator in (ast.FloorDiv, ast.Mod) and right == 0:
            return KNOWN
        return Constant(_FOLD[operator](left, right))
    return KNOWN


def _identity(operator: ast.cmpop, left: Value, right: Value) -> Value:
    same = isinstance(operator, ast.Is)
    if right == NONE or left == NONE:
        other = left if right == NONE else right
        if other == NONE:
            return Constant(same)
        if isinstance(other, (Constant, Tensor, Unbacked, Series, Table, Instance, Function, Module)):
            return Constant(not same)
        if isinstance(other, Known) and other.form is not None:  # a size, or what was computed from sizes
            return Constant(not same)
    return KNOWN


def _compared_constants(operator: ast.cmpop, left: object, right: object) -> Value:
    simple = (int, float, str, bool)
    if not isinstance(left, simple) or not isinstance(right, simple):
        return KNOWN
    if isinstance(operator, ast.Eq):
        return Constant(left == right)
    if isinstance(operator, ast.NotEq):
        return Constant(left != right)
    if isinstance(left, str) or isinstance(right, str):
        return KNOWN
    if isinstance(operator, ast.Lt):
        return Constant(left < right)
    if isinstance(operator, ast.LtE):
        return Constant(left <= right)
    if isinstance(operator, ast.Gt):
        return Constant(left > right)
    return Constant(left >= right)
