"""Tests of a number's type in the user's code: a symbolic number is no `int`, `float` or `bool`, as eager's number is.

Export without Dynamo runs the program with `torch.SymInt` in a number's place, so `isinstance(n, int)` is false there
and the program goes another way than eager, without a word. Dynamo answers as eager does.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch

from ddelint.trace.torch_internals import expression_of

PLAIN: dict[type, Any] = {torch.SymInt: 0, torch.SymFloat: 0.0, torch.SymBool: False}
"""A number as eager has it in the place of each symbolic one."""
_isinstance = isinstance


@contextlib.contextmanager
def watched(is_ours: Callable[[str], bool], noticed: Callable[[Any], None]) -> Iterator[None]:
    """`noticed` hears of each symbolic number that fails a test which eager's number passes; the test says yes then.

    Only modules whose file `is_ours` are watched, and only those that call the builtin `isinstance` by its name.
    """

    def isinstance(value: Any, wanted: Any) -> bool:  # the name that a stack shows
        answer = _isinstance(value, wanted)
        if answer or type(value) not in PLAIN or torch.compiler.is_dynamo_compiling():
            return answer
        if expression_of(value) is None or not _isinstance(PLAIN[type(value)], wanted):
            return answer
        noticed(value)
        return True

    modules = [vars(module) for module in [*sys.modules.values()] if _is_in(module, is_ours)]
    modules = [names for names in modules if "isinstance" not in names]
    for names in modules:
        names["isinstance"] = isinstance
    try:
        yield
    finally:
        for names in modules:
            names.pop("isinstance", None)


def _is_in(module: Any, is_ours: Callable[[str], bool]) -> bool:
    """Whether one of `sys.modules` comes from such a file; classes stand there, too (`typing.io`), without a file."""
    filename = getattr(module, "__file__", None)
    return isinstance(module, ModuleType) and isinstance(filename, str) and bool(filename) and is_ours(filename)
