"""Small data-dependent programs, drawn by hypothesis: masks, counts, items, branches, loops, slices, checks.

A program is a file with `fn` or `Model` and `make_inputs(seed)`. Its state is a float tensor `h` of shape (R, C) and a
float vector `v` of length C; each statement is one production of the grammar, over the names that are in scope. Every
program runs in eager on every seed, or raises what a validation in it raises.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

ROWS, COLUMNS = 6, 3

INPUTS = f"""
def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-4, 5, ({ROWS}, {COLUMNS}), generator=g).float()
    mask = torch.rand({ROWS}, generator=g) > 0.5
    if seed % 5 == 1:
        mask = torch.zeros({ROWS}, dtype=torch.bool)
    if seed % 5 == 3:
        mask = torch.ones({ROWS}, dtype=torch.bool)
    k = torch.randint(0, 4, (), generator=g)
    cuts = torch.randint(0, {ROWS + 1}, (2,), generator=g).sort().values
    lengths = torch.stack([cuts[0], cuts[1] - cuts[0], {ROWS} - cuts[1]])
    return x, mask, k, lengths
"""
"""Three lengths that add up to ROWS, some of them 0; a mask that may be empty or full; a number from 0 to 3."""


@dataclass(frozen=True)
class Program:
    """The text of a program, and the productions that made it."""

    text: str
    made_of: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Program({self.made_of}):\n{self.text}"


@dataclass
class _Scope:
    """What is in scope while a program is drawn."""

    draw: Callable[[st.SearchStrategy[object]], object]
    module: bool
    counts: list[str] = field(default_factory=list)
    masks: list[str] = field(default_factory=lambda: ["mask"])
    made_of: list[str] = field(default_factory=list)
    used: int = 0

    def fresh(self, base: str) -> str:
        """A name that no statement has."""
        self.used += 1
        return f"{base}{self.used}"

    def pick(self, choices: list[str]) -> str:
        """One of some texts."""
        return str(self.draw(st.sampled_from(choices)))

    def number(self, least: int, most: int) -> int:
        """A whole number."""
        drawn = self.draw(st.integers(least, most))
        assert isinstance(drawn, int)
        return drawn

    # ------------------------------------------------------------------ expressions

    def tensor(self) -> str:
        """A float tensor of shape (R, C) that is not `h` itself."""
        return self.pick(["h * 2", "h + v", "h - 1", "h.abs()", "torch.relu(h)", "h.sin()", "h * self_scale", "-h"])

    def vector(self) -> str:
        """A float vector of length C."""
        return self.pick(["h.sum(0)", "v + 1", "v * 0.5", "h.amax(0)", "v - h.mean(0)"])

    def count(self) -> str:
        """An integer known at run time."""
        fresh = [f"{self.pick(self.masks)}.sum().item()", "(h > 1).sum().item()", "k.item()", "int(k)"]
        return self.pick(self.counts + fresh)

    def condition(self) -> str:
        """A test that data decides."""
        return self.pick(
            [
                f"{self.count()} {self.pick(['>', '<', '==', '!=', '>='])} {self.number(0, 4)}",
                f"h.sum() {self.pick(['>', '<='])} {self.number(-3, 3)}",
                f"{self.pick(self.masks)}.any()",
                f"not {self.pick(self.masks)}.all()",
                f"{self.pick(self.masks)}.any() and h.max() > {self.number(0, 4)}",
                f"k > {self.number(0, 2)} or {self.pick(self.masks)}.sum() < {self.number(1, 4)}",
                f"0 < {self.count()} <= {self.number(2, 5)}",
                "torch.equal(h, h.abs())",
            ]
        )


def _count(scope: _Scope) -> list[str]:
    name, value = scope.fresh("n"), scope.count()
    scope.counts.append(name)
    return [f"{name} = {value}"]


def _mask(scope: _Scope) -> list[str]:
    name = scope.fresh("m")
    value = scope.pick(["h.sum(1) > 0", "mask & (h[:, 0] > 0)", "~mask", "h.abs().amax(1) < 3"])
    scope.masks.append(name)
    return [f"{name} = {value}"]


def _selected(scope: _Scope) -> list[str]:
    name = scope.fresh("rows")
    value = scope.pick([f"h[{scope.pick(scope.masks)}]", f"h[{scope.pick(scope.masks)}.nonzero().squeeze(1)]"])
    use = scope.pick(
        [
            f"v = v + {name}.sum(0)",
            f"if {name}.shape[0] == 0:\n    v = v * 0.5\nelse:\n    v = v + {name}.amax(0)",
            f"if {name}.numel() > 0:\n    v = v + {name}.mean(0)",
            f"if len({name}) == 0:\n    return v, h.sum(1)",
            f"if len({name}) > {scope.number(1, 4)}:\n    {name} = {name}[:{scope.number(1, 3)}]\n"
            f"v = v + {name}.sum(0)",
            f"v = v + {name}.sum(0) / max({name}.shape[0], 1)",
        ]
    )
    return [f"{name} = {value}", *use.splitlines()]


def _indices(scope: _Scope) -> list[str]:
    name = scope.fresh("idx")
    return [
        f"{name} = {scope.pick(scope.masks)}.nonzero().squeeze(1)",
        *scope.pick(
            [
                f"h = h.index_add(0, {name}, h[{name}])",
                f"if {name}.numel() == 0:\n    {name} = torch.zeros(1, dtype=torch.long)\nv = v + h[{name}].sum(0)",
                f"for i in {name}.tolist():\n    v = v + h[i]",
                f"if {name}.shape[0] > 0:\n    h = h + h[{name}].sum(0)",
            ]
        ).splitlines(),
    ]


def _branch(scope: _Scope) -> list[str]:
    lines = [f"if {scope.condition()}:", f"    h = {scope.tensor()}"]
    more = scope.number(0, 3)
    if more >= 1:
        lines += ["else:", f"    h = {scope.tensor()}"]
    if more >= 2:
        lines[-2:-2] = [f"elif {scope.condition()}:", f"    h = {scope.tensor()}"]
    if more == 3:
        lines += [f"    if {scope.condition()}:", f"        h = {scope.tensor()}"]
    return lines


def _early(scope: _Scope) -> list[str]:
    result = scope.pick(["v, h.sum(1)", "v * 0, h[:, 0]", f"{scope.vector()}, h.sum(1)", "torch.zeros(3), h.mean(1)"])
    return [f"if {scope.condition()}:", f"    return {result}"]


def _ternary(scope: _Scope) -> list[str]:
    return [f"v = {scope.vector()} if {scope.condition()} else {scope.vector()}"]


def _in_place(scope: _Scope) -> list[str]:
    name, mask = scope.fresh("z"), scope.pick(scope.masks)
    change = scope.pick(
        [
            f"if {mask}.any():\n    {name}[{mask}] = 0.0",
            f"if {mask}.any():\n    {name}[{mask}] *= 2",
            f"{name}[{mask}] = {name}[{mask}] + 1",
            f"if {scope.condition()}:\n    {name}.mul_(2)",
            f"if {scope.condition()}:\n    {name}[0] = v",
            f"if {scope.condition()}:\n    {name} += 1\nelse:\n    {name} -= v",
        ]
    )
    return [f"{name} = h.clone()", *change.splitlines(), f"h = h + {name}"]


def _check(scope: _Scope) -> list[str]:
    error = scope.pick(["ValueError", "RuntimeError", "IndexError"])
    return scope.pick(
        [
            f"if {scope.count()} > {ROWS * COLUMNS - scope.number(0, 3)}:\n    raise {error}('too many')",
            f"if (h.abs() > 1e6).any():\n    raise {error}('too large')",
            f"assert {scope.count()} >= 0",
            f"if k.item() not in (0, 1, 2, 3):\n    raise {error}(f'unknown kind {{k}}')",
            f"if not torch.isfinite(h).all() or k < 0:\n    raise {error}('bad input')",
        ]
    ).splitlines()


def _lengths(scope: _Scope) -> list[str]:
    parts, start = scope.fresh("parts"), scope.fresh("start")
    gives = scope.pick(["sum(0)", "abs().sum(0)"])
    return scope.pick(
        [
            f"{parts} = []\n{start} = 0\nfor n in lengths.tolist():\n"
            f"    {parts}.append(h[{start}:{start} + n].{gives})\n    {start} += n\n"
            f"v = v + torch.stack({parts}).amax(0)",
            f"{parts} = torch.split(h, lengths.tolist())\nv = v + torch.stack([p.{gives} for p in {parts}]).sum(0)",
            f"{parts} = torch.tensor_split(h, lengths.cumsum(0)[:-1])\nfor p in {parts}:\n    v = v + p.{gives}",
            f"{start} = lengths.cumsum(0)\nv = v + h[{start}[0]:{start}[1]].sum(0)",
            f"v = v + h[:int(lengths[0])].{gives}",
            f"v = v + h[lengths[0].item():].{gives}",
        ]
    ).splitlines()


def _turns(scope: _Scope) -> list[str]:
    return scope.pick(
        [
            "for _ in range(int(k)):\n    h = torch.relu(h) - 0.5",
            "for i in range(k.item()):\n    v = v + h[i]",
            f"while h.abs().sum() > {scope.number(5, 20)}:\n    h = h / 2",
            f"steps = 0\nwhile v.abs().max() > {scope.number(1, 4)}:\n    v = v * 0.5\n    steps += 1\nh = h + steps",
            f"for i in range(3):\n    if {scope.condition()}:\n        break\n    h = h * 0.5 + i",
            "for i in range(3):\n    if mask[i]:\n        continue\n    v = v + h[i]",
        ]
    ).splitlines()


def _table(scope: _Scope) -> list[str]:
    return scope.pick(
        [
            "v = v + [h[0], h[1] * 2, h[2] - 1, v][k.item()]",
            "h = h * [1.0, 0.5, 2.0, 4.0][int(k)]",
            "v = v + h[k]",
            "for i, row in enumerate(h):\n    if i == k.item():\n        v = v + row",
        ]
    ).splitlines()


def _numbers(scope: _Scope) -> list[str]:
    first, second = scope.count(), scope.count()
    name = scope.fresh("w")
    return [f"{name} = {scope.pick(['max', 'min'])}({first}, {second})", f"h = h + {name}"]


def _match(scope: _Scope) -> list[str]:
    subject = scope.pick(["int(k)", "k.item()", scope.count()])
    return scope.pick(
        [
            f"match {subject}:\n    case 0:\n        h = {scope.tensor()}\n"
            f"    case 1 | 2:\n        v = {scope.vector()}\n    case _:\n        h = h - 1",
            f"match {subject}:\n    case 0:\n        v = v * 0.5\n"
            f"    case n if n > {scope.number(1, 3)}:\n        v = v + n",
            f"match bool({scope.pick(scope.masks)}.any()):\n    case True:\n        h = {scope.tensor()}\n"
            f"    case False:\n        h = {scope.tensor()}",
        ]
    ).splitlines()


def _named(scope: _Scope) -> list[str]:
    name, count = scope.fresh("c"), f"{scope.pick(scope.masks)}.sum()"
    read = scope.pick([f"int({count})", f"{count}.item()"])
    return scope.pick(
        [
            f"if ({name} := {read}) > {scope.number(0, 3)}:\n    v = v * {name}",
            f"v = v / {name} if ({name} := {read}) else {scope.vector()}",
            f"if {name} := {read}:\n    h = h + {name}\nelse:\n    h = {scope.tensor()}",
            f"v = v / ({name} if ({name} := {read}) > 1 else 1)",
            f"if (top := h.max()) > {scope.number(0, 3)}:\n    h = h / top",
        ]
    ).splitlines()


def _filled(scope: _Scope) -> list[str]:
    name, test = scope.fresh("found"), scope.pick(["row.sum() > 0", "row.amax() > 2", "row[0].item() < 1"])
    gives = scope.pick(["row", "row * 2", "row.abs()"])
    use = scope.pick(
        [
            f"if {name}:\n    v = v + torch.stack({name}).sum(0)",
            f"if len({name}) > 0:\n    v = v + torch.stack({name}).amax(0)",
            f"v = v + (torch.stack({name}).mean(0) if {name} else torch.zeros(3))",
            f"v = v + len({name})",
        ]
    )
    fill = scope.pick(
        [
            f"{name} = []\nfor row in h:\n    if {test}:\n        {name}.append({gives})",
            f"{name} = [{gives} for row in h if {test}]",
            f"{name} = []\nfor i, row in enumerate(h):\n    if not mask[i]:\n        continue\n"
            f"    {name}.append({gives})",
        ]
    )
    return [*fill.splitlines(), *use.splitlines()]


def _placed(scope: _Scope) -> list[str]:
    name, value = scope.fresh("z"), scope.pick(["v", "v * 2", "0.0", "h[0]"])
    return scope.pick(
        [
            f"{name} = h.clone()\n{name}[k] = {value}\nh = h + {name}",
            f"{name} = h.clone()\n{name}[int(k)] += {value}\nh = h + {name}",
            f"{name} = torch.zeros_like(h)\n{name}[: int(k)] = {value}\nh = h + {name}",
            f"{name} = h.clone()\nif {scope.condition()}:\n    {name}[0] = {value}\n"
            f"    {name}[1:] *= 2\nh = h - {name}",
            f"{name} = h.abs().sum(1).argmax().item()\nh = h.clone()\nh[{name}] = {value}",
        ]
    ).splitlines()


def _state(scope: _Scope) -> list[str]:
    """State in several steps: a dictionary, or buffers of the module."""
    stats = scope.fresh("stats")
    kept = {name: f"self.{name}" if scope.module else f"{stats}['{name}']" for name in ("peak", "seen")}
    first = [] if scope.module else [f"{stats} = {{'peak': torch.zeros(()), 'seen': torch.zeros(())}}"]

    def holds(name: str, value: str) -> str:
        return f"{kept[name]}.copy_({value})" if scope.module else f"{kept[name]} = {value}"

    mask = scope.pick(scope.masks)
    change = scope.pick(
        [
            f"if h.max() > {kept['peak']}:\n    {holds('peak', 'h.max()')}\n    {kept['seen']} += 1",
            f"if {mask}.any():\n    {holds('peak', f'h[{mask}].mean()')}\n    {kept['seen']} += {mask}.sum()",
            f"if {scope.condition()}:\n    {holds('seen', 'h.sum()')}\n    if {kept['seen']} > 2:\n"
            f"        {holds('peak', 'h.amin()')}\nelse:\n    {holds('peak', 'v.sum()')}",
        ]
    )
    return [*first, *change.splitlines(), f"v = v + {kept['peak']} + {kept['seen']}"]


def _reduced(scope: _Scope) -> list[str]:
    """Reductions of what may be nothing."""
    name, mask = scope.fresh("some"), scope.pick(scope.masks)
    return scope.pick(
        [
            f"{name} = h[{mask}]\nv = v + ({name}.amax(0) if len({name}) else v * 0)",
            f"if {mask}.any():\n    v = v + h[{mask}].max()",
            f"{name} = h[{mask}].flatten()\nv = v + ({name}.min() if {name}.numel() > 0 else h.new_zeros(()))",
            f"{name} = h[{mask}]\nif {name}.shape[0] == 0:\n    v = v - 1\nelse:\n    v = v + {name}.logsumexp(0)",
            f"if any(flag.item() for flag in {mask}):\n    v = v + h[{mask}].mean(0)",
        ]
    ).splitlines()


PRODUCTIONS: dict[str, Callable[[_Scope], list[str]]] = {
    "count": _count,
    "mask": _mask,
    "selected": _selected,
    "indices": _indices,
    "branch": _branch,
    "early": _early,
    "ternary": _ternary,
    "in_place": _in_place,
    "check": _check,
    "lengths": _lengths,
    "turns": _turns,
    "table": _table,
    "numbers": _numbers,
    "match": _match,
    "named": _named,
    "filled": _filled,
    "placed": _placed,
    "state": _state,
    "reduced": _reduced,
}


@st.composite
def programs(draw: st.DrawFn, most: int = 3) -> Program:
    """A program of one to `most` productions."""
    scope = _Scope(draw, module=bool(draw(st.booleans())))
    lines = ["h = x.clone()", "v = x.sum(0)"]
    for name in draw(st.lists(st.sampled_from(sorted(PRODUCTIONS)), min_size=1, max_size=most)):
        scope.made_of.append(name)
        lines += PRODUCTIONS[name](scope)
    lines.append("return h.sum(0) + v, h.sum(1)")
    return Program(written(lines, scope.module), tuple(scope.made_of))


def written(lines: list[str], module: bool) -> str:
    """The file around a body."""
    body = "\n".join(lines)
    if module:
        head = (
            "class Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.scale = torch.nn.Parameter(torch.ones(3))\n"
            "        self.register_buffer('peak', torch.zeros(()))\n"
            "        self.register_buffer('seen', torch.zeros(()))\n\n"
            "    def forward(self, x, mask, k, lengths):\n"
        )
        text = head + textwrap.indent(body.replace("self_scale", "self.scale"), " " * 8)
    else:
        text = "def fn(x, mask, k, lengths):\n" + textwrap.indent(body.replace("self_scale", "3"), " " * 4)
    return f"import torch\n\n\n{text}\n\n{INPUTS}"
