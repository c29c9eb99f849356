"""A dispatcher as a file beside the entry: a spec for each graph, plain guards in front. Its text is data.

The text stands in rules/dispatching.toml.
"""

from __future__ import annotations

import os
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache

from ddelint.knowledge.catalog import rules_folder
from ddelint.nouns.contracts import Contract
from ddelint.nouns.dispatches import GraphPlan
from ddelint.shapes.facts import dimension_of, read, unused, variable_for, with_words
from ddelint.shapes.places import root_of
from ddelint.shapes.signatures import Signature, signature_of
from ddelint.shapes.writing import because, limits, spec_lines, spec_names, symbolic

BESIDE = "_dispatch.py"
"""How the file ends that is put beside the entry's."""
MARK = "as `ddelint shapes --dispatch` wrote it"
"""What such a file says of itself: another one is not overwritten."""


@cache
def _texts() -> dict[str, dict[str, str]]:
    return tomllib.loads((rules_folder() / "dispatching.toml").read_text("utf-8"))


def dispatcher_text(contract: Contract, plans: Sequence[GraphPlan], names: Mapping[str, str], divided: bool) -> str:
    """The file's text; `divided`: whether a branch of the program keeps the graphs apart."""
    signature = signature_of(contract)
    program = contract.label.partition(",")[0]
    marks = "" if divided else _marks(plans)
    imports = [] if signature is not None else ["import inspect", ""]
    imports.append("import torch")
    imports += ["from torch._dynamo.decorators import mark_dynamic"] if marks else []
    imports.append(f"from torch.fx.experimental.dynamic_spec import {spec_names(contract)}")
    parts = "\n".join(f"{plan.part.name}: {condition_of(plan)}" for plan in plans)
    needs = because_of(contract)
    head = _texts()["file"]["head"].format(
        what=f"{program} as {count_of(plans)}",
        mark=MARK,
        parts=parts,
        imports="\n".join(imports),
        needs="\n".join(["", *needs] if needs else []),
    )
    specs = "".join(_spec(contract, plan) for plan in plans)
    return head.rstrip("\n") + "\n" + specs + _dispatcher(contract, plans, names, signature) + marks


def because_of(contract: Contract) -> list[str]:
    """A comment for each requirement."""
    return [line for one in contract.requirements for line in because(one)]


def count_of(plans: Sequence[GraphPlan]) -> str:
    """`3 graphs`."""
    return f"{len(plans)} graph{'' if len(plans) == 1 else 's'}"


def condition_of(plan: GraphPlan) -> str:
    """What holds of the sizes of one graph."""
    return " and ".join(plan.part.conditions) or "all sizes"


# ------------------------------------------------------------------------------------------------------------- specs


def _spec(contract: Contract, plan: GraphPlan) -> str:
    variables = [
        f"{name} = ShapeVar({name!r}{limits(bounds)}{_hint(plan, name)})".replace("'", '"')
        for name, bounds in plan.spec.variables.items()
    ]
    shown = list(spec_lines(contract, plan.spec))
    assumptions = [f"{symbolic(text)}," for text in plan.spec.assumptions]
    listed = ["assumptions=[", *(f"    {one}" for one in assumptions), "],"] if assumptions else []
    return (
        _texts()["spec"]["one"]
        .format(
            name=plan.part.name,
            condition=f"{condition_of(plan)}.",
            variables=_indented(variables, 1),
            tensors=_indented(shown, 3),
            assumptions="".join(f"{line}\n" for line in _indented(listed, 2).splitlines()),
        )
        .replace('"""\n\n    return', '"""\n    return')
    )


def _hint(plan: GraphPlan, variable: str) -> str:
    """The size that Inductor shall tune for: the typical one. 0 and 1 are nobody's."""
    size = next((plan.first[name] for name, text in plan.spec.dimensions.items() if text == variable), 0)
    return f", optimization_hint={size}" if size > 1 else ""


def _indented(lines: Sequence[str], depth: int) -> str:
    return textwrap.indent("\n".join(lines), "    " * depth)


# -------------------------------------------------------------------------------------------------------- dispatcher


def _dispatcher(
    contract: Contract, plans: Sequence[GraphPlan], names: Mapping[str, str], signature: Signature | None
) -> str:
    texts = _texts()["dispatcher"]
    asked = list(dict.fromkeys(name for plan in plans for text in plan.part.conditions for name in in_order(text)))
    words = words_for(asked, names, signature)
    sizes = []
    for name in asked:
        parameter, dimension = dimension_of(name)
        root = root_of(parameter)
        tensor = parameter if signature is not None else f'given["{root}"]{parameter[len(root) :]}'
        sizes.append(f"{words[name]} = {tensor}.shape[{dimension}]")
    arguments = signature.arguments if signature is not None else "*args, **kwargs"
    guards = "".join(
        texts["guard"].format(condition=guard_of(plan, words), graph=plan.part.name, arguments=arguments)
        for plan in plans
    )
    refused = ", ".join(f"{name} == {{{words[name]}}}" for name in asked)
    return texts["named" if signature is not None else "bound"].format(
        count=count_of(plans),
        argument=contract.spec_argument,
        graphs=_indented([f"{plan.part.name} = graph(shapes_of_{plan.part.name}())" for plan in plans], 1),
        parameters=signature.parameters if signature is not None else "",
        sizes=_indented(sizes, 2),
        guards=guards.rstrip("\n"),
        refused=f'f"no graph takes {refused}"' if asked else '"no graph takes it"',
    )


def in_order(text: str) -> list[str]:
    """The sizes in a condition, as they stand there."""
    return sorted(read(text).names, key=lambda name: (text.index(name), name))


def words_for(asked: Sequence[str], names: Mapping[str, str], signature: Signature | None) -> dict[str, str]:
    """A variable for each size: the program's own name for it, where no parameter has that name."""
    taken: dict[str, object] = dict.fromkeys(signature.names if signature is not None else ("args", "kwargs", "given"))
    words: dict[str, str] = {}
    for name in asked:
        words[name] = unused(names.get(name) or variable_for(name), taken)
        taken[words[name]] = None
    return words


def guard_of(plan: GraphPlan, words: Mapping[str, str]) -> str:
    """The conditions of a part as one, `low <= size <= high` where they are a range."""
    conditions = [with_words(text, words) for text in plan.part.conditions]
    found: list[str] = []
    for text in conditions:
        size, _, low = text.partition(" >= ")
        high = next((one for one in conditions if one.startswith(f"{size} <= ")), None)
        if low.isdigit() and high is not None:
            found.append(f"{low} <= {size} <= {high.rpartition(' ')[2]}")
        elif not any(text.startswith(f"{one.partition(' >= ')[0]} <= ") for one in conditions if " >= " in one):
            found.append(text)
    several = len(found) > 1
    return " and ".join(f"({text})" if several and " or " in text else text for text in found) or "True"


# ------------------------------------------------------------------------------------------------------------- marks


def _marks(plans: Sequence[GraphPlan]) -> str:
    """What `specialize_on` says of ranges of one size; nothing where it cannot say the same."""
    about = {name for plan in plans for text in plan.part.conditions for name in read(text).names}
    if len(about) != 1 or len(plans) < 2:
        return ""
    size = next(iter(about))
    parameter, dimension = dimension_of(size)
    tests = [guard_of(plan, {size: "size"}) for plan in plans[:-1]]
    dynamic = list(
        dict.fromkeys(name for plan in plans for name, text in plan.spec.dimensions.items() if not text.isdigit())
    )
    lines = []
    for name in dynamic:
        tensor, at = dimension_of(name)
        if (tensor, at) == (parameter, dimension):
            conditions = ", ".join(f"lambda size: {test}" for test in tests)
            lines.append(
                _texts()["specialized"]["mark"].format(parameter=tensor, dimension=str(at), conditions=conditions)
            )
        else:
            lines.append(f"    mark_dynamic({tensor}, {at})\n")
    parameters = list(dict.fromkeys(root_of(dimension_of(name)[0]) for name in dynamic))
    return _texts()["specialized"]["marks"].format(parameters=", ".join(parameters), marks="".join(lines).rstrip("\n"))


def beside(filename: str) -> str:
    """Where the dispatcher of an entry of that file is written."""
    return f"{os.path.splitext(filename)[0]}{BESIDE}"
