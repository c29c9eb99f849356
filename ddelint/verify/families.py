"""What may be given instead of a function, a layer that computes element by element, or a dtype: another one that takes
the same. Which these are is data: rules/varying.toml.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch

from ddelint.verify.varying import varying

_MOST, _MOST_TEXTS = 2, 3


def others_of_its_family(value: object) -> Sequence[object]:
    """The first few others of a value's family: of a function of torch's, a class of layers or such a layer, or a
    dtype; none of anything else."""
    is_layer = isinstance(value, torch.nn.Module)
    asked = type(value) if is_layer else value
    for family in _families():
        if any(member is asked for member in family.values()):
            others: list[Any] = [member for member in family.values() if member is not asked][:_MOST]
            return [kind() for kind in others] if is_layer else others
    return ()


def texts_beside(text: str) -> Sequence[str]:
    """The names of the first few other functions of the family in which one has this name: `sum` → `prod`, `amax`."""
    for family in _families():
        names = list(dict.fromkeys(name.rpartition(".")[2] for name in family))
        if text in names:
            return [name for name in names if name != text][:_MOST_TEXTS]
    return ()


@functools.cache
def _families() -> Sequence[dict[str, Any]]:
    """rules/varying.toml: name → function, class or dtype, as far as this torch has them."""
    table = varying()
    return [
        {name: found for name in names if (found := _found(name)) is not None}
        for names in (*table["functions"], *table["layers"], table["dtypes"])
    ]


def _found(name: str) -> Any:
    try:
        return operator.attrgetter(name.partition(".")[2])(torch)
    except AttributeError:
        return None
