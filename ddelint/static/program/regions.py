"""The file's classes, functions and imports, and which of its functions a compiler sees."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from ddelint.operators import dotted_name, operators, terminal_name
from ddelint.source import DeferredBody, SourceFile, descend
from ddelint.static.domain.definitions import ClassInfo, FunctionNode, Root
from ddelint.static.program import compiling
from ddelint.static.program.outline import Body, OutlinedSource, functions_in, may_compile
from ddelint.static.program.project import Context
from ddelint.static.program.prospects import Prospects

_BLOCKS: dict[type[ast.stmt], tuple[str, ...]] = {
    **dict.fromkeys((ast.If, ast.For, ast.AsyncFor, ast.While), ("body", "orelse")),
    **dict.fromkeys((ast.With, ast.AsyncWith), ("body",)),
    ast.Try: ("body", "orelse", "finalbody"),
}
"""Statements that hold others, by the fields in which they do."""


class FileIndex:
    """What a file defines and imports. Statements are visited, expressions are not: that keeps it cheap."""

    def __init__(self, source: SourceFile, context: Context | None = None, prospects: Prospects | None = None) -> None:
        """`context`: what is known of the file's imports and of who else compiles its functions.

        `prospects`: what its text alone says of them, where that is known.
        """
        self.source = source
        self.context = context or Context()
        self._reported = prospects
        self.imports: dict[str, str] = {}
        self.functions: dict[str, FunctionNode] = {}
        """Module-level functions."""
        self.replaced: list[FunctionNode] = []
        """Module-level functions whose name a later one takes: kernels that are all called `_`."""
        self.nested: dict[str, tuple[FunctionNode, ClassInfo | None]] = {}
        """Functions defined inside others, by name (the last one of a name)."""
        self.classes: dict[str, ClassInfo] = {}
        self.all_classes: list[ClassInfo] = []
        self.constants: dict[str, ast.expr] = {}
        self._rebound: set[str] = set()
        self._modules: dict[ClassInfo, bool] = {}
        self._bases: dict[ClassInfo, tuple[ClassInfo, ...]] = {}
        if isinstance(source, OutlinedSource):
            source.on_loading = lambda node: self._visit(node.body, None, 1)
        self._visit(source.tree.body, None, 0)
        self.imports.update((name, full) for name, full in self.context.aliases.items() if name in self.imports)
        for name in self._rebound:
            self.constants.pop(name, None)
        for name, value in self.constants.items():
            if isinstance(value, (ast.Name, ast.Attribute)) and (full := self.dotted(value)):
                self.imports.setdefault(name, full)  # another name of what was imported

    def release(self) -> None:
        """Nothing more is asked of this file."""
        if isinstance(self.source, OutlinedSource):
            self.source.release()

    def _visit(self, body: list[ast.stmt], owner: ClassInfo | None, depth: int) -> None:
        """`depth`: how many functions surround the statements."""
        waiting = body[::-1]
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.Expr, ast.Return)):
                continue
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                if owner is not None or depth == 0:
                    self._assigned(node, owner)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._define(node, owner, depth)
            elif isinstance(node, ast.ClassDef):
                info = ClassInfo(node.name, node)
                self.all_classes.append(info)
                self.classes.setdefault(node.name, info)
                self._visit(node.body, info, depth)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            else:
                # a long `elif` is many blocks in one another
                blocks = [getattr(node, part) for part in _BLOCKS.get(type(node), ())]
                blocks += [handler.body for handler in getattr(node, "handlers", ())]
                for block in reversed(blocks):
                    waiting += reversed(block)

    def _define(self, node: FunctionNode, owner: ClassInfo | None, depth: int) -> None:
        if owner is not None:
            owner.methods.setdefault(node.name, node)
        elif depth == 0:
            if node.name in self.functions:
                self.replaced.append(self.functions[node.name])
            self.functions[node.name] = node
        else:
            self.nested[node.name] = (node, owner)
        if type(node.body) is not DeferredBody:
            self._visit(node.body, None, depth + 1)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            self.imports.update((alias.asname or alias.name, f"{prefix}.{alias.name}") for alias in node.names)
            return
        for alias in node.names:
            first = alias.name.split(".")[0]
            self.imports[alias.asname or first] = alias.name if alias.asname else first

    def _assigned(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, owner: ClassInfo | None) -> None:
        """What an assignment of the module, or of a class, binds."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._bind(name, value, owner)
            case ast.AnnAssign(target=ast.Name(id=name), value=value, annotation=annotation):
                if owner is not None:
                    owner.annotated[name] = annotation
                if value is not None:
                    self._bind(name, value, owner)
            case ast.AugAssign(target=ast.Name(id=name)) if owner is None:
                self._rebound.add(name)

    def _bind(self, name: str, value: ast.expr, owner: ClassInfo | None) -> None:
        if owner is not None:
            owner.assigned[name] = value
            return
        if name in self.constants:
            self._rebound.add(name)
        self.constants[name] = value

    def always_false(self, name: str) -> bool:
        """Whether a name of the module is a switch that is off: `DEBUG = False`, and no function binds it anew."""
        match self.constants.get(name):
            case ast.Constant(value=False as value) if value is False:
                word = re.compile(rf"\b{re.escape(name)}\b")
                declaring = (line for line in self.source.text.split("\n") if "global" in line)
                return not any(word.search(line, line.find("global")) for line in declaring)
        return False

    def dotted(self, node: ast.AST) -> str:
        """The full dotted name of a name or attribute chain that starts at an import; empty otherwise."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        owner = self.imports.get(node.id, "") if isinstance(node, ast.Name) else ""
        return ".".join([owner, *reversed(parts)]) if owner and parts else owner

    def decorated(self, node: FunctionNode, names: frozenset[str]) -> bool:
        """Whether a decorator, called or not, is one of the full dotted names."""
        return any(self.dotted(d.func if isinstance(d, ast.Call) else d) in names for d in node.decorator_list)

    # ---- classes

    def bases(self, cls: ClassInfo) -> tuple[ClassInfo, ...]:
        """The class and its base classes that are in this file, nearest first."""
        known = self._bases.get(cls)
        if known is None:
            found: dict[ClassInfo, None] = {}
            waiting = [cls]
            while waiting:
                current = waiting.pop(0)
                if current in found:
                    continue
                found[current] = None
                for base in current.node.bases:
                    if isinstance(base, ast.Name) and base.id in self.classes:
                        waiting.append(self.classes[base.id])
            known = self._bases[cls] = tuple(found)
        return known

    def method(self, cls: ClassInfo, name: str) -> tuple[FunctionNode, ClassInfo] | None:
        """The method as the class inherits it, and the class that defines it."""
        for base in self.bases(cls):
            if name in base.methods:
                return base.methods[name], base
        return None

    def autograd_forward(self, cls: ClassInfo) -> tuple[FunctionNode, ClassInfo] | None:
        """What runs when a function with a gradient of its own is applied; None where the class is none."""
        known = operators().regions
        named = (self.dotted(node) for base in self.bases(cls) for node in base.node.bases)
        if any(name in known["autograd_functions"] for name in named):
            return next((found for name in known["guessed_methods"] if (found := self.method(cls, name))), None)
        return None

    def is_module(self, cls: ClassInfo) -> bool:
        """Whether the class is an nn.Module: surely, or by the name of a base that is imported."""
        verdict = self._modules.get(cls)
        if verdict is None:
            verdict = self._modules[cls] = self._is_module(cls)
        return verdict

    def _is_module(self, cls: ClassInfo) -> bool:
        known = operators().regions
        for base in self.bases(cls):
            for node in base.node.bases:
                target = node.value if isinstance(node, ast.Subscript) else node
                dotted = self.dotted(target)
                if dotted in known["module_bases"]:
                    return True
                known_module = self.context.modules.get(dotted_name(target)) if self.context.modules else None
                if known_module is not None:
                    if known_module:
                        return True
                    continue
                name = terminal_name(target)
                local = isinstance(target, ast.Name) and target.id in self.classes
                if local or not name or name in known["other_bases"] or name.endswith(tuple(known["other_suffixes"])):
                    continue
                if name.endswith(tuple(known["module_suffixes"])) or (
                    dotted and known["guessed_methods"] & set(cls.methods)
                ):
                    return True
        return False

    def _enters(self, cls: ClassInfo, method: str) -> bool:
        """Whether calling an object of the class runs the method: not `__call__` of a class that may be anything."""
        known = operators().regions
        return method in known["guessed_methods"] or any(
            self.dotted(base) in known["module_bases"] for ancestor in self.bases(cls) for base in ancestor.node.bases
        )

    @property
    def every_function(self) -> list[FunctionNode]:
        """All functions and methods of the file."""
        methods = [node for cls in self.all_classes for node in cls.methods.values()]
        return [*self.functions.values(), *self.replaced, *(node for node, _ in self.nested.values()), *methods]

    @cached_property
    def method_names(self) -> frozenset[str]:
        """Names of all methods of the file's classes that are not modules."""
        return frozenset(name for cls in self.all_classes for name in cls.methods if not self.is_module(cls))

    # ---- regions

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
                entry = name in known["entry_methods"] and self._enters(cls, name)
                if entry or (assume_compiled and not name.startswith("__")):
                    found.append(Root(node, cls))
        functions: list[tuple[str, FunctionNode, ClassInfo | None]]
        functions = [(name, node, None) for name, node in self.functions.items()]
        functions += [(node.name, node, None) for node in self.replaced if node.decorator_list]
        functions += [(name, node, owner) for name, (node, owner) in self.nested.items()]
        methods = [(name, node, cls) for cls in self.all_classes for name, node in cls.methods.items()]
        handed = self._handed_over()
        for name, node, owner in (*functions, *methods):
            entry = self.has_inputs and owner is None and name in known["entry_functions"] and name in self.functions
            assumed = assume_compiled and owner is None and name not in known["input_functions"]
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

    def text_of(self, node: ast.AST) -> str:
        """The lines of a function, as they stand (fast: no columns)."""
        return "".join(self.source.lines[node.lineno - 1 : node.end_lineno])  # type: ignore[attr-defined]

    def matters(self, node: FunctionNode | ast.Lambda) -> bool:
        """Whether the function, or one that it may call, may read data."""
        reported = self._prospects.of_row(node.lineno)
        return self._prospects.may_use(self.text_of(node)) if reported is None else reported

    @cached_property
    def _prospects(self) -> Prospects:
        """Of all functions; those that the outline does not know, or not rightly, by their places in the tree."""
        source, renamed = self.source, self._renamed_sources
        functions = source.functions if isinstance(source, OutlinedSource) else list(functions_in(source.text))
        reported = self._reported or Prospects(source.text, functions, self.context.sources)
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
        return Prospects(source.text, outermost, (*renamed, *self.context.sources))

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
