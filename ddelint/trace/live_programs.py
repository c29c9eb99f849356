"""Programs as a script has them: which module is behind a call, what it is called, and a copy of it as it is now."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ddelint.trace import methods, torch_internals
from ddelint.trace.arguments import fresh_copy
from ddelint.trace.entry import Arguments
from ddelint.trace.marks import tensors_in


@dataclass(frozen=True)
class State:
    """What a tensor or a module's mode was at the first call, for programs that are not copied."""

    tensors: tuple[tuple[torch.Tensor, torch.Tensor], ...] = ()
    modes: tuple[tuple[torch.nn.Module, bool], ...] = ()

    @classmethod
    def of(cls, modules: Sequence[torch.nn.Module]) -> State:
        with torch.no_grad(), torch.inference_mode(False):
            tensors = tuple(
                (tensor, tensor.detach().clone())
                for module in modules
                for tensor in (*module.parameters(), *module.buffers())
                if not isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin)
            )
        return cls(tensors, tuple((part, part.training) for module in modules for part in module.modules()))

    def restore(self) -> None:
        with torch.no_grad():
            for tensor, value in self.tensors:
                if tensor.shape == value.shape:
                    tensor.copy_(value)
        for module, training in self.modes:
            module.training = training


def whole(program: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The module behind one of its own call methods; a method taken from its class, bound again."""
    program = torch_internals.uncompiled(program) if isinstance(program, torch.nn.Module) else program
    name = getattr(program, "__name__", "")
    owner = getattr(program, "__self__", None)
    if isinstance(owner, torch.nn.Module) and name in torch_internals.MODULE_CALLS:
        return torch_internals.uncompiled(owner), args
    if not inspect.isfunction(program) or not args or not isinstance(args[0], torch.nn.Module):
        return program, args
    module = torch_internals.uncompiled(args[0])
    if name in torch_internals.MODULE_CALLS:
        return module, args[1:]
    if inspect.unwrap(getattr(type(module), name, None) or program) is inspect.unwrap(program) and hasattr(
        module, name
    ):
        return types.MethodType(program, module), args[1:]
    return program, args


def shapes_of(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of a call's tensors, by the parameters that they are given to, or inside of which they are."""
    function = program.forward if isinstance(program, torch.nn.Module) else program
    try:
        signature = inspect.signature(function)
        given = dict(signature.bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {}
    for name, parameter in signature.parameters.items():
        given |= given.pop(name, {}) if parameter.kind is parameter.VAR_KEYWORD else {}
    return {place: tuple(map(int, tensor.shape)) for place, tensor in tensors_in(given).items()}


def identity(program: Any) -> int:
    """One number for all bound methods of an object."""
    owner = getattr(program, "__self__", None)
    return hash((id(owner), id(program.__func__))) if inspect.ismethod(program) else id(program)


def kind_of(program: Any) -> object:
    """Equal for programs that run the same code on the same shapes of state."""
    owner = program if isinstance(program, torch.nn.Module) else getattr(program, "__self__", None)
    code = getattr(inspect.unwrap(program), "__code__", None) if not isinstance(program, torch.nn.Module) else None
    if not isinstance(owner, torch.nn.Module):
        return code or id(program)
    tensors = owner.state_dict(keep_vars=True)
    shapes = [(name, str(getattr(t, "dtype", "")), tuple(getattr(t, "shape", ()))) for name, t in tensors.items()]
    return type(owner), code, tuple(shapes)


def name_of(program: Any) -> str:
    if isinstance(program, functools.partial):
        return name_of(program.func)
    if isinstance(program, torch.nn.Module):
        return type(program).__qualname__
    owner = getattr(program, "__self__", None)
    name = getattr(program, "__qualname__", type(program).__qualname__)
    return f"{type(owner).__qualname__}.{program.__name__}" if inspect.ismethod(program) else str(name)


def filename_of(program: Any) -> str:
    """The file that defines a program; empty where nobody knows."""
    if isinstance(program, functools.partial):
        return filename_of(program.func)
    if isinstance(program, torch.nn.Module) or not hasattr(inspect.unwrap(program), "__code__"):
        found = getattr(sys.modules.get(type(program).__module__), "__file__", None) or ""
    else:
        found = inspect.unwrap(program).__code__.co_filename
    return os.path.realpath(found) if os.path.isfile(found) else ""


def as_it_is(program: Any) -> tuple[Callable[..., Any], State]:
    """The program as it is now: a copy of a module; for others, what their modules hold, to be put back."""
    owner = program if isinstance(program, torch.nn.Module) else getattr(program, "__self__", None)
    if isinstance(owner, torch.nn.Module):
        try:
            kept = _transparent(copied(owner))
        except Exception:
            kept, state = owner, State.of([owner])
        else:
            state = State()
        return (kept if owner is program else methods.as_module(kept, program.__func__)), state
    return program, State.of(_modules_around(program))


def copied(module: torch.nn.Module) -> torch.nn.Module:
    """A deep copy. Tensors in it that are results of operations become leaves, since deepcopy refuses those; what else
    it refuses (locks, open files) is shared with the original.
    """
    memo: dict[int, Any] = {}
    parts = list(module.modules())
    for value in [value for part in parts for value in vars(part).values()]:
        if isinstance(value, torch.Tensor) and not value.is_leaf:
            memo[id(value)] = value.detach().clone()
    with torch.inference_mode(False):
        try:
            return copy.deepcopy(module, dict(memo))
        except Exception:
            memo.update(_uncopiable(parts))
            return copy.deepcopy(module, memo)


def _uncopiable(parts: Sequence[torch.nn.Module]) -> dict[int, Any]:
    """Attributes that refuse a copy, by identity, each standing for its own copy."""
    found: dict[int, Any] = {}
    for part in parts:
        for name, value in vars(part).items():
            if name in ("_parameters", "_buffers", "_modules") or isinstance(value, torch.Tensor):
                continue
            try:
                copy.deepcopy(value)
            except Exception:
                found[id(value)] = value
    return found


def _transparent(module: torch.nn.Module) -> torch.nn.Module:
    """The module with compiled parts replaced by what was compiled: the whole is to be compiled, not they alone."""
    for part in list(module.modules()):
        for name, child in list(part.named_children()):
            if torch_internals.uncompiled(child) is not child:
                setattr(part, name, torch_internals.uncompiled(child))
        # `model.forward = torch.compile(model.forward)` is bound to the original module
        program = torch_internals.watched(vars(part).get("forward"))
        if inspect.ismethod(program) and program.__func__ is type(part).forward:
            del part.forward
    return module


def _modules_around(program: Any) -> list[torch.nn.Module]:
    """The modules that a function refers to: in its closure, its globals, its object, what is bound to it."""
    values: list[Any] = list(getattr(getattr(program, "__self__", None), "__dict__", {}).values())
    if isinstance(program, functools.partial):
        values += [program.func, *program.args, *program.keywords.values()]
    function = inspect.unwrap(program)
    code = getattr(function, "__code__", None)
    if code is not None:
        values += [function.__globals__.get(name) for name in code.co_names]
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):
                values.append(cell.cell_contents)
    found = [torch_internals.uncompiled(value) for value in values if isinstance(value, torch.nn.Module)]
    return list(dict.fromkeys(found))


def snapshot(arguments: Arguments) -> Arguments:
    """The arguments as they are now, sharing nothing with the script's."""
    with torch.inference_mode(False):
        args, kwargs = fresh_copy(arguments)
    return args, kwargs
