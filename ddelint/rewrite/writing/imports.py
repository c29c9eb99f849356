"""Edits to text: imports in the file's own style, the smallest edits between two texts, files written whole or not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ddelint.nouns.diagnostics import Edit, Span
from ddelint.rewrite.candidate import Import
from ddelint.sources.source import SourceFile, descend

LONGEST_IMPORT = 100
"""A from-import that would grow beyond this many characters gets a second line instead."""


class EngineError(Exception):
    """A candidate that cannot be applied to this file; the message says why."""


def torch_name(source: SourceFile) -> str | None:
    """What the file calls torch at module level (`torch`, or its alias); None where it does not import it."""
    alias = None
    for statement in _module_statements(source.tree):
        if isinstance(statement, ast.Import):
            for name in statement.names:
                if name.name == "torch":
                    if name.asname is None:
                        return "torch"
                    alias = alias or name.asname
                elif name.name.startswith("torch.") and name.asname is None:
                    return "torch"
    return alias


def import_edits(source: SourceFile, imports: Sequence[Import], edits: Sequence[Edit] = ()) -> tuple[Edit, ...]:
    """The edits that add what is missing of `imports` to `source`, in its own style; none overlap.

    A name joins an existing from-import of its module, else a new line follows the last import of torch: inside a
    function where the one around `edits` (changes of `source` that need the names) imports torch for itself. Raises
    EngineError where the name already means something else in the module or around `edits`.
    """
    refuse_other_meanings(source, imports, edits)
    home = _importing_block(source, edits) if imports and torch_name(source) is None else None
    if home is not None:
        return _local_import_edits(source, imports, home)
    insertions: dict[tuple[int, int], list[str]] = {}
    added: list[Edit] = []
    names: dict[str, list[str]] = {}
    for wanted in dict.fromkeys(imports):
        if _bound(source, wanted):
            continue
        if wanted.name:
            names.setdefault(wanted.module, []).append(wanted.name)
        else:
            place, text = _new_line(source, wanted.module, f"import {wanted.module}")
            insertions.setdefault(place, []).append(text)
    for module, missing in names.items():
        missing.sort()
        merged = _merge(source, module, missing)
        if merged is not None:
            added.append(merged)
            continue
        place, text = _new_line(source, module, f"from {module} import {', '.join(missing)}")
        insertions.setdefault(place, []).append(text)
    for (row, column), texts in insertions.items():
        added.append(Edit(Span(source.filename, row, column, row, column), "".join(texts)))
    return tuple(sorted(added, key=lambda edit: edit.span))


# ---------------------------------------------------------------------- names around an edit


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def refuse_other_meanings(source: SourceFile, imports: Sequence[Import], edits: Sequence[Edit]) -> None:
    """Raise EngineError where torch or a name of `imports` is bound to something else around an edit that says it."""
    wanted = {each.name: each for each in imports if each.name}
    for package in (each.module.partition(".")[0] for each in imports if not each.name):
        wanted[package] = Import(package)
    torch = torch_name(source)
    wanted.setdefault(torch or "torch", Import("torch"))
    for name, each in wanted.items():
        said = re.compile(rf"(?<![\w.]){re.escape(name)}\b")
        for edit in edits:
            if edit.span.filename == source.filename and said.search(edit.content):
                for scope in (source.tree, *_scopes_around(source, edit.span)):
                    if _means_another(source, scope, name, each, edit.span):
                        raise EngineError(f"{name} is bound to something else around line {edit.span.row}")


def _scopes_around(source: SourceFile, span: Span) -> list[ast.AST]:
    """The functions, lambdas and comprehensions that a place lies in, outermost first."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [source.tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.expr, ast.stmt)):
            if not source.span(node).contains(span):
                continue
            if isinstance(node, _SCOPES):
                found.append(node)
        waiting += ast.iter_child_nodes(node)
    return sorted(found, key=source.span)


def _means_another(source: SourceFile, scope: ast.AST, name: str, wanted: Import, span: Span) -> bool:
    """Whether `scope` binds `name` to anything but what is wanted, or imports that only where it may be too late."""
    parameters = ast.walk(scope.args) if isinstance(scope, _FUNCTIONS) else ()
    if any(isinstance(node, ast.arg) and node.arg == name for node in parameters):
        return True
    for node in _own_nodes(scope):
        match node:
            case ast.Import() | ast.ImportFrom() if _binds(node, name):
                if not _imports(node, name, wanted):
                    return True
                if isinstance(scope, _FUNCTIONS) and not _has_run(source, node, span):
                    return True
            case ast.Name(id=other, ctx=ast.Store() | ast.Del()) if other == name:
                if not (isinstance(scope, ast.Module) and _is_stand_in(source, node)):
                    return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node.name == name:
                return True
            case ast.ExceptHandler(name=str(other)) | ast.MatchAs(name=str(other)) | ast.MatchStar(name=str(other)):
                if other == name:
                    return True
            case ast.MatchMapping(rest=str(other)) if other == name:
                return True
    return False


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, without the insides of the scopes in it; what a comprehension binds stays inside of it."""
    if isinstance(scope, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        waiting: list[ast.AST] = [generator.target for generator in scope.generators]
    else:
        body = getattr(scope, "body", [])
        waiting = list(body) if isinstance(body, list) else [body]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            # an assignment expression in a comprehension binds outside of it
            waiting += [inner.target for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)]
        elif not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def _binds(statement: ast.Import | ast.ImportFrom, name: str) -> bool:
    return any((alias.asname or alias.name.partition(".")[0]) == name for alias in statement.names)


def _imports(statement: ast.Import | ast.ImportFrom, name: str, wanted: Import) -> bool:
    """Whether an import binds `name` to the module or the object that is wanted."""
    if isinstance(statement, ast.ImportFrom):
        return (
            bool(wanted.name)
            and statement.module == wanted.module
            and not statement.level
            and all(alias.name == wanted.name for alias in statement.names if (alias.asname or alias.name) == name)
        )
    return not wanted.name and all(
        alias.name == wanted.module if alias.asname else alias.name.partition(".")[0] == wanted.module
        for alias in statement.names
        if (alias.asname or alias.name.partition(".")[0]) == name
    )


def _loads(statement: ast.Import | ast.ImportFrom, module: str) -> bool:
    """Whether `import a.b` brings `module` by its own name: `a`, `a.b`."""
    return isinstance(statement, ast.Import) and any(
        alias.asname is None and f"{alias.name}.".startswith(f"{module}.") for alias in statement.names
    )


def _has_run(source: SourceFile, statement: ast.stmt, span: Span) -> bool:
    """Whether a statement of a function has run before anything at `span` does: it stands above, in a block around."""
    parent = source.parents.get(statement)
    if source.span(statement) >= span:
        return False
    return parent is not None and (isinstance(parent, _FUNCTIONS) or source.span(parent).contains(span))


def _is_stand_in(source: SourceFile, node: ast.AST) -> bool:
    """Whether a module's name stands for nothing: `torch = None` where it cannot be imported."""
    parent = source.parents.get(node)
    return isinstance(parent, (ast.Assign, ast.AnnAssign)) and (
        isinstance(parent.value, ast.Constant) and parent.value.value is None
    )


def _importing_block(source: SourceFile, edits: Sequence[Edit]) -> ast.stmt | None:
    """The last import of torch in the innermost function that is around all `edits` and imports it above them.

    Raises EngineError where only other functions import torch: an import at the top would be made earlier than theirs.
    """
    if not edits:
        return None
    first = min(edit.span for edit in edits)
    around = [_scopes_around(source, edit.span) for edit in edits]
    for scope in reversed(around[0]):
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and all(scope in others for others in around):
            above = [s for s in scope.body if _imports_torch(s) and source.span(s) < first]
            if above:
                return above[-1]
    if any(_imports_torch(s) for s in _module_statements(source.tree)):
        return None
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and _imports_torch(node) and _is_in_function(source, node):
            raise EngineError(f"{source.filename} imports torch only where it needs it")
    return None


def _is_in_function(source: SourceFile, node: ast.AST) -> bool:
    return any(isinstance(parent, _FUNCTIONS) for parent in source.ancestors(node))


def _local_import_edits(source: SourceFile, imports: Sequence[Import], last: ast.stmt) -> tuple[Edit, ...]:
    """New lines below `last`, an import inside a function, for what its function lacks."""
    around = [n for n in source.ancestors(last) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module))]
    known = [s for scope in around for s in scope.body if isinstance(s, (ast.Import, ast.ImportFrom))]
    modules: list[str] = []
    names: dict[str, set[str]] = {}
    for wanted in dict.fromkeys(imports):
        name = wanted.name or wanted.module.partition(".")[0]
        above = [s for s in known if source.span(s) <= source.span(last) and _binds(s, name)]
        if any(_imports(s, name, wanted) if wanted.name else _loads(s, wanted.module) for s in above):
            continue
        if wanted.name:
            names.setdefault(wanted.module, set()).add(wanted.name)
        else:
            modules.append(f"import {wanted.module}")
    lines = [*modules, *(f"from {module} import {', '.join(sorted(words))}" for module, words in names.items())]
    if not lines:
        return ()
    line = source.lines[last.lineno - 1]
    if line[: source.span(last).column - 1].strip():
        raise EngineError(f"there is no place for an import below line {last.lineno}")
    row = last.end_lineno or last.lineno
    _require_end_of_line(source, row)
    column = len(source.lines[row - 1].rstrip("\r\n")) + 1  # not on the next line, where other edits may begin
    text = "".join(source.newline + source.indentation(last) + line for line in lines)
    return (Edit(Span(source.filename, row, column, row, column), text),)


# ---------------------------------------------------------------------- imports


def _module_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported: top level, and inside its `if`, `try` and `with` blocks."""
    pending: list[ast.stmt] = list(reversed(tree.body))
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.If) and _is_type_checking(statement.test):
            pending += reversed(statement.orelse)
            continue
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            inner: list[ast.stmt] = []
            for field in ("body", "orelse", "finalbody"):
                inner += getattr(statement, field, [])
            for handler in getattr(statement, "handlers", []):
                inner += handler.body
            pending += reversed(inner)


def _is_type_checking(test: ast.expr) -> bool:
    match test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return True
    return False


def _bound(source: SourceFile, wanted: Import) -> bool:
    """Whether the module already has the name. Raises EngineError where it means something else there."""
    name = wanted.name or wanted.module.partition(".")[0]
    found = False
    for statement in _module_statements(source.tree):
        match statement:
            case ast.Import(names=aliases):
                for alias in aliases:
                    binds = alias.asname or alias.name.partition(".")[0]
                    if not wanted.name and (alias.name == wanted.module or alias.name.startswith(wanted.module + ".")):
                        # `import torch as t` serves, too: the candidate's text uses the alias
                        found = found or alias.asname is None or alias.name == wanted.module
                    elif binds == name and (wanted.name or alias.name.partition(".")[0] != name):
                        raise EngineError(f"{name} is another module in {source.filename}")
            case ast.ImportFrom(module=module, names=aliases, level=level):
                for alias in aliases:
                    if (alias.asname or alias.name) != name:
                        continue
                    if wanted.name and module == wanted.module and alias.name == name and not level:
                        found = True
                    else:
                        raise EngineError(f"{name} is imported from elsewhere in {source.filename}")
            case ast.FunctionDef(name=other) | ast.AsyncFunctionDef(name=other) | ast.ClassDef(name=other):
                if other == name:
                    raise EngineError(f"{name} is defined in {source.filename}")
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for node in (n for target in targets for n in ast.walk(target)):
                    if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                        raise EngineError(f"{name} is assigned in {source.filename}")
    return found


def _merge(source: SourceFile, module: str, names: Sequence[str]) -> Edit | None:
    """Names added to a from-import that is already there, or None where there is none that can take them."""
    for statement in source.tree.body:
        if not (isinstance(statement, ast.ImportFrom) and statement.module == module and statement.level == 0):
            continue
        if any(alias.name == "*" for alias in statement.names):
            continue
        last = statement.names[-1]
        text = source.segment(statement)
        rest = text[len(text) - _after(source, statement, last) :]
        if "#" in rest or "\\" in text:
            continue
        end = source.span(last)
        place = Span(source.filename, end.end_row, end.end_column, end.end_row, end.end_column)
        if last.lineno > statement.lineno and len({alias.lineno for alias in statement.names}) == len(statement.names):
            joined = "".join(f",{source.newline}{source.indentation(last)}{name}" for name in names)
        else:
            joined = "".join(f", {name}" for name in names)
            if len(source.lines[last.lineno - 1].rstrip()) + len(joined) > LONGEST_IMPORT:
                continue
        return Edit(place, joined)
    return None


def _after(source: SourceFile, statement: ast.stmt, node: ast.alias) -> int:
    """Characters of `statement` that follow `node`."""
    whole, part = source.span(statement), source.span(node)
    return source.offset(whole.end_row, whole.end_column) - source.offset(part.end_row, part.end_column)


def _new_line(source: SourceFile, module: str, text: str) -> tuple[tuple[int, int], str]:
    """Where a new import line goes, and its text with line ends."""
    ending = source.newline
    top = source.tree.body
    related = [s for s in top if isinstance(s, (ast.Import, ast.ImportFrom)) and _imports_torch(s)]
    plain = text.startswith("import ")
    if related:
        if plain:
            first = related[0]
            if isinstance(first, ast.ImportFrom):
                return (first.lineno, 1), text + ending
            return _below(source, first, text)
        before = [s for s in related if isinstance(s, ast.Import) or (s.module or "") <= module]
        return _below(source, before[-1] if before else related[-1], text)
    guarded = [s for s in _module_statements(source.tree) if s not in top and _imports_torch(s)]
    if guarded:
        return _below(source, guarded[-1], source.indentation(guarded[-1]) + text)
    imported = [s for s in top if isinstance(s, (ast.Import, ast.ImportFrom))]
    leading = _leading_imports(top)
    if leading:
        future = [s for s in leading if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
        if len(future) == len(imported):
            place, line = _below(source, leading[-1], text)
            return place, ending + line
        return _below(source, leading[-1], text)
    if top and isinstance(top[0], ast.Expr) and isinstance(top[0].value, ast.Constant):
        place, line = _below(source, top[0], text)
        return place, ending + line
    row = min((s.lineno for s in top[:1]), default=1)
    if top and isinstance(top[0], (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and top[0].decorator_list:
        row = top[0].decorator_list[0].lineno
    return (row, 1), text + ending + ending


def _leading_imports(top: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The imports at the head of the module, before its first other statement (its docstring aside)."""
    leading: list[ast.stmt] = []
    for index, statement in enumerate(top):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            leading.append(statement)
        elif not (index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            break
    return leading


def _imports_torch(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import(names=aliases):
            return any(alias.name.partition(".")[0] == "torch" for alias in aliases)
        case ast.ImportFrom(module=str(module), level=0):
            return module.partition(".")[0] == "torch"
    return False


def _below(source: SourceFile, statement: ast.stmt, text: str) -> tuple[tuple[int, int], str]:
    """A new line under the line on which `statement` ends."""
    row = statement.end_lineno or statement.lineno
    _require_end_of_line(source, row)
    line = source.lines[row - 1]
    if line.endswith(("\n", "\r")):
        return (row + 1, 1), text + source.newline
    return (row, len(line) + 1), source.newline + text


def _require_end_of_line(source: SourceFile, row: int) -> None:
    """Raises EngineError where what stands on a line goes on on the next: by a backslash, or in another statement."""
    going_on = source.lines[row - 1].rstrip("\r\n").endswith("\\") or any(
        isinstance(node, ast.stmt) and not hasattr(node, "body") and node.lineno <= row < (node.end_lineno or 0)
        for node in descend(source.tree, deferred=False)
    )
    if going_on:
        raise EngineError(f"there is no place for an import below line {row}")


# ---------------------------------------------------------------------- positions
