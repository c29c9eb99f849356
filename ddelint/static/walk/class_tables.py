"""What the attributes of the file's classes hold once their constructors have run."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cache

from ddelint.knowledge.operators import dotted_name, operators
from ddelint.sources.source import descend
from ddelint.static.domain.constructed import Constructed
from ddelint.static.domain.definitions import ClassInfo, FunctionNode
from ddelint.static.domain.eager import concrete
from ddelint.static.domain.joining import join
from ddelint.static.domain.state import State
from ddelint.static.domain.values import KNOWN, UNKNOWN, Instance, Series, Tensor, Value
from ddelint.static.program.index import Definitions
from ddelint.static.walk import hints
from ddelint.static.walk.walker import Walker

_CONSTRUCTORS = ("__init__", "setup", "build", "post_init", "reset_parameters")


def attribute_table(walker: Walker, cls: ClassInfo, name: str) -> Value:
    """What `instance.name` holds; UNKNOWN where the class doesn't say."""
    if cls not in walker.attribute_tables:
        for one in reversed(_unknown_lineage(walker, cls)):
            if one not in walker.attribute_tables:  # a constructor may have asked
                _fill(walker, one)
    return walker.attribute_tables[cls].get(name, UNKNOWN)


def _unknown_lineage(walker: Walker, cls: ClassInfo) -> list[ClassInfo]:
    """A class and those that it inherits from, as long as each is the only parent in the file and nothing is known."""
    found = {cls: None}
    parents = walker.index.parents(cls)
    while len(parents) == 1 and parents[0] not in walker.attribute_tables and parents[0] not in found:
        found[parents[0]] = None
        parents = walker.index.parents(parents[0])
    return list(found)


def _fill(walker: Walker, cls: ClassInfo) -> None:
    """Find out what the attributes of a class hold; those of its only parent are known, or being found out."""
    table = walker.attribute_tables[cls] = {}
    try:
        known = walker.constructed[cls] = _constructed(walker, cls)
    except BaseException:  # given up: whoever asks next is not to take it for a class without attributes
        del walker.attribute_tables[cls]
        raise
    table.update(
        (name, _changed_later(value) if name in known.changed else value) for name, value in known.values.items()
    )


def _constructed(walker: Walker, cls: ClassInfo) -> Constructed:
    """A class whose parent is known adds to that, unless it has its own idea of what the parent's constructors use."""
    parents = walker.index.parents(cls)
    above = walker.constructed.get(parents[0]) if len(parents) == 1 else None
    own = {*cls.annotated, *cls.assigned, *cls.methods} - {"__init__"}
    if above is not None and not own & above.used:
        return _adding(walker, cls, (cls,), above)
    return _adding(walker, cls, walker.index.bases(cls), Constructed({}, frozenset(), frozenset(), frozenset()))


def _adding(walker: Walker, cls: ClassInfo, classes: Sequence[ClassInfo], above: Constructed) -> Constructed:
    """What an object of `cls` holds behind the constructors of `classes`, nearest first, `above` being known."""
    index = walker.index
    table = dict(above.values)
    declared: dict[str, Value] = {}
    for base in classes if index.context.tensors else ():
        for node in base.node.bases:
            declared.update((name, Tensor()) for name in index.context.tensors.get(dotted_name(node), ()))
    for base in reversed(classes):
        for name, annotation in base.annotated.items():
            declared[name] = hints.value_of(annotation, index)
        for name, value in base.assigned.items():
            found = walker.settled(value)
            declared[name] = found if found != UNKNOWN else declared.get(name, table.get(name, UNKNOWN))
    table.update((name, value) for name, value in declared.items() if name not in above.made)
    made = set(above.made)
    for base in reversed(classes):
        for method in _CONSTRUCTORS:
            if method in base.methods:
                made |= _construct(walker, base.methods[method], cls, table)
    changed = set(above.changed)
    for base in classes:
        for name, method_node in base.methods.items():
            if name not in _CONSTRUCTORS and _may_assign(method_node, index.text_of(method_node)):
                changed |= own_assignments(method_node)
    return Constructed(table, frozenset(made), _used(index, cls, classes, above.used), frozenset(changed))


def _used(index: Definitions, cls: ClassInfo, classes: Sequence[ClassInfo], above: frozenset[str]) -> frozenset[str]:
    """The names that constructors of these classes, and what they mention, use of an object of `cls`."""
    found = set(above)
    waiting = [base.methods[method] for base in classes for method in _CONSTRUCTORS if method in base.methods]
    while waiting:
        node = waiting.pop()
        first = node.args.args[0].arg if node.args.args else "self"
        for name in set(_attributes_of(first).findall(index.text_of(node))) - found:
            found.add(name)
            if method := index.method(cls, name):
                waiting.append(method[0])
    return frozenset(found)


@cache
def _attributes_of(owner: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(owner)}\.(\w++)")


def _construct(walker: Walker, node: FunctionNode, cls: ClassInfo, table: dict[str, Value]) -> set[str]:
    """Interpret a constructor quietly and keep what it leaves in `self`; the attributes that it sets."""
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    made: set[str] = set()
    if not names:
        return made
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
        return made
    registered = operators().regions["buffer_methods"]
    for chain, value in end.attributes.items():
        if chain.startswith(prefix) and "." not in chain[len(prefix) :]:
            name = chain[len(prefix) :]
            made.add(name)
            table[name] = (
                join(table[name], concrete(value)) if name in table and table[name] == UNKNOWN else concrete(value)
            )
    text = walker.index.text_of(node)
    if not any(method in text for method in registered):
        return made
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
                    made.add(name)
    return made


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
