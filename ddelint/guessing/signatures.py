"""A program's text taken apart: its parameters with annotations, defaults and comments."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass

from ddelint.sources.source import bare_lines


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a definition; `annotation` and `default` are None where there is none."""

    name: str
    annotation: ast.expr | None = None
    default: ast.expr | None = None
    by_keyword: bool = False
    comment: str = ""
    """What stands behind it on its line."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or method: its parameters, its body, its docstring and its text.

    The parameters are without `self`; where there is but a `*args`, the first of these stands for it.
    """

    parameters: tuple[Parameter, ...] = ()
    body: tuple[ast.stmt, ...] = ()
    doc: str = ""
    text: str = ""


def definition_of(text: str, *, is_method: bool) -> Definition:
    """Read a definition; an empty one where the text is none."""
    try:
        nodes = ast.parse(text).body
    except SyntaxError:
        return Definition()
    found = next((node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if found is None:
        return Definition()
    lines = bare_lines(text)
    signature = found.args
    positional = [*signature.posonlyargs, *signature.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(signature.defaults))
    defaults += signature.defaults
    pairs = list(zip(positional, defaults))[1 if is_method and not _is_static(found) else 0 :]
    parameters = [Parameter(a.arg, a.annotation, d, comment=_comment(lines, a)) for a, d in pairs]
    if signature.vararg is not None and not parameters:  # a call without any argument would say nothing
        parameters.append(Parameter(f"{signature.vararg.arg}_1", signature.vararg.annotation))
    parameters += [
        Parameter(a.arg, a.annotation, d, by_keyword=True, comment=_comment(lines, a))
        for a, d in zip(signature.kwonlyargs, signature.kw_defaults)
    ]
    doc = inspect.cleandoc(ast.get_docstring(found) or "")
    return Definition(tuple(parameters), tuple(found.body), doc, text)


def _is_static(found: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in found.decorator_list)


def _comment(lines: list[str], argument: ast.arg) -> str:
    line = lines[(argument.end_lineno or argument.lineno) - 1]
    code, hash_, comment = line.partition("#")
    return comment.strip() if hash_ and argument.arg in code else ""
