"""Operators that ask by themselves: which forms the table offers for which calls, and that torch computes the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
from control_flow import MASK, TENSOR, candidates, context_of, failures, load, rewritten, with_imports

from ddelint.nouns.diagnostics import Claim, Symbol, TypeFact
from ddelint.rewrite.reading.replacements import Operator, holes, parameters, replacements, without

HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef fn(x, pool=None, norm=None):\n"
MODULES = {"pool": "pooling.AdaptiveMaxPool1d", "norm": "instancenorm.InstanceNorm2d"}
TYPES = {"x": TENSOR} | {name: TypeFact("module", python_type=f"torch.nn.modules.{of}") for name, of in MODULES.items()}
BESIDE = "if torch.compiler.is_compiling() else"


def offered(call: str) -> list[str]:
    """The programs that the move makes of `return call`."""
    return rewritten("equivalent_operator", context_of(f"{HEAD}    return {call}\n", call, TYPES))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            "F.max_pool1d(x, 3, padding=1)",
            "torch.nn.functional.max_pool2d(x.unsqueeze(-2), (1, 3), padding=(0, 1)).squeeze(-2)",
        ),
        (
            "x.fill_diagonal_(1)",
            "x.masked_fill_(torch.eye(x.shape[0], x.shape[1], dtype=torch.bool, device=x.device), 1)",
        ),
        ("torch.take(input=x, index=x)", "x.flatten()[x]"),
        ("torch.take_along_dim(x, x, dim=1)", f"x.gather(1, x) {BESIDE} torch.take_along_dim(x, x, dim=1)"),
        (
            "torch.cdist(x + 1, x2=x)",
            "torch.cdist(torch.nn.functional.pad(x + 1, (0, 0, 0, 1)), torch.nn.functional.pad(x, (0, 0, 0, 1)),)"
            f"[..., :-1, :-1] {BESIDE} torch.cdist(x + 1, x2=x)",
        ),
        (
            "torch.normal(x.mean(), x.std(), (3,))",
            f"torch.randn((3,)) * x.std() + x.mean() {BESIDE} torch.normal(x.mean(), x.std(), (3,))",
        ),
        (
            "torch.normal(0.0, std=x.max(), size=x.shape, device=x.device)",
            f"torch.randn(x.shape, device=x.device) * x.max() + 0.0 {BESIDE} "
            "torch.normal(0.0, std=x.max(), size=x.shape, device=x.device)",
        ),
        (
            "x.narrow(0, x.shape[0] - 2, length=2)",
            "x.index_select(0, torch.arange(2, device=x.device) + (x.shape[0] - 2)) "
            f"{BESIDE} x.narrow(0, x.shape[0] - 2, length=2)",
        ),
        (
            "norm(x)",
            "torch.nn.functional.group_norm(x, x.shape[1], weight=norm.weight, bias=norm.bias, eps=norm.eps) "
            f"{BESIDE} norm(x)",
        ),
    ],
)
def test_another_form(call: str, expected: str) -> None:
    text, *_ = offered(call)
    assert text.startswith(HEAD)
    assert on_one_line(text.removeprefix(HEAD)) == f"return {expected}"


def on_one_line(body: str) -> str:
    """A long expression as it would stand without its own lines: how it is broken is tested with the layout."""
    return re.sub(r"^return \((.*)\)$", r"return \1", " ".join(body.split()).replace("( ", "(").replace(" )", ")"))


def test_a_fact_stands_before_the_statement_and_is_equivalent() -> None:
    assert offered("pool(x)") == [f"{HEAD}    torch._check(x.shape[-1] > 0)\n    return pool(x)\n"]
    (candidate,) = candidates("equivalent_operator", context_of(f"{HEAD}    return pool(x)\n", "pool(x)", TYPES))
    assert candidate.claim is Claim.EQUIVALENT
    assert candidate.proof


@pytest.mark.parametrize("rows", [6, 3])
def test_a_length_is_padded_to_the_most_that_a_mask_leaves(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    head = HEAD.replace("x, pool", "x, keep, conv, pool") + "    h = x[:, keep]\n"
    types = {**TYPES, "keep": MASK, "conv": TypeFact("module", python_type="torch.nn.modules.conv.Conv1d")}
    context = context_of(f"{head}    return conv(h)\n", "conv(h)", types)
    births = (Symbol("n", expression="x.item()"), Symbol("h.shape[1]", expression="x[:, keep]"))
    assert not rewritten(
        "equivalent_operator", replace(context, diagnostic=replace(context.diagnostic, symbols=births[:1]))
    )
    (text,) = rewritten("equivalent_operator", replace(context, diagnostic=replace(context.diagnostic, symbols=births)))
    assert "conv(torch.nn.functional.pad(h, (0, keep.numel() - h.shape[-1])))" in text
    original, other = load(context.site.source.text), load(text)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    given = ROWS.T.repeat(1, 2)[:, :6], torch.arange(6) < rows, torch.nn.Conv1d(4, 2, 3, padding=1, stride=2)
    torch.testing.assert_close(other(*given), original(*given))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("call", ["pair(x[keep], y[keep])", "pair(x[keep], input2=y[keep] + 1)", "pair(h, h[:, :4])"])
def test_a_bilinear_layer_is_one_of_products(call: str, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"    h = x[keep]\n    return {call}\n"
    text = f"import torch\n\n\ndef fn(x, y, keep, pair):\n{body}"
    types = {"x": TENSOR, "y": TENSOR, "h": TENSOR, "keep": MASK}
    types["pair"] = TypeFact("module", python_type="torch.nn.modules.linear.Bilinear")
    (changed,) = rewritten("equivalent_operator", context_of(text, call, types))
    original, other = load(text), load(changed)
    pair, (x, y) = torch.nn.Bilinear(6, 4, 2, bias=bias), torch.randn(2, 5, 6)

    class Program(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pair = pair

        def forward(self, x: torch.Tensor, y: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
            return other(x, y, keep, self.pair)

    given = x, y[:, :4], torch.tensor([True, False, True, True, False])
    exported = torch.export.export(Program(), given).module()
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    for keep in (given[2], torch.zeros(5, dtype=torch.bool), torch.arange(5) == 1):
        expected = original(x, y[:, :4], keep, pair)
        torch.testing.assert_close(other(x, y[:, :4], keep, pair), expected)
        torch.testing.assert_close(exported(x, y[:, :4], keep), expected)


def test_what_is_said_twice_gets_a_name() -> None:
    (text,) = offered("torch.cov(x[0])")
    assert text.startswith(f"{HEAD}    input_2 = x[0]\n    return (\n        (input_2 - input_2.mean(1")
    assert " ".join(text.split()).endswith(f"{BESIDE} torch.cov(input_2) )")


@pytest.mark.parametrize(
    "call",
    [
        "F.max_pool1d(x, *x)",
        "F.max_pool1d(x, 2, **x)",
        "F.max_pool1d(x, 2, return_indices=True)",
        "F.batch_norm(x, x, x, training=True)",
        "F.cross_entropy(x, x, reduction='sum')",
        "x.sum(0)",
        "torch.combinations(x, r=3)",
        "torch.combinations(x, 3, True)",
        "pool.other(x)",
        f"x.gather(1, x) {BESIDE} torch.take_along_dim(x, x, dim=1)",
    ],
)
def test_what_is_called_in_another_way_stays(call: str) -> None:
    assert offered(call) == []


ROWS = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
CALLS = {
    "F.max_pool1d(x.T, 2, stride=1)": (5, 2),
    "torch.cdist(x, x + 1)": (5, 1, 0),
    "torch.cdist(x, x.flip(0), p=1)": (5, 1, 0),
    "x @ x.T": (5, 1, 0),
    "torch.matmul(x.T, x)": (5, 1, 0),
    "F.scaled_dot_product_attention(x[None], x[None], x[None] + 1)": (5, 1, 0),
    "F.scaled_dot_product_attention(x[None], x[None], x[None] + 1, is_causal=True)": (5, 1, 0),
    "F.batch_norm(x, torch.zeros(4), torch.full((4,), 2.0))": (5, 1, 0),
    "F.instance_norm(x[:, :, None].expand(-1, -1, 3) * torch.tensor([1., 2., 4.]))": (5, 1),
    "x.unfold(0, 2, 1)": (5, 2),
    "x.unfold(1, 2, 2)": (5, 1, 0),
    "x.clone().fill_diagonal_(7.0)": (5, 1, 0),
    "x.roll(2, 0)": (5, 1, 0),
    "torch.roll(x, shifts=-1, dims=1)": (5, 1, 0),
    "x.roll(3)": (5, 1, 0),
    "torch.take_along_dim(x, x.argsort(0), 0)": (5, 1, 0),
    "F.cosine_similarity(x[:, None], x[None] + 1, dim=-1)": (5, 1, 0),
    "torch.cov(x.T)": (5, 2),
    "F.bilinear(x, x + 1, torch.arange(32.0).reshape(2, 4, 4))": (5, 1, 0),
    "F.cross_entropy(x, x.softmax(1))": (5, 1),
    "torch.as_tensor(x.shape[0] * 0.5)": (5, 0),
    "x.new(x[:, 0].tolist())": (5, 1, 0),
    "x.new_tensor(x[:, 0].tolist())": (5, 1, 0),
    "x.new_tensor([x.shape[0], 2], dtype=torch.int32)": (5, 0),
    "torch.LongTensor(x[:, 0].long().tolist())": (5, 1, 0),
    "torch.IntTensor([x.shape[0]])": (5, 0),
    "torch.FloatTensor(list(x.shape))": (5, 0),
    "torch.DoubleTensor(x[0].tolist())": (5, 1),
    "F.channel_shuffle(x[:, :, None], 2)": (5, 1, 0),
    "torch.triu_indices(x.shape[0], 5, 1)": (5, 1, 0),
    "F.dropout2d(x[:, :, None, None], 0.5, False)": (5, 1, 0),
    "x.std()": (5, 2),
    "torch.std(x, correction=0)": (5, 1),
    "(x + 1).var(unbiased=False)": (5, 1),
    "torch.var(input=x)": (5, 2),
    "torch.combinations(x[:, 0])": (5, 2, 1, 0),
    "torch.combinations(x[:, 0], r=2)": (5, 1),
    "torch.combinations(torch.arange(x.shape[0]), 2, with_replacement=True)": (5, 1, 0),
    "torch.combinations(x[:, 0], 2, False)": (5, 1, 0),
    "x.narrow(0, x.shape[0] - min(x.shape[0], 3), min(x.shape[0], 3))": (5, 3, 1, 0),
    "torch.narrow(x, 1, 1, length=x.shape[0] % 4)": (5, 1, 0),
}
"""Calls, and with how many rows they are compared."""


@pytest.mark.parametrize("call", CALLS)
def test_the_first_form_computes_the_same(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original, other = load(f"{HEAD}    return {call}\n"), load(offered(call)[0])
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    for rows in CALLS[call]:
        torch.testing.assert_close(other(ROWS[:rows]), original(ROWS[:rows]))


PRODUCT = next(operator for operator in replacements().operators if "matmul" in operator.names)


@pytest.mark.parametrize("form", PRODUCT.forms)
@pytest.mark.parametrize("rows", [0, 1, 4])
def test_each_form_of_a_product_computes_the_same(form: str, rows: int) -> None:
    left, right = torch.randn(rows, 3), torch.randn(3, rows)
    other = eval(form.format(input="left", other="right"), {"torch": torch, "left": left, "right": right})
    torch.testing.assert_close(other, left @ right)


def test_a_distance_to_rows_of_unknown_number_asks_neither_whether_there_are_any_nor_how_many() -> None:
    call = "torch.cdist(x[x[:, 0] > 0], x.flip(0) + 5)"
    original, other = load(f"{HEAD}    return {call}\n"), load(offered(call)[-1])

    class Program(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return other(x)

    rows = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    exported = torch.export.export(Program(), (rows,)).module()
    for sample in (rows, rows.abs(), -rows.abs()):
        torch.testing.assert_close(exported(sample), original(sample), atol=1e-5, rtol=1e-5)


def test_the_gradient_of_a_spread_does_not_ask_how_many_there_are() -> None:
    other = load(offered("x[x[:, 0] > 0].std()")[0])
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(other, fullgraph=True, backend="aot_eager")
        for rows in (ROWS, ROWS.abs()):
            given, same = rows.clone().requires_grad_(), rows.clone().requires_grad_()
            compiled(given).backward()
            same[same[:, 0] > 0].std().backward()
            torch.testing.assert_close(given.grad, same.grad)


@pytest.mark.parametrize("operator", replacements().operators, ids=lambda operator: operator.call)
def test_the_table_names_parameters(operator: Operator) -> None:
    known = {*parameters(operator.call), "module", "limit"}
    assert operator.names or operator.modules
    assert operator.facts or operator.forms
    for form in (*operator.facts, *operator.forms):
        assert operator.modules or set(holes(form)) <= known


def test_keyword_arguments_go_where_nothing_is_given_for_them() -> None:
    assert without("f({a}, b=({c}, 1), d={e}).g()", {"c"}) == "f({a}, d={e}).g()"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "call"),
    [
        (
            "rows = [torch.unique_consecutive(e) for e in x]",
            "torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)",
        ),
        ("rows = [x[0][x[0] > 1], x[1][x[1] > 0]]", "pad_sequence(rows, True)"),
        ("", "rnn.pad_sequence([e[e > 1] for e in x])"),
        ("rows = [e[e > 1].float()[:, None] * torch.ones(3) for e in x]", "pad_sequence(rows, True, 2)"),
        ("lowest = 7", "pad_sequence(tuple(e.nonzero() for e in x), padding_value=lowest)"),
    ],
)
def test_rows_are_padded_to_the_longest_of_lengths_that_are_symbols(before: str, call: str) -> None:
    head = "import torch\nfrom torch.nn.utils import rnn\nfrom torch.nn.utils.rnn import pad_sequence\n\n\ndef fn(x):\n"
    text = f"{head}    {before}\n    y = {call}\n    return y + 0\n"
    (program,) = with_imports(
        "equivalent_operator", context_of(text, call, {"x": TypeFact("tensor", "int64", ("2", "4"))})
    )
    samples = [
        (torch.tensor(rows),)
        for rows in ([[1, 1, 2, 3], [1, 1, 1, 2]], [[2, 1, 2, 3], [1, 0, 2, 2]], [[1] * 4, [2] * 4])
    ]
    assert failures(text, program, samples, ("export", "compile")) == []
