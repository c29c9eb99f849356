"""How a function may come to be run: by which names, by whom, and when, as far as its file says."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator
from functools import lru_cache

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.managers import is_imported, library
from ddelint.rewrite.reading.names import is_called, is_method_of_values
from ddelint.sources.source import SourceFile, descend

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OURS = "ddelint"
"""Whose entries name what is run."""
_CALLED_BY_INSTANCE = frozenset(("forward", "__call__"))
_CONSTRUCTING = frozenset(("__init__", "__new__", "__post_init__"))
"""Methods that run where a class is called."""
_CALLED_BY_NAME = _CONSTRUCTING | {"__call__", "__init_subclass__"}
_LAZY = frozenset(("map", "filter", "starmap", "accumulate", "takewhile", "dropwhile", "groupby", "filterfalse"))
"""What calls a function once somebody goes on."""
_GOING_ON = frozenset(("all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"))
"""What goes to the end of its argument at once."""
_BY_TEXT = frozenset(("eval", "exec", "globals", "locals", "methodcaller", "vars"))
"""What finds a function by a text."""


def names_of(function: _Function, source: SourceFile) -> set[str]:
    """The function's name, those under which it is kept (`fast = compile(slow)`), those of functions that use it; for
    what runs where a class is called, the class's."""
    found = {function.name, *_registering(function, source)}
    if function.name in _CONSTRUCTING and isinstance(owner := source.parents.get(function), ast.ClassDef):
        found |= {owner.name, *heirs(owner.name, source)}
    return _closed(found, source)


def _closed(found: set[str], source: SourceFile) -> set[str]:
    """The names, and those under which what they name is kept or used."""
    names = set[str]()
    while names != found:
        names = set(found)
        for node in _mentions(names, source):
            found |= _names_beside(node, source)
    return names


def _registering(function: _Function, source: SourceFile) -> set[str]:
    """What of the file a decorator keeps a function for: `root` of `@root.register`."""
    called = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    roots = {dotted_name(each.value) for each in called if isinstance(each, ast.Attribute)}
    return {node.name for node in descend(source.tree) if isinstance(node, _FUNCTIONS) and node.name in roots}


@lru_cache(maxsize=16)
def runners(source: SourceFile) -> frozenset[str]:
    """The functions that call what the text does not say, and those that use them."""
    around = (scope for call in calls_of_anything(source) for scope in source.ancestors(call))
    return frozenset(_closed({scope.name for scope in around if isinstance(scope, _FUNCTIONS)}, source))


def _mentions(names: Collection[str], source: SourceFile) -> Iterator[ast.Name | ast.Attribute]:
    """Where one of the names stands, and not an attribute of that name of what the file imports."""
    for node in descend(source.tree):
        match node:
            case ast.Name() | ast.Attribute() if terminal_name(node) in names and not is_imported(node, source):
                yield node


def heirs(name: str, source: SourceFile) -> set[str]:
    """The classes of the file that are made of one, directly or not."""
    found = {
        node.name
        for node in descend(source.tree)
        if isinstance(node, ast.ClassDef) and any(terminal_name(base) == name for base in node.bases)
    }
    return found | {heir for one in found - {name} for heir in heirs(one, source)}


def _names_beside(node: ast.Name | ast.Attribute, source: SourceFile) -> set[str]:
    """The function around a mention of a function; and, where it is not called there, what it is assigned to."""
    called_here = is_called(node, source)
    for around in source.ancestors(node):
        match around:
            case ast.Lambda():
                called_here = False
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                return {name}
            case ast.Assign(targets=targets) if not called_here:
                return {target.id for target in targets if isinstance(target, ast.Name)}
    return set()


def is_protocol(name: str) -> bool:
    """Whether Python calls a function of this name for an operator or a statement."""
    return name.startswith("__") and name.endswith("__") and name not in _CALLED_BY_NAME


def runs_later(names: Collection[str], function: _Function, source: SourceFile) -> bool:
    """Whether a function's body runs elsewhere than where it is called: a generator's, a coroutine's, and what is
    called while somebody goes through a `map` of it or `(f(x) for x in xs)`."""
    yields = (isinstance(node, (ast.Yield, ast.YieldFrom)) for node in descend(function))
    if isinstance(function, ast.AsyncFunctionDef) or any(yields):
        return True
    return any(_is_put_off(node, source) for node in _mentions(names, source))


def _is_put_off(node: ast.AST, source: SourceFile) -> bool:
    """Whether a mention stands in something that calls it later, and that is not gone through where it stands."""
    child = node
    for around in source.ancestors(node):
        if isinstance(around, (ast.stmt, ast.Lambda)):
            return False
        is_lazy = isinstance(around, ast.GeneratorExp) or (
            isinstance(around, ast.Call) and terminal_name(around.func) in _LAZY and child in around.args
        )
        if is_lazy and not _is_gone_through(around, source):
            return True
        child = around
    return False


def _is_gone_through(node: ast.AST, source: SourceFile) -> bool:
    match source.parents.get(node):
        case ast.Call(func=ast.Name(id=name), args=[first, *_]):
            return name in _GOING_ON and first is node
        case ast.Call(func=ast.Attribute(attr="join")) | ast.Starred():
            return True
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            return iterated is node
    return False


def is_called_by_other_names(names: Collection[str], function: _Function, source: SourceFile) -> bool:
    """Whether an instance of its class calls a function, or it is handed on: to a table, a decorator, an attribute, by
    what is called later; or found by a text, or called by a library that its class is made for."""
    if _CALLED_BY_INSTANCE & {*names} or _finds_by_text(source) or _is_for_a_library(names, function, source):
        return True
    for node in descend(source.tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name in names:
                decorators = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
                if not all(_lets_through(decorator, source) for decorator in decorators):
                    return True
            case ast.Name() | ast.Attribute() if terminal_name(node) in names:
                if not is_called(node, source) or any(isinstance(a, ast.Lambda) for a in source.ancestors(node)):
                    return True
    return False


def _lets_through(decorator: ast.expr, source: SourceFile) -> bool:
    """Whether a decorator is Python's own, or of a library that keeps no exception."""
    known = knowledge().stateless | knowledge().catching_nothing | vars(builtins).keys() | {"abc"}
    return library(decorator, source) in known


@lru_cache(maxsize=16)
def _finds_by_text(source: SourceFile) -> bool:
    """Whether the file calls functions by texts that it makes (`getattr(self, f"check_{kind}")`)."""
    for node in descend(source.tree):
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]) if not isinstance(name, ast.Constant):
                return True
            case ast.Call(func=func) if terminal_name(func) in _BY_TEXT:
                return True
    return False


def _is_for_a_library(names: Collection[str], function: _Function, source: SourceFile) -> bool:
    """Whether a method is called by nothing in its file, and its class is made of another one."""
    owner = source.parents.get(function)
    is_used = any(is_called(node, source) for node in _mentions(names, source))
    return isinstance(owner, ast.ClassDef) and bool(owner.bases) and not is_used


def is_given_away(names: Collection[str], source: SourceFile) -> bool:
    """Whether a function, or a lambda that calls it, is an argument of what the file doesn't define, and that may catch
    what it raises, or keep it (`pool.submit(f, x).exception()`)."""
    defined = {node.name for node in descend(source.tree) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))}
    harmless = knowledge().stateless | vars(builtins).keys() | {_OURS}
    for mention in _mentions(names, source):
        node = next((around for around in source.ancestors(mention) if isinstance(around, ast.Lambda)), mention)
        parent = source.parents.get(node)
        match source.parents.get(parent) if isinstance(parent, ast.keyword) else parent:
            case ast.Call(func=taker) if taker is not node and terminal_name(taker) not in defined:
                if library(taker, source) not in harmless:
                    return True
    return False


@lru_cache(maxsize=16)
def calls_of_anything(source: SourceFile) -> frozenset[ast.AST]:
    """Calls of what the text does not say: a parameter, a local name, an attribute that is assigned, an element; and
    of methods that may call others (`SafeRoot.apply(x)`, `trainer.fit(model)`)."""
    bound, assigned, defined, made = set[str](), set[str](), set[str](), _made_by_libraries(source)
    for node in descend(source.tree):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                assigned.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                defined.add(name)
    return frozenset(
        node
        for node in descend(source.tree)
        if isinstance(node, ast.Call)
        and (_is_one_of(node.func, bound, assigned) or _may_call_others(node.func, bound - made, defined))
    )


def _made_by_libraries(source: SourceFile) -> set[str]:
    """The names of a file for what a library makes of constants: `logger = logging.getLogger(__name__)`."""
    found = set[str]()
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=args, keywords=[])):
                plain = all(isinstance(each, ast.Constant) or terminal_name(each) == "__name__" for each in args)
                if plain and is_imported(func, source):
                    found.add(name)
    return found


def _is_one_of(called: ast.expr, bound: set[str], assigned: set[str]) -> bool:
    match called:
        case ast.Name(id=name):
            return name in bound
        case ast.Attribute(attr=name):
            return name in assigned
    return True


def _may_call_others(called: ast.expr, bound: set[str], defined: set[str]) -> bool:
    """Whether it calls what it is given; or is a method of what the file names, and none of the file's or a value's."""
    name = terminal_name(called)
    if name in knowledge().calling or not isinstance(called, ast.Attribute):
        return name in knowledge().calling
    is_ours = dotted_name(called.value).partition(".")[0] in bound | defined
    return is_ours and name not in defined and not is_method_of_values(name)
