"""Which programs of a file are meant: modules that no other one of the file is made of, functions of tensors."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ddelint.protocol import ProgramText
from ddelint.source import SourceFile

MOST_PROGRAMS = 3
_TENSOR = "Tensor"


def chosen(
    programs: Sequence[ProgramText], source: SourceFile, names: Sequence[str]
) -> tuple[tuple[ProgramText, ...], tuple[str, ...]]:
    """The programs that get an entry, and the names of the others that might."""
    if names:
        return tuple(program for program in programs if program.name in names), ()
    used = _used(source.tree)
    free = [p for p in programs if p.name not in used and not p.name.startswith("_")]
    classes = [p for p in free if p.is_class] or [p for p in programs if p.is_class][-1:]
    functions = [p for p in free if not p.is_class and _is_of_tensors(p)]
    wanted = classes or functions or [p for p in programs if not p.is_class and _is_of_tensors(p)][-1:]
    kept = wanted[-MOST_PROGRAMS:]
    return tuple(kept), tuple(p.name for p in wanted if p not in kept)


def _used(tree: ast.Module) -> frozenset[str]:
    """Names that the bodies of other classes and functions of the file mention, base classes included."""
    found: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            mentioned = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
            mentioned -= {a.id for n in ast.walk(statement) if isinstance(n, ast.arg) and n.annotation for a in ast.walk(n.annotation) if isinstance(a, ast.Name)}
            is_part = isinstance(statement, ast.ClassDef) or not _builds(statement)
            found |= mentioned - {statement.name} if is_part else set()
    return frozenset(found)


def _builds(function: ast.FunctionDef) -> bool:
    """Whether a function makes a model, tries it or runs it: what it mentions is not a part of anything."""
    name = function.name
    words = ("main", "test", "demo", "build", "make", "create", "get", "train", "example", "run", "evaluate", "load")
    takes_tensors = any(_TENSOR in ast.unparse(a.annotation) for a in function.args.args if a.annotation is not None)
    return not takes_tensors and (name.startswith(words) or not function.args.args or name.islower())


def _is_of_tensors(program: ProgramText) -> bool:
    """Whether a function has a parameter, and its text speaks of tensors or calls torch."""
    try:
        definition = ast.parse(program.call).body[0]
    except (SyntaxError, IndexError):
        return False
    if not isinstance(definition, ast.FunctionDef) or not (definition.args.args or definition.args.posonlyargs):
        return False
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(definition)):
        return False
    return any(word in program.call for word in ("torch.", "Tensor", "F.", ".shape", ".size("))
