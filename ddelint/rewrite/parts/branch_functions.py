"""Arms of a branch as functions of the tensors they read, as torch.cond wants them; nested choices become nested conds.

A function may not change what it is given: what an arm changes in place is copied at its start, and handed out as one
more result. Its results share no memory with what it is given.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.checks import Checks
from ddelint.rewrite.parts.truths import NotAPredicate, Truths
from ddelint.rewrite.reading.around import is_read
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import called, names_read, names_written
from ddelint.rewrite.reading.regions import (
    assigned_on_every_way,
    changed_in_place,
    ends_in_return,
    free_names,
    may_alias,
    separate_names,
)
from ddelint.rewrite.writing.rewrites import Expr, Part, Statements

TWICE = "the code stands twice: once for eager, once for the compiler"
_NUMBERS_OF_RUN_TIME = frozenset(("symint", "symfloat", "symbool"))
_MORE = (
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.NamedExpr),
    *(ast.Raise, ast.Assert, ast.Try, ast.Delete),
)
"""What does more than compute."""
Arms = tuple[Sequence[ast.stmt], Sequence[ast.stmt]]
MOST_BEHIND = 15
"""Statements behind an early return that may stand a second time, for the compiler."""
_COND = """

def when_true({operands}):
    {then}

def when_false({operands}):
    {otherwise}

{result}
"""


class NotFunctional(Exception):
    """An arm that is no function of tensors."""


def separate(context: Context, value: Part, node: ast.expr, contiguous: bool = False) -> Expr:
    """A result that shares no memory with an operand: torch.cond refuses those that do, and takes tensors and constant
    integers, none that an arm reads off a tensor.

    `value` is `node` as built; `contiguous`: the results of both arms must be laid out alike. Raises NotFunctional for
    what is neither.
    """
    write, kinds = context.write, Kinds(context)
    kind = kinds.of(node)
    if kind in (Kind.STATIC, Kind.BOOL) or _is_float(context, node):
        raise NotFunctional("a result that is no tensor")
    if kind is Kind.NUMBER:
        _refuse_what_is_read(kinds, node)
        return write.expression(value)
    if may_alias(node):
        cloned = "{}.clone(memory_format=torch.contiguous_format)" if contiguous else "{}.clone()"
        return write.expr(cloned, value)
    return write.expr("{}.contiguous()", value) if contiguous else write.expression(value)


def _refuse_what_is_read(kinds: Kinds, node: ast.expr) -> None:
    """Raises NotFunctional for a number that hangs on what a tensor holds."""
    if kinds.of(node) is Kind.NUMBER and is_read(kinds, node):
        raise NotFunctional("a number that is read off a tensor")


def _is_float(context: Context, node: ast.expr) -> bool:
    fact = Kinds(context).fact(node)
    literal = isinstance(node, ast.Constant) and isinstance(node.value, float)
    return literal or (fact is not None and fact.kind in ("float", "symfloat"))


def tensors_read(context: Context, names: AbstractSet[str], called: AbstractSet[str] = frozenset()) -> list[str]:
    """Those of some names that stand for tensors, in order. Raises NotFunctional for numbers of run time.

    `called`: names that are called, whose kind nothing has to show.
    """
    kinds = Kinds(context)
    found: list[str] = []
    for name in sorted(names):
        fact = context.type_of(name)
        if fact is not None and fact.kind in _NUMBERS_OF_RUN_TIME:
            raise NotFunctional("an arm reads a number that only exists at run time")
        kind = kinds.of(ast.Name(id=name, ctx=ast.Load()))
        if kind is Kind.TENSOR or (kind is Kind.UNKNOWN and name != "self" and name not in called):
            found.append(name)
    return found


def predicate(context: Context, test: ast.expr) -> Expr:
    """The test as a tensor; as a symbolic bool where it has no such form.

    Torch 2.13's Inductor asks a symbolic one before it has read the number in it (`name 'u0' is not defined`), where
    nothing else reads that. Raises NotAPredicate or Inexpressible.
    """
    assumed = context.diagnostic.code == "DDE105"
    if assumed or Kinds(context).of(test) is Kind.TENSOR:
        return Truths(context, assume_tensor=assumed).of(test)
    try:
        return Truths(context).of(test)
    except NotAPredicate:
        return Checks(context).condition(test, True)


@dataclass(frozen=True, slots=True)
class BranchFunctions:
    """Writes the choices of one branch, whose statements may be copies in which attributes are local names."""

    context: Context
    local: frozenset[str]
    """Names that have a value before the branch."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Attributes, and the local names that stand for them."""
    contiguous: bool = False
    """Whether results must be contiguous: arms must give the same strides."""

    # ------------------------------------------------------------------ choices

    def returning(self, test: ast.expr, arms: Arms) -> Statements:
        """Returns what the chosen arm returns. Raises NotFunctional."""
        operands = self._operands(arms, ())
        call = self._call(test, operands)
        return self._choice(operands, arms, None, self.context.write.lines("return {call}", call=call))

    def assigning(
        self, test: ast.expr, arms: Arms, outputs: Mapping[str, str], overwritten: AbstractSet[str] = frozenset()
    ) -> Statements:
        """Gives what the arms leave in the names of `outputs` to the names that those stand for there.

        What is `overwritten` behind the choice is handed in as a copy: autograd may have saved it.
        Raises NotFunctional.
        """
        write = self.context.write
        operands = self._operands(arms, outputs)
        targets = [*outputs.values()]
        target = write.expression(targets[0]) if len(targets) == 1 else write.tuple(targets)
        result = write.assigned(target, self._call(test, operands, overwritten))
        return self._choice(operands, arms, [*outputs], result)

    def _call(self, test: ast.expr, operands: Sequence[str], overwritten: AbstractSet[str] = frozenset()) -> Expr:
        write = self.context.write
        handed = [write.expr("{}.clone()", name) if name in overwritten else name for name in operands]
        asked = write.renamed(predicate(self.context, test), self.names)
        return write.expr("torch.cond({}, when_true, when_false, {})", asked, write.tuple(handed))

    def _choice(
        self, operands: Sequence[str], arms: Arms, outputs: Sequence[str] | None, result: Statements
    ) -> Statements:
        then, otherwise = (self._body(operands, arm, outputs) for arm in arms)
        return self.context.write.lines(_COND, operands=operands, then=then, otherwise=otherwise, result=result)

    def _operands(self, arms: Arms, outputs: Collection[str]) -> list[str]:
        """The tensors that the arms read from outside, by name."""
        missing = {name for arm in arms for name in set(outputs) - assigned_on_every_way(arm)}
        nodes = [node for arm in arms for statement in arm for node in ast.walk(statement)]
        functions = {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        wanted = missing.union(*map(free_names, arms))
        wanted |= names_read(*(node.test for node in nodes if isinstance(node, ast.If)))
        found = tensors_read(self.context, wanted & self.local, functions)
        if not missing <= self.local:
            raise NotFunctional("a name without a value on one side")
        if not missing <= set(found):
            raise NotFunctional("a result that is no tensor")
        return found

    # ------------------------------------------------------------------ one arm

    def _body(self, operands: Sequence[str], body: Sequence[ast.stmt], outputs: Sequence[str] | None) -> Statements:
        """The lines of an arm, its results returned; `outputs` None: it returns by itself."""
        write = self.context.write
        copied = sorted(changed_in_place(body) & set(operands))
        lines: Statements = []
        for name in copied:
            lines += write.assigned(name, write.expr("{}.clone()", name))
        kept: list[ast.stmt] = []
        for number, statement in enumerate(body):
            rest = body[number + 1 :]
            if isinstance(statement, ast.If) and self._depends_on_data(statement):
                lines += write.renamed_lines(kept, self.names)
                kept = []
                inner = replace(self, local=self.local | names_written(*body[:number]))
                if has_return(statement):
                    return [*lines, *inner.returning(statement.test, arms_of_return(statement, rest))]
                lines += inner._nested(statement, names_read(*rest) | set(outputs or ()))
            elif isinstance(statement, ast.Return):
                if outputs is not None or rest:
                    raise NotFunctional("a return in the middle")
            else:
                allowed(statement)
                kept.append(statement)
        lines += write.renamed_lines(kept, self.names)
        last = body[-1] if body else None
        if outputs is None and not isinstance(last, ast.Return):
            raise NotFunctional("no return at the end")
        own = separate_names(body) | set(copied)
        if isinstance(last, ast.Return):
            result = self._returned(last, own)
        else:
            result = self._handed(outputs or (), own, _values(body))
        return [*lines, *write.lines("return {result}", result=result)]

    def _nested(self, statement: ast.If, read: AbstractSet[str]) -> Statements:
        """A choice inside an arm: gives what is `read` behind it."""
        names = sorted((names_written(statement) | changed_in_place([statement])) & read)
        outputs = dict(zip(names, names))
        return self.assigning(statement.test, (statement.body, statement.orelse), outputs) if names else []

    def _depends_on_data(self, statement: ast.If) -> bool:
        if Kinds(self.context).of(statement.test) is Kind.STATIC:
            return False
        leaves = [node for node in ast.walk(statement.test) if isinstance(node, ast.Name)]
        return not leaves or any(node.id != "self" for node in leaves)

    # ------------------------------------------------------------------ results

    def _handed(self, outputs: Sequence[str], own: AbstractSet[str], given: Mapping[str, ast.expr]) -> Expr:
        values = [self._result(ast.Name(id=name, ctx=ast.Load()), own, given.get(name)) for name in outputs]
        return values[0] if len(values) == 1 else self.context.write.tuple(values)

    def _returned(self, statement: ast.Return, own: AbstractSet[str]) -> Expr:
        match statement.value:
            case None:
                raise NotFunctional("no value")
            case ast.Tuple(elts=elements):
                return self.context.write.tuple([self._result(element, own) for element in elements])
            case value:
                return self._result(value, own)

    def _result(self, node: ast.expr, own: AbstractSet[str], value: ast.expr | None = None) -> Expr:
        """A result; names that are the arm's `own` share no memory with an operand. `value`: what a name was given."""
        if isinstance(node, ast.Starred):
            raise NotFunctional("an unknown number of results")
        built = self.context.write.renamed(node, self.names)
        if isinstance(node, ast.Name) and node.id in own:
            _refuse_what_is_read(Kinds(self.context), value or node)
            return self.context.write.expr("{}.contiguous()", built) if self.contiguous else built
        return separate(self.context, built, value or node, self.contiguous)


def _values(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """What names are given last, where a statement of the block itself does so."""
    found: dict[str, ast.expr] = {}
    for statement in body:
        found = {name: value for name, value in found.items() if name not in names_written(statement)}
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
    return found


def own_statements(node: ast.AST) -> Iterator[ast.stmt]:
    """A statement and those inside it, but for those of functions that it defines."""
    if isinstance(node, ast.stmt):
        yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for child in ast.iter_child_nodes(node):
            yield from own_statements(child)


def has_return(statement: ast.stmt) -> bool:
    """Whether a statement may leave its function; what functions that it defines return leaves those."""
    return any(isinstance(node, ast.Return) for node in own_statements(statement))


def arms_of_return(statement: ast.If, rest: Sequence[ast.stmt]) -> Arms:
    """Both arms up to their return, what stands behind the branch included. Raises NotFunctional."""
    if len(rest) > MOST_BEHIND:
        raise NotFunctional("too much stands behind it")
    then, otherwise = list(statement.body), list(statement.orelse)
    for arm in (then, otherwise):
        if not ends_in_return(arm):
            arm += rest
    if not otherwise:
        raise NotFunctional("what stands behind it is not in this block")
    if isinstance(then[-1], ast.Raise) or isinstance(otherwise[-1], ast.Raise):
        raise NotFunctional("an arm raises")
    return then, otherwise


def allowed(statement: ast.stmt) -> None:
    """Raises NotFunctional where a statement does more than compute."""
    for node in ast.walk(statement):
        match node:
            case _ if isinstance(node, _MORE):
                raise NotFunctional("more than a computation")
            case ast.Attribute(ctx=ast.Store()):
                raise NotFunctional("an attribute is assigned")
            case ast.Expr(value=ast.Call() as call) if called(call).endswith("_"):
                pass
            case ast.Expr(value=value) if not isinstance(value, ast.Constant):
                raise NotFunctional("a statement without a value")
