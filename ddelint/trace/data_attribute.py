"""`x.data` in the user's code: export without Dynamo takes what it gives for a constant, and refuses it.

What is read that way is harmless until an operator uses it (`x.data.device` is not lost).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch

from ddelint.nouns.diagnostics import Question


class DataAttribute:
    """The tensors that one run has read through `.data`, and where."""

    def __init__(self, question: Callable[[bool], Question | None], lost: Callable[[Question], None]) -> None:
        self._question = question
        """What to say where `.data` is read now, or set (true)."""
        self._lost = lost
        self._read: dict[int, tuple[Any, Question]] = {}
        """By identity: the tensor (kept, so that no other gets its number), and where it was read."""

    def called(self, function: Any, args: Iterable[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        """A function of torch was called, which the getter and the setter of an attribute are, too."""
        attribute = getattr(function, "__self__", None)
        name = getattr(function, "__name__", "")
        if attribute is torch.Tensor.data:
            is_set = name == "__set__"
            question = self._question(is_set)
            if question is not None and is_set:
                self._lost(question)
            elif question is not None:
                self._read[id(result)] = (result, question)
        elif self._read and name != "__get__" and any(isinstance(part, torch.Tensor) for part in _parts([result])):
            for part in _parts([*args, *kwargs.values()]):
                if id(part) in self._read:
                    self._lost(self._read.pop(id(part))[1])


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _parts(value)
        else:
            yield value
