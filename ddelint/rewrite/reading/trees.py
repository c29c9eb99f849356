"""Who goes through trees of tensors, so that it would see what is registered with torch."""

from __future__ import annotations

import os
import re

from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.neighbours import connected
from ddelint.sources.source import SourceFile
from ddelint.system.files import read_regular

_FINDS = "finds the tensors in the object from then on, not the object itself"
_WORD = re.compile(r"\w+")


def going_through_trees(source: SourceFile) -> str:
    """Which file of the project goes through trees, where objects of the class are leaves until it is registered, or
    says itself how one is taken apart: a registration holds for the whole process. Empty where none does."""
    if _speaks_of_trees(source.text):
        return f"what goes through trees in this file {_FINDS}"
    for filename in connected(source.filename):
        try:
            speaks = _speaks_of_trees(read_regular(filename).decode(errors="replace"))
        except (OSError, ValueError):
            continue
        if speaks:
            return f"what goes through trees in {os.path.basename(filename)} {_FINDS}"
    return ""


def _speaks_of_trees(text: str) -> bool:
    return not knowledge().tree_words.isdisjoint(_WORD.findall(text))
