"""Who else calls a function that is rewritten for what one call gives it: elsewhere it may be given no tensor."""

from __future__ import annotations

import ast
from collections.abc import Collection

from ddelint.operators import terminal_name
from ddelint.rewrite.candidate import Candidate
from ddelint.sites import Site
from ddelint.source import descend

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def keeps_nothing_for_numbers(candidate: Candidate) -> bool:
    """Whether the new text replaces the old one in eager, too: what is no tensor then comes to the new text."""
    return not any("is_compiling()" in edit.content for edit in candidate.edits)


def other_callers(site: Site, run: Collection[str] | None = None) -> str:
    """Which calls of the site's function in its file may give it no tensor; empty where there is none.

    Only functions of a module count, with a parameter that no annotation declares: a method is known by its class.
    Without a run, one call is what the finding is about, so that it takes two; `run` holds the qualified names of the
    functions that were run, whose calls were seen.
    """
    function, source = site.function, site.source
    if function is None or not isinstance(source.parents.get(function), ast.Module):
        return ""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if all(argument.annotation is not None for argument in arguments):
        return ""
    calls = [
        node
        for node in descend(source.tree)
        if isinstance(node, ast.Call) and terminal_name(node.func) == function.name and not _inside(site, node)
    ]
    if run is None:
        doubtful = calls if len(calls) > 1 else []
    else:
        doubtful = [call for call in calls if not _was_run(site, call, run)]
    if not doubtful:
        return ""
    rows = sorted({call.lineno for call in doubtful})
    lines = f"line {rows[0]}" if len(rows) == 1 else f"lines {', '.join(map(str, rows))}"
    return f"`{function.name}` is called at {lines}, perhaps with what is no tensor"


def _inside(site: Site, call: ast.Call) -> bool:
    return any(node is site.function for node in site.source.ancestors(call))


def _was_run(site: Site, call: ast.Call, run: Collection[str]) -> bool:
    around = [node for node in site.source.ancestors(call) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))]
    return not around or ".".join(node.name for node in reversed(around)) in run
