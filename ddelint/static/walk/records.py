"""Objects with declared fields: dataclasses, named tuples, and small classes built inside compiled code."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddelint.operators import operators, terminal_name
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
from ddelint.static.program.regions import ClassInfo
from ddelint.static.walk import classes

if TYPE_CHECKING:
    from ddelint.static.domain.state import State
    from ddelint.static.walk.interpreter import Interpreter


class Records:
    """Builds and takes apart the records of one file."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._fields: dict[ClassInfo, tuple[str, ...] | None] = {}
        self._tuples: dict[ClassInfo, bool] = {}

    def fields(self, cls: ClassInfo) -> tuple[str, ...] | None:
        """Names of the fields in the order of the constructor's arguments; None where the class is no record."""
        if cls not in self._fields:
            self._fields[cls] = self._declared(cls)
        return self._fields[cls]

    def _declared(self, cls: ClassInfo) -> tuple[str, ...] | None:
        index = self._interpreter.index
        bases = index.bases(cls)
        if not any(self._decorated(base) for base in bases) and not self.is_tuple(cls):
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

    def _decorated(self, cls: ClassInfo) -> bool:
        known = operators().regions["record_decorators"]
        decorators = (d.func if isinstance(d, ast.Call) else d for d in cls.node.decorator_list)
        return any(self._interpreter.index.dotted(decorator) in known for decorator in decorators)

    def is_tuple(self, cls: ClassInfo) -> bool:
        """Whether an instance can be indexed and taken apart."""
        if cls not in self._tuples:
            index, known = self._interpreter.index, operators().regions["record_bases"]
            self._tuples[cls] = any(
                index.dotted(node) in known for base in index.bases(cls) for node in base.node.bases
            )
        return self._tuples[cls]

    # ---- making one

    def built(
        self, cls: ClassInfo, arguments: list[Value], keywords: dict[str, Value], node: ast.Call, state: State
    ) -> Instance:
        """The object that calling the class gives."""
        names = self.fields(cls)
        if names is None:
            return self._constructed(cls, arguments, keywords, node, state)
        if len(arguments) > len(names) or any(isinstance(a, ast.Starred) for a in node.args):
            return Instance(cls)
        values = dict(zip(names, arguments))
        values |= {name: value for name, value in keywords.items() if name in names}
        spread = any(keyword.arg is None for keyword in node.keywords)
        for name in names:
            if name not in values and not spread:
                values[name] = self._default(cls, name)
        post = self._interpreter.index.method(cls, "__post_init__")
        for name in classes.own_assignments(post[0]) if post is not None else ():
            values.pop(name, None)
        return Instance(cls, {name: value for name, value in values.items() if value != UNKNOWN})

    def _default(self, cls: ClassInfo, name: str) -> Value:
        """What a field holds that the call doesn't give."""
        bases = self._interpreter.index.bases(cls)
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
        return UNKNOWN if node is None else self._interpreter.settled(node)

    def _constructed(
        self, cls: ClassInfo, arguments: list[Value], keywords: dict[str, Value], node: ast.Call, state: State
    ) -> Instance:
        """What `__init__` leaves in the object, where the class is not a module (those are built in eager)."""
        interpreter = self._interpreter
        found = interpreter.index.method(cls, "__init__")
        if found is None or interpreter.quiet or interpreter.index.is_module(cls):
            return Instance(cls)
        return Instance(cls, interpreter.calls.constructed(found, cls, arguments, keywords, state, node))

    def named(self, arguments: list[Value]) -> Value:
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
        self._fields[cls], self._tuples[cls] = tuple(names), True
        return ClassReference(cls)

    # ---- looking into one

    def field(self, record: Instance, name: str) -> Value:
        """What a field holds: as the call gave it, else as the class declares it."""
        if record.fields is not None and name in record.fields:
            return record.fields[name]
        return self._interpreter.table.of(record.cls, name)

    def as_series(self, value: Value) -> Value:
        """A named tuple as the run of its fields; anything else as it is."""
        if not isinstance(value, Instance) or not self.is_tuple(value.cls):
            return value
        return series(tuple(self.field(value, name) for name in self.fields(value.cls) or ()), "tuple")

    def as_table(self, record: Instance) -> Table:
        """The fields by name, as `_asdict()` gives them."""
        return Table({name: self.field(record, name) for name in self.fields(record.cls) or ()})

    def changed(self, record: Instance, values: dict[str, Value]) -> Instance:
        """The record with other values in some of its fields."""
        kept = {name: self.field(record, name) for name in self.fields(record.cls) or ()}
        kept |= record.fields or {}
        return replace(record, fields={**kept, **values})
