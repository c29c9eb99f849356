"""What files say of each other: who compiles what, and what is inherited.

A file's own syntax tree is interpreted alone; from here it only learns what its imports are (`Context`), and which
functions of other files become compiled by what stands in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ddelint.knowledge.operators import operators
from ddelint.static.program import scan
from ddelint.static.program.always import eager_calls, training
from ddelint.static.program.callgraph import CallGraph
from ddelint.static.program.context import Context, Returns
from ddelint.static.program.declared import Outline
from ddelint.static.program.eagerness import is_fit
from ddelint.static.program.imports import Imports, Reached, forget


class Project(Imports):
    """The files of a call, and what they make of each other."""

    def __init__(self, files: Iterable[str]) -> None:
        super().__init__(files)
        self.training = training(self)
        self.eager_calls = eager_calls(self)
        self.calls = CallGraph(self, self.training)
        self.returns: Returns | None = None

    def hand(self, path: str, data: bytes) -> None:
        """See Imports."""
        before = len(self.changes)
        super().hand(path, data)
        if len(self.changes) > before:
            forget(path, self.training.answers, self.eager_calls.answers)

    def inherits(self, path: str) -> tuple[Context, frozenset[Reached]]:
        """What the classes of a file learn from their base classes, and the methods of other files they compile."""
        outline = self.outline(path)
        modules: dict[str, bool] = {}
        tensors: dict[str, frozenset[str]] = {}
        entries = operators().regions["entry_methods"]
        own: set[str] = set()
        trained: set[str] = set()
        reached: set[Reached] = set()
        imports = outline is not None and self._imports_ours(path, outline)
        for name, cls in outline.classes.items() if outline is not None else ():
            elsewhere = False
            methods = {f"{name}.{method}" for method in entries & cls.methods.keys()}
            trained |= {method for method in methods if self.calls.trains((path, method))}
            for base in cls.bases:
                found = self.resolve(path, base)
                if isinstance(found, tuple) and found[0] != path:
                    elsewhere = True
                    verdict = self.is_module(*found)
                    if verdict is not None:
                        modules[base] = verdict
                    if verdict is not False and (made := self._made(found)):
                        tensors[base] = made
            verdict = self.is_module(path, name) if elsewhere else None
            if verdict:  # an object of a module is called, whatever the method's name is
                own |= methods - trained
            if (elsewhere or imports) and self.is_module(path, name) is not False:
                mine, others = self.calls.of_class(path, name)
                own |= mine
                reached |= others
        unvalidated = outline is not None and self._is_unvalidated(path, outline)
        context = Context(
            modules=modules,
            tensors=tensors,
            roots=frozenset(own),
            training=frozenset(trained),
            unvalidated=unvalidated,
        )
        return context, frozenset(reached)

    def _is_unvalidated(self, path: str, outline: Outline) -> bool:
        """Whether a package around a file that has such a library switches off what that asks of arguments."""
        libraries = operators().regions["validating_libraries"]
        if not any(library.rpartition(".")[2] in outline.text for library in libraries):
            return False
        return any(scan.unvalidated(front.text) for _, front in self.fronts(path))

    def _made(self, cls: Reached) -> frozenset[str]:
        """The attributes that a class, and what it inherits from, make tensors."""
        found: frozenset[str] = frozenset()
        for place in self.ancestors(*cls):
            outline = self.outline(place[0]) if isinstance(place, tuple) else None
            if outline is not None and place[1] in outline.classes:
                found |= outline.classes[place[1]].made
        return found

    def _imports_ours(self, path: str, outline: Outline) -> bool:
        """Whether anything is imported from the project's files."""
        ways = (*outline.imports.values(), *outline.stars)
        return any(self.module(path, way) or self.module(path, way, way.name) for way in ways)

    def calls_of(self, path: str, functions: Iterable[str]) -> frozenset[Reached]:
        """The functions of other files that these of a file call, themselves or through others of it."""
        outline = self.outline(path)
        if outline is None or not self._imports_ours(path, outline):
            return frozenset()
        return frozenset(self.calls.of_functions(path, functions)[1])

    def away_calls(self, path: str, functions: Iterable[str]) -> tuple[frozenset[str], frozenset[Reached]]:
        """What functions of a file that a compiler is kept away from call, in the file and in others."""
        functions = list(functions)
        if not functions:
            return frozenset(), frozenset()
        own, others = self.calls.behind_away(path, functions)
        return frozenset(own), frozenset(others)

    def interface_calls(self, path: str, functions: Iterable[str]) -> frozenset[Reached]:
        """Likewise for functions that people import: what fits something is replaced by what it calls to do so."""
        reached = self.calls_of(path, functions)
        fitting = {place for place in reached if is_fit(place[1].rpartition(".")[2])}
        return (reached - fitting).union(*map(self.calls.behind, fitting))

    def methods_of(self, cls: Reached, name: str) -> set[Reached]:
        """The method that is called on an object of a class, wherever it is inherited from."""
        return self.calls.method_of(cls, name)

    def sources(self, path: str) -> tuple[str, ...]:
        """Calls in a file of functions of other files that may return what depends on data, with the parenthesis."""
        outline = self.outline(path)
        if outline is None or not self._imports_ours(path, outline):
            return ()
        return self.calls.sources(path)

    def aliases(self, path: str) -> dict[str, str]:
        """Names that a file imports from the project, and that are of a library outside of it after all."""
        outline = self.outline(path)
        found: dict[str, str] = {}
        for name, imported in outline.imports.items() if outline is not None else ():
            if self.module(path, imported) is not None:
                place = self.resolve(path, name)
                if isinstance(place, str):
                    found[name] = place
        if outline is not None:
            tensor = min(operators().annotations["alias"])
            names = (name for name in self._imported(path, outline) if name not in found)
            found |= dict.fromkeys((name for name in names if self.names_tensors(path, name)), tensor)
        return found

    def _imported(self, path: str, outline: Outline) -> set[str]:
        """The names that a file may have from others of the project, and that may be types."""
        names = {name for name, way in outline.imports.items() if self.module(path, way) is not None}
        for star in outline.stars:
            target = self.module(path, star)
            behind = self.outline(target) if target is not None else None
            names |= behind.classes.keys() | behind.bound.keys() if behind is not None else set()
        return {name for name in names if not name.islower()}
