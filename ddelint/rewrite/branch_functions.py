"""Arms of a branch as functions of the tensors they read, as torch.cond wants them; nested choices become nested conds.

A function may not change what it is given: what an arm changes in place is copied at its start, and handed out as one
more result. Its results share no memory with what it is given.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.conditions import Conditions
from ddelint.rewrite.expressions import (
    Binding,
    block_text,
    names_read,
    names_written,
    text_of,
    torch_name,
    wrapped,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.predicates import Predicates
from ddelint.rewrite.regions import (
    assigned_on_every_way,
    changed_in_place,
    ends_in_return,
    free_names,
    may_alias,
    separate_names,
)
from ddelint.source import SourceFile

_NUMBERS_OF_RUN_TIME = frozenset(("symint", "symfloat", "symbool"))
_MOST_STATEMENTS = 15
"""Statements behind an early return that may stand a second time, for the compiler."""


class NotFunctional(Exception):
    """An arm that is no function of tensors."""


def as_tuple(texts: Sequence[str]) -> str:
    """`(a, b)`, `(a,)`."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def separate(text: str, node: ast.expr, contiguous: str = "") -> str:
    """A result that shares no memory with an operand: torch.cond refuses those that do.

    `contiguous`: the text of torch's contiguous format, where the results of both arms must be laid out alike.
    """
    primary = wrapped(text, Binding.PRIMARY)
    if may_alias(node):
        return f"{primary}.clone({f'memory_format={contiguous}' if contiguous else ''})"
    return f"{primary}.contiguous()" if contiguous else text


def read_elsewhere(context: Context, name: str, statement: ast.stmt) -> bool:
    """Whether the function reads a name outside of a statement."""
    function, inside = context.site.function, set(ast.walk(statement))
    return function is None or any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and node not in inside
        for node in ast.walk(function)
    )


def predicate(context: Context, test: ast.expr) -> str:
    """The test as a tensor, or as a symbolic bool."""
    if Kinds(context).of(test) is Kind.TENSOR or context.diagnostic.code == "DDE105":
        return Predicates(context, assume_tensor=context.diagnostic.code == "DDE105").text(test)
    conditions = Conditions(context)
    text = conditions.condition(test, True)
    if conditions.imports:
        return Predicates(context).text(test)
    return text


@dataclass(frozen=True, slots=True)
class BranchFunctions:
    """Writes the choices of one branch. `source` holds its text, in which `self.x` may have become a local name."""

    context: Context
    source: SourceFile
    unit: str
    local: frozenset[str]
    """Names that have a value before the branch."""
    contiguous: str = ""
    """The text of torch's contiguous format, where results must have it (arms must give the same strides)."""

    # ------------------------------------------------------------------ choices

    def returning(self, test: ast.expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> list[str]:
        """Lines that return what the chosen arm returns."""
        return self._choice(test, then, otherwise, None, "return ")

    def assigning(
        self,
        test: ast.expr,
        then: Sequence[ast.stmt],
        otherwise: Sequence[ast.stmt],
        outputs: Sequence[str],
        to: str,
        overwritten: AbstractSet[str] = frozenset(),
    ) -> list[str]:
        """Lines that give the names in `to` (a target's text) what the arms leave in `outputs`.

        What is `overwritten` behind the choice is handed in as a copy: autograd may have saved it.
        """
        return self._choice(test, then, otherwise, outputs, f"{to} = ", overwritten)

    def _choice(
        self,
        test: ast.expr,
        then: Sequence[ast.stmt],
        otherwise: Sequence[ast.stmt],
        outputs: Sequence[str] | None,
        head: str,
        overwritten: AbstractSet[str] = frozenset(),
    ) -> list[str]:
        operands = self._operands(then, otherwise, outputs or ())
        torch = torch_name(self.source)[0]
        handed = as_tuple([f"{name}.clone()" if name in overwritten else name for name in operands])
        call = f"{torch}.cond({predicate(self.context, test)}, when_true, when_false, {handed})"
        return [
            *self._function("when_true", operands, then, outputs),
            "",
            *self._function("when_false", operands, otherwise, outputs),
            "",
            head + call,
        ]

    def _operands(self, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt], outputs: Sequence[str]) -> list[str]:
        """The tensors that the arms read from outside, by name. Raises NotFunctional for numbers of run time."""
        kinds = Kinds(self.context)
        wanted: set[str] = set()
        for arm in (then, otherwise):
            wanted |= free_names(arm) | (set(outputs) - assigned_on_every_way(arm))
        nodes = [node for statement in (*then, *otherwise) for node in ast.walk(statement)]
        tests = [node.test for node in nodes if isinstance(node, ast.If)]
        called_names = {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        found: list[str] = []
        for name in sorted((wanted | names_read(*tests)) & self.local):
            fact = self.context.type_of(name)
            if fact is not None and fact.kind in _NUMBERS_OF_RUN_TIME:
                raise NotFunctional("an arm reads a number that only exists at run time")
            kind = kinds.of(ast.Name(id=name, ctx=ast.Load()))
            if kind is Kind.TENSOR or (kind is Kind.UNKNOWN and name not in called_names and name != "self"):
                found.append(name)
        if not set(outputs) <= self.local | assigned_on_every_way(then) & assigned_on_every_way(otherwise):
            raise NotFunctional("a name without a value on one side")
        missing = set(outputs) - assigned_on_every_way(then) | set(outputs) - assigned_on_every_way(otherwise)
        if not missing <= set(found):
            raise NotFunctional("a result that is no tensor")
        return found

    def _function(
        self, name: str, operands: Sequence[str], body: Sequence[ast.stmt], outputs: Sequence[str] | None
    ) -> list[str]:
        copied = sorted(changed_in_place(body) & set(operands))
        lines = [f"{operand} = {operand}.clone()" for operand in copied]
        lines += self._lines(list(body), outputs, frozenset(copied))
        return [f"def {name}({', '.join(operands)}):", *((self.unit + line) if line else "" for line in lines)]

    # ------------------------------------------------------------------ one arm

    def _lines(self, body: list[ast.stmt], outputs: Sequence[str] | None, own: frozenset[str]) -> list[str]:
        """The lines of an arm, its results returned; `outputs` None: it returns by itself."""
        lines: list[str] = []
        for index, statement in enumerate(body):
            rest = body[index + 1 :]
            if isinstance(statement, ast.If) and self._depends_on_data(statement):
                inner = replace(self, local=self.local | names_written(*body[:index]))
                if has_return(statement):
                    return [*lines, *inner.returning(statement.test, *arms_of_return(statement, rest))]
                names = sorted(
                    (names_written(statement) | changed_in_place([statement]))
                    & (names_read(*rest) | set(outputs or ()))
                )
                if names:
                    target = ", ".join(names)
                    lines += ["", *inner.assigning(statement.test, statement.body, statement.orelse, names, target), ""]
            elif isinstance(statement, ast.Return):
                if outputs is not None or rest:
                    raise NotFunctional("a return in the middle")
                return [*lines, self._return(statement, body, own)]
            else:
                allowed(statement)
                text = block_text(self.source, [statement], "")
                if text is None:
                    raise NotFunctional("lines that cannot be moved")
                lines += text.splitlines()
        if outputs is None:
            raise NotFunctional("no return at the end")
        fresh = separate_names(body) | own
        values = [self._named(name, fresh) for name in outputs]
        return [*lines, f"return {', '.join(values)}"]

    def _named(self, name: str, fresh: set[str] | frozenset[str]) -> str:
        if name not in fresh:
            return separate(name, ast.Name(id=name, ctx=ast.Load()), self.contiguous)
        return f"{name}.contiguous()" if self.contiguous else name

    def _depends_on_data(self, statement: ast.If) -> bool:
        test = statement.test
        if Kinds(self.context).of(test) is Kind.STATIC:
            return False
        leaves = [node for node in ast.walk(test) if isinstance(node, ast.Name)]
        return not leaves or any(node.id != "self" for node in leaves)

    def _return(self, statement: ast.Return, body: Sequence[ast.stmt], own: frozenset[str]) -> str:
        if statement.value is None:
            raise NotFunctional("no value")
        fresh = separate_names(body) | own
        value = statement.value
        values = [
            self._named(element.id, fresh)
            if isinstance(element, ast.Name)
            else separate(text_of(self.source, element), element, self.contiguous)
            for element in (value.elts if isinstance(value, ast.Tuple) else [value])
        ]
        return f"return {as_tuple(values)}" if isinstance(value, ast.Tuple) else f"return {values[0]}"


def has_return(statement: ast.stmt) -> bool:
    """Whether a statement may leave its function."""
    return any(isinstance(node, ast.Return) for node in ast.walk(statement))


def arms_of_return(statement: ast.If, rest: Sequence[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Both arms up to their return, what stands behind the branch included. Raises NotFunctional."""
    if len(rest) > _MOST_STATEMENTS:
        raise NotFunctional("too much stands behind it")
    then, otherwise = list(statement.body), list(statement.orelse)
    if not ends_in_return(then):
        then += rest
    if not otherwise or not ends_in_return(otherwise):
        otherwise += rest
    if not otherwise:
        raise NotFunctional("what stands behind it is not in this block")
    if isinstance(then[-1], ast.Raise) or isinstance(otherwise[-1], ast.Raise):
        raise NotFunctional("an arm raises")
    return then, otherwise


def allowed(statement: ast.stmt) -> None:
    """Raises NotFunctional where a statement does more than compute."""
    for node in ast.walk(statement):
        match node:
            case (
                ast.Yield()
                | ast.YieldFrom()
                | ast.Await()
                | ast.Global()
                | ast.Nonlocal()
                | ast.NamedExpr()
                | ast.Raise()
                | ast.Assert()
                | ast.Try()
                | ast.Delete()
            ):
                raise NotFunctional("more than a computation")
            case ast.Attribute(ctx=ast.Store()):
                raise NotFunctional("an attribute is assigned")
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attr))) if attr.endswith("_"):
                pass
            case ast.Expr():
                raise NotFunctional("a statement without a value")
