"""What the attributes of the file's classes hold once their constructors have run."""

from __future__ import annotations

import ast
import re
from functools import cache

from ddelint.knowledge.operators import dotted_name, operators
from ddelint.sources.source import descend
from ddelint.static.domain.definitions import ClassInfo, FunctionNode
from ddelint.static.domain.eager import concrete
from ddelint.static.domain.joining import join
from ddelint.static.domain.state import State
from ddelint.static.domain.values import KNOWN, UNKNOWN, Instance, Series, Tensor, Value
from ddelint.static.walk import hints
from ddelint.static.walk.walker import Walker

_CONSTRUCTORS = ("__init__", "setup", "build", "post_init", "reset_parameters")


def attribute_table(walker: Walker, cls: ClassInfo, name: str) -> Value:
    """What `instance.name` holds; UNKNOWN where the class doesn't say."""
    table = walker.attribute_tables.get(cls)
    if table is None:
        table = walker.attribute_tables[cls] = {}
        try:
            table.update(_build(walker, cls))
        except BaseException:  # given up: whoever asks next is not to take it for a class without attributes
            del walker.attribute_tables[cls]
            raise
    return table.get(name, UNKNOWN)


def _build(walker: Walker, cls: ClassInfo) -> dict[str, Value]:
    index = walker.index
    table: dict[str, Value] = {}
    bases = index.bases(cls)
    for base in bases if index.context.tensors else ():
        for node in base.node.bases:
            table.update((name, Tensor()) for name in index.context.tensors.get(dotted_name(node), ()))
    for base in reversed(bases):
        for name, annotation in base.annotated.items():
            table[name] = hints.value_of(annotation, index)
        for name, value in base.assigned.items():
            found = walker.settled(value)
            table[name] = found if found != UNKNOWN else table.get(name, UNKNOWN)
    for base in reversed(bases):
        for method in _CONSTRUCTORS:
            if method in base.methods:
                _construct(walker, base.methods[method], cls, table)
    for base in bases:
        for name, method_node in base.methods.items():
            if name not in _CONSTRUCTORS and _may_assign(method_node, index.text_of(method_node)):
                for target in own_assignments(method_node):
                    if target in table:
                        table[target] = _changed_later(table[target])
    return table


def _construct(walker: Walker, node: FunctionNode, cls: ClassInfo, table: dict[str, Value]) -> None:
    """Interpret a constructor quietly and keep what it leaves in `self`."""
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    if not names:
        return
    self_name = names[0]
    state = State({self_name: Instance(cls)})
    state.constructs = True
    numbers = _with_number_defaults(node)
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if argument.arg != self_name:
            value = concrete(hints.value_of(argument.annotation, index=walker.index))
            state.names[argument.arg] = KNOWN if value == UNKNOWN and argument.arg in numbers else value
    prefix = self_name + "."
    end = walker.quietly(node, cls, state)
    if end is None:
        return
    registered = operators().regions["buffer_methods"]
    for chain, value in end.attributes.items():
        if chain.startswith(prefix) and "." not in chain[len(prefix) :]:
            name = chain[len(prefix) :]
            table[name] = (
                join(table[name], concrete(value)) if name in table and table[name] == UNKNOWN else concrete(value)
            )
    text = walker.index.text_of(node)
    if not any(method in text for method in registered):
        return
    for call in descend(node):
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr=method),
                args=[ast.Constant(value=str(name)), *rest],
                keywords=keywords,
            ):
                if owner == self_name and method in registered:
                    given = [*rest, *(keyword.value for keyword in keywords)]
                    known = walker.settled(given[0], end.names) if given else UNKNOWN
                    table[name] = _registered(known)


def _registered(given: Value) -> Value:
    """What a buffer holds that begins as this; a list of a metric's states gets its tensors later."""
    if isinstance(given, Series) and given.kind == "list":
        return Series("list", None, Tensor())
    return given if isinstance(given, Tensor) else Tensor()


def _with_number_defaults(node: FunctionNode) -> set[str]:
    """Parameters whose default is a number: so is what is passed."""
    positional = [*node.args.posonlyargs, *node.args.args]
    pairs = [
        *zip(reversed(positional), reversed(node.args.defaults)),
        *zip(node.args.kwonlyargs, node.args.kw_defaults),
    ]
    return {
        parameter.arg
        for parameter, default in pairs
        if isinstance(default, ast.Constant) and type(default.value) in (int, float)
    }


def _may_assign(node: FunctionNode, text: str) -> bool:
    """Whether the method's text looks as if it assigned attributes of its first parameter. False is certain."""
    return bool(node.args.args) and _assignment(node.args.args[0].arg).search(text) is not None


@cache
def _assignment(owner: str) -> re.Pattern[str]:
    end = r"\s{0,200}+(?::[^\n=]{0,500}+)?(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)"
    return re.compile(rf"{re.escape(owner)}\.\w++(?:\s{{0,200}}+,\s{{0,200}}+[\w.*]{{1,200}}+){{0,100}}\)?{end}")


def own_assignments(node: FunctionNode) -> set[str]:
    """Attributes of the first parameter that the method assigns."""
    if not node.args.args:
        return set()
    owner = node.args.args[0].arg
    found: set[str] = set()
    waiting: list[ast.stmt] = list(node.body)
    while waiting:
        statement = waiting.pop()
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == owner:
                found.add(target.attr)
        for name in ("body", "orelse", "finalbody"):
            waiting += getattr(statement, name, [])
        for handler in getattr(statement, "handlers", []):
            waiting += handler.body
    return found


def _changed_later(value: Value) -> Value:
    """What is left to say of an attribute that other methods assign, too."""
    if isinstance(value, Tensor):
        return Tensor()
    return UNKNOWN
