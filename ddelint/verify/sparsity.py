"""Which arguments may be sparse: only where something says so, for what takes a dense matrix need not take another.

A file that speaks of sparse tensors, declared inputs that have one, or a name under which graphs keep their edges.
Which names and words these are is data: rules/varying.toml.
"""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

from ddelint.knowledge.folder import rules_folder
from ddelint.verify.samples import Sample

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def may_be_sparse(sample: Sample, parameters: Iterable[str], filenames: Iterable[str]) -> Callable[[str], bool]:
    """Asked with what an argument is called (`adj`, `batch['edges']`), whether it may be sparse; of a program whose
    text stands in these files, and that an input set is given to.

    A name that is no argument's own, as where `forward(x, a)` hands `a` on as `adj`, speaks for any argument.
    """
    names, words = _known()
    texts = [_text_of(filename) for filename in dict.fromkeys(filenames)]
    said = {name for text in texts for name in _names_in(text)} - set(parameters)
    leaves = pytree.tree_leaves(sample.make())
    is_any = (
        any(word in text.lower() for word in words for text in texts)
        or any(isinstance(leaf, torch.Tensor) and leaf.layout is not torch.strided for leaf in leaves)
        or any(map(names.fullmatch, said))
    )
    return lambda name: is_any or any(map(names.fullmatch, _IDENTIFIER.findall(name)))


def _text_of(filename: str) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return Path(filename).read_text("utf-8")
    return ""


def _names_in(text: str) -> Iterator[str]:
    """The names of a file's code: variables, arguments, attributes."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name


@functools.cache
def _known() -> tuple[re.Pattern[str], tuple[str, ...]]:
    table = tomllib.loads((rules_folder() / "varying.toml").read_text("utf-8"))
    return re.compile("|".join(table["sparse_names"]), re.IGNORECASE), tuple(table["sparse_words"])
