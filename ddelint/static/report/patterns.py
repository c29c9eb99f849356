"""Findings that need no abstract values: retired functions, checks that TorchScript would compile, autocast."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge import extensions
from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import descend
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.program.regions import FileIndex
from ddelint.static.report.syncs import syncs

Place = tuple[str, ast.expr, str]
"""Code of the rule, the node, and a sentence for the reader."""


def places(index: FileIndex, assume_compiled: bool) -> Iterator[Place]:
    """Everything of the kind in one file."""
    text = index.source.text
    for node in syncs(index, assume_compiled):
        yield "DDE503", node, "the host waits here until the device has computed the value"
    if extensions.rule_tables():  # no rule of ours finds calls by its data alone
        from ddelint.static.report.flagged import flagged_calls

        yield from flagged_calls(index, assume_compiled)
    if any(word in text for word in operators().retired_words):
        yield from _retired(index)
    if "jit.script" in text and "_check" in text:
        yield from _scripted(index)
    if "autocast" in text and "backward" in text:
        yield from _autocast(index)


def _retired(index: FileIndex) -> Iterator[Place]:
    """Calls of retired functions, wherever they stand."""
    known = operators().retired
    names = {name.rsplit(".", 1)[-1] for name in known}
    for node in descend(index.source.tree):
        if isinstance(node, ast.Call) and terminal_name(node.func) in names:
            code = known.get(index.dotted(node.func))
            if code is not None:
                yield code, node, "the retired function is called here"


def _scripted(index: FileIndex) -> Iterator[Place]:
    """`torch._check` in a function that TorchScript compiles, outside of any test for scripting."""
    for function in _scripted_functions(index):
        for node in descend(function):
            if not isinstance(node, ast.Call) or terminal_name(node.func) not in operators().checks:
                continue
            if not index.dotted(node.func).startswith("torch."):
                continue
            tests = [p.test for p in index.source.ancestors(node) if isinstance(p, ast.If)]
            if not any(_asks_about_scripting(test) for test in tests):
                yield "DDE605", node, "TorchScript compiles this function"


def _scripted_functions(index: FileIndex) -> Iterator[FunctionNode]:
    """Functions with one of TorchScript's decorators, or handed to it by name; the forward of a module that is."""
    scripting = operators().regions["scripting"]
    handed: set[str] = set()
    for node in descend(index.source.tree):
        if isinstance(node, ast.Call) and node.args and index.dotted(node.func) in scripting:
            first = node.args[0]
            handed.add(terminal_name(first.func if isinstance(first, ast.Call) else first))
    for function in index.every_function:
        if index.decorated(function, scripting):
            yield function
    for name in sorted(handed - {""}):
        if name in index.functions and not index.decorated(index.functions[name], scripting):
            yield index.functions[name]
        elif name in index.classes:
            for entry in sorted(operators().regions["entry_methods"] & set(index.classes[name].methods)):
                yield index.classes[name].methods[entry]


def _asks_about_scripting(test: ast.expr) -> bool:
    known = operators().while_compiling
    return any(isinstance(n, ast.Call) and terminal_name(n.func) in known for n in descend(test))


def _autocast(index: FileIndex) -> Iterator[Place]:
    """A compiled call under autocast whose `backward()` stands outside, with nothing said of its autocast."""
    known = operators().regions
    compiled = {name for name, value in index.constants.items() if _compiles(index, value)}
    if "backward_pass_autocast" in index.source.text:
        settled = {function for function in index.every_function if "backward_pass_autocast" in index.text_of(function)}
    else:
        settled = set()
    for function in index.every_function:
        if function in settled:
            continue
        own = compiled | {
            target.id
            for node in descend(function)
            if isinstance(node, ast.Assign) and _compiles(index, node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        if not own:
            continue
        results = dict(_results_under_autocast(index, function, own, known["autocast"]))
        for node in descend(function):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="backward")) if name in results:
                    inside = any(parent is results[name] for parent in index.source.ancestors(node))
                    if not inside:
                        yield "DDE701", node, "backward runs outside of the autocast that the forward ran under"


def _compiles(index: FileIndex, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and index.dotted(value.func) in operators().regions["compiling_calls"]


def _results_under_autocast(
    index: FileIndex, function: FunctionNode, compiled: set[str], autocasts: frozenset[str]
) -> Iterator[tuple[str, ast.With]]:
    """Names that hold what a compiled callable returned under autocast, each with its `with`."""
    for block in descend(function):
        if not isinstance(block, ast.With):
            continue
        managers = [item.context_expr for item in block.items]
        if not any(isinstance(m, ast.Call) and index.dotted(m.func) in autocasts for m in managers):
            continue
        holding: set[str] = set()
        for statement in descend(block):
            if not isinstance(statement, ast.Assign):
                continue
            used = {n.id for n in descend(statement.value) if isinstance(n, ast.Name)}
            calls = {terminal_name(n.func) for n in descend(statement.value) if isinstance(n, ast.Call)}
            if calls & compiled or used & holding:
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        holding.add(target.id)
                        yield target.id, block
