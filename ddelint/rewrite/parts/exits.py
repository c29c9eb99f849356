"""Loops that data makes leave early, whatever they carry: each exit notes its values, and the first that holds counts.

While compiling every iteration runs as it stands, so that lists, caches and several results may come out of the loop:
what is read behind it is chosen there, and what has grown since is cut to the length that it had at the exit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.arms import NotMergeable
from ddelint.rewrite.parts.choices import Choices, Kept
from ddelint.rewrite.parts.harmless import UNPROTECTED
from ddelint.rewrite.parts.merge import Merge
from ddelint.rewrite.parts.staying import staying
from ddelint.rewrite.parts.structures import structure_of
from ddelint.rewrite.parts.truths import NotAPredicate
from ddelint.rewrite.reading.around import number_kind, statement_of
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.loops import Grown, appended, computed_once, grown_tensor
from ddelint.rewrite.reading.names import (
    asks_compiling,
    bound_before,
    called,
    enclosing_block,
    fresh_name,
    is_pure,
    names_written,
    parameters,
    places_of_stores,
    position,
    read_in,
    targets_written,
)
from ddelint.rewrite.reading.number_uses import is_wanted_as_number
from ddelint.rewrite.reading.regions import (
    assigned_on_every_way,
    bound_inside,
    changed_in_place,
    leaves_a_loop,
    live_behind,
    root_of,
)
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, Statements, restructured

_CONTAINERS = frozenset(("list", "tuple", "dict", "set", "module", "str", "none"))
_NUMBERS = frozenset(("int", "float", "bool"))
_COST = "every iteration is computed"
_STAYS = "behind that, each iteration does the same again"
_UNSET = "where eager leaves before a name has a value, and raises for it, the compiled program goes on"


def leaving(context: Context, statement: ast.If | ast.While) -> Iterator[Rewrite]:
    """`if c: break`, or `while known and c:`, in a loop whose number of iterations Python bounds."""
    around = (statement, *context.site.source.ancestors(statement))
    loop = next((node for node in around if not isinstance(node, ast.If)), None)
    function = context.site.function
    if isinstance(loop, (ast.For, ast.While)) and not loop.orelse and function is not None:
        with suppress(NotMergeable, NotAPredicate):
            leaves = _Leaving(context, function, loop)
            rewrite = leaves.rewrite()
            yield rewrite
            stays = leaves.staying(rewrite.changes)
            if stays:
                yield replace(rewrite, message=f"{rewrite.message}; {_STAYS}", changes=stays)


def returning(context: Context, statement: ast.If) -> Iterator[Rewrite]:
    """`if c: return a` in a loop, `return b` behind it."""
    source, write = context.site.source, context.write
    loop = next((node for node in source.ancestors(statement) if isinstance(node, (ast.For, ast.While))), None)
    if not isinstance(loop, ast.For) or loop.orelse or statement.orelse or write.is_elif(statement):
        return
    last = enclosing_block(source, loop)[-1]
    match statement.body, last:
        case [ast.Return(value=ast.expr() as early)], ast.Return(value=ast.expr() as final):
            pass
        case _:
            return
    structure = structure_of(final)
    pairs = list(zip(structure_of(early).parts, structure.parts))
    if asks_compiling(statement.test) or not is_pure(early) or structure_of(early) != structure:
        return
    kinds, kept = Kinds(context), []
    for place, (here, there) in enumerate(pairs):
        number = number_kind(kinds, here) or number_kind(kinds, there)
        if not number and any(isinstance(value, (ast.Tuple, ast.Constant)) for value in (here, there)):
            return
        kept.append(Kept(fresh_name(source, f"result{place}" if len(pairs) > 1 else "result"), here, there, number))
    with suppress(NotAPredicate):
        choices, test = Choices(context, kept), _merge(context, statement).truths({}).of(statement.test)
        results = structure.of(write, [write.expression(one.place) for one in kept])
        changes: dict[ast.AST, Any] = {
            loop: [*choices.begun(), loop],
            statement: write.beside(choices.noted(test), [statement]),
            last: [*choices.chosen([]), *write.lines("return {results}", results=results)],
        }
        message = "run all iterations while compiling, and choose the first value that eager would have returned"
        yield restructured(message, changes, _COST, decisions=(statement.test,))
        left = fresh_name(source, "stays")
        stays = staying(context, loop, statement, choices.held(left, test), left, changes)
        if stays:
            yield restructured(f"{message}; {_STAYS}", stays, _COST, decisions=(statement.test,))


def _merge(context: Context, statement: ast.If) -> Merge:
    return Merge(context, statement, context.diagnostic.code == "DDE105", way=UNPROTECTED, may_fall_silent=True)


@dataclass
class _Leaving:
    """One loop, and all of its exits that data decides about."""

    context: Context
    function: ast.AST
    loop: ast.For | ast.While
    kept: list[Kept] = field(default_factory=list)
    changes: dict[ast.AST, Any] = field(default_factory=dict)
    """Expressions behind the loop that read a list which it fills, and what takes their place."""
    unset: list[str] = field(default_factory=list)
    """Names that the first iteration has no value for until it is past its first exit."""
    exits: list[tuple[ast.If, Statements, str]] = field(default_factory=list)
    """Those in the loop itself: what is noted there while compiling, and the name that the test has then."""
    behind: Statements = field(default_factory=list)
    """Lines that cut what the loop has made longer, and compute again what was made of that."""

    def __post_init__(self) -> None:
        self.write, self.source, self.kinds = self.context.write, self.context.site.source, Kinds(self.context)

    def rewrite(self) -> Rewrite:
        """Raises NotMergeable or NotAPredicate."""
        site = self.context.site
        found = [(exit, statement) for statement in self.loop.body for exit in self._exits(statement)]
        exits = [exit for exit, _ in found]
        asked = self._asked()
        tests = [exit.test for exit in exits] + ([asked] if asked is not None else [])
        if not any(self.source.span(test).contains(site.span) for test in tests):
            raise NotMergeable("not an exit of the loop")
        if not self._ends():
            raise NotMergeable("nothing that Python knows ends the loop")
        self._keep(self.loop.body[: self.loop.body.index(found[0][1])] if asked is None else ())
        choices = Choices(self.context, self.kept)
        changes: dict[ast.AST, Any] = {exit: self._beside(choices, exit, statement) for exit, statement in found}
        if asked is not None:
            changes[asked] = self.write.expr("torch.compiler.is_compiling() or {}", asked)
            left = ast.copy_location(ast.UnaryOp(ast.Not(), asked), asked)
            branch = ast.copy_location(ast.If(test=left, body=self.loop.body, orelse=[]), self.loop)
            noted = self.write.while_compiling(choices.noted(_merge(self.context, branch).truths({}).of(left)))
            first = self.loop.body[0]
            changes[first] = [*noted, *changes.get(first, [first])]
        unset = [line for name in self.unset for line in self.write.lines("{name} = None", name=name)]
        begun = [*choices.begun(), *(self.write.while_compiling(unset) if unset else [])]
        changes[self.loop] = [*begun, self.loop, *choices.chosen(self.behind)]
        message = "run all iterations while compiling, and choose what eager would have left the loop with"
        rewrite = restructured(message, {**changes, **self.changes}, _COST, decisions=tuple(tests))
        return replace(rewrite, doubt=_UNSET) if self.unset else rewrite

    def staying(self, changes: Mapping[ast.AST, Any]) -> dict[ast.AST, Any]:
        """The changes by which it stays at the iteration that leaves it; nothing where another may, or tensors grow."""
        if len(self.exits) != 1 or not isinstance(self.loop, ast.For) or any(k.grows is not None for k in self.kept):
            return {}
        leaves = [node for node in ast.walk(self.loop) if isinstance(node, (ast.Break, ast.Return))]
        (exit, noted, left), *_ = self.exits
        return staying(self.context, self.loop, exit, noted, left, changes) if len(leaves) == 1 else {}

    # ------------------------------------------------------------------ exits

    def _exits(self, statement: ast.stmt) -> list[ast.If]:
        """Where data decides in a statement whether the loop is left, behind what Python knows."""
        match statement:
            case ast.If(test=test, body=body, orelse=[]) if not asks_compiling(test):
                asks = self.source.span(test).contains(self.context.site.span)  # though each run sees plain numbers
                if not asks and (self.kinds.of(test) is Kind.STATIC or self._is_known(test)):
                    return [exit for inner in body for exit in self._exits(inner)]
                return [statement] if isinstance(body[-1], ast.Break) else []
        return []

    def _ends(self) -> bool:
        """Whether the loop ends while compiling: by its range, or by something that Python knows."""
        if isinstance(self.loop, ast.For):
            return True
        always = self._asked() is self.loop.test or isinstance(self.loop.test, ast.Constant)
        return not always or self._ends_inside()

    def _ends_inside(self) -> bool:
        """Whether something that Python knows leaves the loop: `if n >= most: break`, `if done or n >= most: break`."""
        for statement in self.loop.body:
            match statement:
                case ast.If(test=test, body=[*_, ast.Break()]) if self._is_known(test):
                    return True
                case ast.If(body=[ast.Break()], orelse=[]) if self._known_part(statement) is not None:
                    return True
        return False

    def _known_part(self, exit: ast.If) -> tuple[list[ast.expr], list[ast.expr]] | None:
        """What asks, and what Python knows, of an exit's `asks or known`."""
        match exit:
            case ast.If(test=ast.BoolOp(op=ast.Or(), values=values), body=[ast.Break()]):
                known = [value for value in values if self._is_known(value)]
                asking = [value for value in values if value not in known]
                return (asking, known) if known and asking else None
        return None

    def _is_known(self, test: ast.expr) -> bool:
        """Whether a test compares numbers that Python knows: a counter and its limit."""
        facts = [self.kinds.fact(node) for node in read_in(test)]
        return all(fact is not None and fact.kind in _NUMBERS for fact in facts)

    def _asked(self) -> ast.expr | None:
        """The part of a `while`'s test that data answers, where the rest of it ends the loop."""
        match self.loop:
            case ast.While(test=ast.BoolOp(op=ast.And(), values=values) as test) if not asks_compiling(test):
                asking = [value for value in values if not self._is_known(value)]
                return asking[0] if len(asking) == 1 else None
            case ast.While(test=test) if not (isinstance(test, ast.Constant) or asks_compiling(test)):
                return test if not self._is_known(test) and self._ends_inside() else None
        return None

    def _beside(self, choices: Choices, exit: ast.If, statement: ast.stmt) -> Statements:
        """The exit, in a statement of the loop's, as eager has it, and what is noted in its place while compiling."""
        merge = _merge(self.context, exit)
        arm = merge.reader().read(exit.body[:-1], "left")
        given = {
            target.text: merge.applied(target.node, value).built
            for target, value in arm.values.items()
            if target.method != "append"
        }
        if len(given) != len(arm.values) or not given.keys() <= {kept.place for kept in self.kept}:
            raise NotMergeable("what is done at the exit cannot be noted")
        parts = self._known_part(exit)
        if parts is None:
            test = merge.truths({}).of(exit.test)
            in_range = self._in_range(exit.test)
            noted = [*arm.prelude, *choices.noted(test, given)]
            before = assigned_on_every_way(self.loop.body[: self.loop.body.index(statement)])
            for name in (name for name in self.unset if name not in before and name not in given):
                noted = self.write.lines("if {name} is not None:\n    {noted}", name=name, noted=noted)
            if exit is statement and not self.unset:
                left = fresh_name(self.source, "stays")
                self.exits.append((exit, [*arm.prelude, *choices.held(left, test, given), *in_range], left))
            return self.write.beside([*noted, *in_range], [exit])
        asking, known = parts
        asked = asking[0] if len(asking) == 1 else ast.copy_location(ast.BoolOp(ast.Or(), asking), asking[0])
        noted = choices.noted(merge.truths({}).of(asked), given)
        ends = self.write.lines("if {known}:\n    break", known=self.write.joined(ast.Or(), known))
        return self.write.beside([*arm.prelude, *noted, *ends], [exit])

    def _in_range(self, test: ast.expr) -> Statements:
        """Behind `if i == n: break`, which keeps `i` below `n`, it stays there: iterations that eager hasn't count for
        nothing, but must not raise."""
        match test:
            case ast.Compare(
                left=ast.Name() as number, ops=[ast.Eq() | ast.GtE() | ast.Gt() as sign], comparators=[end]
            ):
                pass
            case _:
                return []
        kinds = {number_kind(self.kinds, number), number_kind(self.kinds, end)}
        if kinds != {"int"} or not is_pure(end) or not is_wanted_as_number(self.kinds, number.id):
            return []
        template = "torch.sym_min({}, {})" if isinstance(sign, ast.Gt) else "torch.sym_min({}, {} - 1)"
        return self.write.assigned(number, self.write.expr(template, number, end))

    # ------------------------------------------------------------------ what is kept

    def _keep(self, before: Sequence[ast.stmt]) -> None:
        """Everything that may be read behind the loop; `before`: what an iteration does before its first exit."""
        live, lists = live_behind(self.source, self.loop), appended(self.loop)
        given = bound_before(self.function, self.loop) | assigned_on_every_way(before)
        given |= names_written(self.loop.target) if isinstance(self.loop, ast.For) else set()
        grown = {found.name: found for node in ast.walk(self.loop) if (found := grown_tensor(node)) is not None}
        in_place = {root for statement in self.loop.body for root in changed_in_place([statement])}
        again = computed_once(self.loop, grown.keys())
        for name in sorted(lists & live):
            self._keep_list(name)
        own = bound_inside([self.loop]) - names_written(self.loop)
        for place in sorted({_held(text) for text in targets_written(self.loop)} - own):
            if place in lists or (place.isidentifier() and place not in live) or self._is_left(place):
                continue
            if place in grown:
                self._keep_grown(grown[place], place in in_place)
            elif place in again:
                self.behind += self.write.assigned(place, again[place])
            elif place.isidentifier() and place not in given:
                self._require_value_later(place)
                self.unset.append(place)
                self._keep_value(place, place in in_place)
            else:
                self._keep_value(place, place in in_place)
        if not self.kept:
            raise NotMergeable("nothing is read behind the loop")

    def _require_value_later(self, name: str) -> None:
        """Eager raises where an iteration leaves before any has given a name its value; one that ends has given it.

        Raises NotMergeable where that is not so.
        """
        outer = any(isinstance(node, (ast.For, ast.While)) for node in self.source.ancestors(self.loop))
        inside = set(ast.walk(self.loop))
        elsewhere = [node for node in places_of_stores(self.function, name) if node not in inside]
        always = isinstance(self.loop, ast.For) and name in assigned_on_every_way(self.loop.body)
        if outer or not always or any(position(node) < position(self.loop) for node in elsewhere):
            raise NotMergeable("a name without a value at the exit")

    def _keep_value(self, place: str, in_place: bool) -> None:
        node = ast.parse(place, mode="eval").body
        number = number_kind(self.kinds, node)
        in_place = in_place and not number
        shared = in_place and (not place.isidentifier() or place in parameters(self.function))
        self.kept.append(Kept(place, place, None, number, in_place, shared))

    def _is_left(self, place: str) -> bool:
        """Whether a place keeps what the last iteration gave it: a container, or a part of what the loop makes anew."""
        fact, root = self.context.type_of(place), place.partition(".")[0]
        return (fact is not None and fact.kind in _CONTAINERS) or (root != place and root in names_written(self.loop))

    def _keep_grown(self, grown: Grown, in_place: bool) -> None:
        """A tensor that the loop makes longer: its size at the exit, to which it is cut; and what it was there, where
        later iterations change that."""
        size, dim = fresh_name(self.source, f"{grown.name}_size"), grown.dimension or 0
        nodes = [node for node in ast.walk(self.loop) if isinstance(node, ast.Name) and node.id == grown.name]
        if in_place or not grown.stays or sum(isinstance(node.ctx, ast.Store) for node in nodes) > 1:
            self.kept.append(Kept(grown.name, grown.name, in_place=in_place, grows=dim))
        value = self.write.expr("{}.shape[{}]", grown.name, dim)
        self.kept.append(Kept(size, value, value, "int"))
        cut = self.write.assigned(grown.name, self.write.expr("{}.narrow({}, 0, {})", grown.name, dim, size))
        self.behind = [*cut, *self.behind]

    def _keep_list(self, name: str) -> None:
        """A list that the loop fills: its length at the exit, by which what is made of it is cut."""
        size, last = (fresh_name(self.source, f"{name}_{what}") for what in ("size", "last"))
        used: set[str] = set()
        for node in self._read_behind(name):
            whole, self.changes[whole] = self._cut(node, size, last)
            used |= self.write.reads(self.changes[whole])
        if size in used:
            self.kept.append(Kept(size, length := self.write.expr("len({})", name), length, "int"))
        if last in used:
            self.kept.append(Kept(last, element := self.write.expr("{}[-1]", name), element))

    def _read_behind(self, name: str) -> list[ast.Name]:
        """Where a list that is made beside the loop is read behind it, until its name is given to something else."""
        named = [n for n in ast.walk(self.function) if isinstance(n, ast.Name) and n.id == name]
        block, inside = enclosing_block(self.source, self.loop), set(ast.walk(self.loop))
        place = block.index(self.loop)
        places = {node: statement for node in named if (statement := statement_of(self.source, node)) is not None}
        bound = {statement for node, statement in places.items() if isinstance(node.ctx, ast.Store)}
        if bound.isdisjoint(block[:place]) or bound & inside:
            raise NotMergeable("a list that is not made beside the loop")
        if self._is_read_before(name, next(statement for statement in block[:place] if statement in bound)):
            raise NotMergeable("a list that the next iteration of an outer loop reads")
        end = next((statement for statement in block[place + 1 :] if statement in bound), None)
        behind = {statement for statement in bound if position(statement) > position(self.loop)}
        read = [node for node in named if node not in inside and position(node) > position(self.loop)]
        if end is not None:
            behind = {statement for statement in behind if position(statement) < position(end)}
            read = [node for node in read if position(places[node]) <= position(end)]
        elif len(bound) > 1 and not all(set(self.source.ancestors(node)) & set(block[place + 1 :]) for node in read):
            raise NotMergeable("a name that may be another list's behind the loop")
        if behind:
            raise NotMergeable("a name that is given to something else on one way alone")
        return [node for node in read if not isinstance(node.ctx, ast.Store)]

    def _is_read_before(self, name: str, made: ast.stmt) -> bool:
        """Whether a loop around this one reads a list of its iteration before where, or as, it is made."""
        around = [node for node in self.source.ancestors(self.loop) if isinstance(node, (ast.For, ast.While))]
        return any(
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Load)
            and (position(node) < position(made) or made in self.source.ancestors(node))
            for node in (ast.walk(around[-1]) if around else ())
        )

    def _first_has(self, name: str) -> bool:
        """Whether the first iteration puts something into a list before it may leave the loop."""
        for statement in self.loop.body if self._asked() is None else ():
            if leaves_a_loop(statement):
                return False
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=filled), attr="append"))):
                    if filled == name:
                        return True
        return False

    def _cut(self, node: ast.Name, size: str, last: str) -> tuple[ast.expr, Expr]:
        """What reads the list, and what says the same of its first `size` elements."""
        write, parent = self.write, self.source.parents[node]
        match parent:
            case ast.Call(func=ast.Name(id="len")):
                return parent, write.expression(size)
            case ast.Subscript(slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
                return parent, write.expression(last)
            case ast.Subscript(slice=ast.Constant(value=0)) if self._first_has(node.id):
                return parent, write.expression(parent)
        read = self._one_of_each(node)
        parent = self.source.parents[read]
        match parent:
            case ast.Call(func=ast.Name(id="sum"), args=[_], keywords=[]):
                elements = read if read is node else write.listed(read)
                return parent, write.expr("torch.stack({}).narrow(0, 0, {}).sum(0)", elements, size)
            case ast.Call(args=[first, *rest], keywords=keywords) if first is read:
                given: list[Part] = [*rest, *(k.value for k in keywords if k.arg in ("dim", "axis")), 0]
                dim = given[0]
                if called(parent) in knowledge().literal:
                    return parent, self.write.expr("{}.narrow(0, 0, {})", parent, size)
                if called(parent) == "stack":
                    return parent, write.expr("{}.narrow({}, 0, {})", parent, dim, size)
                if called(parent) in knowledge().concatenations and read is node:
                    length = write.expr("{} * {}[0].shape[{}]", size, node, dim)
                    return parent, write.expr("{}.narrow({}, 0, {})", parent, dim, length)
        raise NotMergeable("a list whose length depends on data")

    def _one_of_each(self, node: ast.Name) -> ast.Name | ast.ListComp | ast.GeneratorExp:
        """What has one element for each of the list's: `[row * 2 for row in rows]`, or the list itself."""
        comprehension = self.source.parents[node]
        built = self.source.parents.get(comprehension)
        match comprehension, built:
            case ast.comprehension(ifs=[], is_async=0), ast.ListComp(generators=[_]) | ast.GeneratorExp(generators=[_]):
                if comprehension.iter is node:
                    return built
        return node


def _held(place: str) -> str:
    """The name or chain of attributes that holds what a loop changes: `x` of `x[i].narrow(0, n, 2)`.

    Raises NotMergeable where there is none.
    """
    root = root_of(ast.parse(place, mode="eval").body)
    if not all(part.isidentifier() for part in root.split(".")):
        raise NotMergeable("what is changed has no name")
    return root
