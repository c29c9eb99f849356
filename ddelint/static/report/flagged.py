"""Calls that a rule finds by its data alone: functions that it names, in what is compiled or everywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.catalog import Rule, flagging_rules
from ddelint.knowledge.operators import terminal_name
from ddelint.sources.source import descend
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.program.regions import FileIndex


def flagged_calls(index: FileIndex, assume_compiled: bool) -> Iterator[tuple[str, ast.expr, str]]:
    """Code of the rule, the call, and a sentence for the reader."""
    text = index.source.text
    wanted = [rule for rule in flagging_rules() if rule.flags is not None and _may_match(rule, text)]
    if not wanted:
        return
    inside = _compiled_calls(index, assume_compiled)
    for node in descend(index.source.tree):
        if not isinstance(node, ast.Call):
            continue
        for rule in wanted:
            assert rule.flags is not None
            name = flagged_name(index, node, rule)
            if name is not None and (rule.flags.everywhere or node in inside):
                yield rule.code, node, rule.flags.says or f"`{name.removeprefix('*.')}` is called here"


def flagged_name(index: FileIndex, node: ast.Call, rule: Rule) -> str | None:
    """The name, as the rule has it, of what a call calls; None where it is none of the rule's."""
    word = terminal_name(node.func)
    if rule.flags is None or not word:
        return None
    for name in (index.dotted(node.func), f"*.{word}"):
        if name and name in rule.flags.calls:
            return name
    return None


def _may_match(rule: Rule, text: str) -> bool:
    return rule.flags is not None and any(word in text for word in rule.flags.words)


def _compiled_calls(index: FileIndex, assume_compiled: bool) -> set[ast.Call]:
    """The calls in what a compiler traces: from its first line, or reached from there by name."""
    waiting: list[FunctionNode | ast.Lambda] = [root.node for root in index.roots(assume_compiled)]
    seen: set[ast.AST] = set(waiting)
    found: set[ast.Call] = set()
    while waiting:
        function = waiting.pop()
        for node in descend(function):
            if not isinstance(node, ast.Call):
                continue
            found.add(node)
            for other in _called(index, node.func):
                if other not in seen and not index.excluded(other):
                    seen.add(other)
                    waiting.append(other)
    return found


def _called(index: FileIndex, function: ast.expr) -> Iterator[FunctionNode]:
    """The functions of the file that a call may mean."""
    match function:
        case ast.Name(id=name):
            if name in index.functions:
                yield index.functions[name]
            elif name in index.nested:
                yield index.nested[name][0]
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            for owner in index.all_classes:
                if name in owner.methods:
                    yield owner.methods[name]
