"""Which arguments may be sparse: only where something says so, for what takes a dense matrix need not take another.

A file that speaks of sparse tensors, declared inputs that have one, or a name under which graphs keep their edges.
Which names and words these are is data: rules/varying.toml.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

from ddelint.verify.samples import Sample
from ddelint.verify.varying import varying

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def may_be_sparse(sample: Sample, parameters: Iterable[str], filenames: Iterable[str]) -> Callable[[str], bool]:
    """Asked with what an argument is called (`adj`, `batch['edges']`), whether it may be sparse; of a program whose
    text stands in these files, and that an input set is given to.

    A name that is no argument's own, as where `forward(x, a)` hands `a` on as `adj`, speaks for any argument.
    """
    names, words = _known()
    own = set(parameters)
    texts = [_text_of(filename) for filename in dict.fromkeys(filenames)]
    leaves = pytree.tree_leaves(sample.make())
    is_any = (
        any(word in text.lower() for word in words for text in texts)
        or any(isinstance(leaf, torch.Tensor) and leaf.layout is not torch.strided for leaf in leaves)
        or any(names.search(text) and any(map(names.fullmatch, _names_in(text) - own)) for text in texts)
    )
    return lambda name: is_any or any(map(names.fullmatch, _IDENTIFIER.findall(name)))


def _text_of(filename: str) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return Path(filename).read_text("utf-8")
    return ""


def _names_in(text: str) -> set[str]:
    """The names of a file's code: variables, arguments, attributes."""
    found: set[str] = set()
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                    found.add(name)
    return found


@functools.cache
def _known() -> tuple[re.Pattern[str], tuple[str, ...]]:
    table = varying()
    return re.compile("|".join(table["sparse_names"]), re.IGNORECASE), tuple(table["sparse_words"])
