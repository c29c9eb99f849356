"""Names and effects of a piece of code: what it reads, binds and changes, and whether it may be computed once more."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from ddelint.knowledge.operators import operators
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.sources.compiling import answer_while_compiling
from ddelint.sources.source import SourceFile

SAME_MEMORY = "data"
"""The attribute of a tensor that is a tensor on the same memory."""
_ASKING_COMPILING = frozenset(("is_compiling", "is_exporting", "is_dynamo_compiling"))
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
}
_OPPOSITES |= {after: before for before, after in _OPPOSITES.items()}


def opposite(operator: ast.cmpop) -> type[ast.cmpop]:
    """The comparison that holds exactly where `operator` does not (numbers without NaN)."""
    return _OPPOSITES[type(operator)]


def names_read(*nodes: ast.AST) -> set[str]:
    """Names that are loaded anywhere in `nodes`."""
    return {
        inner.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    }


def names_written(*nodes: ast.AST) -> set[str]:
    """Names that are bound anywhere in `nodes`, comprehension variables not counted."""
    found: set[str] = set()
    for node in nodes:
        for inner in _walk_scope(node):
            match inner:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    found.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found.add(name)
                case ast.alias(name=name, asname=asname):
                    found.add((asname or name).split(".")[0])
                case ast.ExceptHandler(name=str(name)):
                    found.add(name)
                case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                    found.add(name)
    return found


def stores(node: ast.AST, name: str) -> int:
    """How often a piece of code gives `name` a value."""
    return len(places_of_stores(node, name))


def places_of_stores(node: ast.AST, name: str) -> Sequence[ast.Name]:
    """Where a piece of code gives `name` a value."""
    return _bound(node)[0].get(name, ())


def bindings(function: ast.AST, name: str) -> int:
    """How often a function binds `name`: as a parameter, its own or a nested one's, or by giving it a value."""
    return stores(function, name) + _bound(function)[1][name]


@lru_cache(maxsize=64)
def _bound(node: ast.AST) -> tuple[Mapping[str, Sequence[ast.Name]], Counter[str]]:
    """Name → where a piece of code gives it a value, and how many parameters are called that.

    Moves ask for one name after the other, of one function.
    """
    stored: dict[str, list[ast.Name]] = {}
    arguments: Counter[str] = Counter()
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store()):
                stored.setdefault(name, []).append(inner)
            case ast.arg(arg=name):
                arguments[name] += 1
    return stored, arguments


def parameters(function: ast.AST) -> set[str]:
    """The parameters of a function, and those of functions in it."""
    return set(_bound(function)[1])


def bound_before(function: ast.AST, place: ast.expr | ast.stmt) -> set[str]:
    """A function's parameters, and the names that it binds above `place`."""
    above = position(place)
    stored = _bound(function)[0].items()
    return parameters(function) | {name for name, nodes in stored if any(position(node) < above for node in nodes)}


def _walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Like ast.walk, without the insides of nested functions and comprehensions."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if isinstance(
            current,
            (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.FunctionDef, ast.ClassDef),
        ):
            continue
        pending.extend(ast.iter_child_nodes(current))


def targets_written(statement: ast.stmt) -> set[str]:
    """Texts of the names, attributes and subscripted values that a statement changes: `y`, `self.x`, `out`."""
    found: set[str] = set()
    for inner in ast.walk(statement):
        match inner:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                found.add(ast.unparse(inner))
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                found.add(ast.unparse(value))
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if changes_in_place(attr):
                found.add(ast.unparse(value))
    return found


def changes_in_place(name: str) -> bool:
    """Whether a method changes its object, by its name: `add_`."""
    return name.endswith("_") and not name.endswith("__")


def called(node: ast.Call) -> str:
    """The last part of what a call calls: `sum` of `x.sum()`."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def is_pure(node: ast.AST) -> bool:
    """Whether evaluating `node` once more, or where it wasn't, changes nothing: no assignment, no known effect.

    A call of an unknown function counts as pure unless its name says otherwise (`add_`, `append`, `print`): the
    rewritten program is run against the original before it is kept.
    """
    table = knowledge()
    for inner in ast.walk(node):
        match inner:
            case ast.NamedExpr() | ast.Yield() | ast.YieldFrom() | ast.Await():
                return False
            case ast.Call():
                name = called(inner)
                if changes_in_place(name) or name in table.impure:
                    return False
    return True


def cannot_raise(node: ast.expr, ranked: bool = True) -> bool:
    """Whether an operand is computed without an error where a short circuit would have left it out.

    Sizes by their number only where the dimensions are `ranked`: nothing before the operand asks how many there are.
    """
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value):
            return cannot_raise(value, ranked)
        case ast.Subscript(value=ast.Attribute(value=value, attr="shape"), slice=place):
            return ranked and is_literal(place) and cannot_raise(value, ranked)
        case ast.Call(func=ast.Attribute(value=value) as method, args=arguments, keywords=[]):
            if method.attr in knowledge().boolean and len(arguments) == (ast.unparse(value) == "torch"):
                return all(cannot_raise(each, ranked) for each in (value, *arguments))  # of nothing, too
            plain = method.attr in knowledge().total and all(is_literal(place) for place in arguments)
            return plain and (ranked or not arguments) and cannot_raise(value, ranked)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return name in knowledge().total and all(cannot_raise(argument, ranked) for argument in arguments)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            return cannot_raise(operand, ranked)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return cannot_raise(left, ranked) and cannot_raise(right, ranked)
        case ast.BoolOp(values=values):
            return all(cannot_raise(value, ranked) for value in values)
        case ast.Compare(left=left, ops=operators, comparators=sides):
            contained = any(isinstance(operator, (ast.In, ast.NotIn)) for operator in operators)
            displays = (ast.Tuple, ast.List, ast.Set)
            return (not contained or isinstance(sides[-1], displays)) and all(
                cannot_raise(side, ranked) for side in (left, *sides)
            )
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return all(cannot_raise(element, ranked) for element in elements)
    return False


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is a constant, with a sign or without."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def is_whole_slice(node: ast.expr) -> bool:
    """Whether an index is `:`."""
    return isinstance(node, ast.Slice) and not (node.lower or node.upper or node.step)


def asks_rank(*nodes: ast.AST) -> bool:
    """Whether anything in `nodes` asks how many dimensions there are."""
    return any(
        (inner.attr if isinstance(inner, ast.Attribute) else inner.id) in knowledge().ranks
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, (ast.Attribute, ast.Name))
    )


def draws_random(node: ast.AST) -> bool:
    """Whether `node` calls something that draws random numbers, by its name."""
    table = knowledge()
    return any(
        isinstance(inner, ast.Call) and (called(inner).rstrip("_") in table.random or "dropout" in called(inner))
        for inner in ast.walk(node)
    )


def fresh_name(source: SourceFile, base: str) -> str:
    """`base`, or `base_2` and so on where the file already uses that name."""
    return unused(base, _names_in(source))


def unused(base: str, used: Collection[str]) -> str:
    """`base`, or `base_2` and so on where that is used."""
    name, number = base, 2
    while name in used:
        name, number = f"{base}_{number}", number + 1
    return name


@lru_cache(maxsize=16)
def _names_in(source: SourceFile) -> set[str]:
    names = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    return names | {node.arg for node in ast.walk(source.tree) if isinstance(node, ast.arg)} | set(dir(builtins))


def blocks(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements that stand in a statement (`match` has none of its own)."""
    for owner in (statement, *getattr(statement, "handlers", ())):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(owner, name, None)
            if isinstance(block, list):
                yield block


def runs_whenever(source: SourceFile, node: ast.AST | None, later: ast.stmt) -> bool:
    """Whether an assignment before a statement runs whenever that does: it is in its block, or in one around it."""
    around = (one for one in (later, *source.ancestors(later)) if isinstance(one, ast.stmt))
    return isinstance(node, (ast.Assign, ast.AnnAssign)) and any(node in enclosing_block(source, s) for s in around)


def enclosing_block(source: SourceFile, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements that `statement` is a member of."""
    parent = source.parents.get(statement)
    around = blocks(parent) if parent is not None else ()
    return next((block for block in around if statement in block), [statement])


def qualified_name(source: SourceFile, function: ast.AST) -> str:
    """A function's name as Python has it: with its classes, and the functions around it (`Model.forward`)."""
    parts: list[str] = []
    for node in (function, *source.ancestors(function)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts += ["<locals>", node.name] if parts else [node.name]
        elif isinstance(node, ast.ClassDef):
            parts.append(node.name)
    return ".".join(reversed(parts))


def asks_compiling(node: ast.AST) -> bool:
    """Whether a test already asks if the program is being compiled."""
    return any(
        (inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")) in _ASKING_COMPILING
        for inner in ast.walk(node)
    )


def is_compiling_of(chain: str) -> bool:
    """Whether a name or chain of attributes is that of torch's `is_compiling`."""
    owner, _, name = chain.rpartition(".")
    return name == "is_compiling" and owner.rpartition(".")[2] in {"", "compiler", "_dynamo"}


def stands_in_eager(source: SourceFile, node: ast.AST) -> bool:
    """Whether a node is never run while compiling, whatever the data is: a test around it says so.

    What stands behind `torch.compiler.is_compiling() or x.any()` is compiled.
    """
    child = node
    for parent in source.ancestors(node):
        match parent:
            case ast.If(test=test, body=body, orelse=orelse):
                answer = answer_while_compiling(test)
                if answer is not None and child in (orelse if answer else body):
                    return True
            case ast.IfExp(test=test, body=value, orelse=other):
                answer = answer_while_compiling(test)
                if answer is not None and child is (other if answer else value):
                    return True
            case ast.BoolOp(op=operator, values=values):
                before = values[: next(place for place, value in enumerate(values) if value is child)]
                if isinstance(operator, ast.Or) in map(answer_while_compiling, before):
                    return True
        child = parent
    return False


def position(node: ast.expr | ast.stmt | ast.pattern | ast.alias | ast.excepthandler) -> tuple[int, int]:
    """Where a node begins, to say which of two stands first."""
    return node.lineno, node.col_offset


def is_called(node: ast.AST, source: SourceFile) -> bool:
    """Whether it is what a call calls."""
    return getattr(source.parents.get(node), "func", None) is node


_VALUES = (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple)


def is_method_of_values(name: str) -> bool:
    """Whether tensors, or values of Python's own types, have a method of this name."""
    return name in operators().returns or any(hasattr(kind, name) for kind in _VALUES)


def read_in(test: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """The names and chains of attributes (`settings.steps`, not `settings`) that a test reads."""
    if isinstance(test, (ast.Name, ast.Attribute)):
        yield test
        return
    for child in ast.iter_child_nodes(test):
        yield from read_in(child)
