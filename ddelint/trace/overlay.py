"""Makes candidate text effective in this process, without touching the disk.

Swap: where only function bodies differ, the code of the live functions is replaced; nothing is imported again, and
objects built from the module stay valid. Fresh: the modules are dropped, with what imported them, and the next import
loads the new text. Either way imports, tracebacks and `inspect` see the new text from then on.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib.abc
import importlib.machinery
import io
import itertools
import linecache
import os
import sys
import tokenize
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ddelint.trace import registrations

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_CAPTURING_DECORATORS = ("jit", "njit", "script", "autotune", "heuristics")
"""Decorators that read the source or the code when the file is executed: swapping comes too late for these."""

_real = functools.cache(os.path.realpath)
_texts: dict[str, str] = {}
"""What is in effect: real path → text."""
_remembered: dict[str, list[FunctionType]] = {}
"""Real path → the functions that were there when `note_functions` looked."""
_names: dict[str, list[str]] = {}
"""Real path → the names of its modules that were there when `remember` looked."""
_known: dict[str, None] = {}
"""The names of all of these modules, in the order of `sys.modules`."""
_MANY = 20_000
"""Objects that are too many to be walked over each time."""
_MARKS = 8
"""So many known modules in a row say that none came before them later."""
_cells: set[str] = set()
"""Files (real paths) whose text was executed in `__main__` piece by piece: a notebook's cells."""


def remember() -> None:
    """Note the functions that exist now and leave them, with all other objects, out of later collections.

    Forks of this process then find the functions to swap without walking over every object, which would copy the pages
    that they lie in.
    """
    note_functions()
    note_modules()
    gc.collect()
    gc.freeze()


def note_modules() -> None:
    """Note which files the modules are of that were loaded since the last call.

    Those that a process noted before it was forked are not looked at again: that would copy the pages of all.
    """
    for name in _later_modules():
        filename = _file_of(sys.modules.get(name))
        if filename is not None:
            _names.setdefault(filename, []).append(name)
        _known.setdefault(name)


def _later_modules() -> list[str]:
    """The names that are not known: all behind the last known ones in `sys.modules`, where these stand as they did."""
    last = list(itertools.islice(reversed(_known), _MARKS))
    behind: list[str] = []
    for name in reversed(sys.modules):
        behind.append(name)
        if last and behind[-len(last) :] == last:
            break
    return [name for name in reversed(behind) if name not in _known]


def note_functions() -> None:
    """Note the functions that exist now: forks that leave older objects alone find them all the same."""
    _remembered.clear()
    _note(gc.get_objects())


def _note(objects: Iterable[object]) -> None:
    for found in objects:
        if type(found) is FunctionType:
            _remembered.setdefault(_real(found.__code__.co_filename), []).append(found)


def forget_functions() -> None:
    """Let go of what `note_functions` noted."""
    _remembered.clear()


def adopt(cells: set[str]) -> None:
    """Take these files (real paths) as loaded, each of them by `__main__`."""
    _cells.update(cells)


def install(overlay: Mapping[str, str], *, fresh: bool = False) -> str:
    """Put `overlay` into effect (absolute filename → text); gives how: `none`, `swap` or `fresh`.

    Modules that are loaded already are swapped where that is possible and dropped from `sys.modules` otherwise;
    `fresh` drops them in any case. The caller executes the entry's own file again. A text that does not parse raises
    SyntaxError.
    """
    changed = {name: text for name, text in overlay.items() if text_of(name) != text}
    if not changed:
        return "none"
    plans: list[_Plan] = []
    loaded = _loaded_modules(changed)
    for filename, text in changed.items():
        new = ast.parse(text, filename)
        for module in loaded.get(_real(filename), ()):
            plan = None if fresh else _plan(filename, text_of(filename), text, new, module)
            if plan is None:
                fresh = True
            else:
                plans.append(plan)
    if not fresh:
        functions = live_functions({_real(name) for name in changed})
        fresh = not all(plan.match(functions) for plan in plans)
    _register(changed)
    if fresh:
        _drop([module for modules in loaded.values() for module in modules])
        return "fresh"
    for plan in plans:
        plan.carry_out()
    return "swap"


# ---------------------------------------------------------------------------- the new text, for whoever reads it


def text_of(filename: str) -> str:
    """The text in effect: an earlier overlay's, or the disk's (decoded as Python does, newlines kept)."""
    known = _texts.get(_real(filename))
    if known is not None:
        return known
    try:
        with tokenize.open(filename) as file:
            encoding = file.encoding
        with open(filename, encoding=encoding, newline="") as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


def _register(changed: Mapping[str, str]) -> None:
    for filename, text in changed.items():
        real = _real(filename)
        _texts[real] = text
        lines = io.StringIO(text, newline=None).readlines()
        for name in {filename, real} | {known for known in linecache.cache if _real(known) == real}:
            # without a modification time `linecache.checkcache` leaves the entry alone
            linecache.cache[name] = (len(text), None, lines, name)
    _finder()


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the overlay's text; never a bytecode cache."""

    def get_data(self, path: str) -> bytes:
        text = _texts.get(_real(path))
        return super().get_data(path) if text is None else text.encode()

    def get_source(self, fullname: str) -> str:
        return _texts[_real(self.path)]

    def get_code(self, fullname: str) -> CodeType:
        text = _texts[_real(self.path)]
        code: CodeType = compile(text, self.path, "exec", dont_inherit=True)
        return code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules as usual and gives those of the overlay another loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None or _real(found.origin) not in _texts:
            return None
        return self.overlaid(found)

    def overlaid(self, spec: importlib.machinery.ModuleSpec) -> importlib.machinery.ModuleSpec:
        """The spec, loading the overlay's text where its file has one."""
        if spec.origin is not None and _real(spec.origin) in _texts:
            spec.loader = _Loader(spec.name, spec.origin)
            spec.cached = None
        return spec


def _finder() -> _Finder:
    """This process's finder, first on `sys.meta_path`."""
    for finder in sys.meta_path:
        if isinstance(finder, _Finder):
            return finder
    made = _Finder()
    sys.meta_path.insert(0, made)
    return made


# ---------------------------------------------------------------------------- swap


@dataclass
class _Plan:
    """What to change in one loaded module so that it becomes what the new text says."""

    filename: str
    module: ModuleType
    old: dict[tuple[str, int], CodeType]
    """(qualified name, first line) → code, of the text that the module was loaded from."""
    new: dict[str, list[CodeType]]
    """Qualified name → codes in the order of the text."""
    order: dict[str, list[int]]
    """Qualified name → first lines in the order of the old text."""
    additions: list[ast.stmt]
    methods: list[tuple[str, str]]
    """(qualified class name, method name) of methods that the new text adds."""
    defaults: dict[str, tuple[tuple[Any, ...] | None, dict[str, Any] | None]]
    """Qualified name → new defaults, where they changed."""
    future: int
    swaps: list[tuple[FunctionType, CodeType]] = field(default_factory=list)

    def match(self, functions: Sequence[FunctionType]) -> bool:
        """Find the new code of every live function; False where one has none."""
        real = _real(self.filename)
        for function in functions:
            code = function.__code__
            if _real(code.co_filename) != real or code.co_name == "<module>":  # that is being executed
                continue
            lines = self.order.get(code.co_qualname, [])
            codes = self.new.get(code.co_qualname, [])
            if code.co_firstlineno not in lines or len(lines) != len(codes) or len(set(lines)) != len(lines):
                return False
            new = codes[lines.index(code.co_firstlineno)]
            if new.co_freevars != code.co_freevars:
                return False
            self.swaps.append((function, new))
        return True

    def carry_out(self) -> None:
        """Change the module and its functions."""
        for function, code in self.swaps:
            if code.co_qualname in self.defaults:
                function.__defaults__, function.__kwdefaults__ = self.defaults[code.co_qualname]
            function.__code__ = code
        namespace = vars(self.module)
        # whoever asks the module's loader for its source gets the new text, too
        if self.module.__spec__ is not None:
            _finder().overlaid(self.module.__spec__)
            self.module.__loader__ = self.module.__spec__.loader
        else:  # a script
            self.module.__loader__ = _Loader(self.module.__name__, self.filename)
        if self.additions:
            body = ast.Module(body=self.additions, type_ignores=[])
            exec(compile(body, self.filename, "exec", flags=self.future, dont_inherit=True), namespace)
        for owner, name in self.methods:
            found: Any = self.module
            for part in owner.split("."):
                found = getattr(found, part)
            (code,) = self.new[f"{owner}.{name}"]
            closure = tuple(types.CellType(found) for _ in code.co_freevars)
            method = FunctionType(code, namespace, name, None, closure or None)
            method.__qualname__, method.__module__ = code.co_qualname, self.module.__name__
            setattr(found, name, method)


def _plan(filename: str, old_text: str, new_text: str, new: ast.Module, module: ModuleType) -> _Plan | None:
    """How to swap, or None where the texts differ in more than function bodies and additions."""
    try:
        old = ast.parse(old_text, filename)
        old_code = compile(old_text, filename, "exec", dont_inherit=True)
        new_code = compile(new_text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    difference = _Difference()
    if not difference.bodies(old.body, new.body, ""):
        return None
    plan = _Plan(
        filename,
        module,
        old={},
        new={},
        order={},
        additions=difference.additions,
        methods=difference.methods,
        defaults=difference.defaults,
        future=new_code.co_flags & _FUTURE_FLAGS,
    )
    if old_code.co_flags & _FUTURE_FLAGS != plan.future:
        return None
    for code in _nested(old_code):
        plan.old[code.co_qualname, code.co_firstlineno] = code
        plan.order.setdefault(code.co_qualname, []).append(code.co_firstlineno)
    for code in _nested(new_code):
        plan.new.setdefault(code.co_qualname, []).append(code)
    for owner, name in plan.methods:
        codes = plan.new.get(f"{owner}.{name}", [])
        if len(codes) != 1 or set(codes[0].co_freevars) - {"__class__"}:
            return None
    return plan


_FUTURE_FLAGS = 0x1FE0000
"""All CO_FUTURE_* bits."""


def _nested(code: CodeType) -> list[CodeType]:
    found: list[CodeType] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found.append(constant)
            found += _nested(constant)
    return found


class _Difference:
    """Compares two statement lists, leaving function bodies aside."""

    def __init__(self) -> None:
        self.additions: list[ast.stmt] = []
        self.methods: list[tuple[str, str]] = []
        self.defaults: dict[str, tuple[tuple[Any, ...] | None, dict[str, Any] | None]] = {}

    def bodies(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt], owner: str) -> bool:
        """Whether `new` is `old` but for function bodies and additions. `owner`: the class around, or empty."""
        known = {name for statement in old for name in _bound(statement)}
        position = 0
        for statement in new:
            while position < len(old) and not self._same(old[position], statement, owner):
                # an import that is gone may stay in a namespace; anything else has to match in order
                if self._is_addition(statement, known, owner) or not isinstance(old[position], _IMPORTS):
                    break
                position += 1
            if position < len(old) and self._same(old[position], statement, owner, note=True):
                position += 1
            elif self._is_addition(statement, known, owner):
                self._add(statement, owner)
            else:
                return False
        return all(isinstance(rest, _IMPORTS) for rest in old[position:])

    def _same(self, old: ast.stmt, new: ast.stmt, owner: str, *, note: bool = False) -> bool:
        if isinstance(old, _FUNCTIONS) and type(old) is type(new):
            assert isinstance(new, _FUNCTIONS)
            return self._same_function(old, new, owner, note)
        if isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef):
            if _outline(old) != _outline(new):
                return False
            inner = _Difference()
            if not inner.bodies(old.body, new.body, f"{owner}{old.name}."):
                return False
            if note:
                self.methods += inner.methods
                self.defaults |= inner.defaults
            return True
        return _outline(old) == _outline(new)

    def _same_function(self, old: _Function, new: _Function, owner: str, note: bool) -> bool:
        if old.name != new.name or _dumps(old.decorator_list) != _dumps(new.decorator_list):
            return False
        if ast.dump(old) != ast.dump(new) and _captures(old):
            return False
        if ast.dump(old.args) == ast.dump(new.args):
            return True
        try:
            defaults = tuple(ast.literal_eval(default) for default in new.args.defaults) or None
            keywords = {
                argument.arg: ast.literal_eval(default)
                for argument, default in zip(new.args.kwonlyargs, new.args.kw_defaults)
                if default is not None
            } or None
        except ValueError:
            return False
        if note:
            self.defaults[f"{owner}{old.name}"] = (defaults, keywords)
        return True

    def _is_addition(self, statement: ast.stmt, known: set[str], owner: str) -> bool:
        if owner:
            return (
                isinstance(statement, ast.FunctionDef)
                and statement.name not in known
                and not statement.decorator_list
                and not any(statement.args.defaults)
                and not any(statement.args.kw_defaults)
            )
        if isinstance(statement, _IMPORTS):
            return not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")
        if isinstance(statement, ast.Expr):
            return self._is_of_an_addition(statement.value)
        if _is_setting(statement):
            return True
        simple = isinstance(statement, (*_FUNCTIONS, ast.ClassDef, ast.Assign, ast.AnnAssign))
        return simple and bool(_bound(statement)) and not known.intersection(_bound(statement))

    def _is_of_an_addition(self, node: ast.expr) -> bool:
        """Whether it is a call that completes what was added: `operator.register_autograd(…)`."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
                return any(name in _bound(statement) for statement in self.additions)
        return False

    def _add(self, statement: ast.stmt, owner: str) -> None:
        if owner:
            assert isinstance(statement, ast.FunctionDef)
            self.methods.append((owner.rstrip("."), statement.name))
        else:
            self.additions.append(statement)


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _captures(function: _Function) -> bool:
    for decorator in function.decorator_list:
        name = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(name).rpartition(".")[2] in _CAPTURING_DECORATORS:
            return True
    return False


def _is_setting(statement: ast.stmt) -> bool:
    """Whether it does nothing but set an option of torch: `torch._dynamo.config.allow_rnn = True`."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Attribute(attr="config") as owner)], value=ast.Constant()):
            return ast.unparse(owner).startswith("torch.")
    return False


def _bound(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(alias.asname or alias.name).split(".")[0] for alias in names}
        case _:
            return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _dumps(nodes: Sequence[ast.AST]) -> list[str]:
    return [ast.dump(node) for node in nodes]


def _outline(statement: ast.stmt) -> str:
    """The statement's dump with the bodies of functions (and of the class that it is) left out."""
    if isinstance(statement, ast.ClassDef):
        parts = [*statement.bases, *statement.keywords, *statement.decorator_list]
        return f"class {statement.name} {_dumps(parts)}"
    if not any(isinstance(node, (*_FUNCTIONS, ast.ClassDef)) for node in ast.walk(statement)):
        return ast.dump(statement)
    return ast.dump(_Hollow().visit(ast.parse(ast.unparse(statement))))


class _Hollow(ast.NodeTransformer):
    """Empties function bodies."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [ast.Pass()]
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.body = [ast.Pass()]
        return node


def live_functions(filenames: set[str]) -> list[FunctionType]:
    """Functions whose code comes from one of the files (real paths).

    `gc.get_objects` alone does not list what `remember` froze: whoever looks for functions asks here. Where many
    objects came since, these are left alone as well: a comparison looks often, and keeps what its runs gave.
    """
    found: dict[int, FunctionType] = {}
    later: list[object] = gc.get_objects()
    if _remembered and len(later) > _MANY:
        later = []
        gc.collect()  # what is garbage now would be kept
        _note(gc.get_objects())
        gc.freeze()
    noted = itertools.chain.from_iterable(_remembered.get(name, ()) for name in filenames)
    for candidate in itertools.chain(noted, later):
        if type(candidate) is FunctionType and _real(candidate.__code__.co_filename) in filenames:
            found[id(candidate)] = candidate
    return list(found.values())


# ---------------------------------------------------------------------------- fresh


def _loaded_modules(changed: Mapping[str, str]) -> dict[str, list[ModuleType]]:
    wanted = {_real(name) for name in changed}
    found: dict[str, list[ModuleType]] = {}
    noted = [name for filename in sorted(wanted) for name in _names.get(filename, ())]
    # the name of the program that runs stands in front, whichever it is
    for name in dict.fromkeys((*noted, "__main__", *_later_modules())):
        module = sys.modules.get(name)
        filename = _file_of(module)
        if filename is not None and filename in wanted and isinstance(module, ModuleType):
            found.setdefault(filename, []).append(module)
    for filename in wanted & _cells:
        found.setdefault(filename, []).append(sys.modules["__main__"])
    return found


def _file_of(module: object) -> str | None:
    """The real path of a module's file, where it has one."""
    filename = getattr(module, "__file__", None) if isinstance(module, ModuleType) else None
    return _real(filename) if isinstance(filename, str) else None


def _drop(modules: Sequence[ModuleType]) -> None:
    """Remove the modules' whole packages from `sys.modules`, and every module of the user's that uses them."""
    doomed = {module.__name__.split(".")[0] for module in modules}
    kept = set(sys.stdlib_module_names) | {"torch", "ddelint", "sympy", "numpy"}
    growing = True
    while growing:
        growing = False
        for name, module in list(sys.modules.items()):
            top = name.split(".")[0]
            if top in doomed or top in kept or not isinstance(module, ModuleType):
                continue
            if _uses(module, doomed):
                doomed.add(top)
                growing = True
    doomed -= kept
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in doomed:
            filename = getattr(module, "__file__", None)
            if isinstance(filename, str):
                registrations.forget(filename)
            del sys.modules[name]


def _uses(module: ModuleType, doomed: set[str]) -> bool:
    for value in list(vars(module).values()):
        if isinstance(value, ModuleType):
            name: object = value.__name__
        else:
            name = getattr(value, "__module__", None) if isinstance(value, (type, FunctionType)) else None
        if isinstance(name, str) and name.split(".")[0] in doomed:
            return True
    return False
