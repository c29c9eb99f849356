"""Numbers that stand in the text: an element may be one of them, or next to it.

What a program compares elements with, bounds them by or looks for (`ids != 50256`, `rows.clamp(0, 12)`) decides nothing
that is recorded, and declared inputs need not come to it: a token that ends a text is seldom drawn. As fuzzers do
(the dictionaries of AFL), what is written down is tried.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch.utils import _pytree as pytree

from ddelint.sources.source import SourceFile
from ddelint.verify.around_decisions import functions_around
from ddelint.verify.inputs import is_integer, leaf_name
from ddelint.verify.jointly import Change, is_varied, with_changed
from ddelint.verify.samples import Sample, with_leaves
from ddelint.verify.varying import varying

_SMALL = 2
"""Whole numbers up to this size are tried anyway; they mostly name a dimension."""
_MOST, _MOST_LEAVES = 3, 2


def numbers_named(source: SourceFile, test: ast.expr) -> Iterator[int | float]:
    """The numbers in the functions around a decision's test: its own, the methods of its class, what these call. What
    something is compared with comes first."""
    functions = functions_around(source, test)
    found = (itertools.chain(*(_numbers_of(function)[place] for function in functions)) for place in (0, 1))
    yield from dict.fromkeys(itertools.chain(*found))


@functools.lru_cache(maxsize=256)
def _numbers_of(function: ast.AST) -> tuple[Sequence[int | float], Sequence[int | float]]:
    """The numbers of a function that stand in comparisons, and all."""
    compared = (node for node in ast.walk(function) if isinstance(node, ast.Compare))
    return list(itertools.chain(*map(_numbers, compared))), list(_numbers(function))


def _numbers(node: ast.AST, sign: int = 1) -> Iterator[int | float]:
    match node:
        case ast.Constant(value=value):
            if type(value) is not bool and isinstance(value, (int, float)) and (value > _SMALL or value % 1):
                yield value * sign
            return
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            yield from _numbers(operand, -1)
            return
        case ast.keyword(arg=name) if name in varying()["aside"]:
            return
        case ast.Subscript():
            yield from _numbers(node.value)  # what stands between the brackets is a place
            return
    for child in ast.iter_child_nodes(node):
        yield from _numbers(child)


def at_named(
    sample: Sample, parameters: Sequence[str], numbers: Collection[int | float]
) -> Iterator[Callable[[Sample], Sample]]:
    """The same input with one element that is a number of the text, the first few arguments one after the other; and
    with all elements of all arguments at it and next to it."""
    leaves = pytree.tree_flatten_with_path(sample.make())[0]
    for kind, fits in ((int, is_integer), (float, torch.is_floating_point)):
        fitting = [(place, path) for place, (path, leaf) in enumerate(leaves) if is_varied(leaf) and fits(leaf)]
        for number in [n for n in numbers if type(n) is kind][:_MOST]:
            places = [(place, path) for place, path in fitting if _holds(leaves[place][1], number)]
            for place, path in places[:_MOST_LEAVES]:
                text = f"{leaf_name(path, parameters)} one {number}"
                yield partial(_with, [place], text, partial(_one, number))
            if not places:
                continue
            text = f"all {'integers' if kind is int else 'floats'} about {number}"
            yield partial(_with, [place for place, _ in places], text, partial(_about, number))


def _holds(tensor: torch.Tensor, number: float) -> bool:
    """Whether its type holds the number and those next to it."""
    if tensor.is_floating_point():
        return abs(number) <= float(torch.finfo(tensor.dtype).max)
    limits = torch.iinfo(tensor.dtype)
    return int(limits.min) < number < int(limits.max)


def _one(number: float, tensor: torch.Tensor) -> torch.Tensor:
    row = tensor.contiguous().reshape(-1)
    row[row.numel() // 2] = number
    return row.reshape(tensor.shape)


def _about(number: float, tensor: torch.Tensor) -> torch.Tensor:
    step = 1 if isinstance(number, int) else abs(number) / 8
    beside = torch.tensor([number + step, number, number - step])
    return beside[torch.arange(tensor.numel()) % 3].reshape(tensor.shape).to(tensor.dtype)


def _with(places: Sequence[int], text: str, change: Change, sample: Sample) -> Sample:
    make = with_leaves(sample, partial(with_changed, places, change))
    return replace(sample, label=f"{sample.label}, {text}", declared=False, make=make)
