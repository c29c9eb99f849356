"""Which of a file's functions a compiler sees, and which of them can matter."""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePath

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import SourceFile, descend
from ddelint.static.domain.definitions import ClassInfo, FunctionNode, Root
from ddelint.static.program import compiling
from ddelint.static.program.always import alone, training
from ddelint.static.program.context import Context
from ddelint.static.program.eagerness import may_train, trains
from ddelint.static.program.index import Definitions
from ddelint.static.program.outline import Body, OutlinedSource, functions_in, may_compile
from ddelint.static.program.prospects import Prospects


class FileIndex(Definitions):
    """A file's definitions, with what a compiler makes of them."""

    def __init__(self, source: SourceFile, context: Context | None = None, prospects: Prospects | None = None) -> None:
        """`prospects`: what the file's text alone says of its functions, where that is known."""
        super().__init__(source, context)
        self._reported = prospects

    def _enters(self, cls: ClassInfo, method: str) -> bool:
        """Whether calling an object of the class runs the method: not `__call__` of a class that may be anything."""
        known = operators().regions
        return method in known["guessed_methods"] or any(
            self.dotted(base) in known["module_bases"] for ancestor in self.bases(cls) for base in ancestor.node.bases
        )

    @property
    def has_inputs(self) -> bool:
        """Whether the file says with which arguments its entry is called."""
        return any(name in self.functions for name in operators().regions["input_functions"])

    def excluded(self, node: FunctionNode) -> bool:
        """Whether a compiler never sees the function's body: disabled, or the kernel of a custom operator."""
        return node in self._kept_away or compiling.kept_away(self, node) or compiling.is_kernel(self, node)

    @cached_property
    def _kept_away(self) -> frozenset[FunctionNode]:
        """Methods of classes that a compiler is kept away from."""
        classes = [cls for cls in self.all_classes if cls.node.decorator_list and compiling.kept_away(self, cls.node)]
        return frozenset(method for cls in classes for method in cls.methods.values())

    def roots(self, assume_compiled: bool) -> list[Root]:
        """The functions that a compiler traces from their first line, in the order of the file."""
        known = operators().regions
        found: list[Root] = []
        for cls in self.all_classes:
            if not (assume_compiled or self.is_module(cls)):
                continue
            for name, node in cls.methods.items():
                entry = name in known["entry_methods"] and (
                    assume_compiled or (self._enters(cls, name) and not self._trains(cls, node))
                )
                if entry or (assume_compiled and not name.startswith("__") and not self._is_test(name)):
                    found.append(Root(node, cls))
        functions: list[tuple[str, FunctionNode, ClassInfo | None]]
        functions = [(name, node, None) for name, node in self.functions.items()]
        functions += [(node.name, node, None) for node in self.replaced if node.decorator_list]
        functions += [(name, node, owner) for name, (node, owner) in self.nested.items()]
        methods = [(name, node, cls) for cls in self.all_classes for name, node in cls.methods.items()]
        handed = self._handed_over()
        for name, node, owner in (*functions, *methods):
            entry = self.has_inputs and owner is None and name in known["entry_functions"] and name in self.functions
            free = owner is None and name not in known["input_functions"]
            assumed = assume_compiled and free and not self._is_test(name)
            decorated = node.decorator_list and (
                compiling.decorated_to_compile(self, node) or compiling.is_fake_kernel(self, node)
            )
            qualified = name if owner is None else f"{owner.name}.{name}"
            if entry or assumed or name in handed or decorated or qualified in self.context.roots:
                found.append(Root(node, owner))
        found += [Root(node, None) for node in self._handed_lambdas]
        unique: dict[ast.AST, Root] = {}
        for root in found:
            if isinstance(root.node, ast.Lambda) or not self.excluded(root.node):
                unique.setdefault(root.node, root)
        return sorted(unique.values(), key=lambda root: (root.node.lineno, root.node.col_offset))

    def _trains(self, cls: ClassInfo, entry: FunctionNode) -> bool:
        """Whether calling an object of the class always trains something."""
        name = f"{cls.name}.{entry.name}"
        return name in self.context.training or name in self._training or trains(self.text_of(entry))

    @cached_property
    def _training(self) -> frozenset[str]:
        """The entries of the module's classes that do, as far as the file says."""
        if not may_train(self.source.text):
            return frozenset()
        path, entries = self.source.filename, operators().regions["entry_methods"]
        trained = training(alone(path, self.source.text))
        names = (f"{cls.name}.{name}" for cls in self.classes.values() for name in entries & cls.methods.keys())
        return frozenset(name for name in names if trained.where_it_asks((path, name)))

    def _is_test(self, name: str) -> bool:
        """Whether a function of this name is collected by pytest, and so is run by it alone."""
        known, file = operators().regions, PurePath(self.source.filename).name
        patterns = ((name, "test_functions"), (file, "test_files"))
        return all(any(fnmatchcase(text, pattern) for pattern in known[key]) for text, key in patterns)

    def _handed_over(self) -> set[str]:
        """Names of functions that are handed to a compiling call anywhere in the file."""
        return {terminal_name(node) for node in self.handed_over if not isinstance(node, ast.Lambda)}

    @property
    def _handed_lambdas(self) -> list[ast.Lambda]:
        return [node for node in self.handed_over if isinstance(node, ast.Lambda)]

    @cached_property
    def handed_over(self) -> list[ast.Name | ast.Attribute | ast.Lambda]:
        """What is handed to compiling calls anywhere in the file."""
        if not may_compile(self.source):
            return []
        known = operators().regions["compiling_calls"]
        last_parts = {name.rsplit(".", 1)[-1] for name in known}
        last_parts |= {alias for alias, name in self.imports.items() if name in known}
        last_parts |= {name for name, value in self.constants.items() if compiling.compiles(self, value)}
        if not any(f"{part}(" in self.source.text for part in last_parts):
            return []
        found: list[ast.Name | ast.Attribute | ast.Lambda] = []
        for node in descend(self.source.tree, deferred=False):  # what is deferred compiles nothing
            if not isinstance(node, ast.Call) or terminal_name(node.func) not in last_parts:
                continue
            if not compiling.compiles(self, node.func):
                continue
            found += compiling.handed_over(self, node)
        return found

    # ---- which functions can matter

    def matters(self, node: FunctionNode | ast.Lambda) -> bool:
        """Whether the function, or one that it may call, may read data."""
        reported = self._prospects.of_row(node.lineno)
        return self._prospects.may_use(self.text_of(node)) if reported is None else reported

    @cached_property
    def _prospects(self) -> Prospects:
        """Of all functions; those that the outline does not know, or not rightly, by their places in the tree."""
        source, context, renamed = self.source, self.context, self._renamed_sources
        functions = source.functions if isinstance(source, OutlinedSource) else list(functions_in(source.text))
        inherited = context.inherited_tensors
        reported = self._reported or Prospects(
            source.text, functions, context.sources, context.tensor_sources, inherited
        )
        whole = not (isinstance(source, OutlinedSource) and source.defers)
        missed = [
            node
            for node in self.every_function
            if whole or reported.of_row(node.lineno) is None or reported.of_row(node.end_lineno or node.lineno) is None
        ]
        if not missed and not renamed:
            return reported  # which knows of the sources elsewhere
        rows = {node.lineno for node in missed}
        places = [*(body for body in functions if body.row not in rows), *map(self._place, missed)]
        outermost: list[Body] = []
        for place in sorted(places, key=lambda place: place.start):
            if not outermost or place.start >= outermost[-1].end:
                outermost.append(place)
        return Prospects(source.text, outermost, (*renamed, *context.sources), context.tensor_sources, inherited)

    def _place(self, node: FunctionNode) -> Body:
        start = self.source.offset(node.lineno, 1)
        end = self.source.offset((node.end_lineno or node.lineno) + 1, 1)
        return Body(node.name, node.lineno, start, start, end, "")

    @cached_property
    def _renamed_sources(self) -> tuple[str, ...]:
        """Calls of what reads data, by names of the file's own."""
        known = operators().source_names
        lasts = ((name, full.rpartition(".")[2]) for name, full in self.imports.items())
        return tuple(f"{name}(" for name, last in lasts if name != last and last in known)
