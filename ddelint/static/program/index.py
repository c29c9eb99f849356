"""What a file defines and imports."""

from __future__ import annotations

import ast
import re
from collections import deque
from functools import cached_property

from ddelint.knowledge.operators import dotted_name, operators, terminal_name
from ddelint.sources.source import DeferredBody, SourceFile
from ddelint.static.domain.definitions import ClassInfo, FunctionNode
from ddelint.static.program import scan
from ddelint.static.program.context import Context
from ddelint.static.program.outline import OutlinedSource

_BLOCKS: dict[type[ast.stmt], tuple[str, ...]] = {
    **dict.fromkeys((ast.If, ast.For, ast.AsyncFor, ast.While), ("body", "orelse")),
    **dict.fromkeys((ast.With, ast.AsyncWith), ("body",)),
    ast.Try: ("body", "orelse", "finalbody"),
}
"""Statements that hold others, by the fields in which they do."""


class Definitions:
    """What a file defines and imports. Statements are visited, expressions are not: that keeps it cheap."""

    def __init__(self, source: SourceFile, context: Context | None = None) -> None:
        """`context`: what is known of the file's imports and of who else compiles its functions."""
        self.source = source
        self.context = context or Context()
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
        self._chosen: dict[str, list[ast.expr]] = {}
        """Names that several statements of the module bind, one for each way that it may be set up."""
        self._modules: dict[ClassInfo, bool] = {}
        self._bases: dict[ClassInfo, tuple[ClassInfo, ...]] = {}
        if isinstance(source, OutlinedSource):
            source.on_loading = lambda node: self._visit(node.body, None, 1)
        self._visit(source.tree.body, None, 0)
        aliases, everything = self.context.aliases, "*" in self.imports
        self.imports.update((name, full) for name, full in aliases.items() if everything or name in self.imports)
        for name in self._rebound:
            self.constants.pop(name, None)
        bases = operators().regions["module_bases"] if self._chosen else frozenset()
        for name, values in self._chosen.items():
            if full := next((full for value in values if (full := self.dotted(value)) in bases), ""):
                self.imports.setdefault(name, full)  # what may be a module is one
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
            self._chosen.setdefault(name, [self.constants[name]]).append(value)
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

    def name_of(self, full: str) -> str:
        """The name by which the file calls what it imports as `full`; empty where it doesn't."""
        for name, imported in self.imports.items():
            if full == imported or full.startswith(f"{imported}."):
                return name + full.removeprefix(imported)
        return ""

    def decorated(self, node: FunctionNode, names: frozenset[str]) -> bool:
        """Whether a decorator, called or not, is one of the full dotted names."""
        return any(self.dotted(d.func if isinstance(d, ast.Call) else d) in names for d in node.decorator_list)

    # ---- classes

    def bases(self, cls: ClassInfo) -> tuple[ClassInfo, ...]:
        """The class and its base classes that are in this file, nearest first."""
        known = self._bases.get(cls)
        if known is None:
            found: dict[ClassInfo, None] = {}
            waiting = deque([cls])
            while waiting:
                current = waiting.popleft()
                if current in found:
                    continue
                if not waiting and current in self._bases:
                    found.update(dict.fromkeys(self._bases[current]))
                    break
                found[current] = None
                waiting += self.parents(current)
            known = self._bases[cls] = tuple(found)
        return known

    def parents(self, cls: ClassInfo) -> list[ClassInfo]:
        """The classes of this file that a class names as its bases."""
        names = (base.id for base in cls.node.bases if isinstance(base, ast.Name))
        return [self.classes[name] for name in names if name in self.classes]

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

    @property
    def every_function(self) -> list[FunctionNode]:
        """All functions and methods of the file."""
        methods = [node for cls in self.all_classes for node in cls.methods.values()]
        return [*self.functions.values(), *self.replaced, *(node for node, _ in self.nested.values()), *methods]

    @cached_property
    def method_names(self) -> frozenset[str]:
        """Names of all methods of the file's classes that are not modules."""
        return frozenset(name for cls in self.all_classes for name in cls.methods if not self.is_module(cls))

    @cached_property
    def array_libraries(self) -> tuple[str, ...]:
        """How the file speaks of libraries of arrays that are no tensors: `np`."""
        known = operators().regions["array_libraries"]
        return tuple(name for name, full in self.imports.items() if full.partition(".")[0] in known)

    @cached_property
    def unvalidated(self) -> bool:
        """Whether the file, or a package around it, switches off what else asks whether arguments fit."""
        return self.context.unvalidated or scan.unvalidated(self.source.text)

    def text_of(self, node: ast.AST) -> str:
        """The lines of a function, as they stand (fast: no columns)."""
        return "".join(self.source.lines[node.lineno - 1 : node.end_lineno])  # type: ignore[attr-defined]
