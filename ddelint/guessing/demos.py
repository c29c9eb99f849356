"""Calls that somebody has written: demos under `__main__`, tests, scripts, README, examples in docstrings.

A call is taken over where the statements that it needs are plain: assignments above it, the program's constructor.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ddelint.guessing.nouns import Recipe
from ddelint.sources.source import bare_lines

_EXPORTS = frozenset(("export", "draft_export", "trace", "export_for_training", "symbolic_trace"))
_AROUND = frozenset(("eval", "train", "cpu", "double", "float", "to", "requires_grad_", "cuda", "half"))
_MOST_STATEMENTS = 12
_TRIES = re.compile(r"(?:main|demo|test|example|run)\Z|test_")
"""Names of functions that try what their file defines."""
_FENCE = re.compile(r"^```(?:python|py|python3)?[^\S\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Demo:
    """A piece of code with a call in it, and what to call the place (`the demo at line 80`)."""

    code: str
    place: str
    row: int = 0
    """Of its first line in the file; 0: nobody knows."""


def demos_in_source(text: str, shown: str) -> Iterator[Demo]:
    """The pieces of the program's own file: what runs under `__main__`, and functions that try it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = bare_lines(text)
    for statement in tree.body:
        code = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
            yield Demo(code, f"the demo of {shown}", statement.lineno)
    for statement in tree.body:
        code = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        if isinstance(statement, ast.FunctionDef) and _TRIES.match(statement.name):
            yield Demo(code, f"{statement.name}() of {shown}", statement.lineno)


def demos_in_docstring(doc: str, place: str) -> Iterator[Demo]:
    """The examples behind `>>>`, and those in fences."""
    lines = [line.strip() for line in doc.splitlines()]
    code = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    if code:
        yield Demo("\n".join(code), place)
    for demo in demos_in_markdown(inspect.cleandoc(doc), place):
        yield replace(demo, row=0)


def demos_in_markdown(text: str, shown: str) -> Iterator[Demo]:
    """The fenced pieces of Python."""
    for match in _FENCE.finditer(text):
        yield Demo(match[1], shown, text[: match.start(1)].count("\n") + 1)


@dataclass(frozen=True, slots=True)
class Called:
    """What is looked for: a program, and functions of its file that build one."""

    name: str
    is_class: bool
    factories: frozenset[str] = frozenset()

    def is_built_by(self, node: ast.expr) -> bool:
        """Whether an expression is a call that builds the program."""
        if not isinstance(node, ast.Call) or not self.is_class:
            return False
        return _last(node.func) in {self.name, *self.factories}


def recipes_in(demos: Iterable[Demo], program: Called, known: frozenset[str]) -> Iterator[Recipe]:
    """Calls of a program, as entries. `known`: names that the program's own file has."""
    for demo in demos:
        if not any(name in demo.code for name in (program.name, *program.factories)):
            continue
        try:
            tree = ast.parse(demo.code)
        except (SyntaxError, ValueError, RecursionError):
            continue
        imported = _imports(tree)
        for body in _bodies(tree):
            yield from _in_body(body, demo, program, known, imported)


def _imports(tree: ast.AST) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0):
            for alias in node.names:
                name = (alias.asname or alias.name).split(".")[0]
                one = ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], 0)
                found[name] = ast.unparse(one)
    return found


def _bodies(tree: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """Each run of statements: the module's and the functions', what stands in `with` blocks among them."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef)):
            yield list(_flat(node.body))


def _flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.With) or (
            isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)
        ):
            yield from _flat(statement.body)
        else:
            yield statement


def _in_body(
    body: Sequence[ast.stmt],
    demo: Demo,
    program: Called,
    known: frozenset[str],
    imported: dict[str, str],
) -> Iterator[Recipe]:
    instances: dict[str, ast.Call] = {}
    compiled: dict[str, str] = {}
    for number, statement in enumerate(body):
        for node in ast.walk(statement):
            if not isinstance(node, ast.Call):
                continue
            found = _call_of(node, program, instances, compiled)
            if found is not None:
                constructed, args, keywords = found
                recipe = _recipe(body[:number], demo, program, constructed, args, keywords, known, imported, node)
                if recipe is not None:
                    yield recipe
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                inner = _bare(value)
                if isinstance(inner, ast.Call) and program.is_built_by(inner):
                    instances[name] = inner
                elif isinstance(inner, ast.Call) and _last(inner.func) == "compile" and inner.args:
                    first = inner.args[0]
                    if isinstance(first, ast.Name):
                        compiled[name] = first.id


def _call_of(
    node: ast.Call, program: Called, instances: dict[str, ast.Call], compiled: dict[str, str]
) -> tuple[ast.Call | None, list[ast.expr], list[ast.keyword]] | None:
    """The constructor's call and the arguments, where `node` calls (or exports) the program."""
    if _last(node.func) in _EXPORTS and len(node.args) >= 2:
        model, inputs = _bare(node.args[0]), node.args[1]
        constructed = _constructed(model, program, instances, compiled)
        if isinstance(constructed, bool):
            return None
        args: list[ast.expr] = [ast.Starred(inputs, ast.Load())]
        if isinstance(inputs, ast.Tuple):
            args = list(inputs.elts)
        return constructed, args, []
    constructed = _constructed(_bare(node.func), program, instances, compiled)
    if isinstance(constructed, bool) or (program.is_class and constructed is None):
        return None
    return constructed, list(node.args), list(node.keywords)


def _constructed(
    model: ast.expr, program: Called, instances: dict[str, ast.Call], compiled: dict[str, str]
) -> ast.Call | bool | None:
    """The call that builds the model; None for a function, which is not built; False: it is something else."""
    if isinstance(model, ast.Name):
        name = compiled.get(model.id, model.id)
        if name in instances:
            return instances[name]
        return None if not program.is_class and name == program.name else False
    if not program.is_class and _last(model) == program.name:
        return None
    return model if isinstance(model, ast.Call) and program.is_built_by(model) else False


def _bare(node: ast.expr) -> ast.expr:
    """The model without `.eval()`, `.to(…)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _AROUND:
        node = node.func.value
    return node


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _recipe(
    before: Sequence[ast.stmt],
    demo: Demo,
    program: Called,
    constructed: ast.Call | None,
    args: list[ast.expr],
    keywords: list[ast.keyword],
    known: frozenset[str],
    imported: dict[str, str],
    node: ast.Call,
) -> Recipe | None:
    if not args and not keywords:
        return None
    usable = known | {"torch"} | set(dir(builtins))
    taken = _slice(before, [*args, *(k.value for k in keywords)], usable, imported)
    if taken is None:
        return None
    lines, imports = taken
    init_lines: list[str] = []
    init = ""
    builder = ""
    if constructed is not None and _last(constructed.func) != program.name:
        if _slice(before, [constructed], usable, imported) != ([], set()):
            return None
        builder = (
            f"{_last(constructed.func)}({', '.join(map(ast.unparse, (*constructed.args, *constructed.keywords)))})"
        )
    elif constructed is not None and (constructed.args or constructed.keywords):
        needed = _slice(before, [*constructed.args, *(k.value for k in constructed.keywords)], usable, imported)
        if needed is None:
            return None
        init_lines, more = needed
        imports |= more
        init = _packed(constructed.args, constructed.keywords)
    where = f"{demo.place}, line {demo.row + node.lineno - 1}" if demo.row else demo.place
    comment = f"as in {where}"
    rows = [(f"# {comment}", ""), *((line, "") for line in lines)]
    return Recipe(
        program.name,
        tuple(rows),
        _packed(args, keywords),
        tuple((line, "") for line in init_lines),
        init,
        tuple(sorted(imports)),
        (("all", comment),),
        builder=builder,
    )


def _packed(args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> str:
    """Arguments as an entry returns them: a tuple, a dictionary of those by name, or both."""
    positional = ast.unparse(ast.Tuple(list(args), ast.Load()))
    if not keywords:
        return positional
    keys: list[ast.expr | None] = [ast.Constant(keyword.arg) if keyword.arg else None for keyword in keywords]
    named = ast.unparse(ast.Dict(keys, [keyword.value for keyword in keywords]))
    return f"({positional}, {named})" if args else named


def _slice(
    before: Sequence[ast.stmt], wanted: Sequence[ast.expr], usable: frozenset[str], imported: dict[str, str]
) -> tuple[list[str], set[str]] | None:
    """The assignments that the expressions need, in order, and imports; None where they need anything else."""
    needed = {name for node in wanted for name in _read(node)}
    lines: list[str] = []
    for statement in reversed(before):
        match statement:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        bound = {name for target in targets for name in _bound(target)}
        changed = {name for target in targets for name in _read(target)}  # `x[0] = 1` needs an `x`
        if (bound | changed) & needed:
            needed = (needed - bound) | changed | _read(value)
            lines.insert(0, ast.unparse(statement))
    imports: set[str] = set()
    for name in needed - usable:
        if name not in imported:
            return None
        imports.add(imported[name])
    return (lines, imports) if len(lines) <= _MOST_STATEMENTS else None


def _bound(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - _bound(node)
