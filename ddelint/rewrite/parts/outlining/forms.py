"""How a value crosses an operator's schema: as leaves of types that this knows, put together again behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.reading.kinds import NUMBERS
from ddelint.rewrite.writing.rewrites import Expr, Part, Writer

TENSOR, MODULE = "torch.Tensor", "torch.nn.Module"
TENSORS = f"list[{TENSOR}]"
_OF_PYTHON_TYPES = {"torch.dtype": "torch.dtype", "torch.device": "torch.device"}
_SEQUENCES = ("list", "tuple", "torch.Size")


class Way(Enum):
    """Which way a value crosses, and how integers do."""

    IN = "in"
    OUT = "out"
    OUT_READ = "out, integers in tensors that are read again"


@dataclass(frozen=True, slots=True)
class Form:
    """One value. `schema`: the type of a leaf; empty where it consists of `parts`, or is a constant."""

    annotation: str
    """In Python: `dict[str, torch.Tensor]`."""
    schema: str = ""
    floating: bool = False
    """Whether gradients may flow through it."""
    parts: tuple[Form, ...] = ()
    keys: tuple[str, ...] = ()
    """Of a dictionary, or of a record, with these parts."""
    made_by: str = ""
    """What a record (a named tuple, a dataclass) is an instance of."""
    constant: str = ""
    buffers: bool = False
    """Whether it is a module that holds any."""
    frozen: bool = False
    """Whether it is a module with parameters that require no gradient."""
    counted: bool = False
    """A Python number, or a list of them, that crosses in a tensor."""
    either: bool = False
    """Whether it is such a number in eager, and while compiling a tensor already."""

    @property
    def classes(self) -> Iterator[str]:
        """The classes of records that it is made of."""
        if self.made_by:
            yield self.made_by
        for part in self.parts:
            yield from part.classes

    @property
    def is_leaf(self) -> bool:
        """Whether it crosses as it is."""
        return self.annotation == self.schema != MODULE and not self.counted


@dataclass(frozen=True, slots=True)
class Leaf:
    """One parameter or result of an operator: how it is read off the value that it is part of, and its type."""

    name: str
    value: Expr
    schema: str
    floating: bool


def form_of(fact: TypeFact | None, way: Way) -> Form | None:
    """The form of a value of a type; None where a schema cannot hold it."""
    if fact is None:
        return None
    if fact.kind == "tensor":
        if fact.python_type.startswith("torch.sparse"):
            return None
        return Form(TENSOR, TENSOR, _is_floating(fact))
    if fact.kind in NUMBERS:
        number = NUMBERS[fact.kind]
        read = way is Way.OUT_READ or (way is Way.OUT and number != "int")
        return Form(number, TENSOR if read else number, counted=read)
    if fact.kind == "module":
        return Form(MODULE, MODULE, buffers=fact.role == "buffer", frozen=fact.frozen) if way is Way.IN else None
    if fact.kind == "none":
        return Form("None", constant="None") if way is not Way.IN else Form(f"{TENSOR} | None", f"{TENSOR} | None")
    if way is Way.IN and (fact.kind == "str" or fact.python_type in _OF_PYTHON_TYPES):
        known = _OF_PYTHON_TYPES.get(fact.python_type, "str")
        return Form(known, known)
    if fact.items:
        return _of_items(fact, way)
    if fact.python_type in _SEQUENCES and fact.element is not None and fact.length:
        return _of_sequence(fact, fact.element, way)
    return None


def of_either(form: Form, fact: TypeFact | None, in_eager: TypeFact | None) -> Form:
    """The form of what goes in, a number inside where it is one `in_eager` although the compiler has a tensor.

    `gap = torch.where(ok, 0, gap + 1)` makes a tensor of a count, and `max(longest, gap)` gives either.
    """
    is_one_number = fact is not None and fact.kind == "tensor" and fact.shape == ()
    if in_eager is None or in_eager.kind not in NUMBERS or not is_one_number:
        return form
    return Form(NUMBERS[in_eager.kind], TENSOR, counted=True, either=True)


def _of_sequence(fact: TypeFact, item: TypeFact, way: Way) -> Form | None:
    written = "list[{}]" if fact.python_type == "list" else "tuple[{}, ...]"
    if item.kind == "tensor":
        return Form(written.format(TENSOR), TENSORS, _is_floating(item))
    if item.kind not in NUMBERS:
        return None
    number = NUMBERS[item.kind]
    read = way is not Way.IN
    return Form(written.format(number), TENSOR if read else f"list[{number}]", counted=read)


def _of_items(fact: TypeFact, way: Way) -> Form | None:
    parts = [form_of(part, way) for _, part in fact.items]
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    if fact.python_type == "dict":
        types = {part.annotation for part in known}
        value = types.pop() if len(types) == 1 else "object"
        return Form(f"dict[str, {value}]", parts=known, keys=tuple(key for key, _ in fact.items))
    if fact.python_type not in _SEQUENCES:
        names, record = tuple(key for key, _ in fact.items), fact.python_type.rpartition(".")[2]
        return Form("object", parts=known, keys=names, made_by=record) if all(names) else None
    inner = ", ".join(part.annotation for part in known)
    return Form(f"tuple[{inner}]" if fact.python_type == "tuple" else "list[object]", parts=known)


def _is_floating(fact: TypeFact) -> bool:
    return not fact.dtype or fact.dtype.startswith(("float", "bfloat", "complex"))


def leaves(write: Writer, form: Form, name: str, value: Part) -> Iterator[Leaf]:
    """The leaves of a value called `name`, read off the expression `value`."""
    if form.schema:
        if form.counted:
            is_float = "float" in form.annotation  # Python's floats have twice the digits of torch's default
            made = "torch.as_tensor" if form.either else "torch.tensor"
            value = write.expr("{}({}, dtype=torch.float64)" if is_float else "{}({})", made, value)
        yield Leaf(name, write.expression(value), form.schema, form.floating)
        return
    for number, part in enumerate(form.parts):
        said = form.keys[number] if form.keys and form.keys[number].isidentifier() else str(number + 1)
        if form.made_by:
            held = write.expr("{}.{field}", value, field=form.keys[number])
        else:
            held = write.expr("{}[{}]", value, write.string(form.keys[number]) if form.keys else str(number))
        yield from leaves(write, part, f"{name}_{said}", held)


def rebuilt(write: Writer, form: Form, given: Iterator[Part]) -> Expr:
    """The value, of its leaves in their order."""
    if form.constant:
        return write.expr(form.constant)
    if form.schema:
        value = write.expression(next(given))
        if form.counted:
            read = write.expr("{}.tolist()" if "[" in form.annotation else "{}.item()", value)
            return write.expr("tuple({})", read) if form.annotation.startswith("tuple") else read
        return write.expr("tuple({})", value) if form.annotation.startswith("tuple") else value
    parts = [rebuilt(write, part, given) for part in form.parts]
    if form.made_by:
        return write.expr("{}({})", form.made_by, [write.keyword(key, part) for key, part in zip(form.keys, parts)])
    if not form.keys:
        return write.tuple(parts) if form.annotation.startswith("tuple") else write.expr("[{}]", parts)
    keys = write.tuple([write.string(key) for key in form.keys])
    return write.expr("dict(zip({}, {}))", keys, write.tuple(parts))
