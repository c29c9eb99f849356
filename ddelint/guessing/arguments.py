"""A value for each parameter of a program, with the reason for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ddelint.guessing.annotations import Said, said_by
from ddelint.guessing.docstrings import commented, said_of
from ddelint.guessing.knowledge import Knowledge, TensorName
from ddelint.guessing.nouns import (
    NAMESPACE,
    Argument,
    Code,
    Guess,
    Named,
    Several,
    Sizes,
    Tensor,
    Unknown,
    Value,
    with_size,
)
from ddelint.guessing.shapes_in_text import number_of, shape_in, sizes_of
from ddelint.guessing.signatures import Definition, Parameter, definition_of
from ddelint.guessing.usage import Owner, Use, use_of
from ddelint.nouns.protocol import ConfigText, ProgramText

FILL_IN = "nothing says what it is: fill it in"
BY_NAME = "by its name"
_VAGUE = frozenset(("width", "height", "w", "h", "c", "d", "e", "f", "hidden"))
"""Arguments of constructors that are seldom the size of an input."""
_TRUTHS = ("bool", "boolean")
_WHOLE = ("longtensor", "inttensor", "int64", "indices", "integers")


def guess_for(program: ProgramText, facts: Knowledge, others: Sequence[ProgramText] = ()) -> Guess:
    """A first guess: every argument without a default, and those by which the program seems to be called.

    `others`: what else the file defines, which a constructor may take.
    """
    init = definition_of(program.init, is_method=True)
    call = definition_of(program.call, is_method=program.is_class)
    built, imports = _constructor(init, program, facts, {other.name: other for other in others})
    numbers = _numbers(init, built, program)
    scene = _Scene(call, Owner(init, numbers), program.doc, facts)
    arguments = tuple(scene.argument(parameter) for parameter in call.parameters)
    if not any(argument.is_given for argument in arguments):
        arguments = _first_given(arguments)
    return Guess(program.name, arguments, built, imports)


def built_by(guess: Guess, factory: str) -> Guess:
    """The same call of what a function of the file builds, which takes nothing."""
    return replace(guess, init=(), imports=(), builder=f"{factory}()")


def _first_given(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Where all arguments have defaults, the call needs one all the same: the first that is a tensor."""
    for index, argument in enumerate(arguments):
        if isinstance(argument.value, Tensor):
            given = replace(argument, is_given=True, reason=f"the first of its tensors; {argument.reason}")
            return (*arguments[:index], given, *arguments[index + 1 :])
    return arguments


# ---------------------------------------------------------------------------- the constructor


def _constructor(
    init: Definition, program: ProgramText, facts: Knowledge, others: Mapping[str, ProgramText]
) -> tuple[tuple[Argument, ...], tuple[str, ...]]:
    configs = {config.parameter: config for config in program.configs}
    arguments: list[Argument] = []
    imports: list[str] = []
    for parameter in init.parameters:
        if parameter.name in configs:
            config = configs[parameter.name]
            module, colon, name = config.name.rpartition(":")
            if colon:
                imports.append(f"from {module} import {name}")
            if parameter.default is None:
                arguments.append(
                    Argument(parameter.name, _configuration(config, name, facts), "a tiny configuration", True)
                )
        elif parameter.default is None:
            built = _built(parameter, program, facts, others)
            if built is not None:
                imports += built[1]
            value, reason = (built[0], "its annotation") if built is not None else _setting(parameter, init, facts)
            arguments.append(Argument(parameter.name, value, reason, True))
    return tuple(arguments), tuple(imports)


def _built(
    parameter: Parameter, program: ProgramText, facts: Knowledge, others: Mapping[str, ProgramText]
) -> tuple[Code, tuple[str, ...]] | None:
    """An object of another class of the file, or that class, where the annotation names it; and what it imports."""
    words = re.findall(r"\w+", ast.unparse(parameter.annotation)) if parameter.annotation is not None else []
    named = next((word for word in words if word in others and word != program.name), None)
    if named is None or not others[named].is_class:
        return None
    if {"type", "Type", "Callable"} & set(words[: words.index(named)]):
        return Code(named), ()
    rest = {name: other for name, other in others.items() if name not in (named, program.name)}
    init = definition_of(others[named].init, is_method=True)
    arguments, imports = _constructor(init, others[named], facts, rest)
    if not all(isinstance(argument.value, Code) for argument in arguments):
        return None
    given = ", ".join(f"{a.name}={a.value.text}" for a in arguments if isinstance(a.value, Code))
    return Code(f"{named}({given})"), imports


def _configuration(config: ConfigText, name: str, facts: Knowledge) -> Code:
    small = {
        key: facts.tiny[key]
        for key, default in config.fields.items()
        if key in facts.tiny and _is_larger(default, facts.tiny[key])
    }
    for key, default in config.fields.items():
        if not default and key not in small:
            small[key] = facts.tiny.get(key) or facts.number(key) or "None"
    given = ", ".join(f"{key}={value}" for key, value in small.items())
    return Code(f"{name or NAMESPACE}({given})")


def _is_larger(default: str, small: str) -> bool:
    return not default.isdecimal() or int(default) > int(small)


def _setting(parameter: Parameter, init: Definition, facts: Knowledge) -> tuple[Value, str]:
    """A value for an argument of a constructor."""
    said = said_by(parameter.annotation, facts)
    value, reason = _plain(parameter.name, said, facts)
    if isinstance(value, Unknown):
        by_name = facts.number(parameter.name)
        if by_name is not None:
            return Code(by_name), BY_NAME
        by_use = _by_use(parameter.name, init)
        if by_use:
            return Code(by_use), "by what the constructor does with it"
    return value, reason


def _by_use(name: str, init: Definition) -> str:
    """A value for an argument of a constructor by what is done with it; empty: nothing says so."""
    word = re.escape(name)
    if re.search(
        rf"\b{word}\[|\bin {word}\b|\blen\({word}\)|enumerate\({word}\)|zip\([^)]{{0,99}}\b{word}\b", init.text
    ):
        return "[8, 8]"
    if re.search(rf"range\({word}\)", init.text):
        return "2"
    if re.search(
        rf"\b{word}\s*(?:\*\*|//|\*|\+|-|/|%)|(?:\*\*|//|\*|\+|/|%)\s*{word}\b|nn\.\w+\([^)]{{0,99}}\b{word}\b",
        init.text,
    ):
        return "8"
    return "False" if re.search(rf"\bif (?:not )?{word}\b", init.text) else ""


def _plain(name: str, said: Said, facts: Knowledge) -> tuple[Value, str]:
    """A value that is no tensor."""
    by_name = facts.number(name)
    match said.form:
        case "literal":
            return Code(said.text), "its annotation"
        case "number":
            return Code(_of_type(said.text, by_name)), f"{said.text}{', ' + BY_NAME if by_name else ''}"
        case "tuple" | "list" if said.inner and said.inner[0].form == "number":
            count = len(said.inner) if said.form == "tuple" else 2
            if by_name and by_name.startswith("["):
                return Code(by_name), BY_NAME
            each = _of_type(said.inner[0].text, facts.number(name.rstrip("s")) or by_name)
            values = ", ".join([each] * count)
            return Code(f"({values},)" if said.form == "tuple" else f"[{values}]"), "its annotation"
        case "dict":
            return Code("{}"), "its annotation"
    return Unknown(), FILL_IN


def _of_type(kind: str, by_name: str | None) -> str:
    """The value that the name says, where it is of the type; else any of the type."""
    fits: dict[str, Callable[[str], bool]] = {
        "int": lambda text: text.isdecimal(),
        "float": lambda text: text.replace(".", "").replace("e-", "").isdecimal(),
        "bool": lambda text: text in ("True", "False"),
        "str": lambda text: text[:1] in "'\"",
    }
    usual = {"int": "8", "float": "0.5", "bool": "False", "str": "''"}
    return by_name if by_name and fits[kind](by_name) else usual[kind]


def _numbers(init: Definition, built: tuple[Argument, ...], program: ProgramText) -> dict[str, int]:
    """What whole numbers the constructor's names stand for: what it is given, and its defaults."""
    found: dict[str, int] = {}
    for parameter in init.parameters:
        value = number_of(parameter.default, {})
        if value is not None:
            found[parameter.name] = value
    for config in program.configs:
        for key, text in config.fields.items():
            if text.isdecimal():
                found[key] = int(text)
    for argument in built:
        if isinstance(argument.value, Code):
            _add_numbers(argument.name, argument.value.text, found)
    for statement in init.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=value_node):
                value = number_of(value_node, found)
                if value is not None:
                    found.setdefault(name, value)
    return found


def _add_numbers(name: str, text: str, found: dict[str, int]) -> None:
    node = ast.parse(text, mode="eval").body
    value = number_of(node, {})
    if value is not None:
        found[name] = value
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            value = number_of(keyword.value, {})
            if keyword.arg and value is not None:
                found[keyword.arg] = value


# ---------------------------------------------------------------------------- the call


@dataclass
class _Scene:
    """One call whose arguments are guessed together: dimensions of one name get one size."""

    call: Definition
    owner: Owner
    doc: str
    facts: Knowledge
    agreed: dict[str, int] = field(default_factory=dict)

    def argument(self, parameter: Parameter) -> Argument:
        is_given = parameter.default is None
        value, reason = self.value(parameter)
        return Argument(parameter.name, value, reason, parameter.by_keyword, is_given)

    def value(self, parameter: Parameter) -> tuple[Value, str]:
        facts, name = self.facts, parameter.name
        said = said_by(parameter.annotation, facts)
        use = use_of(name, self.call, self.owner, facts)
        text = said_of(name, self.call.doc, self.doc)
        if said.form in ("number", "literal", "callable") or (use.is_number and not said.form):
            value, reason = _plain(name, said if said.form else Said("number", text="int"), facts)
            return value, use.reason or reason
        if (
            isinstance(parameter.default, ast.Constant)
            and parameter.default.value not in (None, ...)
            and said.form != "tensor"
        ):
            return Code(ast.unparse(parameter.default)), "its default"
        if said.form == "tuple" and said.inner and said.inner[0].form == "number":
            return _plain(name, said, facts)
        if use.keys:
            return Named({key: self._tensor(Parameter(key), Said(), Use(), "")[0] for key in use.keys}), use.reason
        if said.form in ("list", "tuple") or (
            use.is_list and not said.form and name.endswith("s") and not use.at_least
        ):
            inner = said.inner or (Said("tensor"),) * 2
            several = inner if said.form == "tuple" else (inner[0],) * 2
            each = [self._tensor(Parameter(name), one, Use(), text) for one in several]
            why = f"a {said.form} by its annotation" if said.form else f"`for ... in {name}`"
            return Several(tuple(value for value, _ in each), said.form == "tuple"), f"{why}; {each[0][1]}"
        if said.form == "dict":
            return Named({}), "its annotation; " + FILL_IN
        return self._tensor(parameter, said, use, text)

    def _tensor(self, parameter: Parameter, said: Said, use: Use, text: str) -> tuple[Value, str]:
        """A tensor: its shape from the annotation, a text, what the code does with it, or its name, in that order."""
        facts, name = self.facts, parameter.name
        by_name = facts.tensor(name)
        sizes, reason, has_shape = self._shape(parameter, said, use, text, by_name)
        ranks = {len(by_name.dims), *map(len, by_name.others)} if by_name is not None else {len(sizes)}
        kind, has_kind = _kind_of(said, use, text, by_name if not has_shape or len(sizes) in ranks else None)
        high = 10
        if by_name is not None and by_name.kind == kind:
            high = by_name.high
        if use.layer is not None and use.size is not None:
            if use.layer.is_limit:
                high = use.size
            elif use.layer.dimension is not None and -len(sizes) <= use.layer.dimension < len(sizes):
                sizes = with_size(sizes, use.layer.dimension, use.size)
        if kind == "int" and not has_kind and high == 10:
            high = min([10, *(n for key, n in self.owner.numbers.items() if "vocab" in key)])
        others = tuple(self._usual(dims) for dims in by_name.others) if by_name is not None else ()
        return Tensor(sizes, kind, high, others, has_shape, has_kind), reason

    def _shape(
        self, parameter: Parameter, said: Said, use: Use, text: str, by_name: TensorName | None
    ) -> tuple[Sizes, str, bool]:
        numbers, facts = self.owner.numbers, self.facts
        if said.dims is not None:
            return (
                sizes_of(said.dims, numbers, facts, self.agreed),
                f"annotated `{ast.unparse(parameter.annotation)}`" if parameter.annotation else "its annotation",
                True,
            )
        for words, why in (
            (text, "the docstring says"),
            (parameter.comment, "the comment beside it says"),
            (commented(parameter.name, self.call.text), "a comment says"),
        ):
            shape = shape_in(words) if words else None
            if shape is not None:
                return sizes_of(shape, numbers, facts, self.agreed), f"{why} ({', '.join(shape)})", True
        if use.dims:
            return sizes_of(use.dims, numbers, facts, self.agreed), use.reason, True
        if use.layer is not None:
            usual = use.layer.dims
            if by_name is not None and len(by_name.dims) > len(usual) and use.layer.dimension == -1:
                usual = by_name.dims
            return self._usual(usual), use.reason, False
        if by_name is not None:
            return (
                self._ranked(self._usual(by_name.dims), [self._usual(o) for o in by_name.others], use),
                _by(use),
                False,
            )
        return self._ranked(self._usual(("batch", "features")), [], use), "a guess", False

    def _usual(self, dims: tuple[str, ...]) -> Sizes:
        found = []
        for dim in dims:
            size = int(dim) if dim.isdecimal() else self.facts.sizes[dim]
            stands_for = {"width": "height"}.get(dim, dim if dim in ("features", "channels", "height") else "")
            for name, number in self.owner.numbers.items():
                if name.lower() not in _VAGUE and self.facts.dimensions.get(name.lower()) == stands_for:
                    size = number
                    break
            found.append(size)
        return tuple(found)

    def _ranked(self, sizes: Sizes, others: list[Sizes], use: Use) -> Sizes:
        """The first shape with as many dimensions as the code reads."""
        for shape in (
            sizes,
            *others,
            self._usual(("batch", "sequence", "features")),
            self._usual(("batch", "channels", "height", "width")),
        ):
            if len(shape) >= use.at_least:
                return shape
        return sizes


def _by(use: Use) -> str:
    return f"{BY_NAME}, and {use.at_least} dimensions are read" if use.at_least > 1 else BY_NAME


def _kind_of(said: Said, use: Use, text: str, by_name: TensorName | None) -> tuple[str, bool]:
    if said.kind and said.kind != "float":
        return said.kind, True
    if use.kind and use.kind != "float":
        return use.kind, True
    words = (
        text.lower().replace(".", " ").replace("(", " ").replace(")", " ").replace("`", " ").replace(",", " ").split()
    )
    if any(word in _TRUTHS for word in words):
        return "bool", True
    if by_name is not None and by_name.kind not in ("float", "unit"):
        return by_name.kind, False
    if any(word in _WHOLE for word in words):
        return "int", True
    if said.kind == "float":
        return "float", True
    return (by_name.kind if by_name is not None else "float"), False
