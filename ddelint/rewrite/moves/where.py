"""Two values chosen by data: compute both, then torch.where."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts import put_back
from ddelint.rewrite.parts.arms import Arm, NotMergeable, Value, chosen_returns
from ddelint.rewrite.parts.branch_functions import MOST_BEHIND, has_return, own_statements
from ddelint.rewrite.parts.harmless import PROTECTED, UNPROTECTED
from ddelint.rewrite.parts.merge import Merge
from ddelint.rewrite.parts.put_back import changed_otherwise, changes_only, state_changed
from ddelint.rewrite.parts.ternaries import COST, chosen_by, merged_ternary, ways_to_protect
from ddelint.rewrite.parts.truths import NotAPredicate
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.effects import SILENT
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import (
    asks_compiling,
    called,
    changes_in_place,
    enclosing_block,
    fresh_name,
    is_pure,
    names_read,
    names_written,
    parameters,
    targets_written,
)
from ddelint.rewrite.reading.naming import condition_name, part_names
from ddelint.rewrite.reading.number_uses import is_wanted_as_number
from ddelint.rewrite.reading.regions import changed_in_place, leaves_a_loop, may_alias
from ddelint.rewrite.writing.rewrites import Changes, Expr, Rewrite, Statements, restructured, rewriting
from ddelint.sources.compiling import answer_while_compiling
from ddelint.sources.sites import Block, Role

_MOST_REPEATED = 3
"""Statements of an arm that may stand in the text twice."""
_BARE = ("return", "return None")
_MESSAGE_BESIDE = "while compiling, compute both values and choose with torch.where; eager keeps its branch"


@rewriting("where_merge")
def where_merge(context: Context) -> Iterator[Rewrite]:
    """`if c: y = a else: y = b`, `if c: return a` … `return b`, `a if c else b` → `torch.where(c, a, b)`."""
    site = context.site
    if site.decision is None or asks_compiling(site.decision):
        return
    if _binding(site.decision) and (site.role is not Role.IF_TEST or has_return(site.statement)):
        return
    # a branch that only raises, or warns and goes on, chooses no value
    speaks = site.block is Block.RAISES or (site.block is Block.WARNS and not getattr(site.statement, "orelse", ()))
    for assumed in (context.diagnostic.code == "DDE105", context.diagnostic.code != "DDE105"):
        if site.role is Role.TERNARY_TEST:
            yield from merged_ternary(context, assumed)
        elif site.role is Role.IF_TEST and isinstance(site.statement, ast.If) and not speaks:
            yield from _branch(context, site.statement, assumed)
            yield from _before_changes(context, site.statement, assumed)


def _branch(context: Context, statement: ast.If, assumed: bool) -> Iterator[Rewrite]:
    kinds, counted = Kinds(context), names_written(*statement.body, *statement.orelse)
    stays = any(number_kind(kinds, ast.Name(name)) == "int" and is_wanted_as_number(kinds, name) for name in counted)
    block = enclosing_block(context.site.source, statement)
    behind = block[block.index(statement) + 1 :] if has_return(statement) else []
    protections = list(ways_to_protect(context, *statement.body, *statement.orelse, *behind))
    for numbers, way, in_place in itertools.product((stays, not stays), protections, (True, False)):
        merge = Merge(
            context,
            statement,
            assumed,
            way,
            in_place=in_place,
            may_fall_silent=True,
            numbers=numbers,
        )
        with suppress(NotMergeable, NotAPredicate, ValueError):
            if not has_return(statement):
                yield from _assigning(merge)
            elif statement.orelse:
                yield from _returning(merge)
            else:
                yield from _early(merge)


def _binding(test: ast.expr) -> list[ast.NamedExpr]:
    """The names that a test gives values to, `(top := x.max()) > 0`, in the order in which it does."""
    return [node for node in ast.walk(test) if isinstance(node, ast.NamedExpr)][::-1]


def _assigning(merge: Merge) -> Iterator[Rewrite]:
    """Both arms give values to names and places."""
    statement, write = merge.statement, merge.write
    operator, known, asking = _known_part(merge)
    named = _binding(statement.test)
    if named and (known or not all(is_pure(node.value) for node in named)):
        raise NotMergeable("a test that assigns behind what is known")
    before = [line for node in named for line in write.assigned(node.target.id, node.value)]
    test = replace(merge.truths({}), bound=bool(named)).of(asking)
    condition, test, then, otherwise = merge.arms(test)
    lines = [*before, *condition, *merge.assigned(test, then, otherwise)]
    if operator is not None:
        lines = _behind_known(merge, operator, known, lines)
    plain = chosen_by(statement.test, {statement: lines})
    if write.is_elif(statement) or (operator is not None and not merge.keeps_eager):
        yield from _unless_silent(merge, plain)
        return
    beside = _beside(merge, {statement: write.beside(lines, [statement])})
    if not merge.keeps_eager and _is_costly(merge.context, statement):
        yield from (beside, plain)
    else:
        yield from (*_unless_silent(merge, plain), beside)


def _unless_silent(merge: Merge, plain: Rewrite) -> Iterator[Rewrite]:
    """A rewrite that eager runs, too: not where it would lose a warning, or a branch of its own."""
    if not merge.keeps_eager:
        yield plain


def _beside(merge: Merge, changes: Changes) -> Rewrite:
    """A rewrite that eager doesn't run."""
    notes = (COST, SILENT) if merge.falls_silent else (COST,)
    return restructured(_MESSAGE_BESIDE, changes, *notes, decisions=(merge.statement.test,))


def _is_costly(context: Context, statement: ast.If) -> bool:
    """Whether an arm runs a module, which eager's branch is there to save."""
    calls = [node for arm in (statement.body, statement.orelse) for s in arm for node in ast.walk(s)]
    facts = [context.type_of(ast.unparse(node.func)) for node in calls if isinstance(node, ast.Call)]
    return any(fact is not None and fact.kind == "module" for fact in facts)


def _known_part(merge: Merge) -> tuple[ast.boolop | None, Sequence[ast.expr], ast.expr]:
    """`known and asks`, `known or asks`, of which the known part stays an `if`: operator, known part, the rest."""
    match merge.statement.test:
        case ast.BoolOp(op=operator, values=values):
            kinds = Kinds(merge.context)
            known = list(itertools.takewhile(lambda value: kinds.of(value) is Kind.STATIC, values[:-1]))
            rest = values[len(known) :]
            if known:
                asking = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(op=operator, values=rest), rest[0])
                return operator, known, asking
    return None, (), merge.statement.test


def _behind_known(merge: Merge, operator: ast.boolop, known: Sequence[ast.expr], lines: Statements) -> Statements:
    """The merged `lines` where the known part leaves the question open; else the arm that it decides for."""
    statement, write = merge.statement, merge.write
    test = write.joined(operator, known)
    decided = statement.orelse if isinstance(operator, ast.And) else statement.body
    if not decided:
        return write.lines("if {test}:\n    {body}", test=test, body=lines)
    if len(decided) > _MOST_REPEATED or any(isinstance(node, ast.If) for node in decided):
        raise NotMergeable("too much would be written twice")
    arms = (lines, decided) if isinstance(operator, ast.And) else (decided, lines)
    return write.lines("if {test}:\n    {body}\nelse:\n    {other}", test=test, body=arms[0], other=arms[1])


# ---------------------------------------------------------------------- returns


def _returning(merge: Merge) -> Iterator[Rewrite]:
    """Both arms return."""
    statement = merge.statement
    named, test, then, otherwise = merge.arms(merge.truths({}).of(statement.test), "early")
    lines = [*named, *merge.returned(test, then, otherwise)]
    yield from _unless_silent(merge, chosen_by(statement.test, {statement: lines}))
    if not merge.write.is_elif(statement):
        yield _return_beside(merge, lines)


def _return_beside(merge: Merge, lines: Statements) -> Rewrite:
    return _beside(merge, {merge.place: [*merge.write.while_compiling(lines), merge.place]})


def _early(merge: Merge) -> Iterator[Rewrite]:
    """`if c: return a`, more statements, `return b`."""
    statement, write = merge.statement, merge.write
    if write.is_elif(statement):
        raise NotMergeable("an elif that returns")
    then = merge.reader().read(statement.body, "early")
    test = merge.truths({}).of(statement.test)
    *between, last = _behind(merge)
    if then.returned is None or not isinstance(last, ast.Return):
        raise NotMergeable("no return at the end of the block")
    compiled = [each for each in between if not _stands_in_eager_alone(each)]
    state = state_changed(merge.context, [*compiled, last])
    if {text.partition(".")[0] for text in state} & names_written(*compiled):
        raise NotMergeable("state of something that gets its name behind the test")
    # what comes between may change what the early return reads: keep its value from here
    changed = {name for kept in between for name in targets_written(kept)} | {text.partition(".")[0] for text in state}
    kept = list(then.prelude)
    name = write.expression(fresh_name(merge.source, condition_name(write.code(test))))
    protected = _harmless_between(merge, compiled, name)
    told = merge.changed(name, then)
    if protected or state or told or write.reads(test) & changed:
        may_change = _may_share_memory(statement.test) and (state or told)
        kept += write.assigned(name, write.expr("{}.clone()", test) if may_change else test)
        test = name
    kept += told
    values: list[Value] = []
    for value, base in zip(then.returned, part_names("early", last.value, len(then.returned)), strict=True):
        if write.reads(value.built) & changed:
            result = fresh_name(merge.source, base)
            kept += write.assigned(result, value.built)
            value = Value(write.expression(result), named=value.node)
        values.append(value)
    folded, final = _folded(merge, compiled, merge.reader().read([last], "final"), state)
    if state:
        final = _named_results(merge, last, final, test)
        kept += put_back.kept(merge.context, state)
        final.prelude += put_back.put_back(merge.context, state, test)
    lines = merge.returned(test, Arm([], {}, values, then.structure), final)
    if len(compiled) == len(between) and not state:
        changes: dict[ast.AST, Any] = {statement: kept, **protected, **dict.fromkeys(folded, ()), last: lines}
        yield from _unless_silent(merge, chosen_by(statement.test, changes))
    if not between:
        yield _return_beside(merge, [*kept, *lines])
    elif not folded:
        yield _early_in_eager(merge, kept, protected, last, lines)


def _may_share_memory(test: ast.expr) -> bool:
    """Whether what is made of a test, without its conversion to a bool, may be a tensor that stands somewhere."""
    match test:
        case ast.Call(func=ast.Name(id="bool"), args=[inner]) | ast.Call(func=ast.Attribute(attr="item", value=inner)):
            return _may_share_memory(inner)
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return False
    return may_alias(test)


def _named_results(merge: Merge, last: ast.Return, final: Arm, test: Expr) -> Arm:
    """What is returned at the end, computed before state is put back: what it calls may change that, or read it."""
    write = merge.write
    prelude, values = list(final.prelude), list[Value]()
    returned = final.returned or []
    for value, base in zip(returned, part_names("late", last.value, len(returned)), strict=True):
        if write.code(value.built).isidentifier():
            values.append(value)
            continue
        name = write.expression(fresh_name(merge.source, base))
        prelude += write.assigned(name, merge.protected(value, test, taken=False))
        values.append(Value(name))
    return replace(final, prelude=prelude, returned=values)


def _harmless_between(merge: Merge, between: Sequence[ast.stmt], test: Expr) -> dict[ast.AST, Expr]:
    """What is computed behind an early return and now always, kept harmless where the program has returned before."""
    if not merge.way.safe or any(map(has_return, between)):
        return {}
    kept = (ast.Assign, ast.AugAssign, ast.Expr)
    values = [node.value for each in between for node in own_statements(each) if isinstance(node, kept)]
    found = {value: merge.harmless(value, test, taken=False) for value in values}
    return {value: new for value, new in found.items() if new is not None}


def _stands_in_eager_alone(statement: ast.stmt) -> bool:
    """Whether an `if` never runs while compiling."""
    return isinstance(statement, ast.If) and not statement.orelse and answer_while_compiling(statement.test) is False


def _early_in_eager(
    merge: Merge, kept: Statements, protected: Mapping[ast.AST, Expr], last: ast.Return, lines: Statements
) -> Rewrite:
    """Eager returns early as before; while compiling, what it would have returned is chosen at the end."""
    write, statement = merge.write, merge.statement
    changes: dict[ast.AST, Any] = {last: [*write.while_compiling(lines), last]}
    for value, new in protected.items():
        changes[value] = write.either(new, value)
    if kept:
        changes[statement] = write.beside(kept, [statement])
    else:
        changes[statement.test] = write.expr("not torch.compiler.is_compiling() and {}", statement.test)
    return _beside(merge, changes)


def _before_changes(context: Context, statement: ast.If, assumed: bool) -> Iterator[Rewrite]:
    """`if c: return`, then changes of state: while compiling, state keeps what it held where `c` is true.

    What an arm that doesn't return does comes before what stands behind the branch.
    """
    function = context.site.function
    if function is None or statement not in function.body or _binding(statement.test):
        return
    behind = function.body[function.body.index(statement) + 1 :]
    if not has_return(statement):
        return
    if 0 < len(behind) + len(statement.orelse) <= MOST_BEHIND:
        yield from _both_ends(context, statement, assumed, behind)
    if behind and not statement.orelse:
        with suppress(NotMergeable, NotAPredicate, ValueError):
            yield _changing_at_the_end(context, statement, assumed, behind)


def _both_ends(context: Context, statement: ast.If, assumed: bool, behind: Sequence[ast.stmt]) -> Iterator[Rewrite]:
    """What either way to the end of the function leaves, chosen there."""
    leaves = bool(statement.orelse) and has_return(statement.orelse[-1])
    both = ([*statement.body, *behind], statement.orelse) if leaves else (statement.body, [*statement.orelse, *behind])
    branch = _of_ends(statement, *both)
    own = _own_names(context, late=both[not leaves], early=both[leaves])
    for way in (PROTECTED, UNPROTECTED):
        with suppress(NotMergeable, NotAPredicate, ValueError):
            merge = Merge(context, branch, assumed, way, whole=statement, may_fall_silent=True)
            named, test, then, otherwise = merge.arms(merge.truths({}).of(statement.test), "early", "late", own)
            if named or not way.safe:
                yield _return_beside(merge, [*named, *merge.left(test, then, otherwise)])


def _of_ends(statement: ast.If, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> ast.If:
    """The `if` with these ways to the end of the function as its arms, a bare `return` left out."""
    arms = [list(arm[:-1] if ast.unparse(arm[-1]) in _BARE else arm) for arm in (then, otherwise)]
    return ast.copy_location(ast.If(test=statement.test, body=arms[0], orelse=arms[1]), statement)


def _own_names(context: Context, *, late: Sequence[ast.stmt], early: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that live in what stands at the end alone: not what was given and is changed there."""
    given = parameters(context.site.function) if context.site.function is not None else set()
    return frozenset(names_written(*late) - names_read(*early) - (changed_in_place(late) & given))


def _changing_at_the_end(context: Context, statement: ast.If, assumed: bool, rest: Sequence[ast.stmt]) -> Rewrite:
    """Only the last statements change state: the others always run while compiling. Raises NotMergeable."""
    function, write = context.site.function, context.write
    own = names_written(*function.body) - parameters(function) if function is not None else set()
    late = list(itertools.takewhile(lambda s: isinstance(s, ast.Return) or _changes_outside(s, own), rest[::-1]))[::-1]
    between = rest[: len(rest) - len(late)]
    if not late or not between or any(_changes_outside(s, own) or _leaves(s) for s in between):
        raise NotMergeable("state is changed on the way")
    branch = _of_ends(statement, statement.body, late)
    merge = Merge(context, branch, assumed, way=UNPROTECTED, whole=statement, may_fall_silent=True)
    own_late = _own_names(context, late=late, early=statement.body)
    _, test, then, otherwise = merge.arms(merge.truths({}).of(statement.test), "early", "late", own_late)
    changed = {name for kept in between for name in targets_written(kept)} | changed_in_place(between)
    if then.prelude or any(write.reads(value.built) & changed for value in then.values.values()):
        raise NotMergeable("the early return needs what is changed in between")
    name = fresh_name(merge.source, condition_name(write.code(test)))
    lines = merge.left(write.expression(name), then, otherwise)
    changes: dict[ast.AST, Any] = {
        statement: write.beside(write.assigned(name, test), [statement]),
        late[0]: [*write.while_compiling(lines), late[0]],
    }
    return _beside(merge, changes)


def _changes_outside(statement: ast.stmt, own: Set[str]) -> bool:
    """Whether a statement changes what is not a function's own: an argument, an attribute, a global."""
    if changed_in_place([statement]) - own:
        return True
    return any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in ast.walk(statement))


def _leaves(statement: ast.stmt) -> bool:
    """Whether a statement may end the function by itself."""
    return any(isinstance(node, (ast.Return, ast.Raise, ast.Assert)) for node in ast.walk(statement))


def _behind(merge: Merge) -> list[ast.stmt]:
    """What runs after the branch where it doesn't return: the rest of its block, and what follows its `with`."""
    rest: list[ast.stmt] = []
    inner: ast.stmt = merge.statement
    while True:
        block = enclosing_block(merge.source, inner)
        rest += block[block.index(inner) + 1 :]
        parent = merge.source.parents.get(inner)
        if not isinstance(parent, ast.With):
            break
        inner = parent
    if not rest:
        raise NotMergeable("nothing stands behind it")
    return rest


def _folded(
    merge: Merge, between: Sequence[ast.stmt], final: Arm, state: Mapping[str, str]
) -> tuple[list[ast.If], Arm]:
    """Further early returns in front of `final`, each as one choice: those that go, and what is returned then."""
    returns = [s for s in between if isinstance(s, ast.If) and has_return(s)]
    if len(returns) not in (0, len(between)) or any(statement.orelse for statement in returns):
        raise NotMergeable("another early return in between")
    if not returns and not _only_compute(merge.context, between, state):
        raise NotMergeable("a statement between that does more than compute")
    for statement in reversed(returns):
        early = merge.reader().read(statement.body, "early")
        if early.prelude or any(not target.is_name for target in early.values):
            raise NotMergeable("another early return that needs more than an expression")
        test = merge.truths({}).of(statement.test)
        final = Arm(final.prelude, {}, chosen_returns(merge.choose, test, early, final), final.structure)
    return returns, final


def _only_compute(context: Context, statements: Sequence[ast.stmt], state: Mapping[str, str]) -> bool:
    """Whether statements may also run where the program returned before: they change what they make, and `state`."""
    inner = [node for statement in statements for node in own_statements(statement)]
    counted = {
        node.target.id for node in inner if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    if changed_otherwise(context, statements, state) - counted or any(map(leaves_a_loop, statements)):
        return False
    return all(_computes(each) or changes_only(context, each, state) for each in inner)


def _computes(statement: ast.stmt) -> bool:
    """Whether a statement, apart from those inside it, does nothing but compute and keep what it has computed."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            return is_pure(value) and all(
                isinstance(target, (ast.Name, ast.Tuple, ast.Subscript)) for target in targets
            )
        case ast.AnnAssign(target=ast.Name(), value=value):
            return value is None or is_pure(value)
        case ast.AugAssign(target=ast.Name() | ast.Subscript(), value=value):
            return is_pure(value)
        case ast.While(test=test):
            return is_pure(test)
        case ast.Pass() | ast.If() | ast.For() | ast.With() | ast.Break() | ast.Continue() | ast.FunctionDef():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(), attr=name)) as call) if (
            name == "append" or changes_in_place(name)
        ):
            return all(is_pure(argument) for argument in (*call.args, *(keyword.value for keyword in call.keywords)))
        case ast.Expr(value=ast.Call() as call):
            return called(call) in set(knowledge().checks.values())
    return False
