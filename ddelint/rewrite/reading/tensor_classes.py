"""Tensors of a class of their own: what operators give for these the class says, which was seen for those that ran."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from ddelint.knowledge.operators import terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.named import classes_of, defined_in
from ddelint.rewrite.reading.neighbours import Importers, classes_named, importers, in_file, made_in
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceFile

_MOST_FILES, _MOST_IMPORTS = 24, 16
"""Files that import the function, and names that each imports of the project, that are looked at."""
_MOST_BASES = 4
_CLASS = re.compile(r"^[ \t]*class\s+\w+\(", re.MULTILINE)


def own_tensors(site: Site, run: Collection[str], importing: Importers = importers) -> str:
    """Which class of tensors the function's file has, or one that imports it knows, of which nothing was run; empty
    where there is none. A branch gives back the tensor that it was given; an operator what the class makes of it."""
    source, function = site.source, site.function
    owner = source.parents.get(function) if function is not None else None
    name = getattr(owner if isinstance(owner, ast.ClassDef) else function, "name", "")
    others = itertools.islice(importing(source.filename, name), _MOST_FILES) if name else ()
    for file in (source, *(file for file, _ in others)):
        for found, where in _classes_known(file):
            if not any(ran.startswith(f"{where.filename}::{found}.") for ran in run):
                return (
                    f"`{found}`{in_file(where, source)} is a tensor of a class of its own, with which this was not run"
                )
    return ""


@lru_cache(maxsize=64)
def _classes_known(file: SourceFile) -> tuple[tuple[str, SourceFile], ...]:
    """The classes of tensors that a file has or imports, each with the file that it is of."""
    return tuple(dict.fromkeys((*_own_classes(file), *_imported_classes(file))))


@lru_cache(maxsize=64)
def _own_classes(file: SourceFile) -> tuple[tuple[str, SourceFile], ...]:
    """The classes of a file that are made of torch's own tensor, by way of others as well, and what they are made of,
    as far as it does more than to have a name."""
    if _CLASS.search(file.text) is None:
        return ()
    own = (node for node in defined_in(file) if isinstance(node, ast.ClassDef))
    return tuple(found for node in own for found in _doing_more(node, file, _MOST_BASES) or ())


def _doing_more(node: ast.ClassDef, file: SourceFile, depth: int) -> list[tuple[str, SourceFile]] | None:
    """The class, and those that it is made of, that do more than to have a name; None for what is no tensor."""
    below = [found for base in node.bases if (found := _bases_doing_more(base, file, depth)) is not None]
    if not below:
        return None
    does_more = any(isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) for member in node.body)
    return [(node.name, file)] * does_more + [one for found in below for one in found]


def _bases_doing_more(base: ast.expr, file: SourceFile, depth: int) -> list[tuple[str, SourceFile]] | None:
    """The same for one base of a class: `torch.Tensor`, `Length` of this file or another, `meters.Length`."""
    if terminal_name(base) == "Tensor":
        return []
    found = classes_named(file, base) if depth else []
    return next((_doing_more(one, where, depth - 1) for where, one in found), None)


def _imported_classes(file: SourceFile) -> Iterator[tuple[str, SourceFile]]:
    asked = 0
    for node in file.imports:
        for alias in node.names:
            module = getattr(node, "module", None) or ""
            parts = {*module.split("."), *alias.name.split(".")}
            if parts & knowledge().tensor_classes:
                yield alias.asname or alias.name, file
                continue
            if isinstance(node, ast.Import) or not alias.name[:1].isupper() or asked == _MOST_IMPORTS:
                continue
            if (made := made_in(file, alias.asname or alias.name)) is not None:
                asked += 1
                where, name = made
                for one in classes_of(where, name):
                    yield from _doing_more(one, where, _MOST_BASES) or ()
