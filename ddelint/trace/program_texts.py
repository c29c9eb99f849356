"""The module classes and functions of a file as text, what they inherit included. Runs in the worker's forks only.

What says how to call a program is read off its text; only a process that has imported it knows which text that is.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ddelint.nouns.protocol import ConfigText, ProgramText, ProgramTexts, SessionOptions
from ddelint.trace import torch_internals
from ddelint.trace.importing import import_file

_PLAIN = (int, float, bool, str, type(None))
_LONGEST_DEFAULT = 60


def program_texts(options: SessionOptions, settings: Mapping[str, Sequence[str]]) -> ProgramTexts:
    """All that the file itself defines, in its order; `settings` as Session.programs says."""
    module = import_file(options.entry.filename)
    found = []
    for name, value in vars(module).items():
        value = torch_internals.uncompiled(value)
        if getattr(value, "__module__", None) != module.__name__ or getattr(value, "__qualname__", "") != name:
            continue
        if inspect.isclass(value) and issubclass(value, torch.nn.Module):
            if getattr(value, "forward", None) is not torch.nn.Module.forward:
                found.append(_class_text(name, value, module, settings))
        elif inspect.isfunction(value):
            found.append(ProgramText(name, False, _row(value), _text(value), doc=inspect.getdoc(value) or ""))
    return ProgramTexts(tuple(sorted(found, key=lambda program: program.row)))


def _class_text(name: str, found: Any, module: types.ModuleType, settings: Mapping[str, Sequence[str]]) -> ProgramText:
    init = "" if found.__init__ is torch.nn.Module.__init__ else _text(found.__init__)
    return ProgramText(
        name,
        True,
        _row(found),
        _text(found.forward),
        init,
        "\n".join(filter(None, (found.__doc__ or "", getattr(found.__init__, "__doc__", "") or ""))),
        tuple(_configs(found, init, module, settings)) if init else (),
    )


def _row(found: Any) -> int:
    try:
        return inspect.getsourcelines(found)[1]
    except (OSError, TypeError):
        return 0


def _text(function: Callable[..., Any]) -> str:
    """The definition as its file has it; its head where no file does: that of a dataclass's constructor, say."""
    function = inspect.unwrap(function)
    try:
        return _unindented(inspect.getsource(function))
    except (OSError, TypeError):
        pass
    try:
        return _head(function.__name__, inspect.signature(function))
    except (TypeError, ValueError):
        return ""


def _unindented(text: str) -> str:
    """A definition without the indentation of its first line; a comment may stand further left than that."""
    lines = text.splitlines(keepends=True)
    margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "".join(line[margin:] if not line[:margin].strip() else line for line in lines)


class _Written:
    """A default as a head shows it."""

    def __init__(self, value: Any) -> None:
        self.text = _shown(value)

    def __repr__(self) -> str:
        return self.text


def _head(name: str, signature: inspect.Signature) -> str:
    """A definition with these parameters; without annotations where they cannot be written."""
    known = signature.parameters.values()
    given = [p if p.default is p.empty else p.replace(default=_Written(p.default)) for p in known]
    for parameters in (given, [parameter.replace(annotation=parameter.empty) for parameter in given]):
        head = f"def {name}{inspect.Signature(parameters)}: ..."
        if _is_python(head):
            return head
    return ""


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _configs(
    found: Any, init: str, module: types.ModuleType, settings: Mapping[str, Sequence[str]]
) -> list[ConfigText]:
    """For each argument of the constructor that holds settings, the class of it."""
    try:
        parameters = inspect.signature(found).parameters
        hints = _hints(found.__init__)
    except (TypeError, ValueError):
        return []
    texts = []
    for name in parameters:
        kind = hints.get(name)
        read = set(re.findall(rf"\b{name}\.(\w+)", init))
        if not _holds_settings(kind, settings):
            if name not in settings["base_names"]:
                continue
            declared = getattr(found, "config_class", None)
            kind = declared if inspect.isclass(declared) else _by_fields(read, module, settings)
        if kind is None or not inspect.isclass(kind):
            if read:
                texts.append(ConfigText(name, "", dict.fromkeys(sorted(read), "")))
            continue
        texts.append(ConfigText(name, _reference(kind, module), _fields(kind)))
    return texts


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # names that only a type checker knows
        return {key: value for key, value in getattr(function, "__annotations__", {}).items() if inspect.isclass(value)}


def _holds_settings(kind: Any, settings: Mapping[str, Sequence[str]]) -> bool:
    if not inspect.isclass(kind) or issubclass(kind, torch.nn.Module) or kind.__module__ == "builtins":
        return False
    return dataclasses.is_dataclass(kind) or kind.__name__.endswith(tuple(settings["class_ends"]))


def _by_fields(read: set[str], module: types.ModuleType, settings: Mapping[str, Sequence[str]]) -> Any:
    """The class that the module knows with most of the attributes that are read."""
    best: Any = None
    most = 0
    for value in vars(module).values():
        if _holds_settings(value, settings):
            known = len(read & set(_fields(value)))
            if known > most:
                best, most = value, known
    return best


def _reference(kind: type, module: types.ModuleType) -> str:
    name: str = kind.__name__
    return name if vars(module).get(name) is kind else f"{kind.__module__}:{name}"


def _fields(kind: Any) -> dict[str, str]:
    """What the class takes by name, with its plain defaults."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        for name in vars(base).get("__annotations__", {}):
            if not name.startswith("_") and _shown(vars(base).get(name)) and name in vars(base):
                found[name] = _shown(vars(base).get(name))
    try:
        for parameter in inspect.signature(kind).parameters.values():
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                found[parameter.name] = "" if parameter.default is parameter.empty else _shown(parameter.default)
    except (TypeError, ValueError):
        pass
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if field.init:
                found[field.name] = "" if required else _shown(field.default) or "..."
    return found


def _shown(value: Any) -> str:
    """The default as Python writes it; `...` for one that is there, and cannot be written."""
    if isinstance(value, _PLAIN) and len(repr(value)) <= _LONGEST_DEFAULT:
        return repr(value)
    return "..."
