"""Names of the module: what it defines, imports, or Python brings."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators
from ddelint.static.domain.state import State
from ddelint.static.domain.values import UNKNOWN, ClassReference, Constant, Function, Path, Value
from ddelint.static.walk.walker import BudgetError, Walker


def name(walker: Walker, node: ast.Name, state: State) -> Value:
    """A name: the function's own, or the module's."""
    value = state.names.get(node.id)
    return value if value is not None else global_value(walker, node.id)


def global_value(walker: Walker, name: str) -> Value:
    """A name of the module, an import or a built-in."""
    value = walker.globals.get(name)
    if value is None:
        value = _global(walker, name)
        walker.globals[name] = value
    return value


def _global(walker: Walker, name: str) -> Value:
    index = walker.index
    if name in index.functions:
        return Function(index.functions[name])
    if name in index.classes and name not in index.imports:
        return ClassReference(index.classes[name])
    if name in index.imports:
        return Path(index.imports[name])
    if name in index.constants:
        if index.always_false(name):
            return Constant(False)
        walker.globals[name] = UNKNOWN  # what it is made of may name it
        try:
            return walker.settled(index.constants[name])
        except (BudgetError, RecursionError):
            del walker.globals[name]  # the next root is to see this as well
            raise
    return Path(f"builtins.{name}") if name in operators().builtins else UNKNOWN
