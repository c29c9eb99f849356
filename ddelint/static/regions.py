"""The file's classes, functions and imports, and which of its functions a compiler sees."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ddelint.operators import operators, terminal_name
from ddelint.source import DeferredBody, SourceFile, descend
from ddelint.static import compiling, scan
from ddelint.static.outline import OutlinedSource, may_compile
from ddelint.static.project import Context

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class ClassInfo:
    """A class of the file."""

    name: str
    node: ast.ClassDef
    methods: dict[str, FunctionNode] = field(default_factory=dict)
    assigned: dict[str, ast.expr] = field(default_factory=dict)
    """Class-level names with their values."""
    annotated: dict[str, ast.expr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Root:
    """A function that a compiler traces from its first line."""

    node: FunctionNode | ast.Lambda
    owner: ClassInfo | None


class FileIndex:
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
        for node in body:
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        if alias.asname:
                            self.imports[alias.asname] = alias.name
                        else:
                            first = alias.name.split(".")[0]
                            self.imports[first] = first
                case ast.ImportFrom(module=module, names=names, level=level):
                    prefix = "." * level + (module or "")
                    for alias in names:
                        self.imports[alias.asname or alias.name] = f"{prefix}.{alias.name}"
                case ast.FunctionDef() | ast.AsyncFunctionDef():
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
                case ast.ClassDef():
                    info = ClassInfo(node.name, node)
                    self.all_classes.append(info)
                    self.classes.setdefault(node.name, info)
                    self._visit(node.body, info, depth)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._bind(name, value, owner, depth)
                case ast.AnnAssign(target=ast.Name(id=name), value=value, annotation=annotation):
                    if owner is not None:
                        owner.annotated[name] = annotation
                    if value is not None:
                        self._bind(name, value, owner, depth)
                case ast.AugAssign(target=ast.Name(id=name)) if depth == 0:
                    self._rebound.add(name)
                case ast.If() | ast.For() | ast.While() | ast.AsyncFor():
                    self._visit(node.body, owner, depth)
                    self._visit(node.orelse, owner, depth)
                case ast.With() | ast.AsyncWith():
                    self._visit(node.body, owner, depth)
                case ast.Try():
                    for part in (node.body, node.orelse, node.finalbody, *(h.body for h in node.handlers)):
                        self._visit(part, owner, depth)

    def _bind(self, name: str, value: ast.expr, owner: ClassInfo | None, depth: int) -> None:
        if owner is not None:
            owner.assigned[name] = value
        elif depth == 0:
            if name in self.constants:
                self._rebound.add(name)
            self.constants[name] = value

    def dotted(self, node: ast.AST) -> str:
        """The full dotted name of a name or attribute chain that starts at an import; empty otherwise."""
        match node:
            case ast.Name(id=name):
                return self.imports.get(name, "")
            case ast.Attribute(value=value, attr=attr):
                owner = self.dotted(value)
                return f"{owner}.{attr}" if owner else ""
        return ""

    def decorated(self, node: FunctionNode, names: frozenset[str]) -> bool:
        """Whether a decorator, called or not, is one of the full dotted names."""
        return any(self.dotted(d.func if isinstance(d, ast.Call) else d) in names for d in node.decorator_list)

    # ---- classes

    def bases(self, cls: ClassInfo) -> Iterator[ClassInfo]:
        """The class and its base classes that are in this file, nearest first."""
        seen: set[ClassInfo] = set()
        waiting = [cls]
        while waiting:
            current = waiting.pop(0)
            if current in seen:
                continue
            seen.add(current)
            yield current
            for base in current.node.bases:
                if isinstance(base, ast.Name) and base.id in self.classes:
                    waiting.append(self.classes[base.id])

    def method(self, cls: ClassInfo, name: str) -> tuple[FunctionNode, ClassInfo] | None:
        """The method as the class inherits it, and the class that defines it."""
        for base in self.bases(cls):
            if name in base.methods:
                return base.methods[name], base
        return None

    def is_module(self, cls: ClassInfo) -> bool:
        """Whether the class is an nn.Module: surely, or by the name of a base that is imported."""
        known = operators().regions
        for base in self.bases(cls):
            for node in base.node.bases:
                target = node.value if isinstance(node, ast.Subscript) else node
                dotted = self.dotted(target)
                if dotted in known["module_bases"]:
                    return True
                known_module = self.context.modules.get(ast.unparse(target)) if self.context.modules else None
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
        if not may_compile(self.source.text):
            return []
        known = operators().regions["compiling_calls"]
        last_parts = {name.rsplit(".", 1)[-1] for name in known}
        last_parts |= {alias for alias, name in self.imports.items() if name in known}
        last_parts |= {name for name, value in self.constants.items() if compiling.compiles(self, value)}
        if not any(f"{part}(" in self.source.text for part in last_parts):
            return []
        found: list[ast.Name | ast.Attribute | ast.Lambda] = []
        for node in descend(self.source.tree):
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

    @cached_property
    def _by_name(self) -> dict[str, list[FunctionNode]]:
        found: dict[str, list[FunctionNode]] = {}
        for cls in self.all_classes:
            for name, node in cls.methods.items():
                found.setdefault(name, []).append(node)
        for name, function in self.functions.items():
            found.setdefault(name, []).append(function)
        return found

    def matters(self, node: FunctionNode | ast.Lambda) -> bool:
        """Whether the function, or one that it may call, holds a token of the byte scan."""
        names = self._mattering
        if node in names:
            return True
        if isinstance(node, FunctionNode) and any(node is other for other in self._by_name.get(node.name, ())):
            return False
        text = self.text_of(node)
        return scan.asks(text) or any(scan.rows_that_use(name, text) for name in {f.name for f in names})

    @cached_property
    def _mattering(self) -> set[FunctionNode]:
        """The functions and methods that hold a token, and those that use one of them, by name."""
        functions = [node for nodes in self._by_name.values() for node in nodes]
        found = {node for node in functions if scan.asks(self.text_of(node))}
        entry_methods = operators().regions["entry_methods"]
        waiting = [node.name for node in found if node.name not in entry_methods]
        looked_for = set(waiting)
        places = _Places(functions)
        while waiting:
            name = waiting.pop()
            used = {node for row in scan.rows_that_use(name, self.source.text) for node in places.at(row)}
            for node in used - found:
                if any(callee in found and callee is not node for callee in self._by_name[name]):
                    found.add(node)
                    if node.name not in entry_methods and node.name not in looked_for:
                        looked_for.add(node.name)
                        waiting.append(node.name)
        return found


class _Places:
    """Which functions a row lies in."""

    def __init__(self, functions: list[FunctionNode]) -> None:
        self._functions = sorted(functions, key=lambda node: node.lineno)
        self._rows = [node.lineno for node in self._functions]
        self._around = [
            node
            for node, following in zip(self._functions, self._functions[1:], strict=False)
            if (node.end_lineno or 0) >= following.lineno
        ]
        """Functions with classes inside."""

    def at(self, row: int) -> list[FunctionNode]:
        """The functions around the row (from 1)."""
        place = bisect.bisect_right(self._rows, row) - 1
        nearest = self._functions[place : place + 1] if place >= 0 else []
        return [node for node in (*nearest, *self._around) if node.lineno <= row <= (node.end_lineno or 0)]
