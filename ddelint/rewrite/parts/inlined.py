"""A call that is a statement by itself, as the statements of the function that it runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.changes_of_calls import run_by
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import is_pure, names_read, names_written, parameters
from ddelint.sources.sites import site_of

_LEAVING = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.FunctionDef, ast.ClassDef)
"""What would mean something else in another function."""


@dataclass(frozen=True, slots=True)
class Inlined:
    """What stands for a call."""

    context: Context
    """Of the body's first statement, with the types of the function's own names."""
    given: Sequence[tuple[str, ast.expr]]
    """Parameters, and what they are given; those that are called alike in both functions are left out."""
    managers: Sequence[ast.expr]
    """Decorators of the function that do what a `with` around its body does."""
    body: Sequence[ast.stmt]


def inlined(context: Context, call: ast.Call) -> Inlined | None:
    """The body of what a call runs; None where that is not in the file, returns on the way, or uses names of the
    function that calls it."""
    function, caller = run_by(context, call), context.site.function
    if function is None or caller is None or function is caller:
        return None
    given, body = _given(call, function), _body(function)
    managed = all(isinstance(d, ast.Call) and _is_manager(context, d.func) for d in function.decorator_list)
    if given is None or not body or not managed or not all(map(is_pure, given.values())):
        return None
    if any(isinstance(node, _LEAVING) for statement in body for node in ast.walk(statement)):
        return None
    same = {name for name, value in given.items() if isinstance(value, ast.Name) and value.id == name}
    new = {name: value for name, value in given.items() if name in names_read(*body) - same}
    own = names_written(*body) | new.keys()
    bound = names_written(*caller.body) | parameters(caller)
    if own & (names_read(caller) | bound) or (names_read(*body) - own - given.keys()) & bound:
        return None
    kept = {text: fact for text, fact in context.types.items() if text.split(".")[0] in same}
    types = {**kept, **context.types_in(function)}
    inside = replace(context, site=site_of(context.site.source, body[0]), types=types)
    return Inlined(inside, [*new.items()], function.decorator_list, body)


def _is_manager(context: Context, called: ast.expr) -> bool:
    """Whether it is a context manager of torch's under which nothing has a gradient: `torch.no_grad`."""
    module, _, name = ast.unparse(called).rpartition(".")
    return module in {"torch", context.write.torch} and f"torch.{name}" in knowledge().without_gradients


def _given(call: ast.Call, function: ast.FunctionDef) -> dict[str, ast.expr] | None:
    """Each parameter, and what it is given; None where one has nothing, or starred arguments may give it something."""
    wanted = function.args
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    starred = any(isinstance(argument, ast.Starred) for argument in call.args) or len(named) < len(call.keywords)
    if wanted.vararg or wanted.kwarg or starred:
        return None
    plain = [parameter.arg for parameter in (*wanted.posonlyargs, *wanted.args)]
    arguments = [call.func.value, *call.args] if isinstance(call.func, ast.Attribute) else call.args
    defaults = dict(zip(plain[len(plain) - len(wanted.defaults) :], wanted.defaults))
    defaults |= {p.arg: value for p, value in zip(wanted.kwonlyargs, wanted.kw_defaults) if value is not None}
    known = {name: value for name, value in defaults.items() if isinstance(value, ast.Constant)}
    given = known | dict(zip(plain, arguments)) | named
    every = {*plain, *(parameter.arg for parameter in wanted.kwonlyargs)}
    return given if given.keys() == every and len(arguments) <= len(plain) else None


def _body(function: ast.FunctionDef) -> list[ast.stmt]:
    """What a function does, without what it says of itself and a bare `return` at its end."""
    body = function.body if ast.get_docstring(function, clean=False) is None else function.body[1:]
    return body[:-1] if body and ast.unparse(body[-1]) in ("return", "return None") else body
