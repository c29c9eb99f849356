"""Which programs of a file are meant: modules that no other one of the file is made of, functions of tensors."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ddelint.nouns.protocol import ProgramText
from ddelint.sources.source import SourceFile

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
        if isinstance(statement, ast.Assign) and not isinstance(statement.value, (ast.List, ast.Tuple, ast.Dict)):
            found |= _names_in(statement.value)
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            mentioned = _names_in(statement) - _annotating(statement)
            is_part = isinstance(statement, ast.ClassDef) or not _builds(statement)
            found |= mentioned - {statement.name} if is_part else set()
    return frozenset(found)


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _annotating(node: ast.AST) -> set[str]:
    """Names in the annotations of parameters: what is passed is no part."""
    annotated = [inner.annotation for inner in ast.walk(node) if isinstance(inner, ast.arg)]
    return {name for annotation in annotated if annotation is not None for name in _names_in(annotation)}


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
    if not isinstance(definition, ast.FunctionDef):
        return False
    signature = definition.args
    if not (signature.args or signature.posonlyargs or signature.kwonlyargs or signature.vararg):
        return False
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(definition)):
        return False
    return any(word in program.call for word in ("torch.", "Tensor", "F.", ".shape", ".size("))


def factories_of(name: str, tree: ast.Module) -> tuple[str, ...]:
    """Functions of the file without required arguments that return an object of that class."""
    found = []
    for statement in tree.body:
        if not isinstance(statement, ast.FunctionDef):
            continue
        signature = statement.args
        required = len(signature.posonlyargs) + len(signature.args) - len(signature.defaults)
        if required or any(default is None for default in signature.kw_defaults):
            continue
        built = {
            target.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Assign) and _calls(node.value, name)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        returned = [n.value for n in ast.walk(statement) if isinstance(n, ast.Return) and n.value is not None]
        if any(_calls(value, name) or getattr(value, "id", None) in built for value in returned):
            found.append(statement.name)
    return tuple(found)


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
