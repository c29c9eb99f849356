"""Methods of lists, dicts and text."""

from __future__ import annotations

import ast

from ddelint.static.domain.call import Call
from ddelint.static.domain.joining import each_of, join
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
    replace,
    series,
)
from ddelint.static.transfer.runs import element_of, picked
from ddelint.static.walk.binding import assign_back
from ddelint.static.walk.builtins import compares, text_of_values
from ddelint.static.walk.records import as_table, changed_record
from ddelint.static.walk.walker import Walker


def container_method(walker: Walker, method: Method, call: Call) -> Value:
    receiver, name = method.receiver, method.name
    root = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    if isinstance(receiver, Series):
        return _list_method(walker, receiver, name, root, call)
    if isinstance(receiver, Table):
        return _table_method(walker, receiver, name, root, call)
    if isinstance(receiver, Constant) and isinstance(receiver.value, str) and name == "format":
        return text_of_values(walker, call)
    if isinstance(receiver, Instance):
        return changed_record(walker, receiver, call.keywords) if call.keywords else as_table(walker, receiver)
    if isinstance(receiver, Unbacked):
        return receiver if name in ("item", "tolist") else KNOWN
    return KNOWN if isinstance(receiver, Constant) else UNKNOWN


def _list_method(
    walker: Walker,
    receiver: Series,
    name: str,
    root: ast.expr | None,
    call: Call,
) -> Value:
    changed: Series | None = None
    result: Value = NONE
    if name == "append" and call.arguments:
        if receiver.items is not None and len(receiver.items) < 16:
            changed = replace(series((*receiver.items, call.arguments[0]), receiver.kind), modules=receiver.modules)
        else:
            changed = Series(receiver.kind, None, join(each_of(receiver), call.arguments[0]), KNOWN, receiver.modules)
    elif name in ("extend", "insert") and call.arguments:
        other = call.arguments[-1]
        element = element_of(bare(other)) if name == "extend" else other
        each = element if receiver.items == () else join(each_of(receiver), element)
        changed = Series(receiver.kind, None, each, KNOWN, receiver.modules)
    elif name == "pop":
        changed = Series(receiver.kind, None, each_of(receiver), KNOWN, receiver.modules)
        result = each_of(receiver)
    elif name == "sort":
        compares(walker, replace(call, arguments=[receiver])) if not call.node.args and root is not None else None
    elif name == "copy":
        result = receiver
    elif name == "numel":
        return walker.numbers.product(receiver.items, call.state.facts) if receiver.items is not None else KNOWN
    elif name in ("items", "keys", "values"):
        return UNKNOWN
    elif name in ("index", "count", "remove"):
        for value in (bare(each_of(receiver)), *map(bare, call.arguments[:1])):
            if isinstance(value, (Unbacked, Tensor)):
                parts = ((root, value),) if root is not None else ()
                rule = "DDE108" if isinstance(value, Unbacked) else ""
                walker.record(call.node, "truth", value, parts=parts, rule=rule)
                break
        result = KNOWN
    else:
        result = UNKNOWN
    if changed is not None and root is not None:
        assign_back(root, changed, call.state)
    return result


def _table_method(
    walker: Walker,
    receiver: Table,
    name: str,
    root: ast.expr | None,
    call: Call,
) -> Value:
    each: Value = receiver.element
    for value in receiver.entries.values():
        each = value if each == UNKNOWN and len(receiver.entries) > 0 else join(each, value)
    if name in ("get", "pop", "setdefault") and call.arguments:
        key = bare(call.arguments[0])
        if isinstance(key, Unbacked):
            parts = walker.parts(call.node.args[0], call.state)
            walker.record(call.node, "failure", key, subject=call.node.args[0], parts=parts, rule="DDE202")
            return each
        if isinstance(key, Constant) and isinstance(key.value, (str, int, float, bool)):
            if key.value in receiver.entries:
                return receiver.entries[key.value]
            return _or_default(receiver.element, name, call)
        return _or_default(picked(receiver), name, call)
    if name == "items":
        return Series("list", None, series((UNKNOWN, each), "tuple"))
    if name == "values":
        return Series("list", None, each)
    if name == "keys":
        return Series("list", None, UNKNOWN)
    if name == "copy":
        return receiver
    if name == "update" and root is not None:
        assign_back(root, _updated(receiver, call), call.state)
    return UNKNOWN


def _or_default(held: Value, name: str, call: Call) -> Value:
    """What a key that may be missing gives: what the dict holds, or the default, which is None where none is given."""
    if held == UNKNOWN or (name == "pop" and len(call.arguments) == 1):
        return held
    return join(held, call.arguments[1] if len(call.arguments) > 1 else NONE)


def _updated(table: Table, call: Call) -> Table:
    """A dict after `update` with other dicts and keywords; of anything else nothing is known."""
    given = [bare(value) for value in call.arguments]
    tables = [value for value in given if isinstance(value, Table)]
    spread = any(keyword.arg is None for keyword in call.node.keywords)
    if spread or len(tables) < len(given) or any(value.element != UNKNOWN or not value.entries for value in tables):
        return Table({}, UNKNOWN)
    entries = dict(table.entries)
    for value in tables:
        entries.update(value.entries)
    return Table({**entries, **call.keywords}, table.element)
