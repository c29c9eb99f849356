"""Attributes: of tensors, of the file's own objects, of what is imported."""

from __future__ import annotations

import ast
from functools import reduce

from ddelint.knowledge.operators import dotted_name, operators
from ddelint.static.domain.definitions import ClassInfo, FunctionNode
from ddelint.static.domain.joining import alternatives, join
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Alternatives,
    ClassReference,
    Constant,
    Function,
    Instance,
    Method,
    Module,
    Optional,
    Parent,
    Partial,
    Path,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
)
from ddelint.static.program.abstract import implementations, is_abstract
from ddelint.static.transfer.sizes import shape_of
from ddelint.static.walk.class_tables import attribute_table
from ddelint.static.walk.functions import invoke, is_classmethod
from ddelint.static.walk.records import field_of, record_fields
from ddelint.static.walk.walker import Walker


def attribute(walker: Walker, node: ast.Attribute, owner: Value, state: State) -> Value:
    """An attribute: as it was assigned here, or as its owner has it."""
    if state.attributes:
        found = state.attributes.get(dotted_name(node))
        if found is not None:
            return found
    return attribute_of(walker, owner, node, state)


def attribute_of(walker: Walker, owner: Value, node: ast.Attribute, state: State) -> Value:
    """`owner.attr`."""
    name = node.attr
    if isinstance(owner, Optional):
        owner = owner.inner
    if isinstance(owner, Path):
        return Path(f"{owner.name}.{name}")
    if isinstance(owner, Alternatives):
        return reduce(join, [attribute_of(walker, option, node, state) for option in owner.options])
    if isinstance(owner, Parent):
        return _inherited(walker, owner, name)
    if isinstance(owner, Tensor):
        return _tensor_attribute(owner, name)
    if isinstance(owner, Instance):
        found = walker.index.method(owner.cls, name)
        if found is not None:
            others = implementations(walker.index, owner.cls, name) if is_abstract(found[0]) else []
            theirs = alternatives(_method_value(walker, other, Instance(cls), node, state) for cls, other in others)
            if theirs != UNKNOWN:
                return theirs
            return _method_value(walker, found, owner, node, state)
        if name in operators().regions["record_methods"] and record_fields(walker, owner.cls) is not None:
            return Method(owner, name)
        return field_of(walker, owner, name)
    if isinstance(owner, ClassReference):
        regions = operators().regions
        found = walker.index.method(owner.cls, name)
        if found is not None:
            return Function(found[0], owner if is_classmethod(found[0]) else None, None, found[1])
        run = walker.index.autograd_forward(owner.cls) if name in regions["autograd_calls"] else None
        if run is not None:  # the context comes first, unless another method is given it
            alone = any(walker.index.method(owner.cls, setup) for setup in regions["autograd_contexts"])
            context = None if alone else UNKNOWN
            if is_classmethod(run[0]):
                return Partial(Function(run[0], owner, None, run[1]), () if alone else (UNKNOWN,))
            return Function(run[0], context, None, run[1])
        return attribute_table(walker, owner.cls, name)
    if isinstance(owner, Series) and owner.kind == "pair" and owner.items is not None and len(owner.items) == 2:
        return owner.items[1] if name in ("indices", "max") else owner.items[0]
    if isinstance(owner, (Series, Table, Unbacked)) or (isinstance(owner, Constant) and owner.value is not None):
        return Method(owner, name)
    if isinstance(owner, Module) and name in ("weight", "bias"):
        return Tensor(boolean=False)
    return UNKNOWN


def _inherited(walker: Walker, owner: Parent, name: str) -> Value:
    """`super().name`."""
    for base in walker.index.bases(owner.cls)[1:]:
        if name in base.methods:
            return Function(base.methods[name], owner.bound, None, base)
    return UNKNOWN


def _method_value(
    walker: Walker, found: tuple[FunctionNode, ClassInfo], owner: Instance, node: ast.Attribute, state: State
) -> Value:
    function, cls = found
    decorators = {d.id for d in function.decorator_list if isinstance(d, ast.Name)}
    if "property" in decorators or "cached_property" in decorators:
        return invoke(walker, Function(function, owner, None, cls), [], {}, state, node)
    if "staticmethod" in decorators:
        return Function(function, None, None, cls)
    return Function(function, owner, None, cls)


def _tensor_attribute(tensor: Tensor, name: str) -> Value:
    behaviour = operators().attributes.get(name)
    if behaviour == "shape":
        return shape_of(tensor)
    if behaviour == "known":
        return KNOWN
    if behaviour == "same":
        return tensor
    if behaviour == "reversed":
        return tensor.shaped(tuple(reversed(tensor.dims)) if tensor.complete else (), tensor.complete)
    if name in operators().known_methods or name in operators().returns:
        return Method(tensor, name)
    return UNKNOWN
