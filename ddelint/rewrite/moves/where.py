"""Two values chosen by data: compute both, then torch.where."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ddelint.buffers import is_buffer
from ddelint.diagnostics import Claim, Edit, Span
from ddelint.rewrite.arms import OPERATORS, Arm, ArmReader, NotMergeable, Value
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.conditions import Conditions, Inexpressible
from ddelint.rewrite.expressions import (
    Binding,
    asks_compiling,
    begins_line,
    binding,
    bound_before,
    called,
    comments_in,
    draws_random,
    enclosing_block,
    fresh_name,
    here,
    indent_unit,
    insert_before,
    is_elif,
    is_pure,
    joined,
    laid_out,
    names_read,
    owns_lines,
    parses,
    replaced,
    targets_written,
    text_of,
    torch_name,
    wrapped,
)
from ddelint.rewrite.kinds import Kind, Kinds, is_torch
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.predicates import NotAPredicate, Predicates
from ddelint.sites import Block, Role

NAME = "where_merge"
_COST = "both values are computed"
_LONG_TEST = 40
"""Characters of a test from which it gets a name of its own."""


@move(NAME)
def where_merge(context: Context) -> Iterator[Candidate]:
    """`if c: y = a else: y = b`, `if c: return a` … `return b`, `a if c else b` → `torch.where(c, a, b)`."""
    site = context.site
    if site.decision is None or asks_compiling(site.decision):
        return
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(site.decision)):
        return
    seen: set[tuple[Edit, ...]] = set()
    for assumed in (context.diagnostic.code == "DDE105", context.diagnostic.code != "DDE105"):
        for candidate in _candidates(context, assumed):
            if candidate.edits not in seen and parses(site.source, candidate.edits):
                seen.add(candidate.edits)
                yield candidate


def _candidates(context: Context, assumed: bool) -> Iterator[Candidate]:
    site = context.site
    if site.role is Role.TERNARY_TEST:
        yield from _ternary(context, assumed)
        return
    statement = site.statement
    if site.role is not Role.IF_TEST or not isinstance(statement, ast.If) or site.block in (Block.RAISES, Block.WARNS):
        return
    for safe, in_place in itertools.product((True, False), repeat=2):
        try:
            yield from Merge(context, statement, assumed, safe, in_place=in_place).candidates()
        except (NotMergeable, NotAPredicate, ValueError):
            continue


def _candidate(context: Context, edits: Sequence[Edit], message: str, notes: tuple[str, ...] = (_COST,)) -> Candidate:
    site = context.site
    assert site.decision is not None
    return Candidate(
        NAME,
        Claim.RESTRUCTURED,
        message,
        tuple(edits),
        torch_name(site.source)[1],
        notes,
        decisions=(site.source.span(site.decision),),
    )


def device_of(context: Context, *nodes: ast.AST, defined: Callable[[str], bool] = lambda name: True) -> str:
    """The text of the device of the first tensor that `nodes` read by name, as far as a run saw it."""
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Load):
                text = ast.unparse(inner)
                fact = context.type_of(text)
                if fact is not None and fact.kind == "tensor" and defined(text.split(".")[0]):
                    return f"{text}.device"
    return ""


# ---------------------------------------------------------------------- conditional expressions


def _ternary(context: Context, assumed: bool) -> Iterator[Candidate]:
    source = context.site.source
    test = context.site.decision
    choice = source.parents.get(test) if test is not None else None
    if not isinstance(choice, ast.IfExp) or test is None:
        return
    arms = (choice.body, choice.orelse)
    if not all(is_pure(arm) and not draws_random(arm) for arm in arms):
        return
    span = source.span(choice)
    torch = torch_name(source)[0]
    if _same_numbers(*arms):
        conditions = Conditions(context, assume_tensor=assumed)
        try:
            condition = conditions.condition(test, True)
        except Inexpressible:
            condition = ""
        if condition:
            first, second = (text_of(source, arm) for arm in arms)
            candidate = _candidate(
                context,
                (Edit(span, f"{torch}.sym_ite({condition}, {first}, {second})"),),
                "let torch.sym_ite choose between the two numbers",
                (),
            )
            yield Candidate(
                candidate.move,
                candidate.claim,
                candidate.message,
                candidate.edits,
                conditions.needed_imports(),
                decisions=candidate.decisions,
            )
    try:
        predicate = Predicates(context, device_of(context, *arms), assumed).text(test)
    except NotAPredicate:
        return
    for safe in (True, False):
        texts = [
            safe_text(context, arm, predicate, taken, text_of(source, arm)) if safe else text_of(source, arm)
            for arm, taken in zip(arms, (True, False))
        ]
        yield _candidate(
            context,
            (Edit(span, f"{torch}.where({predicate}, {texts[0]}, {texts[1]})"),),
            "compute both values and choose with torch.where",
        )


def _same_numbers(first: ast.expr, second: ast.expr) -> bool:
    """Whether both are constants of one numeric type."""
    values = [node.value for node in (first, second) if isinstance(node, ast.Constant)]
    return len(values) == 2 and type(values[0]) is type(values[1]) and type(values[0]) in (int, float)


def safe_text(context: Context, node: ast.expr, predicate: str, taken: bool, text: str) -> str:
    """The text of an arm whose divisors, logarithms and roots see a harmless value where the arm isn't chosen.

    Without it the gradient of the arm that isn't chosen can be NaN, and NaN times zero is NaN.
    """
    source = context.site.source
    torch = torch_name(source)[0]
    if source.segment(node) != text and source.segment(node) not in text:
        return text
    changes: list[tuple[ast.expr, str]] = []
    unsafe = knowledge().unsafe_gradients
    kinds = Kinds(context)
    counted = _counted(context.site.decision)

    def visit(inner: ast.AST) -> None:
        match inner:
            case ast.Subscript(value=rows, slice=index) if ast.unparse(rows) in counted and ast.unparse(index) in (
                "0",
                "-1",
            ):
                changes.append((rows, padded(rows, ast.unparse(index) == "0")))
                return
            case ast.BinOp(op=ast.Div(), right=right) if not isinstance(right, ast.Constant):
                if kinds.of(right) in (Kind.TENSOR, Kind.UNKNOWN):
                    visit(inner.left)
                    changes.append((right, filled(right, 1)))
                    return
                least = _least(context.site.decision, right, taken)
                if least is not None:
                    visit(inner.left)
                    changes.append((right, f"{torch}.sym_max({text_of(source, right)}, {least})"))
                    return
            case ast.Call(func=ast.Attribute(value=owner)) if called(inner) in unsafe:
                if not is_torch(owner) and kinds.of(owner) in (Kind.TENSOR, Kind.UNKNOWN):
                    changes.append((owner, filled(owner, unsafe[called(inner)])))
                    return
                if inner.args and is_torch(owner):
                    changes.append((inner.args[0], filled(inner.args[0], unsafe[called(inner)])))
                    return
        for child in ast.iter_child_nodes(inner):
            visit(child)

    def padded(rows: ast.expr, first: bool) -> str:
        """One harmless row more, so that there is one to take where the arm isn't chosen."""
        kept = text_of(source, rows, Binding.PRIMARY)
        row = f"{kept}.new_zeros(1, *{kept}.shape[1:])"
        return f"{torch}.cat([{kept}, {row}])" if first else f"{torch}.cat([{row}, {kept}])"

    def filled(operand: ast.expr, harmless: float) -> str:
        kept = text_of(source, operand)
        pair = f"{kept}, {harmless}" if taken else f"{harmless}, {kept}"
        return f"{torch}.where({predicate}, {pair})"

    visit(node)
    if not changes:
        return text
    return wrapped(replaced(source, node, changes), binding(node))


def _least(test: ast.expr | None, number: ast.expr, taken: bool) -> str | None:
    """The positive constant that the test says `number` is no smaller than where the arm is chosen."""
    match test:
        case ast.Compare(left=left, ops=[sign], comparators=[ast.Constant(value=int() | float() as bound) as right]):
            above = isinstance(sign, (ast.Gt, ast.GtE) if taken else (ast.Lt, ast.LtE))
            if above and bound > 0 and ast.unparse(left) == ast.unparse(number):
                return ast.unparse(right)
    return None


def _counted(test: ast.expr | None) -> set[str]:
    """Texts of what a test asks the size of: `hits` of `hits.numel() > 0`, `len(hits)`, `hits.shape[0]`."""
    found: set[str] = set()
    for node in ast.walk(test) if test is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(value=rows, attr="numel" | "size" | "nelement")):
                found.add(ast.unparse(rows))
            case ast.Call(func=ast.Name(id="len"), args=[rows]):
                found.add(ast.unparse(rows))
            case ast.Attribute(value=rows, attr="shape"):
                found.add(ast.unparse(rows))
    return found


# ---------------------------------------------------------------------- if statements


@dataclass
class Merge:
    """The merge of one `if` statement."""

    context: Context
    statement: ast.If
    assumed: bool
    safe: bool
    whole: ast.stmt | None = None
    """The loop that is masked, where the branch stands for a turn of it."""
    in_place: bool = True
    """Whether a registered buffer keeps its object: torch.compile compiles anew for another one. A gradient that needs
    the old value forbids it."""
    torch: str = field(init=False)

    def __post_init__(self) -> None:
        self.source = self.context.site.source
        self.torch = torch_name(self.source)[0]
        self.unit = indent_unit(self.source, self.statement)

    # -------------------------------------------------------------- the forms

    def candidates(self) -> Iterator[Candidate]:
        """All forms that apply."""
        if not begins_line(self.source, self.statement) or not owns_lines(self.source, self.statement):
            return
        if _returns_anywhere(self.statement):
            yield from self._returning()
        else:
            yield from self._assigning()

    def reader(self, allow_random: bool = False) -> ArmReader:
        return ArmReader(self.context, self.choose, self.predicates, allow_random)

    def predicates(self, names: dict[str, str]) -> Predicates:
        device = device_of(self.context, *self.statement.body, *self.statement.orelse, self.statement)
        return Predicates(self.context, device, self.assumed, names)

    def choose(self, test: str, first: Value, second: Value) -> str:
        if first.text == second.text:
            return first.text
        texts = [self._safe(value, test, taken) for value, taken in ((first, True), (second, False))]
        return f"{self.torch}.where({test}, {texts[0]}, {texts[1]})"

    def _safe(self, value: Value, test: str, taken: bool) -> str:
        if not self.safe or value.node is None:
            return value.text
        return safe_text(self.context, value.node, test, taken, value.text)

    def _known_guard(self) -> tuple[str, ast.expr]:
        """`known and asks` of a one-armed `if`: the known part stays an `if`. Gives its text and the rest."""
        test = self.statement.test
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and not self.statement.orelse:
            kinds = Kinds(self.context)
            known = 0
            while known < len(test.values) - 1 and kinds.of(test.values[known]) is Kind.STATIC:
                known += 1
            if known:
                rest = test.values[known:]
                guard = " and ".join(text_of(self.source, value) for value in test.values[:known])
                return guard, rest[0] if len(rest) == 1 else ast.copy_location(
                    ast.BoolOp(op=ast.And(), values=rest), rest[0]
                )
        return "", test

    # -------------------------------------------------------------- assignments

    def _assigning(self) -> Iterator[Candidate]:
        guard, test = self._known_guard()
        predicate = self.predicates({}).text(test)
        then = self.reader().read(self.statement.body, "then")
        otherwise = self.reader().read(self.statement.orelse, "else")
        lines = [*then.prelude, *otherwise.prelude]
        chosen = self._chosen_values(then, otherwise)
        if not chosen:
            raise NotMergeable("nothing is chosen")
        lines += self._assignments(predicate, chosen)
        if guard:
            lines = [f"if {guard}:", *(self.unit + line for line in lines)]
        message = "compute both values and choose with torch.where"
        yield _candidate(self.context, self._in_place_of(lines), message)
        if not is_elif(self.source, self.statement) and not guard:
            yield _candidate(
                self.context,
                self._beside(lines),
                "while compiling, compute both values and choose with torch.where; eager keeps its branch",
            )

    def masked(self, predicate: str, local: frozenset[str]) -> list[str]:
        """The lines of the body with each value that outlives it chosen by `predicate`. Raises NotMergeable."""
        reader = self.reader()
        reader.local = local
        then = reader.read(self.statement.body, "new")
        if then.returned is not None:
            raise NotMergeable("a return")
        chosen = self._chosen_values(then, Arm())
        return [*then.prelude, *(self._assignments(predicate, chosen) if chosen else [])]

    def _chosen_values(self, then: Arm, otherwise: Arm) -> list[tuple[str, Value, Value]]:
        chosen = []
        for target in dict.fromkeys((*then.values, *otherwise.values)):
            first, second = then.values.get(target), otherwise.values.get(target)
            if first is None or second is None:
                if target.endswith(".append"):
                    raise NotMergeable("a list that grows on one side only")
                present = first or second
                assert present is not None
                if not self.defined_before(target):
                    if not self._read_elsewhere(target):
                        continue
                    raise NotMergeable(f"{target} is not defined on one side")
                missing = Value("", present.sign) if present.sign else Value(_current(target))
                first, second = first or missing, second or missing
            if first.sign and first.sign == second.sign and self._tensor_in_place(target, first, second):
                first, second = (replace(v, text=v.text or _NEUTRAL[v.sign]) for v in (first, second))
            elif first.sign or second.sign:
                first, second = (_applied(target, value) for value in (first, second))
            chosen.append((target, first, second))
        return chosen

    def _tensor_in_place(self, target: str, first: Value, second: Value) -> bool:
        """Whether `y += v` must stay in place: always for a tensor, but a constant would lose its precision."""
        function = self.context.site.function
        arguments = (
            {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)} if function else set()
        )
        # as a tensor, an int keeps its value, but a float is rounded to the default dtype
        rounded = any(isinstance(v.node, ast.Constant) and isinstance(v.node.value, float) for v in (first, second))
        kind = Kinds(self.context).of(ast.parse(target, mode="eval").body)
        if kind is Kind.NUMBER:
            return False
        return not rounded or target in arguments or not target.isidentifier()

    def _read_elsewhere(self, target: str) -> bool:
        """Whether a name is read anywhere but in this statement."""
        function, inside = self.context.site.function, set(ast.walk(self.whole or self.statement))
        return function is None or any(
            isinstance(node, ast.Name) and node.id == target and node not in inside for node in ast.walk(function)
        )

    def defined_before(self, target: str, statement: ast.stmt | None = None) -> bool:
        """Whether a name has a value when `statement` (default: the branch itself) begins."""
        statement = statement or self.statement
        root = target.split(".")[0].split("[")[0]
        if not target.isidentifier():
            return True
        function = self.context.site.function
        if function is None:
            return False
        return root in bound_before(function, statement)

    def _assignments(self, predicate: str, chosen: list[tuple[str, Value, Value]]) -> list[str]:
        """The lines that choose; the test is named where it is used more than once or a target changes it."""
        lines: list[str] = []
        targets = [target for target, _, _ in chosen]
        uses = len(chosen)
        once = self._pairs(predicate, chosen)
        repeated = sum(text.count(predicate) for _, text in once)
        conflict = _conflicts(targets, once)
        named = repeated > 1 or len(predicate) > _LONG_TEST or (uses > 1 and _reads(predicate) & set(targets))
        if named and not predicate.isidentifier():
            name = fresh_name(self.source, "condition")
            lines.append(f"{name} = {predicate}")
            once = self._pairs(name, chosen)
        if conflict:
            if any(not target.isidentifier() for target in targets) or any(v.sign for _, v, _ in chosen):
                raise NotMergeable("values that depend on each other")
            return [*lines, f"{', '.join(targets)} = {', '.join(text for _, text in once)}"]
        for (target, text), (_, first, _) in zip(once, chosen):
            if target.endswith((".copy_", ".append")):
                lines.append(f"{target}({text})")
            elif first.sign:
                lines.append(f"{target} {first.sign}= {text}")
            elif self.in_place and is_buffer(self.source, self.statement, target):
                lines.append(f"{target}.copy_({text})")
            else:
                lines.append(f"{target} = {text}")
        return lines

    def _pairs(self, test: str, chosen: list[tuple[str, Value, Value]]) -> list[tuple[str, str]]:
        return [(target, self.choose(test, first, second)) for target, first, second in chosen]

    # -------------------------------------------------------------- returns

    def _returning(self) -> Iterator[Candidate]:
        statement = self.statement
        then = self.reader().read(statement.body, "early")
        if then.returned is None:
            raise NotMergeable("one arm returns, but not at its end")
        predicate = self.predicates({}).text(statement.test)
        if statement.orelse:
            otherwise = self.reader().read(statement.orelse, "else")
            if otherwise.returned is None:
                raise NotMergeable("only one arm returns")
            lines = [*then.prelude, *otherwise.prelude, *self._return_lines(predicate, then, otherwise)]
            yield _candidate(self.context, self._in_place_of(lines), "compute both values and choose with torch.where")
            if not is_elif(self.source, statement):
                yield self._returning_beside(lines)
            return
        yield from self._early(predicate, then)

    def _return_lines(self, predicate: str, then: Arm, otherwise: Arm) -> list[str]:
        if then.returned is None or otherwise.returned is None:
            raise NotMergeable("an arm doesn't return")
        if len(then.returned) != len(otherwise.returned) or then.is_tuple != otherwise.is_tuple:
            raise NotMergeable("arms that return different structures")
        pairs = list(zip(then.returned, otherwise.returned))
        lines = []
        test = predicate
        texts = [self.choose(test, *pair) for pair in pairs]
        repeated = sum(text.count(predicate) for text in texts)
        if (repeated > 1 or len(predicate) > _LONG_TEST) and not predicate.isidentifier():
            test = fresh_name(self.source, "condition")
            lines.append(f"{test} = {predicate}")
            texts = [self.choose(test, *pair) for pair in pairs]
        text = ", ".join(texts)
        if then.is_tuple and len(texts) == 1:
            text += ","
        return [*lines, f"return {text}"]

    def _early(self, predicate: str, then: Arm) -> Iterator[Candidate]:
        """`if c: return a`, more statements, `return b`."""
        statement = self.statement
        if is_elif(self.source, statement):
            raise NotMergeable("an elif that returns")
        rest = self._behind()
        tail = _Tail(self, rest)
        if not rest or not isinstance(rest[-1], ast.Return):
            raise NotMergeable("no return at the end of the block")
        changed = {name for kept in rest[:-1] for name in targets_written(kept)}
        prelude = list(then.prelude)
        assert then.returned is not None
        early = then
        needs = _reads(predicate) | {name for value in then.returned for name in _reads(value.text)}
        if needs & changed:
            # what comes between changes what the early return reads: keep its value from here
            name = fresh_name(self.source, "condition")
            if _reads(predicate) & changed:
                prelude.append(f"{name} = {predicate}")
                predicate = name
            values: list[Value] = []
            for value in then.returned:
                if _reads(value.text) & changed:
                    kept = fresh_name(self.source, f"early_result{'' if len(then.returned) == 1 else len(values)}")
                    prelude.append(f"{kept} = {value.text}")
                    values.append(Value(kept))
                else:
                    values.append(value)
            early = Arm([], {}, values, then.is_tuple)
        final, edits = tail.value()
        lines = self._return_lines(predicate, early, final)
        last = rest[-1]
        if not owns_lines(self.source, last):
            raise NotMergeable("a return that shares its line")
        whole = [
            self.removed(statement, prelude),
            *edits,
            Edit(self.source.span(last), joined(self.source, last, self._laid_out([*final.prelude, *lines]))),
        ]
        yield _candidate(self.context, whole, "compute both values and choose with torch.where")
        if len(rest) == 1:
            yield self._returning_beside([*prelude, *lines])

    def _behind(self) -> list[ast.stmt]:
        """What runs after the branch where it doesn't return: the rest of its block, and what follows its `with`."""
        rest: list[ast.stmt] = []
        inner: ast.stmt = self.statement
        while True:
            block = enclosing_block(self.source, inner)
            rest += block[block.index(inner) + 1 :]
            parent = self.source.parents.get(inner)
            if not isinstance(parent, ast.With):
                return rest
            inner = parent

    def _returning_beside(self, lines: list[str]) -> Candidate:
        asks = f"if {self.torch}.compiler.is_compiling():"
        edit = insert_before(self.source, self.statement, [asks, *(self.unit + line for line in self._laid_out(lines))])
        return _candidate(
            self.context,
            (edit,),
            "while compiling, compute both values and choose with torch.where; eager keeps its branch",
        )

    def removed(self, statement: ast.If, prelude: list[str]) -> Edit:
        """An `if` statement gone, its comments and what the early value needs in its place."""
        source = self.source
        lines = [*comments_in(source, source.span(statement)), *prelude]
        end = statement.end_lineno or statement.lineno
        indentation, newline = source.indentation(statement), source.newline
        tail = source.lines[end - 1][source.span(statement).end_column - 1 :].strip()
        if tail.startswith("#"):
            lines.insert(0, tail)
        text = "".join(f"{indentation}{line}{newline}" for line in lines)
        return Edit(Span(source.filename, statement.lineno, 1, end + 1, 1), text)

    # -------------------------------------------------------------- edits

    def _laid_out(self, lines: list[str]) -> list[str]:
        depth = len(self.source.indentation(self.statement).expandtabs(4)) + len(self.unit.expandtabs(4))
        return laid_out(lines, depth, self.unit)

    def _in_place_of(self, lines: list[str]) -> tuple[Edit, ...]:
        source, statement = self.source, self.statement
        lines = [*comments_in(source, source.span(statement)), *self._laid_out(lines)]
        if is_elif(source, statement):
            lines = ["else:", *(self.unit + line for line in lines)]
        return (Edit(source.span(statement), joined(source, statement, lines)),)

    def _beside(self, lines: list[str]) -> tuple[Edit, ...]:
        source, statement = self.source, self.statement
        indentation, newline = source.indentation(statement), source.newline
        inner = newline.join(indentation + self.unit + line for line in self._laid_out(lines))
        asks = f"if {self.torch}.compiler.is_compiling():"
        return (Edit(here(source, statement), f"{asks}{newline}{inner}{newline}{indentation}el"),)


@dataclass
class _Tail:
    """What a block returns after an early return was taken out of it: further early returns are folded in."""

    merge: Merge
    rest: list[ast.stmt]

    def value(self) -> tuple[Arm, list[Edit]]:
        merge = self.merge
        final = merge.reader().read([self.rest[-1]], "final")
        edits: list[Edit] = []
        others = False
        for statement in reversed(self.rest[:-1]):
            if isinstance(statement, ast.If) and _returns_anywhere(statement):
                if others or statement.orelse or not owns_lines(merge.source, statement):
                    raise NotMergeable("another early return in between")
                final = self._folded(statement, final)
                edits.append(merge.removed(statement, []))
                continue
            others = True
            inner = [node for node in ast.walk(statement) if isinstance(node, ast.stmt)]
            if not all(_computes(node) for node in inner):
                raise NotMergeable("a statement between that does more than compute")
        if others and edits:
            raise NotMergeable("another early return in between")
        return final, edits

    def _folded(self, statement: ast.If, final: Arm) -> Arm:
        """`if c: return a` in front of `final`, as one choice."""
        merge = self.merge
        early = merge.reader().read(statement.body, "early")
        if early.prelude or early.returned is None or final.returned is None:
            raise NotMergeable("another early return that needs more than an expression")
        if len(early.returned) != len(final.returned) or early.is_tuple != final.is_tuple:
            raise NotMergeable("arms that return different structures")
        test = merge.predicates({}).text(statement.test)
        values = [Value(merge.choose(test, a, b)) for a, b in zip(early.returned, final.returned)]
        return Arm([], {}, values, final.is_tuple)


def _computes(statement: ast.stmt) -> bool:
    """Whether a statement may also run where the program returned before: it assigns, and touches nothing else."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            return is_pure(value) and all(isinstance(target, (ast.Name, ast.Tuple)) for target in targets)
        case ast.AnnAssign(target=ast.Name(), value=value):
            return value is None or is_pure(value)
        case ast.AugAssign(target=ast.Name(), value=value):
            return is_pure(value)
        case ast.Pass() | ast.If() | ast.Expr(value=ast.Constant()):
            return True
        case ast.For(body=body, orelse=orelse):
            return all(_computes(inner) for inner in (*body, *orelse))
        case ast.With(body=body):
            return all(_computes(inner) for inner in body)
        case ast.Expr(value=ast.Call() as call):
            return called(call) in set(knowledge().checks.values())
    return False


def _returns_anywhere(statement: ast.If) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(statement))


_NEUTRAL = {sign: neutral for sign, _, neutral in OPERATORS.values()}
_PLACES = {sign: place for sign, place, _ in OPERATORS.values()}


def _applied(target: str, value: Value) -> Value:
    """`y += v` as the value `y + v`."""
    if not value.sign:
        return value
    if not value.text:
        return Value(target)
    return Value(f"{target} {value.sign} {wrapped(value.text, _PLACES[value.sign] + 1)}")


def _current(target: str) -> str:
    return target.removesuffix(".copy_")


def _reads(text: str) -> set[str]:
    return names_read(ast.parse(f"(\n{text}\n)", mode="eval"))


def _conflicts(targets: list[str], pairs: list[tuple[str, str]]) -> bool:
    """Whether a later value reads a name that an earlier line has already changed."""
    done: set[str] = set()
    for target, text in pairs:
        if _reads(text) & (done - {target}):
            return True
        done.add(target)
    return False
