"""What the rewritten program keeps where the sides of a decision meet, its `if` found again in the new text."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ddelint.nouns.protocol import Decision
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceError, SourceFile
from ddelint.trace import overlay
from ddelint.verify.recording import Meeting, Position, Recorder, by_file, pairs_of, position_of, reports_to

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@contextlib.contextmanager
def meetings_of_rewritten(decisions: Sequence[Decision], recorder: Recorder) -> Iterator[set[str]]:
    """Within, the recorder's meetings are those of the rewritten program, which is loaded in the original's place.

    Gives the keys of the decisions whose statement stands in the new text, too: it asks the same inside its test, or is
    in a function with as many `if` as before.
    """
    found: set[str] = set()
    with reports_to(recorder) as replace:
        for filename, group in by_file(known for known in decisions if known.key in recorder.blocks).items():
            text = overlay.text_of(filename)
            with contextlib.suppress(OSError, SourceError, SyntaxError, ValueError):
                tree = ast.parse(text, filename)
                places = _places_in(tree, SourceFile.read(Path(filename)), group)
                Meeting(places).visit(tree)
                plain = compile(text, filename, "exec", dont_inherit=True)
                replace(filename, dict(pairs_of(plain, compile(tree, filename, "exec", dont_inherit=True))))
                found |= set(places.values())
        yield found


def _places_in(tree: ast.Module, before: SourceFile, decisions: Sequence[Decision]) -> dict[Position, str]:
    """Where the tests of decisions of a text stand in a tree of the new one → their keys.

    A test may have been given a name there.
    """
    old, new, names = _tests_by_function(before.tree), _tests_by_function(tree), _names_in(tree)
    places: dict[Position, str] = {}
    for decision in decisions:
        site = locate(before, decision.span)
        node = site.node if site is not None else None
        test = node.test if isinstance(node, ast.If) else node
        name = next((name for name, tests in old.items() if test in tests), None)
        if test is None or name is None:
            continue
        now = new.get(name, [])
        alike = [other for other in now if _says(other, test)]
        if not alike:
            given = [one for one, value in names.get(name, {}).items() if _says(value, test)]
            alike = [other for other in now if any(_reads(other, one) for one in given)]
        if len(alike) != 1 and len(now) == len(old[name]):
            alike = [now[old[name].index(test)]]  # type: ignore[arg-type]
        if len(alike) == 1:
            places[position_of(alike[0])] = decision.key
    return places


def _says(expression: ast.expr, test: ast.AST) -> bool:
    """Whether a test stands in an expression, in the same words."""
    wanted = ast.dump(test)
    return any(ast.dump(part) == wanted for part in ast.walk(expression))


def _reads(expression: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(expression))


def _names_in(tree: ast.AST) -> dict[str, dict[str, ast.expr]]:
    """Qualified name of a function → the names that its statements give a value, with the last one in the text."""
    found: dict[str, dict[str, ast.expr]] = {}
    for name, node in _by_function(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=given)], value=value):
                found.setdefault(name, {})[given] = value
    return found


def _tests_by_function(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Qualified name of a function → the tests of its own `if` statements, in the order of the text."""
    found: dict[str, list[ast.expr]] = {}
    for name, node in _by_function(tree):
        if isinstance(node, ast.If):
            found.setdefault(name, []).append(node.test)
    return found


def _by_function(tree: ast.AST, name: str = "") -> Iterator[tuple[str, ast.AST]]:
    """The nodes of a tree in the order of the text, each with the qualified name of the function it stands in."""
    for child in ast.iter_child_nodes(tree):
        yield name, child
        yield from _by_function(child, f"{name}.{child.name}" if isinstance(child, _NAMED) else name)
