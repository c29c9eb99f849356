"""Functions that are compiled because somebody says so: a configuration, or a class that is given another `forward`.

A configuration: `compiled = ["pkg.functional.*", "pkg.models.*.generate"]`.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence

from ddelint.knowledge.operators import operators
from ddelint.static.program.declared import Outline

_GIVEN = re.compile(r"\.(\w++)[ \t]*+=[ \t]*+(?:[\w.]*\bMethodType\()?(\w++)")
"""`Model.forward = fast`; also by `types.MethodType`."""
_GLOB = re.compile(r"[*?\[]")


def compiled_by_name(filename: str, data: bytes, patterns: Sequence[str], root: str) -> frozenset[str]:
    """Functions (`fn`, `Class.method`) of a file whose dotted names match one of the patterns.

    A file is named as it is imported, and by its path from `root`, the folder of the configuration.
    """
    names = _names(filename, root)
    begun = [
        (name, pattern)
        for name in names
        for pattern in patterns
        if (start := _GLOB.split(pattern, maxsplit=1)[0]).startswith(f"{name}.") or f"{name}.".startswith(start)
    ]
    if not begun:
        return frozenset()
    outline = Outline(data)
    functions = set(outline.functions)
    for owner, cls in outline.classes.items():
        functions |= {
            f"{owner}.{method}" for method in cls.methods if not method.startswith("__") or method == "__call__"
        }
    return frozenset(
        function
        for function in functions
        if any(fnmatch.fnmatchcase(f"{name}.{function}", pattern) for name, pattern in begun)
    )


def _names(filename: str, root: str) -> list[str]:
    path = os.path.abspath(filename)
    top = os.path.dirname(path)
    while os.path.exists(os.path.join(top, "__init__.py")) and top != os.path.dirname(top):
        top = os.path.dirname(top)
    found = []
    for folder in (top, os.path.abspath(root) if root else top):
        relative = os.path.relpath(path, folder)
        if not relative.startswith(os.pardir):
            found.append(relative.removesuffix(".py").removesuffix(f"{os.sep}__init__").replace(os.sep, "."))
    return list(dict.fromkeys(found))


def given_as_entries(data: bytes) -> frozenset[str]:
    """Functions of a file that a class, or an object, is given as its entry method: `Model.forward = fast`."""
    entries = operators().regions["guessed_methods"]
    if not any(f".{name} =".encode() in data for name in entries):
        return frozenset()
    outline = Outline(data)
    given = {function for method, function in _GIVEN.findall(outline.text) if method in entries}
    return outline.functions & given
