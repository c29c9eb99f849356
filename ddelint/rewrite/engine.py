"""Edits to text: imports in the file's own style, the smallest edits between two texts, files written whole or not."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from ddelint.diagnostics import Edit, Span
from ddelint.rewrite.candidate import Candidate, Import
from ddelint.rewrite.history import History
from ddelint.source import SourceFile

LONGEST_IMPORT = 100
"""A from-import that would grow beyond this many characters gets a second line instead."""


class EngineError(Exception):
    """A candidate that cannot be applied to this file; the message says why."""


def apply(files: Mapping[str, SourceFile], candidate: Candidate) -> dict[str, str]:
    """New text of every file that `candidate` touches, with the imports that it needs in the file of its first edit.

    Raises EngineError where a name that it imports is taken, ValueError where edits overlap, KeyError for a file that
    is not among `files`, SourceError where the result does not parse.
    """
    texts: dict[str, str] = {}
    for filename in dict.fromkeys(edit.span.filename for edit in candidate.edits):
        edits = [edit for edit in candidate.edits if edit.span.filename == filename]
        texts[filename] = files[filename].apply(edits)
    if candidate.edits and candidate.imports:
        filename = candidate.edits[0].span.filename
        changed = SourceFile(filename, texts[filename], files[filename].encoding)
        texts[filename] = changed.apply(import_edits(changed, candidate.imports))
    for filename, text in texts.items():
        _ = SourceFile(filename, text).tree
    return texts


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


def import_edits(source: SourceFile, imports: Sequence[Import]) -> tuple[Edit, ...]:
    """The edits that add what is missing of `imports` to `source`, in its own style; none overlap.

    A name joins an existing from-import of its module, else a new line follows the last import of torch. Raises
    EngineError where the name already means something else in the module.
    """
    insertions: dict[tuple[int, int], list[str]] = {}
    edits: list[Edit] = []
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
            edits.append(merged)
            continue
        place, text = _new_line(source, module, f"from {module} import {', '.join(missing)}")
        insertions.setdefault(place, []).append(text)
    for (row, column), texts in insertions.items():
        edits.append(Edit(Span(source.filename, row, column, row, column), "".join(texts)))
    return tuple(sorted(edits, key=lambda edit: edit.span))


def fix_edits(history: History, step: int, imports: Sequence[Import] = ()) -> tuple[Edit, ...]:
    """The edits of one step against the original texts, as if it were the only one.

    Where it rests on another step, that one's edits come along. `imports` (the step's own) are added where an earlier
    step had brought them.
    """
    alone = history
    for other in sorted({change.step for change in history.changes} - {step}, reverse=True):
        alone = alone.without(other) or alone
    edits: list[Edit] = []
    first = next((change.filename for change in history.changes if change.step == step), None)
    for filename in dict.fromkeys(change.filename for change in alone.changes):
        text = alone.current(filename).text
        if filename == first and imports:
            changed = SourceFile(filename, text)
            with suppress(EngineError):
                text = changed.apply(import_edits(changed, imports))
        edits += minimal_edits(alone.original(filename), text)
    return tuple(edits)


def minimal_edits(before: SourceFile, after: str) -> tuple[Edit, ...]:
    """Small edits that turn `before` into `after`: one for each run of changed lines, cut down to whole words."""
    old, new = before.lines, SourceFile(before.filename, after).lines
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    matcher = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    edits = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        removed = "".join(old[head + i1 : head + i2])
        added = "".join(new[head + j1 : head + j2])
        front, back = _shared(removed, added) if tag == "replace" else (0, 0)
        start = before.offset(head + i1 + 1, 1) + front
        end = start + len(removed) - front - back
        edits.append(Edit(_span(before, start, end), added[front : len(added) - back]))
    return tuple(edits)


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
    line = source.lines[row - 1]
    if line.endswith(("\n", "\r")):
        return (row + 1, 1), text + source.newline
    return (row, len(line) + 1), source.newline + text


# ---------------------------------------------------------------------- positions


def _span(source: SourceFile, start: int, end: int) -> Span:
    """The span of two character offsets."""
    return Span(source.filename, *_position(source, start), *_position(source, end))


def _position(source: SourceFile, offset: int) -> tuple[int, int]:
    done = 0
    for row, line in enumerate(source.lines, start=1):
        if offset < done + len(line):
            return row, offset - done + 1
        done += len(line)
    last = source.lines[-1] if source.lines else ""
    if last.endswith(("\n", "\r")) or not last:
        return len(source.lines) + 1, 1
    return len(source.lines), len(last) + 1


_WORD = re.compile(r"\w")


def _shared(old: str, new: str) -> tuple[int, int]:
    """How many characters two texts share in front and behind; no word, line end or pair of brackets is cut."""
    limit = min(len(old), len(new))
    front = 0
    while front < limit and old[front] == new[front]:
        front += 1
    while front and _cuts(old, front) | _cuts(new, front):
        front -= 1
    back = 0
    while back < limit - front and old[-1 - back] == new[-1 - back]:
        back += 1
    while back and _cuts(old, len(old) - back) | _cuts(new, len(new) - back):
        back -= 1
    wider = next((b for b in range(back, -1, -1) if _closed(old, front, b) and _closed(new, front, b)), back)
    return front, wider


def _closed(text: str, front: int, back: int) -> bool:
    """Whether what is left of `text` closes as many brackets as it opens."""
    middle = text[front : len(text) - back]
    return not _cuts(text, len(text) - back) and all(middle.count(a) == middle.count(b) for a, b in ("()", "[]", "{}"))


def _cuts(text: str, at: int) -> bool:
    """Whether position `at` lies inside a word or a line end of `text`."""
    if not 0 < at < len(text):
        return False
    pair = text[at - 1 : at + 1]
    return pair == "\r\n" or (bool(_WORD.match(pair[0])) and bool(_WORD.match(pair[1])))
