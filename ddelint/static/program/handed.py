"""What becomes compiled in other files because of what one file compiles or exports: a project's tests and scripts do.

Followed are the names that a compiling call is handed (`torch.compile(ops.keep)`), what such a name was bound to
(`sampler = Sampler()`, `for fn in (keep, drop)`, `@parametrize("fn", [keep, drop])`), and what the functions call that
are compiled here.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from ddelint.knowledge.operators import dotted_name, operators
from ddelint.sources.source import DeferredBody, descend
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.program import scan
from ddelint.static.program.callgraph import CALLED
from ddelint.static.program.imports import Reached
from ddelint.static.program.project import Project
from ddelint.static.program.regions import FileIndex

_DEEPEST = 4
"""Names that are bound to names."""


def compiled_elsewhere(index: FileIndex, project: Project) -> set[Reached]:
    """The functions of other files that this one makes compiled."""
    handed = _Handed(index, project)
    found = {place for node in index.handed_over if not isinstance(node, ast.Lambda) for place in handed.places(node)}
    roots = index.roots(False)
    for root in roots:
        found |= handed.called(root.node)
    functions = [root.node.name for root in roots if root.owner is None and isinstance(root.node, FunctionNode)]
    found |= project.calls_of(index.source.filename, functions)  # what classes call is known from `inherits`
    return {place for place in found if place[0] != index.source.filename}


class _Handed:
    def __init__(self, index: FileIndex, project: Project) -> None:
        self._index = index
        self._project = project

    def places(self, node: ast.expr, depth: int = 0) -> Iterator[Reached]:
        """The functions that a node may stand for."""
        place = self._resolved(node)
        if place is not None:
            yield place
        elif isinstance(node, ast.Name) and depth < _DEEPEST:
            for value in self._bound[node.id]:
                yield from self.places(value, depth + 1)
        elif isinstance(node, ast.Attribute):
            for cls in self._classes(node.value, depth):
                yield from self._project.methods_of(cls, node.attr)

    def called(self, function: FunctionNode | ast.Lambda) -> set[Reached]:
        """The functions of other files that a function calls by their names."""
        if isinstance(function.body, DeferredBody) and not function.body.loaded:  # nothing is parsed for this alone
            names = set(CALLED.findall(scan.without_prose(self._index.text_of(function))))
        else:
            names = {dotted_name(node.func) for node in descend(function) if isinstance(node, ast.Call)}
        return {place for name in names if (place := self._place(name)) is not None}

    def _classes(self, node: ast.expr, depth: int) -> Iterator[Reached]:
        """The classes that an object may be of: `Sampler()`, or a name that was bound to that."""
        if isinstance(node, ast.Call):
            place = self._resolved(node.func)
            if place is not None:
                yield place
        elif isinstance(node, ast.Name) and depth < _DEEPEST:
            for value in self._bound[node.id]:
                yield from self._classes(value, depth + 1)

    def _resolved(self, node: ast.expr) -> Reached | None:
        return self._place(dotted_name(node))

    def _place(self, name: str) -> Reached | None:
        if not name or name.partition(".")[0] not in self._index.imports:
            return None
        place = self._project.resolve(self._index.source.filename, name)
        return place if isinstance(place, tuple) else None

    @cached_property
    def _bound(self) -> defaultdict[str, list[ast.expr]]:
        """What each name of the file is bound to somewhere, where that is written out."""
        found: defaultdict[str, list[ast.expr]] = defaultdict(list)
        for node in descend(self._index.source.tree, deferred=False):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found[name].append(value)
                case ast.For(target=ast.Name(id=name), iter=ast.List(elts=values) | ast.Tuple(elts=values)):
                    found[name] += values
                case ast.Call(
                    func=ast.Attribute(attr=attr),
                    args=[ast.Constant(value=str(names)), ast.List(elts=cases) | ast.Tuple(elts=cases), *_],
                ) if attr in operators().regions["parametrizing"]:
                    self._parametrized([name.strip() for name in names.split(",")], cases, found)
        return found

    @staticmethod
    def _parametrized(names: list[str], cases: list[ast.expr], found: defaultdict[str, list[ast.expr]]) -> None:
        for case in cases:
            values = case.elts if len(names) > 1 and isinstance(case, (ast.Tuple, ast.List)) else [case]
            for name, value in zip(names, values):
                found[name].append(value)
