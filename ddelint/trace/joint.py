"""The backward pass of a traced program: what only the joint graph asks, and which call of the forward is behind it.

Gradient formulas are C++: no Python frame says what they belong to. So each call of the forward is remembered on the
autograd nodes that it made, and a question asked while a node runs is blamed on that call. Remembering costs a look at
the stack for every operator, so it is only done once a backward pass has asked something.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import dropwhile
from typing import Any

import torch

from ddelint.trace import provenance, torch_internals
from ddelint.trace.observer import Stopped
from ddelint.trace.provenance import Place

_CALL = "ddelint_call"
"""Key in a node's own dict, under which the Call that made it stands."""
_AUTOGRAD = os.path.join(torch_internals.TORCH_FOLDER, "autograd", "")


class OriginsWanted(Stopped):
    """A gradient asks, or is missing, and nobody has remembered what it is the gradient of."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the forward."""

    stack: list[Place]
    operand: Any
    """Its first argument."""


class NoDerivative(Exception):
    """The backward pass comes to a call that torch has no derivative of."""

    def __init__(self, made: Call | None) -> None:
        super().__init__("no derivative")
        self.made = made


def differentiate(results: Any) -> None:
    """Run the backward pass of what a program returned, as torch.compile traces it into the joint graph.

    Gradients of all leaves are taken, with a fake gradient for each returned tensor that has one. Raises what the
    formulas raise, NoDerivative where there is none; does nothing where nothing requires a gradient.
    """
    outputs = [value for value in torch_internals.leaves(results) if _has_gradient(value)]
    nodes = [*_reached([value.grad_fn for value in outputs], known=None)]
    leaves = [node.variable for node in nodes if hasattr(node, "variable")]
    if not leaves:
        return
    seeds = [torch.ones_like(value) for value in outputs]
    running: list[Call] = []
    remembered = [node for node in nodes if _CALL in node.metadata]
    for node in remembered:
        node.register_prehook(partial(_note_running, running, node.metadata[_CALL]))
    try:
        _differentiate(outputs, leaves, seeds)
    except NotImplementedError as error:
        if torch_internals.NO_FORMULA not in str(error):
            raise
        if not remembered:
            raise OriginsWanted from None
        raise NoDerivative(running[-1] if running else None) from None


def _note_running(running: list[Call], made: Call, gradients: Any) -> None:
    """A hook of a node: its formula runs next."""
    running.append(made)


def _differentiate(outputs: list[Any], leaves: list[Any], seeds: list[Any]) -> None:
    """Frames of the backward pass stand below this one."""
    torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)


def _has_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.grad_fn is not None


def remember(results: Any, call: Call) -> None:
    """The autograd nodes that are new in `results` come from `call`."""
    nodes = [value.grad_fn for value in torch_internals.leaves(results) if _has_gradient(value)]
    for node in _reached(nodes, known=_CALL):
        node.metadata[_CALL] = call


def asking() -> Call | None:
    """The call of the forward whose gradient is computed just now; None where it isn't known."""
    node = torch_internals.running_node()
    return node.metadata.get(_CALL) if node is not None else None


def _reached(nodes: list[Any], known: str | None) -> Iterator[Any]:
    """The nodes that can be reached from `nodes`, each once; those with the key `known` and what is behind them not."""
    waiting, seen = list(nodes), set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen or (known is not None and known in node.metadata):
            continue
        seen.add(node)
        yield node
        waiting += [following for following, _ in node.next_functions]


def _starts_autograd(place: Place) -> bool:
    return place.code.co_filename.startswith(_AUTOGRAD)


def asking_stack() -> list[Place]:
    """The stack of the call of the forward whose gradient is computed, and of what runs for that now.

    Empty where that call is not known, and no code of the user's own (a `backward` method) runs.
    """
    running = [*dropwhile(_starts_autograd, provenance.live_stack(_differentiate.__code__))]
    if any(not provenance.is_plumbing(place.code.co_filename) for place in running):
        return running
    call = asking()
    return [*call.stack, *running] if call is not None else []
