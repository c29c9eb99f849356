"""What classes say of the objects that they hold: an annotation, or that of a parameter that the constructor keeps."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][\w.]*+")
_TYPE = r"((?:[^=,\n\[\]()#]{1,200}+|\[[^\[\]\n]{0,200}+\]){1,9})"
"""An annotation; one in which brackets stand in brackets says nothing here."""
_DECLARED = re.compile(rf"(?:\n(?:    |\t)|self\.)(\w++):[ \t]*+{_TYPE}(?==|\n|#)")
"""An attribute, in the body of a class (what stands further in is a local name, or a parameter) or where it is set."""
_PARAMETER = re.compile(rf"[(,]\s*+(\w++)[ \t]*+:\s*+{_TYPE}(?=[=,)])")
_KEPT = re.compile(r"self\.(\w++)(?::[^=\n]{0,300}+| )(?<= )= (\w++)(?= or\b| if\b|\s)(?![ \t]*+[(.\[])")
"""A name that an attribute is set to as it is, or unless it is missing."""
_END_OF_HEADER = re.compile(r"\)[^()\n]{0,300}:[ \t]*+(?:#[^\n]*+)?\n")


def declared_types(text: str, constructor: str) -> Mapping[str, frozenset[str]]:
    """Attribute → the (dotted) names in what it is declared to be; `text` is the class's, with its `constructor`."""
    found: dict[str, set[str]] = {}
    for attribute, declared in _DECLARED.findall(text):
        found.setdefault(attribute, set()).update(_NAME.findall(declared))
    end = _END_OF_HEADER.search(constructor)
    if end is not None:
        types = dict(_PARAMETER.findall(constructor, 0, end.end()))
        for attribute, name in _KEPT.findall(constructor, end.end()):
            if name in types:
                found.setdefault(attribute, set()).update(_NAME.findall(types[name]))
    return {attribute: frozenset(names) for attribute, names in found.items()}
