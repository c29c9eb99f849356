"""Calls that somebody has written: demos under `__main__`, tests, scripts, README, examples in docstrings.

A call is taken over where the statements that it needs are plain: assignments above it, the program's constructor.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ddelint.guessing.nouns import Recipe

_EXPORTS = frozenset(("export", "draft_export", "trace", "export_for_training", "symbolic_trace"))
_AROUND = frozenset(("eval", "train", "cpu", "double", "float", "to", "requires_grad_", "cuda", "half"))
_MOST_STATEMENTS = 12
_FENCE = re.compile(r"^```(?:python|py|python3)?\s*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Demo:
    """A piece of code with a call in it, and what to call the place (`the demo at line 80`)."""

    code: str
    place: str
    row: int = 0
    """Of its first line in the file."""


def demos_in_source(text: str, shown: str, is_own: bool) -> Iterator[Demo]:
    """The pieces of a Python file: the whole of another one; of the program's own, what runs under `__main__`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    if not is_own:
        yield Demo(text, shown, 1)
        return
    for statement in tree.body:
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
            row = statement.body[0].lineno
            lines = text.splitlines()[row - 1 : statement.body[-1].end_lineno]
            yield Demo(textwrap.dedent("\n".join(lines)), f"the demo of {shown}", row)
    functions = [s for s in tree.body if isinstance(s, ast.FunctionDef)]
    for function in functions:
        if function.name in ("main", "demo", "test", "example", "run") or function.name.startswith("test_"):
            lines = text.splitlines()[function.lineno - 1 : function.end_lineno]
            yield Demo("\n".join(lines), f"{function.name}() of {shown}", function.lineno)


def demos_in_docstring(doc: str, place: str) -> Iterator[Demo]:
    """The examples behind `>>>`, and indented ones behind `::` or in fences."""
    lines = [line.strip() for line in doc.splitlines()]
    code = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    if code:
        yield Demo("\n".join(code), place)
    yield from demos_in_markdown(textwrap.dedent(doc), place)


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
        except (SyntaxError, ValueError):
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
        init = _packed(constructed.args, constructed.keywords, always_both=True)
    where = f"{demo.place}, line {demo.row + node.lineno - 1}" if demo.row else demo.place
    comment = f"as in {where}"
    packed = _packed(args, keywords, always_both=bool(keywords))
    rows = [(f"# {comment}", ""), *((line, "") for line in lines)]
    return Recipe(
        program.name,
        tuple(rows),
        packed,
        tuple((line, "") for line in init_lines),
        init,
        tuple(sorted(imports)),
        (("all", comment),),
        builder=builder,
    )


def _packed(args: Sequence[ast.expr], keywords: Sequence[ast.keyword], *, always_both: bool) -> str:
    texts = [ast.unparse(argument) for argument in args]
    text = f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
    pairs = [f'"{k.arg}": {ast.unparse(k.value)}' if k.arg else f"**{ast.unparse(k.value)}" for k in keywords]
    named = "{" + ", ".join(pairs) + "}"
    if not texts and always_both:
        return named if pairs else text
    if always_both and pairs:
        return f"({text}, {named})"
    return text


def _slice(
    before: Sequence[ast.stmt], wanted: Sequence[ast.expr], usable: frozenset[str], imported: dict[str, str]
) -> tuple[list[str], set[str]] | None:
    """The assignments that the expressions need, in order, and imports; None where they need anything else."""
    needed = {name for node in wanted for name in _read(node)}
    lines: list[str] = []
    for statement in reversed(before):
        match statement:
            case ast.Assign(targets=targets, value=value):
                bound = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                bound = {name}
            case _:
                continue
        if bound & needed:
            needed = (needed - bound) | _read(value)
            lines.insert(0, ast.unparse(statement))
    imports: set[str] = set()
    for name in needed - usable:
        if name not in imported:
            return None
        imports.add(imported[name])
    return (lines, imports) if len(lines) <= _MOST_STATEMENTS else None


def _read(node: ast.AST) -> set[str]:
    stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - stored
