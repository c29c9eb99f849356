"""What a run of statements reads, gives and changes, as a function of its own would."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence, Set

from ddelint.knowledge.operators import dotted_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import (
    called,
    changes_in_place,
    enclosing_block,
    names_read,
    names_written,
    position,
)
from ddelint.sources.source import SourceFile


def may_alias(node: ast.expr, *, given_back: bool = False) -> bool:
    """Whether a value may share memory with something that it was made from.

    `given_back`: also where what `self` is called for may give its argument back as it came (a method with an early
    return, a module that does nothing in eval()).
    """
    match node:
        case ast.BinOp() | ast.Compare() | ast.UnaryOp(op=ast.USub() | ast.Invert()):
            return False
        case ast.Call():
            is_own = given_back and isinstance(node.func, ast.Attribute) and dotted_name(node.func.value) == "self"
            return is_own or isinstance(node.func, ast.Name) or gives_view(node) or called(node).endswith("_")
    return True


def gives_view(node: ast.Call) -> bool:
    """Whether a call gives its operand again, or a view of it, by its name."""
    name, aliasing = called(node), knowledge().aliasing
    return name in aliasing.views | aliasing.same or name.startswith(aliasing.view_prefixes)


def separate_names(body: Sequence[ast.stmt], *, given_back: bool = False) -> set[str]:
    """Names whose last value in `body` is certainly a tensor of its own, not a view of something from outside.

    `given_back`: see `may_alias`.
    """
    found: set[str] = set()
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not may_alias(value, given_back=given_back):
                found.add(name)
            case ast.AugAssign(target=ast.Name(id=name)) if name in found:
                pass
            case _:
                found -= names_written(statement)
    return found


def changed_in_place(body: Sequence[ast.stmt]) -> set[str]:
    """Roots of what the statements change in place, but for names that were given a value of their own before."""
    return _changed_in(body, set())


def _changed_in(body: Sequence[ast.stmt], own: set[str]) -> set[str]:
    """Those of one block, before which the names of `own` were given such values."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, _COMPOUND):
            inside = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
            found |= _changed(*(child for child in ast.iter_child_nodes(statement) if child not in inside)) - own
            blocks = (getattr(statement, name, []) for name in ("body", "orelse"))
            found |= set().union(*(_changed_in(block, set(own)) for block in blocks))
        else:
            found |= _changed(statement) - own
        if not isinstance(statement, ast.AugAssign):
            own -= names_written(statement)
        own |= separate_names([statement])
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List() | ast.Dict() | ast.Set() | ast.ListComp()):
                own.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr=attr))) if (
                attr.startswith("new_") or attr.endswith("_like") or attr == "clone"
            ):
                own.add(name)
    return found


def _changed(*nodes: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in (inner for each in nodes for inner in ast.walk(each)):
        match node:
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                found.add(root_of(value))
            case ast.AugAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Call(func=ast.Attribute(value=value, attr=method)):
                if method in _LIST_METHODS or changes_in_place(method):
                    found.add(root_of(value))
    return found


_COMPOUND = (ast.If, ast.For, ast.While, ast.With)
_LIST_METHODS = frozenset(("append", "extend", "insert", "pop", "update", "clear", "remove", "setdefault"))


def of_unknown_length(body: Sequence[ast.AST], *, uncertain: bool = False) -> set[str]:
    """Lists that grow where nobody knows how often: in a `while`, in a `for` that is left early, behind a `continue`,
    or on one side of an `if` or `try`."""
    found: set[str] = set()
    for node in body:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if uncertain:
                found |= {name} if method in _LIST_METHODS else set()
            case ast.AugAssign(target=ast.Name(id=name)) if uncertain:
                found.add(name)
        inside = uncertain or isinstance(node, (ast.While, ast.If, ast.Try))
        if isinstance(node, ast.For) and not inside:
            always = list(itertools.takewhile(lambda statement: not leaves_a_loop(statement), node.body))
            breaks = any(leaves_a_loop(statement, (ast.Break,)) for statement in node.body)
            found |= of_unknown_length(always, uncertain=breaks)
            found |= of_unknown_length([*node.body[len(always) :], *(node.orelse if breaks else ())], uncertain=True)
            found |= of_unknown_length([] if breaks else node.orelse)
        else:
            found |= of_unknown_length(list(ast.iter_child_nodes(node)), uncertain=inside)
    return found


def root_of(node: ast.expr) -> str:
    """What an expression is a view of: `x`, a name or chain of attributes, of `x[:, 0].view(-1)`; else its own text."""
    while True:
        match node:
            case ast.Subscript(value=inner):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner)) if gives_view(node):
                node = inner
            case _:
                return ast.unparse(node)


def assigned_on_every_way(body: Sequence[ast.stmt]) -> set[str]:
    """Names that have a value once `body` has run, whichever way it went."""
    found: set[str] = set()
    for statement in body:
        match statement:
            case ast.If(test=test, body=then, orelse=otherwise):
                found |= _given_by(test)
                arms = [assigned_on_every_way(arm) for arm in (then, otherwise) if not leaves_at_its_end(arm)]
                if arms:
                    found |= set.intersection(*arms)
            case ast.With(body=inner, items=items):
                found |= assigned_on_every_way(inner)
                found |= {n for item in items if item.optional_vars for n in names_written(item.optional_vars)}
            case ast.Match(subject=subject, cases=cases):
                found |= _given_by(subject) | _given_by_cases(cases, [assigned_on_every_way(c.body) for c in cases])
            case ast.For(iter=head) | ast.While(test=head):
                found |= _given_by(head) | _given_by_loop(statement)
            case ast.Assign() | ast.AnnAssign(value=ast.expr()):
                found |= names_written(statement)
    return found


def _given_by_cases(cases: Sequence[ast.match_case], ends: Sequence[Set[str]]) -> set[str]:
    """Names that have a value behind a `match`, where one case is taken whatever comes; `ends`: those of each body."""
    if not _is_total(cases[-1]):
        return set()
    arms = [names | names_written(case.pattern) for case, names in zip(cases, ends) if not leaves_at_its_end(case.body)]
    return set[str]().union(*arms[:1]).intersection(*arms[1:])


def _is_total(case: ast.match_case) -> bool:
    """Whether a case takes whatever comes."""
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def is_endless(loop: ast.stmt) -> bool:
    """Whether a loop's own test always says yes: `while True`."""
    return isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)


def _given_by_loop(loop: ast.For | ast.While) -> set[str]:
    """Names that have a value behind a loop: each of its `break`s gives them, and its `else`."""
    bound = names_written(loop.target) if isinstance(loop, ast.For) else set()
    ends = list(_at_breaks(loop.body, bound))
    if not is_endless(loop) and not leaves_at_its_end(loop.orelse):
        ends.append(assigned_on_every_way(loop.orelse))
    return set[str]().union(*ends[:1]).intersection(*ends[1:])


def _at_breaks(body: Sequence[ast.stmt], given: Set[str]) -> Iterator[set[str]]:
    """For each `break` of the loop that `body` is of, the names that have a value there."""
    names = set(given)
    for statement in body:
        match statement:
            case ast.Break():
                yield names
            case ast.If(body=then, orelse=otherwise):
                yield from _at_breaks(then, names)
                yield from _at_breaks(otherwise, names)
            case ast.With(body=inner, items=items):
                yield from _at_breaks(inner, names | names_written(*items))
            case ast.For(orelse=inner) | ast.While(orelse=inner):
                yield from _at_breaks(inner, names)
            case ast.Match(cases=cases):
                for case in cases:
                    yield from _at_breaks(case.body, names)
            case ast.Try(body=inner, handlers=handlers, orelse=otherwise, finalbody=final):
                for block in (inner, *(handler.body for handler in handlers), otherwise, final):
                    yield from _at_breaks(block, names)
        names |= assigned_on_every_way([statement])


def free_names(body: Sequence[ast.stmt]) -> set[str]:
    """Names that `body` may read before it has given them a value."""
    free: set[str] = set()
    _collect_free(body, frozenset(), free)
    return free


def live_behind(source: SourceFile, statement: ast.stmt) -> set[str]:
    """Names whose value behind `statement` may still be read in its function, on another turn of a loop included."""
    live: set[str] = set()
    given: set[str] = set()
    node: ast.AST = statement
    while isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        block = enclosing_block(source, node)
        rest = block[block.index(node) + 1 :]
        live |= free_names(rest) - given
        given |= assigned_on_every_way(rest)
        parent = source.parents.get(node)
        if isinstance(parent, (ast.For, ast.While, ast.AsyncFor)):
            live |= free_names([parent]) - (given if node not in parent.orelse else set())
            given = set()
        elif isinstance(parent, ast.Try):
            live |= free_names([*(s for handler in parent.handlers for s in handler.body), *parent.finalbody])
        elif isinstance(parent, ast.ExceptHandler):
            parent = source.parents.get(parent)
        if parent is None:
            break
        node = parent
    return live


def _collect_free(body: Sequence[ast.stmt], given: frozenset[str], free: set[str]) -> frozenset[str]:
    """Add what `body` reads unasked-for to `free`; gives the names that have a value behind it."""
    for statement in body:
        match statement:
            case ast.If(test=test, body=then, orelse=otherwise):
                free |= _reads(test) - given
                given |= _given_by(test)
                ends = [(arm, _collect_free(arm, given, free)) for arm in (then, otherwise)]
                staying = [names for arm, names in ends if not leaves_at_its_end(arm)]
                if staying:
                    given = frozenset.intersection(*staying)
            case ast.For(iter=head) | ast.While(test=head):
                free |= _reads(head) - given
                given |= _given_by(head)
                bound = names_written(statement.target) if isinstance(statement, ast.For) else set()
                _collect_free(statement.body, given | bound, free)
                _collect_free(statement.orelse, given, free)
                given |= _given_by_loop(statement)
            case ast.Match(subject=subject, cases=cases):
                free |= _reads(subject) - given
                given |= _given_by(subject)
                arms = []
                for case in cases:
                    bound = names_written(case.pattern)
                    free |= (names_read(case.pattern) | (_reads(case.guard) if case.guard else set())) - given - bound
                    arms.append(_collect_free(case.body, given | bound, free))
                given |= _given_by_cases(cases, arms)
            case ast.With(items=items, body=inner):
                for item in items:
                    free |= _reads(item.context_expr) - given
                    given |= names_written(item.optional_vars) if item.optional_vars is not None else set()
                given = _collect_free(inner, given, free)
            case ast.Try(body=inner, handlers=handlers, orelse=otherwise, finalbody=final):
                behind = _collect_free(inner, given, free)
                _collect_free(otherwise, behind, free)
                for handler in handlers:
                    free |= _reads(handler.type) - given if handler.type is not None else set()
                    _collect_free(handler.body, given, free)
                _collect_free(final, given, free)
            case _:
                free |= _reads(statement) - given
                if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                    free |= {statement.target.id} - given
                given |= names_written(statement)
    return given


def _reads(node: ast.AST) -> set[str]:
    return names_read(node) - bound_inside([node]) - _bound_by_tests(node) - _read_behind(node)


def _given_by(expression: ast.expr) -> set[str]:
    """Names that an expression gives a value in any case: `n` of `(n := f(x)) > 0 and …`."""
    match expression:
        case ast.NamedExpr(target=target, value=value):
            return {target.id} | _given_by(value)
        case ast.BoolOp(values=[first, *_]):
            return _given_by(first)
        case ast.IfExp(test=test):
            return _given_by(test)
        case ast.Compare(left=left, comparators=[second, *_]):
            return _given_by(left) | _given_by(second)
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return set()
    parts = (part for part in ast.iter_child_nodes(expression) if isinstance(part, ast.expr))
    return set[str]().union(*map(_given_by, parts))


def _read_behind(node: ast.AST) -> set[str]:
    """Names that an expression gives a value before it reads them: `n` of `(n := f(x)) > 0 and n < 5`."""
    if not isinstance(node, ast.expr):
        return set()
    known = _given_by(node)
    if not known:
        return known
    reads = [read for read in ast.walk(node) if isinstance(read, ast.Name) and isinstance(read.ctx, ast.Load)]
    for given in [inner for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)]:
        name, within = given.target.id, set(ast.walk(given.value))
        if any(read.id == name and (position(read) < position(given) or read in within) for read in reads):
            known.discard(name)
    return known


def _bound_by_tests(node: ast.AST) -> set[str]:
    """Names that only a ternary reads whose test binds them: `n if (n := f(x)) > 0 else 1`."""
    found: set[str] = set()
    for choice in ast.walk(node):
        if isinstance(choice, ast.IfExp):
            bound = {inner.target.id for inner in ast.walk(choice.test) if isinstance(inner, ast.NamedExpr)}
            inside = set(ast.walk(choice))
            elsewhere = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner not in inside)
            found |= bound - {inner.id for inner in elsewhere}
    return found


def leaves_at_its_end(body: Sequence[ast.stmt]) -> bool:
    """Whether a block ends in a statement behind which nothing of the block around it runs."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Break, ast.Continue))


def ends_in_return(body: Sequence[ast.stmt]) -> bool:
    """Whether every way through `body` ends in a return or an exception."""
    match body[-1] if body else None:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=then, orelse=otherwise):
            return ends_in_return(then) and ends_in_return(otherwise)
        case ast.Match(cases=cases):
            return _is_total(cases[-1]) and all(ends_in_return(case.body) for case in cases)
        case ast.With(body=inner):
            return ends_in_return(inner)
    return False


def leaves_a_loop(statement: ast.stmt, ways: tuple[type[ast.stmt], ...] = (ast.Break, ast.Continue)) -> bool:
    """Whether a break or continue in `statement`, of the `ways` that count, is about a loop around it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ways):
            return True
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
            pending.extend(node.orelse)
            continue
        pending.extend(ast.iter_child_nodes(node))
    return False


def bound_inside(body: Sequence[ast.AST]) -> set[str]:
    """Names that comprehensions and lambdas in `body` bind for themselves."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.comprehension(target=target):
                    found |= {inner.id for inner in ast.walk(target) if isinstance(inner, ast.Name)}
                case ast.Lambda(args=arguments):
                    found |= {inner.arg for inner in ast.walk(arguments) if isinstance(inner, ast.arg)}
    return found
