"""Hold rules/operators.toml against torch: operators are run under fake tensors, and interpreted, on the same samples.

python scripts/check_operators.py             differences, one a line; exits 1 where there are any
python scripts/check_operators.py --missing   what torch has that the table lacks
python scripts/check_operators.py --all       each sample, with both answers

Samples are data: rules/operator_samples.toml. Compared are whether a tensor, a tuple, or a number comes back, how many
dimensions it has, which of them depend on data or are constants, whether it is a mask, and whether the operator asks.
What the table does not know is no difference: unknown stays silent.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ddelint.knowledge.operators import operators  # noqa: E402
from ddelint.sources.source import SourceFile  # noqa: E402
from ddelint.static.domain import values  # noqa: E402
from ddelint.static.domain.state import State  # noqa: E402
from ddelint.static.program.regions import FileIndex  # noqa: E402
from ddelint.static.walk import functions  # noqa: E402
from ddelint.static.walk.interpreter import Interpreter  # noqa: E402

SAMPLES = ROOT / "rules" / "operator_samples.toml"
HEAD = "import math\nimport torch\nfrom torch.nn import functional as F\n"
UNBACKED = "unbacked"
KNOWN = "known"
UNCLEAR = "?"


@dataclass(frozen=True)
class Answer:
    """What came of a sample: `kind` is tensor, tuple, number, bool, other, asks or fails."""

    kind: str
    dims: tuple[int | str, ...] | None = None
    """Each size: a number, KNOWN or UNBACKED. Statically, the leading ones that are known."""
    complete: bool = True
    mask: bool | None = None
    parts: tuple[Answer, ...] | None = None
    said: str = ""

    def __str__(self) -> str:
        if self.kind == "tensor":
            sizes = ", ".join(map(str, self.dims or ()))
            return f"[{sizes}{'' if self.complete else ', …'}]{ {True: ' mask', False: '', None: ' mask?'}[self.mask] }"
        if self.parts is not None:
            return f"({', '.join(map(str, self.parts))})"
        return f"{self.kind} {self.said}".strip()


@dataclass(frozen=True)
class Sample:
    """One expression over the prepared tensors."""

    operator: str
    expression: str


@dataclass(frozen=True)
class Outcome:
    """Both answers to a sample, and where they differ."""

    sample: Sample
    ours: Answer
    torchs: Answer
    difference: str


# ---- samples


def samples() -> list[Sample]:
    """All samples: an operator's own, else those of its kind of answer that torch offers under that name."""
    table = tomllib.loads(SAMPLES.read_text("utf-8"))
    own: dict[str, list[str]] = table["operators"]
    found: list[Sample] = []
    for name, kind in sorted(operators().returns.items()):
        expressions = own.get(name)
        if expressions is None:
            expressions = [text.replace("NAME", name) for text in table["kinds"].get(kind, ())]
        found += [Sample(name, expression) for expression in expressions]
    return found


def preparation() -> str:
    """The lines that make the tensors which the samples speak of."""
    return str(tomllib.loads(SAMPLES.read_text("utf-8"))["preparation"])


# ---- our answer


def interpreted(wanted: list[Sample]) -> list[Answer]:
    """What the static pass says of each sample."""
    body = textwrap.indent(preparation().strip(), "    ")
    texts = [f"def sample_{i}():\n{body}\n    return {s.expression}\n" for i, s in enumerate(wanted)]
    index = FileIndex(SourceFile("samples.py", HEAD + "".join(texts)))
    answers = []
    for i in range(len(wanted)):
        interpreter = Interpreter(index)
        function = values.Function(index.functions[f"sample_{i}"])
        value = functions.invoke(interpreter, function, [], {}, State(), function.node)
        asking = [event for event in interpreter.events if not event.advice and event.rule not in QUIET_RULES]
        answers.append(Answer("asks") if asking else _described(value))
    return answers


QUIET_RULES = frozenset(("DDE205", "DDE301", "DDE302", "DDE303"))
"""Findings that are no question of the operator itself."""


def _described(value: values.Value) -> Answer:
    value = values.bare(value)
    if isinstance(value, values.Tensor):
        return Answer("tensor", tuple(map(_size, value.dims)), value.complete, value.boolean)
    if isinstance(value, values.Series):
        if value.items is None:
            each = _described(value.element)
            return Answer("tuple", parts=None, said=str(each)) if each.kind != UNCLEAR else Answer("tuple")
        return Answer("tuple", parts=tuple(map(_described, value.items)))
    if isinstance(value, values.Unbacked):
        return Answer("bool" if value.topic == "bool" else "number", said=UNBACKED)
    if isinstance(value, (values.Constant, values.Known)):
        return Answer("number", said=KNOWN)
    return Answer(UNCLEAR)


def _size(size: values.Value) -> int | str:
    if isinstance(size, values.Constant):
        return int(size.value)
    return UNBACKED if isinstance(size, values.Unbacked) else KNOWN


# ---- torch's answer


FRESH = 60
"""The prepared tensors serve so many samples: making them is most of the work."""


def run(wanted: list[Sample]) -> list[Answer]:
    """What each sample gives under fake tensors with symbols for whatever depends on data."""
    import logging
    import math
    import warnings

    import torch
    from torch._dispatch.python import enable_python_dispatcher
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    from torch.nn import functional

    lines = compile(preparation(), str(SAMPLES), "exec")
    answers: list[Answer] = []
    names: dict[str, Any] = {}
    mode = FakeTensorMode(shape_env=ShapeEnv())
    logging.disable(logging.CRITICAL)
    with torch.no_grad(), enable_python_dispatcher(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        uses, before = FRESH, ""
        for sample in wanted:
            if uses >= FRESH:
                names = {"torch": torch, "F": functional, "math": math}
                mode = FakeTensorMode(shape_env=ShapeEnv())
                with mode:
                    exec(lines, names)
                uses = 0
                before = _knowledge(mode)
            with mode:
                answers.append(_tried(sample.expression, names))
            uses += 1
            if sample.operator.endswith("_") or _knowledge(mode) != before:
                uses = FRESH  # the sample changed a tensor, or what is known of a size
    logging.disable(logging.NOTSET)
    return answers


def _knowledge(mode: Any) -> str:
    """What has been learned of the prepared sizes: bounds, equalities, assertions."""
    env = mode.shape_env
    ranges = getattr(env, "var_to_range", {})
    first = [str(ranges[symbol]) for symbol in sorted(ranges, key=str)[:2]]
    asserts = sum(len(found) for found in getattr(env, "deferred_runtime_asserts", {}).values())
    return f"{first} {len(getattr(env, 'replacements', ()))} {asserts}"


def _tried(expression: str, names: dict[str, Any]) -> Answer:
    from torch._subclasses.fake_tensor import DataDependentOutputException
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    try:
        return _observed(eval(expression, names))
    except (GuardOnDataDependentSymNode, DataDependentOutputException) as error:
        return Answer("asks", said=str(error).partition("\n")[0][:100])
    except Exception as error:
        return Answer("fails", said=f"{type(error).__name__}: {str(error).partition(chr(10))[0][:90]}")


def _observed(value: Any) -> Answer:
    import torch
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    if isinstance(value, torch.Tensor):
        dims = tuple(UNBACKED if free_unbacked_symbols(size) else int(size) for size in value.shape)
        return Answer("tensor", dims, True, value.dtype == torch.bool)
    if isinstance(value, (tuple, list)):
        return Answer("tuple", parts=tuple(map(_observed, value)))
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        loose = bool(free_unbacked_symbols(value))
        kind = "bool" if isinstance(value, torch.SymBool) else "number"
        return Answer(kind, said=UNBACKED if loose else KNOWN)
    if isinstance(value, (int, float, bool)):
        return Answer("number", said=KNOWN)
    return Answer("other", said=type(value).__name__)


# ---- the comparison


def difference(ours: Answer, torchs: Answer) -> str:
    """What is wrong with our answer; empty where nothing is."""
    if torchs.kind == "fails" or ours.kind == UNCLEAR:
        return ""
    if ours.kind == "asks" or torchs.kind == "asks":
        if ours.kind == torchs.kind:
            return ""
        return "we say that it asks" if ours.kind == "asks" else "it asks"
    if ours.kind != torchs.kind:
        return f"{ours.kind} instead of {torchs.kind}"
    if ours.kind == "tensor":
        return _differing_tensors(ours, torchs)
    if ours.kind == "tuple" and ours.parts is not None and torchs.parts is not None:
        if len(ours.parts) != len(torchs.parts):
            return f"{len(ours.parts)} values instead of {len(torchs.parts)}"
        return next(filter(None, map(difference, ours.parts, torchs.parts)), "")
    if ours.kind in ("number", "bool") and ours.said != torchs.said:
        return f"{ours.said} instead of {torchs.said}"
    return ""


def _differing_tensors(ours: Answer, torchs: Answer) -> str:
    assert ours.dims is not None
    assert torchs.dims is not None
    if len(ours.dims) > len(torchs.dims) or (ours.complete and len(ours.dims) != len(torchs.dims)):
        return f"{len(ours.dims)} dimensions instead of {len(torchs.dims)}"
    for position, (one, other) in enumerate(zip(ours.dims, torchs.dims)):
        if (one == UNBACKED) is not (other == UNBACKED):
            return f"dimension {position}: {one} instead of {other}"
        if isinstance(one, int) and one != other:
            return f"dimension {position}: {one} instead of {other}"
    if ours.mask is not None and ours.mask is not torchs.mask:
        return "no mask" if ours.mask else "a mask"
    return ""


def outcomes(wanted: list[Sample]) -> list[Outcome]:
    """The samples with both answers."""
    return [
        Outcome(sample, ours, theirs, difference(ours, theirs))
        for sample, ours, theirs in zip(wanted, interpreted(wanted), run(wanted))
    ]


def untried(found: list[Outcome]) -> list[str]:
    """Operators none of whose samples torch could run, and of which the samples don't say that this must be so."""
    tried = {outcome.sample.operator for outcome in found if outcome.torchs.kind != "fails"}
    unchecked = tomllib.loads(SAMPLES.read_text("utf-8"))["unchecked"]["names"]
    return sorted(set(operators().returns) - tried - set(unchecked))


def missing() -> Iterator[str]:
    """Public functions of torch and methods of its tensors that the table does not know."""
    import torch
    from torch.nn import functional

    known = operators()
    ignored = tomllib.loads(SAMPLES.read_text("utf-8"))["ignored"]
    tables = (known.returns, known.known_methods, known.symbolic, known.while_compiling, known.attributes, known.checks)
    named = (
        {name for table in tables for name in table} | known.questions | known.layout_questions | set(ignored["names"])
    )
    plumbing = ("_", *ignored["prefixes"])
    for prefix, owner in (("torch", torch), ("torch.Tensor", torch.Tensor), ("F", functional)):
        for name in sorted(vars(owner) if owner is not torch.Tensor else dir(owner)):
            if name.startswith(plumbing) or name in named or not callable(getattr(owner, name)):
                continue
            if isinstance(getattr(owner, name), type) or (name.endswith("_") and name[:-1] in named):
                continue
            named.add(name)
            yield f"{prefix}.{name}"


def main() -> int:
    """Print what was asked for. The exit code says whether anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missing", action="store_true", help="list what torch has that the table lacks")
    parser.add_argument("--all", action="store_true", help="show every sample")
    chosen = parser.parse_args()
    if chosen.missing:
        print(*missing(), sep="\n")
        return 0
    found = outcomes(samples())
    for outcome in found:
        if outcome.difference or chosen.all:
            what = outcome.difference or "same"
            print(f"{outcome.sample.expression}: {what} (ours {outcome.ours}, torch {outcome.torchs})")
    for name in untried(found):
        print(f"{name}: no sample of it runs")
    wrong = sum(bool(outcome.difference) for outcome in found)
    print(f"{len(operators().returns)} operators, {len(found)} samples, {wrong} differences", file=sys.stderr)
    return 1 if wrong or untried(found) else 0


if __name__ == "__main__":
    sys.exit(main())
