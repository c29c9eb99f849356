"""Methods of lists, dicts and text."""

from __future__ import annotations

import ast

from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    Constant,
    Instance,
    Method,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    join,
    replace,
    series,
)
from ddelint.static.transfer.runs import element_of
from ddelint.static.walk.binding import assign_back
from ddelint.static.walk.builtins import compares, text_of_values
from ddelint.static.walk.records import as_table, changed_record
from ddelint.static.walk.walker import Walker


def container_method(
    walker: Walker, method: Method, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State
) -> Value:
    receiver, name = method.receiver, method.name
    root = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(receiver, Series):
        return _list_method(walker, receiver, name, root, node, arguments, keywords, state)
    if isinstance(receiver, Table):
        return _table_method(walker, receiver, name, root, node, arguments, state)
    if isinstance(receiver, Constant) and isinstance(receiver.value, str) and name == "format":
        return text_of_values(walker, node, arguments, keywords, state)
    if isinstance(receiver, Instance):
        return changed_record(walker, receiver, keywords) if keywords else as_table(walker, receiver)
    if isinstance(receiver, Unbacked):
        return receiver if name in ("item", "tolist") else KNOWN
    return KNOWN if isinstance(receiver, Constant) else UNKNOWN


def _list_method(
    walker: Walker,
    receiver: Series,
    name: str,
    root: ast.expr | None,
    node: ast.Call,
    arguments: list[Value],
    keywords: dict[str, Value],
    state: State,
) -> Value:
    changed: Series | None = None
    result: Value = NONE
    if name == "append" and arguments:
        if receiver.items is not None and len(receiver.items) < 16:
            changed = replace(series((*receiver.items, arguments[0]), receiver.kind), modules=receiver.modules)
        else:
            changed = Series(receiver.kind, None, join(receiver.each, arguments[0]), KNOWN, receiver.modules)
    elif name in ("extend", "insert") and arguments:
        other = arguments[-1]
        element = element_of(bare(other)) if name == "extend" else other
        each = element if receiver.items == () else join(receiver.each, element)
        changed = Series(receiver.kind, None, each, KNOWN, receiver.modules)
    elif name == "pop":
        changed = Series(receiver.kind, None, receiver.each, KNOWN, receiver.modules)
        result = receiver.each
    elif name == "sort":
        compares(walker, node, [receiver], keywords, state) if not node.args and root is not None else None
    elif name == "copy":
        result = receiver
    elif name == "numel":
        return walker.numbers.product(receiver.items, state.facts) if receiver.items is not None else KNOWN
    elif name in ("items", "keys", "values"):
        return UNKNOWN
    elif name in ("index", "count", "remove"):
        for value in (bare(receiver.each), *map(bare, arguments[:1])):
            if isinstance(value, (Unbacked, Tensor)):
                parts = ((root, value),) if root is not None else ()
                rule = "DDE108" if isinstance(value, Unbacked) else ""
                walker.record(node, "truth", value, parts=parts, rule=rule)
                break
        result = KNOWN
    else:
        result = UNKNOWN
    if changed is not None and root is not None:
        assign_back(root, changed, state)
    return result


def _table_method(
    walker: Walker,
    receiver: Table,
    name: str,
    root: ast.expr | None,
    node: ast.Call,
    arguments: list[Value],
    state: State,
) -> Value:
    each: Value = receiver.element
    for value in receiver.entries.values():
        each = value if each == UNKNOWN and len(receiver.entries) > 0 else join(each, value)
    if name in ("get", "pop", "setdefault") and arguments:
        key = bare(arguments[0])
        if isinstance(key, Unbacked):
            parts = walker.parts(node.args[0], state)
            walker.record(node, "failure", key, subject=node.args[0], parts=parts, rule="DDE202")
            return each
        if isinstance(key, Constant) and isinstance(key.value, (str, int, float, bool)):
            if key.value in receiver.entries:
                return receiver.entries[key.value]
            return UNKNOWN if receiver.element == UNKNOWN else receiver.element
        return UNKNOWN
    if name == "items":
        return Series("list", None, series((UNKNOWN, each), "tuple"))
    if name == "values":
        return Series("list", None, each)
    if name == "keys":
        return Series("list", None, UNKNOWN)
    if name == "copy":
        return receiver
    if name == "update" and root is not None:
        assign_back(root, Table({}, UNKNOWN), state)
    return UNKNOWN
