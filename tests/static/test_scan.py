"""What is told from the text alone: which functions are worth parsing, and which files have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.sources.source import SourceError, SourceFile
from ddelint.static.checks import check_source
from ddelint.static.program.outline import functions_in, may_compile
from ddelint.static.program.prospects import Prospects
from ddelint.static.program.regions import FileIndex
from ddelint.static.program.scan import asks, kept_tensors, might_matter
from ddelint.static.reading import read

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROGRAMS = sorted(
    path for folder in ("static", "programs", "puzzles", "quickstart") for path in (FIXTURES / folder).rglob("*.py")
)
RULES = sorted((FIXTURES / "rules").glob("*/*.py"))


@pytest.mark.parametrize("text", [
    "n = x.item()", "torch.sum(x)", "torch.sum(x, dtype=torch.int64)", "x.repeat_interleave(counts)",
    "torch.repeat_interleave(x, counts, dim=0)", "F.one_hot(labels)", "n = int(t)",
    "f'{x.item()}'", "f\"{x.tolist()}\"",
    "range(lengths[0])", "for height, width in sizes:\n", "h, w = sizes[i]\n", "if (\n    tokens[i]\n    > 0\n):",
    "def f(flag: torch.Tensor):\n    if flag:\n", "def f(n: 'Tensor'):\n    assert n > 3\n",
    "def f(a: Tensor, b: Tensor):\n    c = a - b\n    while c > 1:\n", "def f(n: torch.LongTensor):\n    range(0, n)",
    "def f(x: Optional[Tensor]):\n    if not x:\n", "def f(x: Tensor):\n    if (x > 3):\n",
    "def f(x: Tensor):\n    return 1 if x else 0\n", "def f(x: Tensor):\r\n    if x:\r\n        y = 1\r\n",
    "keep = scores > 0.5\nboxes = boxes[keep]\n", "nz = torch.nonzero\n", "partial(torch.nonzero, as_tuple=True)",
    "n = int(len(x) * t)", "n = int(math.ceil(t))", "y.repeat_interleave(1 + t)", "F.one_hot(x, -1)", "F.one_hot(x,)",
    "pred = pred[pred[:, 4] > 0.25]", "y = x[m.bool()]", "y = x[m.to(torch.bool)]", "y = x[m.eq(1)]",
    "m = x[:, 0].gt(0)\ny = x[m]\n", "def f(m: torch.BoolTensor):\n    y = x[m]\n", "n = torch.linalg.norm(x)",
    "torch.linalg.vector_norm(x) > 3", "torch.linalg.matrix_norm(x) > 3", "x.norm(p=2) > 3", "x.norm(2) > 3",
    "torch.norm(x, 2) > 3", "torch.norm(x[0], p=1) > 3", "x.dot(y) > 0", "x.vdot(y) > 0",
    "if F.mse_loss(x, y) > 10:", "sizes = list(map(int, d))", "n = torch.randint(1, 5, (1,))",
    "def f(step: Tensor):\n    if step % 2 == 0:\n", "def f(step: Tensor):\n    late = step > 3\n    if late:\n",
    "self.register_buffer('steps', torch.zeros(()))\nx = 2 * x if self.steps > 10 else x\n",
    "self.on = nn.Parameter(torch.ones(1))\nif self.on:\n", "class A:\n    count: Tensor\nif self.count < 2:\n",
    "def f(m: Tensor, n):\n    while m[..., n, :]:\n        n += 1\n",
    "label = 'one \\\n two' if x.sum() > 3 else 'three'", "for row in rows:  # of a tensor\n",
    "for i in torch.arange(3):\n", "for i, j in torch.combinations(r):\n", "c = [p for p in torch.unbind(x)]\n",
    "def f(p: Tensor):\n    n = p[1] - p[0]\n    if n > 0:\n",
    "def f(p: Tensor):\n    low, high = p[0], p[1]\n    assert low < high\n",
    "def f(p: Tensor):\n    a = p[:, 0]\n    b = a[1] - a[0]\n    while b > 0:\n",
    "def f(p: Tensor):\n    a = p[..., 0]\n    if a:\n",
    "rows = self.rows\nrows = rows(x)\nfor row in rows:\n", "for i, row in enumerate(f(x)):\n",
])  # fmt: skip
def test_text_that_may_read_data(text: str) -> None:
    assert asks(text, kept_tensors(text))


@pytest.mark.parametrize("text", [
    "torch.sum(x, dim=1)", "x.sum(1)", "x.repeat_interleave(2, dim=0)", "torch.repeat_interleave(x, 2)",
    "F.one_hot(labels, classes)", "F.one_hot(labels, num_classes=4)", "int(config.width)",
    "int(self.config.width / 2)", "float('-inf')",
    "int(3)",
    "range(x.shape[0])", "for layer in self.layers:\n", "if x.shape[0] > 1:", "b, c = x.shape[:2]\n",
    '"""Calls `x.item()`."""', "y = x  # as x.item() does", "print('int(t)')",
    "for i, layer in enumerate(self.layers):\n", "layers = self.layers[:3]\nfor i, layer in enumerate(layers):\n",
    "layers = self.layers\nfor layer in layers:\n",
    "self.bias = nn.Parameter(torch.ones(1))\nif self.bias is not None:\n    return x + self.bias\n",
    "x: list[list[int]] = y", "z = x[y[0], 1:]",
    "def f(p: list, x: Tensor):\n    n = p[1] - p[0]\n    if n > 0:\n", "for i in torch.Size:\n",
    "def f(mask: torch.Tensor):\n    if mask is not None:\n", "def f(n: int, x: Tensor):\n    if n > 3:\n",
])  # fmt: skip
def test_text_that_reads_none(text: str) -> None:
    assert not asks(text, kept_tensors(text))


def prospects(text: str) -> Prospects:
    """The prospects of a text."""
    return Prospects(text, list(functions_in(text)))


REACHED = """
class M(Module):
    def forward(self, x):
        return self.middle(x)

    def middle(self, x):
        return self.last(x)

    def last(
        self, x
    ):
        y = x + 1
        return y.item()
"""


def test_what_an_entry_reaches_by_name() -> None:
    found = prospects(REACHED)
    assert not found.nothing_asks()
    assert [found.of_row(row) for row in (3, 6, 9, 13)] == [True, True, True, True]


def test_what_no_entry_reaches() -> None:
    found = prospects(REACHED.replace("self.middle(x)", "x"))
    assert found.nothing_asks()
    assert [found.of_row(row) for row in (3, 6, 9)] == [False, True, True]


@pytest.mark.parametrize("text", [
    "class M(Module):\n    def __init__(self, t):\n        super().__init__()\n        self.n = t.item()\n",
    "def helper(x):\n    y = x + 1\n    return y.item()\n",
    "",
])  # fmt: skip
def test_files_in_which_nothing_asks(text: str) -> None:
    assert prospects(text).nothing_asks()


@pytest.mark.parametrize("text", [
    # a one-line function is no function of the outline
    "class M(Module):\n    def forward(self, x): return x.item()\n",
    # sources under other names
    "from torch import nonzero as nz\n\n\ndef f(x):\n    return nz(x)\n",
    "count = torch.count_nonzero\n\n\ndef f(x):\n    return count(x)\n",
    # a module that a function makes
    "def make():\n    class M(Module):\n        def forward(self, x):\n            return x.item()\n    return M()\n",
])  # fmt: skip
def test_files_of_which_the_text_says_too_little(text: str) -> None:
    assert not prospects(text).nothing_asks()


def test_a_row_between_functions_is_none_of_theirs() -> None:
    found = prospects("def f(x):\n    y = x\n    return y.item()\nz = 1\n\n\ndef g(x):\n    y = x\n    return y")
    assert [found.of_row(row) for row in (1, 3, 4, 7, 9, 10)] == [True, True, None, False, False, None]


HEAD = "import torch\nfrom torch import nn\n\n\n"
MODEL = """class M(nn.Module):
    def forward(self, x):
        if total(x) > 3:
            return 1
        return x
"""


@pytest.mark.parametrize("helper", [
    "def total(x): return x.sum().item()\n",
    'def total(x, sep="#"):\n    y = x + 1\n    return y.sum().item()\n',
    "def total(x, \\\n        y=1):\n    z = x + y\n    return z.sum().item()\n",
    "def total(x):\n    n = (x\n+ 1)\n    return n.sum().item()\n",
    "# a \"\"\" quote\ndef total(x):\n    y = x + 1\n    return y.sum().item()\n# another \"\"\" one\n",
    "def count(x):\n    y = x + 1\n    return y.sum().item()\n\n\ntotal = count\n",
    "def count(x):\n    y = x + 1\n    return y.sum().item()\n\n\nOPS = [count]\ndef total(x):\n    return OPS[0](x)\n",
], ids=["one line", "sign in a string", "backslash", "at the margin", "quotes", "renamed", "in a list"])  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("parse", [False, True], ids=["in a folder", "by name"])
def test_a_helper_asks_however_it_is_laid_out(helper: str, newline: str, parse: bool) -> None:
    data = (HEAD + helper + "\n\n" + MODEL).replace("\n", newline).encode()
    assert "DDE101" in [found.code for found in read("m.py", data, parse=parse).findings]


@pytest.mark.parametrize("body", [
    "def make(k):\n    a = 1\n    b = 2\n    class Q(nn.Module):\n        def forward(self, x):\n"
    "            return 1 if x.sum() > 3 else 0\n    return Q()\n",
    "class Outer:\n    def __init__(self):\n        class Q(nn.Module):\n            def forward(self, x):\n"
    "                return 1 if x.sum() > 3 else 0\n        self.q = Q()\n",
    "class Inner(nn.Module):\n    def forward(self, x):\n        b = x > 3\n        return b.nonzero()\n\n\n"
    "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.inner = Inner()\n\n"
    "    def forward(self, x):\n        z = self.inner(x)\n        if z.shape[0] > 3:\n            return 1\n"
    "        return x\n",
], ids=["made by a function", "made by a constructor", "asked about by another"])  # fmt: skip
@pytest.mark.parametrize("parse", [False, True], ids=["in a folder", "by name"])
def test_a_module_is_found_wherever_it_is(body: str, parse: bool) -> None:
    assert len(read("m.py", (HEAD + body).encode(), parse=parse).findings) == 1


@pytest.mark.parametrize(
    "text", ["it waits for data in a range ", "range(a [", "a[0] == 1,\n", "= x ", "[1 < ", "[[a], "]
)
def test_a_long_text_is_no_trouble(text: str) -> None:
    """What costs the square of a text's length would not end here."""
    assert not might_matter(f'import torch\nTEXT = """{text * 40_000}"""\ndef forward(): pass\n'.encode())


@pytest.mark.parametrize("path", [*PROGRAMS, *RULES], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_shortcuts_lose_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found is what would be found if every body were parsed, and every function interpreted."""
    data = path.read_bytes()
    found = [diagnostic for diagnostic in read(str(path), data).findings if diagnostic.code != "DDE001"]
    named = [diagnostic for diagnostic in read(str(path), data, parse=True).findings if diagnostic.code != "DDE001"]
    monkeypatch.setattr(FileIndex, "matters", lambda self, node: True)
    source = SourceFile.from_bytes(str(path), data)
    try:
        _ = source.tree
        assert found == check_source(source)
        assert found == named
    except SourceError:
        assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "if torch.jit.is_tracing():\n",
        "from torch.jit import script\n",
        "# as ``torch.compile`` does\n",
        "re.compile('a')\n",
    ],
)
def test_what_compiles_nothing(text: str) -> None:
    assert not may_compile(SourceFile("f.py", f"import torch\n{text}"))


@pytest.mark.parametrize(
    "text",
    [
        "@torch.compile\ndef f(): ...\n",
        "f = torch.export.export(g)\n",
        "@triton.jit\ndef f(): ...\n",
        "c = torch.compile\n",
    ],
)
def test_what_may_compile_something(text: str) -> None:
    assert may_compile(SourceFile("f.py", f"import torch\n{text}"))
