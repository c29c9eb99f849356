"""Objects with declared fields: dataclasses, named tuples, and small classes built inside compiled code."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.static.domain.call import Call
from ddelint.static.domain.definitions import ClassInfo
from ddelint.static.domain.values import (
    UNKNOWN,
    ClassReference,
    Constant,
    Instance,
    Series,
    Table,
    Value,
    bare,
    replace,
    series,
)
from ddelint.static.walk.class_tables import attribute_table, own_assignments
from ddelint.static.walk.functions import constructed
from ddelint.static.walk.walker import Walker


def record_fields(walker: Walker, cls: ClassInfo) -> tuple[str, ...] | None:
    """Names of the fields in the order of the constructor's arguments; None where the class is no record."""
    if cls not in walker.fields_of_records:
        walker.fields_of_records[cls] = _declared_fields(walker, cls)
    return walker.fields_of_records[cls]


def _declared_fields(walker: Walker, cls: ClassInfo) -> tuple[str, ...] | None:
    bases = walker.index.bases(cls)
    if not any(_decorated(walker, base) for base in bases) and not is_tuple(walker, cls):
        return None
    if any("__init__" in base.methods for base in bases):
        return None
    names: dict[str, None] = {}
    for base in reversed(bases):
        for name, annotation in base.annotated.items():
            owner = annotation.value if isinstance(annotation, ast.Subscript) else annotation
            if terminal_name(owner) not in operators().annotations["not_a_field"]:
                names[name] = None
    return tuple(names)


def _decorated(walker: Walker, cls: ClassInfo) -> bool:
    known = operators().regions["record_decorators"]
    decorators = (d.func if isinstance(d, ast.Call) else d for d in cls.node.decorator_list)
    return any(walker.index.dotted(decorator) in known for decorator in decorators)


def is_tuple(walker: Walker, cls: ClassInfo) -> bool:
    """Whether an instance can be indexed and taken apart."""
    if cls not in walker.tuples:
        index, known = walker.index, operators().regions["record_bases"]
        walker.tuples[cls] = any(
            walker.index.dotted(node) in known for base in index.bases(cls) for node in base.node.bases
        )
    return walker.tuples[cls]


def built(walker: Walker, cls: ClassInfo, call: Call) -> Instance:
    """The object that calling the class gives."""
    names = record_fields(walker, cls)
    if names is None:
        return _constructed(walker, cls, call)
    if len(call.arguments) > len(names) or any(isinstance(a, ast.Starred) for a in call.node.args):
        return Instance(cls)
    values = dict(zip(names, call.arguments))
    values |= {name: value for name, value in call.keywords.items() if name in names}
    spread = any(keyword.arg is None for keyword in call.node.keywords)
    for name in names:
        if name not in values and not spread:
            values[name] = _default(walker, cls, name)
    post = walker.index.method(cls, "__post_init__")
    for name in own_assignments(post[0]) if post is not None else ():
        values.pop(name, None)
    return Instance(cls, {name: value for name, value in values.items() if value != UNKNOWN})


def _default(walker: Walker, cls: ClassInfo, name: str) -> Value:
    """What a field holds that the call doesn't give."""
    bases = walker.index.bases(cls)
    node = next((base.assigned[name] for base in bases if name in base.assigned), None)
    if isinstance(node, ast.Call):
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        factory = given.get("default_factory")
        if isinstance(factory, ast.Name):
            made: dict[str, Value] = {"list": series(()), "dict": Table(), "tuple": series((), "tuple")}
            return made.get(factory.id, UNKNOWN)
        node = given.get("default")
    if isinstance(node, ast.Constant):
        return Constant(node.value)
    return UNKNOWN if node is None else walker.settled(node)


def _constructed(walker: Walker, cls: ClassInfo, call: Call) -> Instance:
    """What `__init__` leaves in the object, where the class is not a module (those are built in eager)."""
    found = walker.index.method(cls, "__init__")
    if found is None or walker.quiet or walker.index.is_module(cls):
        return Instance(cls)
    return Instance(cls, constructed(walker, found, cls, call))


def named_tuple(walker: Walker, arguments: list[Value]) -> Value:
    """The class that `namedtuple(name, fields)` makes."""
    listed = bare(arguments[1]) if len(arguments) > 1 else UNKNOWN
    names: list[str] = []
    if isinstance(listed, Constant) and isinstance(listed.value, str):
        names = listed.value.replace(",", " ").split()
    elif isinstance(listed, Series):
        for item in listed.items or ():
            first = item.items[0] if isinstance(item, Series) and item.items else item
            if not (isinstance(first, Constant) and isinstance(first.value, str)):
                return UNKNOWN
            names.append(first.value)
    if not names:
        return UNKNOWN
    cls = ClassInfo("", ast.ClassDef("", [], [], [], []))
    walker.fields_of_records[cls], walker.tuples[cls] = tuple(names), True
    return ClassReference(cls)


def field_of(walker: Walker, record: Instance, name: str) -> Value:
    """What a field holds: as the call gave it, else as the class declares it."""
    if record.fields is not None and name in record.fields:
        return record.fields[name]
    return attribute_table(walker, record.cls, name)


def as_series(walker: Walker, value: Value) -> Value:
    """A named tuple as the run of its fields; anything else as it is."""
    if not isinstance(value, Instance) or not is_tuple(walker, value.cls):
        return value
    return series(tuple(field_of(walker, value, name) for name in record_fields(walker, value.cls) or ()), "tuple")


def as_table(walker: Walker, record: Instance) -> Table:
    """The fields by name, as `_asdict()` gives them."""
    return Table({name: field_of(walker, record, name) for name in record_fields(walker, record.cls) or ()})


def changed_record(walker: Walker, record: Instance, values: dict[str, Value]) -> Instance:
    """The record with other values in some of its fields."""
    kept = {name: field_of(walker, record, name) for name in record_fields(walker, record.cls) or ()}
    kept |= record.fields or {}
    return replace(record, fields={**kept, **values})
