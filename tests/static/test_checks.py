"""The front door of the static pass: spans, symbols, breadcrumbs, and files of every shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.nouns.diagnostics import Diagnostic, Severity
from ddelint.sources.source import SourceError, SourceFile
from ddelint.static.checks import check_source, might_matter

ROOT = Path(__file__).resolve().parents[2]
MODEL = """import torch

class Model(torch.nn.Module):
    def forward(self, x, scores):
        hit = (scores > 0.5).nonzero()
        n = hit.shape[0]
        wide = n + 1
        if wide > 4:
            return x * 2
        return x
"""
NORM = "torch.nn.functional.batch_norm(y, None, None, training=True)"


def check(text: str, **options: bool) -> list[Diagnostic]:
    return check_source(SourceFile("model.py", text), **options)


def body(*lines: str) -> str:
    """A compiled function of `x` and `scores`, tensors both."""
    head = "import torch\n@torch.compile\ndef f(x: torch.Tensor, scores: torch.Tensor):\n"
    return head + "".join(f"    {line}\n" for line in lines)


def codes(*lines: str) -> list[str]:
    """Codes found in a compiled function with these lines."""
    return [d.code for d in check(body(*lines))]


def test_the_span_is_the_asking_expression_alone() -> None:
    (found,) = check(MODEL)
    assert (found.code, found.expression, found.severity) == ("DDE101", "wide > 4", Severity.ERROR)
    assert (found.span.row, found.span.column, found.span.end_row, found.span.end_column) == (8, 12, 8, 20)
    assert "`wide > 4`" in found.message
    assert found.origin == ("static",)


def test_a_symbol_is_told_in_the_users_words() -> None:
    (found,) = check(MODEL)
    (symbol,) = found.symbols
    assert (symbol.name, symbol.expression, symbol.lower) == ("wide", "(scores > 0.5).nonzero()", 0)
    assert symbol.created is not None
    assert symbol.created.row == 5


def test_breadcrumbs_lead_from_the_question_to_the_source() -> None:
    (found,) = check(MODEL)
    assert [span.row for span, _ in found.breadcrumbs] == [8, 7, 6, 5, 4]
    assert all(sentence for _, sentence in found.breadcrumbs)
    assert found.breadcrumbs[-1][1] == "parameter `scores`"


def test_the_way_goes_on_behind_the_number_to_where_its_tensor_comes_from() -> None:
    (found,) = check(
        body(
            "longest = scores.max()",
            "for row in longest:",
            "    n = row.item()",
            "    if n > 4:",
            "        return x",
            "return -x",
        )
    )
    assert [(span.row, sentence) for span, sentence in found.breadcrumbs] == [
        (7, "`n > 4` is asked here"),
        (6, "a number is read from the tensor's data"),
        (5, "`row` runs over it"),
        (4, "`longest` is bound here"),
        (3, "parameter `scores`"),
    ]


def test_breadcrumbs_pass_through_calls() -> None:
    (found,) = check(
        "import torch\n"
        "def cut(y, n):\n    return y if n > 3 else -y\n"
        "@torch.compile\ndef f(x: torch.Tensor):\n    return cut(x, x.sum().item())\n"
    )
    assert found.span.row == 3
    assert any("passed to `cut` as `n`" in sentence for _, sentence in found.breadcrumbs)


def test_a_tensor_is_told_by_what_it_was_bound_to() -> None:
    (found,) = check(body("low, high = torch.aminmax(x)", "if low < 0:", "    return high"))
    assert [(s.name, s.expression) for s in found.symbols] == [("low", "torch.aminmax(x)")]


@pytest.mark.parametrize(
    ("test", "expressions"),
    [
        ("if n > 4 and x.dim() == 2:", ["n > 4"]),
        ("if not n > 4:", ["n > 4"]),
        ("if n > 4 or n < 2:", ["n > 4", "n < 2"]),
        ("if 2 < n < 9:", ["2 < n < 9"]),
        ("if x.dim() == 2 and not (n > 4 or scores.any()):", ["n > 4", "scores.any()"]),
    ],
)
def test_each_operand_of_a_test_asks_for_itself(test: str, expressions: list[str]) -> None:
    found = check(body("n = scores.sum().item()", test, "    return x", "return -x"))
    assert [d.expression for d in found] == expressions


@pytest.mark.parametrize("test", ["n > 4 or n < 2", "not n > 4", "n > 4 and scores.any()"])
def test_a_validation_is_reported_as_a_whole(test: str) -> None:
    (found,) = check(body("n = scores.sum().item()", f"if {test}:", "    raise ValueError('no')", "return x"))
    assert (found.code, found.expression) == ("DDE103", test)


def test_without_a_region_everything_is_silent_unless_compilation_is_assumed() -> None:
    text = body("if x.sum() > 0:", "    return x").replace("@torch.compile\n", "")
    assert check(text) == []
    assert [d.code for d in check(text, assume_compiled=True)] == ["DDE105"]


@pytest.mark.parametrize(
    ("filename", "name", "found"),
    [
        ("test_model.py", "test_step", []),
        ("model_test.py", "test_step", []),
        ("test_model.py", "step", ["DDE105"]),
        ("model.py", "test_step", ["DDE105"]),
    ],
)
def test_what_only_pytest_runs_is_not_assumed_to_be_compiled(filename: str, name: str, found: list[str]) -> None:
    text = body("if x.sum() > 0:", "    return x").replace("@torch.compile\n", "")
    source = SourceFile(filename, text.replace("def f(", f"def {name}("))
    assert [d.code for d in check_source(source, assume_compiled=True)] == found


def test_the_inputs_say_what_the_parameters_are() -> None:
    text = (
        "import torch\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, a, b, c):\n"
        "        if a[b].shape[0] > 3:\n            return a\n"
        "        return a * int(c)\n"
    )
    assert [d.code for d in check(text)] == []
    with_inputs = text + "def make_inputs(seed):\n    n = seed % 3\n    return torch.rand(4), torch.arange(4) < n, n\n"
    assert [d.code for d in check(with_inputs)] == ["DDE101"]
    with_indices = text + "def make_inputs(seed):\n    return torch.rand(4), torch.arange(4), torch.tensor(seed)\n"
    assert [d.code for d in check(with_indices)] == ["DDE201"]


def test_unbacked_marks_make_sizes_ask() -> None:
    text = (
        "import torch\nUNBACKED = {1: [0]}\n"
        "def fn(x, y):\n    if x.shape[0] > 3 or y.shape[0] > 3:\n        return x\n    return y\n"
        "def make_inputs(seed):\n    return torch.rand(3), torch.rand(seed)\n"
    )
    assert [(d.code, d.expression) for d in check(text)] == [("DDE401", "y.shape[0] > 3")]


def test_facts_from_checks_and_branches_settle_later_questions() -> None:
    assert codes("n = scores.sum().item()", "torch._check(n > 4)", "return x if n > 2 else -x") == []
    assert codes("n = scores.sum().item()", "torch._check(n > 2)", "return x if n > 4 else -x") == ["DDE101"]
    assert codes("n = scores.sum().item()", "torch._check(n % 2 == 0)", "return x if n % 2 == 0 else -x") == []
    assert codes("n = scores.sum().item()", "assert n > 4", "return x if n > 4 else -x") == []


def test_the_same_mask_gives_the_same_size() -> None:
    same = ("mask = scores > 0", "a, b = x[mask], scores[mask]", "return a if a.shape[0] == b.shape[0] else b")
    assert codes(*same) == []
    other = ("a, b = x[scores > 0], x[scores < 0]", "return a if a.shape[0] == b.shape[0] else b")
    assert codes(*other) == ["DDE101"]


@pytest.mark.parametrize(
    ("number", "test", "fact"),
    [
        ("(scores > 0).sum().item()", "n >= 0", "always true: a count of a mask"),
        ("mask.sum().item()", "n <= mask.numel()", "always true: a count of a mask"),
        ("scores.argmax().item()", "n < scores.numel()", "always true: an index"),
        ("scores.argmax().item()", "n < 0", "always false: an index"),
        ("torch.bincount(ids).max().item()", "n >= 0", "always true: a position or a number of rows"),
        ("ids.clamp(0, 5)[0].item()", "n <= 5", "always true: it is clamped"),
        ("torch.diff(ids.sort().values)[0].item()", "n >= 0", "always true: the differences of a sorted tensor"),
        ("ids.to(torch.uint8).sum().item()", "n >= 0", "always true: an unsigned type"),
        ("torch.unique(torch.rand(8)).shape[0]", "n >= 1", "always true: a tensor that is not empty"),
        ("ids.clamp(0, 5).sum().item()", "n <= 5", ""),
        ("(-scores.abs()).max().item()", "n >= 0", ""),
        ("ids.clamp(0, 5).sub(7)[0].item()", "n >= 0", ""),
        ("scores.sum().item()", "n >= 0", ""),
    ],
)
def test_what_follows_from_the_origin_is_told(number: str, test: str, fact: str) -> None:
    text = body("mask = scores > 0", "ids = scores.long()", f"n = {number}", f"if {test}:", "    return x", "return -x")
    (found,) = check(text)
    assert (fact in found.message) if fact else "always" not in found.message


@pytest.mark.parametrize(
    "test",
    [
        "torch.unique(scores).shape[0] <= scores.numel()",
        "mask.nonzero().shape[0] >= 0",
        "x[:, None][:4].shape[0] >= 0",
        "torch.repeat_interleave(scores.long()).shape[0] >= 0",
    ],
)
def test_what_torch_knows_of_the_origin_is_not_asked(test: str) -> None:
    assert codes("mask = scores > 0", f"if {test}:", "    return x", "return -x") == []


HELPERS = """
def count(mask):
    return mask.nonzero().shape[0]

def handed(value):
    return value

def checked(value):
    torch._check(value.shape[0] > 3)
    return value.sum().item()
"""


def test_a_call_of_the_same_kind_gives_numbers_of_its_own_and_arguments_as_they_are() -> None:
    def found(*lines: str) -> list[str]:
        return [d.expression for d in check(body(*lines) + HELPERS)]

    end = ("    return x", "return -x")
    assert found("if count(x) == count(scores):", *end) == ["count(x) == count(scores)"]
    assert found("if count(x) == count(x):", *end) == []  # torch remembers what it counted in a tensor
    assert found("a, b = handed(x), handed(scores)", "if count(a) == count(x):", *end) == []
    assert found("a, b = handed(x), handed(scores)", "if count(a) == count(b):", *end) == ["count(a) == count(b)"]
    lines = ("n = checked(x)", "m = checked(scores)", "if n == m:", *end)
    assert found(*lines) == ["n == m"]


def test_loops_and_recursion_end() -> None:
    text = body(
        "n = scores.sum().item()",
        "def turn(k):",
        "    return k if k > 3 else turn(k + 1)",
        "i = 0",
        "while i < 3:",
        "    i = i + 1",
        "    for j in range(9):",
        "        n = n + j",
        "return turn(n)",
    )
    assert {d.code for d in check(text)} == {"DDE101"}


def test_an_expression_nested_too_deep_costs_only_its_own_function() -> None:
    deep = "x" + " + x" * 700
    text = body(f"return {deep} if x.any() else x") + body("return int(x.sum())").replace("import torch\n", "")
    assert "DDE201" in {d.code for d in check(text)}


@pytest.mark.parametrize(
    "lines",
    [
        ("match x.shape:", "    case [a, b]:", "        return a", "    case _:", "        return x"),
        ("with torch.no_grad() as g:", "    y = x", "return y"),
        (
            "try:",
            "    y = x",
            "except (ValueError, TypeError) as e:",
            "    raise",
            "else:",
            "    y = -x",
            "finally:",
            "    pass",
        ),
        ("del x", "global z", "z = 3"),
        ("async def g():", "    await x", "    async for i in x:", "        yield i"),
        ("return (lambda *a, k=1, **b: a)(*x, **{'k': 2})"),
        ("x[..., None, 1:2] += 1", "x.attr.deep = 3", "(a, *b), c = x, 1", "return [*b, c, {**{}}, {1, 2}]"),
        ("return {k: v for k, v in x.items() if k}, (yield), f'{x!r:>{3}}'"),
        ("class Inner:", "    y = 1", "return Inner().y"),
    ],
)
def test_every_statement_is_survived(lines: tuple[str, ...] | str) -> None:
    assert isinstance(check(body(*([lines] if isinstance(lines, str) else lines))), list)


def test_arguments_that_are_not_written_out_are_survived() -> None:
    sort = ("sizes = [x.sum().item(), x.max().item()]", "sizes.sort()", "return x")
    assert codes(*sort) == codes(sort[0], "sizes = sorted(sizes)", "return x") != []
    assert codes("if isinstance(*[x, torch.Tensor]):", "    return x", "return -x") == []
    head = "from functools import partial\n"
    for function in ("len, x[x > 0]", "int, x.sum()", "set, x[x > 0]", "bool, x.sum()", "torch.sum, x"):
        text = head + body(f"n = partial({function})()", "return x.sum().item()")
        assert isinstance(check(text), list), function


def test_our_own_files_are_survived_and_silent() -> None:
    for path in sorted((ROOT / "ddelint").rglob("*.py")):
        if "trace" in path.parts:
            continue  # holds a program that asks, on purpose
        assert [d for d in check_source(SourceFile.read(path)) if d.severity is Severity.ERROR] == [], path.name


def test_newlines_and_wide_characters_do_not_shift_columns() -> None:
    text = body("é = scores.sum().item()", "π = 'ü' if é > 4 else ''", "return π").replace("\n", "\r\n")
    (found,) = check(text)
    assert found.expression == "é > 4"
    assert (found.span.column, found.span.end_column) == (16, 21)


def test_a_file_that_does_not_parse_raises() -> None:
    with pytest.raises(SourceError):
        check("def f(:\n")


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b"import torch\ndef forward(x):\n    return x.item()\n", True),
        (b"def forward(x):\n    return x.item()\n", False),
        (b"import torch\nx.item()\n", False),
        (b"import torch\ndef forward(x):\n    return x + 1\n", False),
        (b"import torch\ndef forward(x):\n    print(x)\n", False),
        (b"x = 1  # ddelint: ignore\n", True),
        (b"torch._check_is_size(n)\n", True),
    ],
)
def test_the_byte_scan(data: bytes, kept: bool) -> None:
    assert might_matter(data) is kept


def test_where_everything_counts_as_compiled_nothing_needs_to_say_so() -> None:
    text = b"import torch\n\n\ndef helper(x: torch.Tensor):\n    return int(x.sum())\n"
    assert not might_matter(text)
    assert might_matter(text, assume_compiled=True)
    assert [d.code for d in check(text.decode(), assume_compiled=True)] == ["DDE201"]


@pytest.mark.parametrize(
    "lines",
    [
        ("y = x[scores > 0]", "torch._check(y.shape[0] > 0)", "return y.logsumexp(0)"),
        (
            "y = x[scores > 0]",
            "n = torch.sym_max(y.shape[0], 1)",
            "return torch.cat([y, x.new_zeros(1, 3)])[:n].logsumexp(0)",
        ),
        ("y = x[scores > 0]", "torch._check(y.shape[0] >= 2)", "return torch.inner(y, y)"),
        ("y = x[scores > 0]", "torch._check(y.shape[0] > 25)", "return torch.cdist(y, x)"),
        ("y = x[scores > 0]", "torch._check(y.shape[0] >= 2)", f"return {NORM}"),
        ("y = x[scores > 0]", "torch._check(y.shape[0] >= 1)", "return torch.roll(y, 1)"),
    ],
)
def test_a_size_that_is_bounded_answers_what_an_operator_asks(lines: tuple[str, ...]) -> None:
    assert "DDE304" not in codes(*lines)


@pytest.mark.parametrize(
    "lines",
    [
        ("y = x[scores > 0]", "return y.logsumexp(0)"),
        (
            "y = x[scores > 0]",
            "n = torch.sym_min(y.shape[0], 1)",
            "return torch.cat([y, x.new_zeros(1, 3)])[:n].logsumexp(0)",
        ),
        ("y = x[scores > 0]", "torch._check(y.shape[0] >= 1)", "return torch.inner(y, y)"),
        ("y = x[scores > 0]", "torch._check(y.shape[0] >= 9)", "return torch.take_along_dim(y, y.long(), 0)"),
        ("y = x[scores > 0]", "torch._check(y.shape[0] >= 1)", "return torch.cdist(y, x)"),
        ("y = x[scores > 0]", "torch._check(y.shape[0] >= 25)", "return torch.cdist(y, x)"),
        ("y = x[scores > 0]", "torch._check(y.shape[0] >= 1)", f"return {NORM}"),
    ],
)
def test_a_bound_that_is_too_low_leaves_it_asking(lines: tuple[str, ...]) -> None:
    assert "DDE304" in codes(*lines)


@pytest.mark.parametrize(
    ("line", "expressions"),
    [
        ("n = int(math.ceil(float(scores.max().item())))", ["float(scores.max().item())"]),
        ("n = int(math.ceil(math.log2(1 + scores.max().item())))", ["math.log2(1 + scores.max().item())"]),
        ("n = int(float(scores.max()))", ["float(scores.max())"]),
        ("n = int(scores.max().item())", ["int(scores.max().item())"]),
        ("n = int(scores.max().item()) + int(x.max().item())", ["int(scores.max().item())", "int(x.max().item())"]),
        (
            "n = int(x.max().item() + math.log2(scores.max().item()))",
            ["int(x.max().item() + math.log2(scores.max().item()))", "math.log2(scores.max().item())"],
        ),
    ],
)
def test_of_what_a_conversion_answers_no_other_one_asks(line: str, expressions: list[str]) -> None:
    found = check(f"import math\n{body(line, 'return x.new_zeros(n)')}")
    assert [d.expression for d in found if d.code == "DDE201"] == expressions
