"""Who else calls a function that is rewritten, in its file and in those beside it."""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Collection
from pathlib import Path

import pytest

from ddelint.rewrite.reading import neighbours
from ddelint.rewrite.reading.callers import compiled_callers, other_callers
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceFile

HELPERS = """
def at_most(n, most):
    if n > most:
        return most
    return n

def budget(lengths):
    return [at_most(len(length), 4) for length in lengths]

class Model:
    def forward(self, x, count):
        return x * at_most(count, 5)
"""


def callers(folder: Path, run: Collection[str], text: str = HELPERS, *, compiled: bool = False) -> str:
    path = folder / "helpers.py"
    path.write_text(text)
    source = SourceFile.read(path)
    row = next(number for number, line in enumerate(source.lines, 1) if "if n > most" in line)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If) and node.lineno == row)
    span = source.span(test)
    site = locate(source, span)
    assert site is not None
    known = {name.replace("FILE", str(path)) for name in run}
    return compiled_callers(site, known) if compiled else other_callers(site, known)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "package").mkdir()
    return tmp_path / "package"


RUN = ("FILE::at_most", "FILE::Model.forward")
ALONE = HELPERS.replace("def budget", "def _unused").replace("at_most(len(length), 4)", "len(length)")


def test_a_function_that_was_not_run_may_give_numbers(project: Path) -> None:
    assert callers(project, RUN) == "`at_most` is called at line 8, perhaps with what is no tensor"
    assert callers(project, (*RUN, "FILE::budget")) == ""
    annotated = HELPERS.replace("(n, most)", "(n: torch.Tensor, most: int)")
    assert callers(project, RUN, annotated) == ""


@pytest.mark.parametrize(
    "call",
    [
        "from package.helpers import at_most\nx = [at_most(n, 3) for n in range(3)]",
        "from .helpers import at_most as bound\ndef plot(values):\n    return bound(max(values), 3)",
        "from package import helpers\ndef plot(n):\n    return helpers.at_most(n, 3)",
        "import package.helpers as h\nclass Plot:\n    def size(self):\n        return h.at_most(self.n, 3)",
        "import numpy as np\nfrom .helpers import *\ndef plot(v):\n    return at_most(np.asarray(v).max(), 3)",
    ],
)
def test_a_file_that_imports_it_may_give_numbers(project: Path, call: str) -> None:
    (project / "plots.py").write_text(call)
    assert "of plots.py, perhaps with what is no tensor" in callers(project, RUN, ALONE)


@pytest.mark.parametrize(
    ("text", "is_doubtful"),
    [
        ("LEAST = at_most(2, 3)\n", False),
        ("if __name__ == '__main__':\n    print(at_most(2, 3))\n", True),
        ("if DEBUG:\n    print(at_most(2, 3))\n", False),
        ("if __name__ == '__main__':\n    import fire\n\n    fire.Fire()\n", True),
        ("CLI = lambda: None\n\nif True:\n    jsonargparse.CLI(as_positional=False)\n", True),
        ("if __name__ == '__main__':\n    fire.Fire(other)\n", False),
    ],
)
def test_what_runs_when_the_file_is_loaded_was_run_and_a_script_was_not(
    project: Path, text: str, is_doubtful: bool
) -> None:
    assert bool(callers(project, RUN, ALONE + text)) is is_doubtful


def test_a_file_of_which_something_was_run_was_loaded(project: Path) -> None:
    (project / "plots.py").write_text("from package.helpers import at_most\nx = at_most(2, 3)\ndef f():\n    pass\n")
    assert callers(project, (*RUN, f"{project / 'plots.py'}::f"), ALONE) == ""


@pytest.mark.parametrize(
    ("example", "is_doubtful"),
    [
        (">>> at_most(5, 3)\n    3", True),
        (">>> sum(\n    ...     at_most(n, 3)\n    ...     for n in range(9))\n    3", True),
        (">>> at_most(torch.tensor(5), 3)\n    3", False),
        (">>> n = torch.arange(4).max()\n    >>> at_most(n, 3)\n    3", False),
        (">>> print(at_most 5)\n    >>> at_least(5)", False),
        ("at_most(5, 3)", False),
    ],
)
def test_the_examples_of_a_docstring_call_it(project: Path, example: str, is_doubtful: bool) -> None:
    text = ALONE.replace("(n, most):\n", f'(n, most):\n    """The lesser one.\n\n    {example}\n    """\n')
    found = callers(project, RUN, text)
    assert ("of helpers.py (doctest)" in found) is is_doubtful
    if example.startswith(">>> at_most(5"):
        assert "line 5 of helpers.py" in found, "the row that it stands in"


@pytest.mark.parametrize(
    ("cell", "is_doubtful"),
    [
        ("%matplotlib inline\nfrom package.helpers import at_most\nat_most(3, 4)", True),
        ("from package import helpers\n!pip list\nhelpers.at_most(3, 4)", True),
        ("from package.helpers import at_most\nimport torch\nat_most(torch.tensor(3), 4)", False),
        ("from package.helpers import at_most\nat_most(3,", False),
        ("at_most(3, 4)", False),
    ],
)
@pytest.mark.parametrize("as_lines", [True, False])
def test_so_do_the_cells_of_a_notebook(project: Path, cell: str, is_doubtful: bool, as_lines: bool) -> None:
    source = cell.splitlines(keepends=True) if as_lines else cell
    cells = [
        {"cell_type": "markdown", "source": "from package.helpers import at_most"},
        {"cell_type": "code", "source": source},
    ]
    (project / "explore.ipynb").write_text(json.dumps({"cells": cells}))
    for number, broken in enumerate(("{", "[]", "3", '{"cells": 3}', '{"cells": [3]}', "[" * 100_000)):
        (project / f"broken{number}.ipynb").write_text(broken)
    assert ("of explore.ipynb" in callers(project, RUN, ALONE)) is is_doubtful


@pytest.mark.parametrize(
    ("text", "is_doubtful"),
    [
        (">>> from package.helpers import at_most\n>>> at_most(5, 3)\n3\n", True),
        (
            "Bounds\n======\n\n  >>> from package import helpers\n  >>> helpers.at_most(9, 3)\n",
            True,
        ),
        (">>> import torch\n>>> from package.helpers import at_most\n>>> at_most(torch.tensor(5), 3)\n", False),
        ("from package.helpers import at_most\nat_most(5, 3)\n", False),
        (">>> from package.others import at_most\n>>> at_most(5, 3)\n", False),
        (">>> from package.helpers import at_most\n>>> at_most(5,\n", False),
    ],
)
@pytest.mark.parametrize("ending", ["rst", "md", "txt"])
def test_so_do_the_examples_of_a_text(project: Path, text: str, is_doubtful: bool, ending: str) -> None:
    (project.parent / f"README.{ending}").write_text(text)
    found = callers(project, RUN, ALONE)
    assert (f"of README.{ending}" in found) is is_doubtful
    assert bool(found) is is_doubtful
    if text.startswith("Bounds"):
        assert f"line 5 of README.{ending}" in found, "the row that it stands in"


def test_texts_of_data_keep_no_python_file_from_being_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "zoo.py").write_text("from package.helpers import at_most\nat_most(5, 3)\n")
    labels = project.parent / "a_labels"
    labels.mkdir()
    monkeypatch.setattr(neighbours, "_MOST_FILES", 3)
    for number in range(9):
        (labels / f"{number}.txt").write_text("0 0.5 0.5\n")
    assert "of zoo.py" in callers(project, RUN, ALONE)


LOADING = "import importlib\nimport sys\n\n\ndef main(where, name, steps: int):\n    "
LOAD = "importlib.import_module"


@pytest.mark.parametrize(
    ("body", "is_doubtful"),
    [
        (f"curve = getattr({LOAD}(where), name)\n    return [curve(n, 9) for n in range(steps)]", True),
        (f"return getattr({LOAD}(where), name)(steps, 3)", True),
        (f"module = {LOAD}(where)\n    curve = getattr(module, name)\n    return curve(3, n=2)", False),
        (f"curve = getattr({LOAD}(where), name)\n    return curve(most=3, n=2)", True),
        (f"curve = getattr({LOAD}(where), name)\n    return curve(load(where), 2.5)", True),
        (f"curve = getattr({LOAD}(where), name)\n    return curve(batch, labels)", False),
        (f"curve = getattr({LOAD}(where), name)\n    return curve(1, 2, 3)", False),
        (f"module = {LOAD}('package.helpers')\n    return module.at_most(batch, 3)", True),
        (f"module = {LOAD}('package.helpers')\n    return module.at_most(torch.tensor(3), 3)", False),
        (f"module = {LOAD}('package.others')\n    return module.at_most(batch, 3)", False),
        (f"module = {LOAD}('package.helpers')\n    return module.at_least(batch, 3)", False),
        (f"return getattr({LOAD}('package.helpers'), 'at_most')(batch, 3)", True),
        (f"return getattr({LOAD}('package.helpers'), 'at_least')(3, 3)", False),
        ("return getattr(sys.modules['package.helpers'], name)(3, 3)", True),
        ("from package import helpers\n    return getattr(helpers, name)(3, 3)", True),
        ("from package import others\n    return getattr(others, name)(3, 3)", False),
        ("return getattr(where, name)(3, 3)", False),
        ("return globals()[name](3, 3)", False),
    ],
)
def test_a_function_that_is_found_by_a_text(project: Path, body: str, is_doubtful: bool) -> None:
    (project / "sweep.py").write_text(LOADING + body + "\n")
    found = callers(project, RUN, ALONE)
    assert ("of sweep.py, perhaps with what is no tensor" in found) is is_doubtful
    assert bool(found) is is_doubtful


def test_one_that_an_imported_module_is_asked_for_by_a_text(project: Path) -> None:
    (project / "sweep.py").write_text("from package import helpers\n\n\nx = getattr(helpers, NAME)(3, 4)\n")
    assert "line 4 of sweep.py" in callers(project, RUN, ALONE)


@pytest.mark.parametrize(
    ("by_text", "is_doubtful"),
    [
        ("globals()[name](3, n)", True),
        ("globals()['at_most'](x, n)", True),
        ("getattr(sys.modules[__name__], name)(3, n)", True),
        ("globals()['budget'](3, n)", False),
        ("globals()[name](x, y)", False),
    ],
)
def test_its_own_file_may_find_it_so(project: Path, by_text: str, is_doubtful: bool) -> None:
    found = callers(project, RUN, ALONE + f"\ndef called(name, x, y, n: int):\n    return {by_text}\n")
    assert bool(found) is is_doubtful


@pytest.mark.parametrize(
    ("name", "text", "is_named"),
    [
        ("conf/loss.yaml", "loss:\n  _target_: package.helpers.at_most\n  most: 3\n", True),
        ("pyproject.toml", '[project.scripts]\nbound = "package.helpers:at_most"\n', True),
        ("conf/loss.json", '{"class_path": "helpers.at_most"}', True),
        ("conf/loss.yaml", "losses: [package.helpers.at_most, other.mean]\n", True),
        ("conf/loss.yaml", "losses:\n  - helpers:at_most  # the bound\n", True),
        ("conf/about.yaml", "about: see package.helpers.at_most for more\n", False),
        ("conf/code.toml", "text = '''\nbound = inspect.signature(helpers.at_most if bounded else None)\n'''\n", False),
        ("conf/loss.yaml", "loss:\n  _target_: package.helpers.at_most_one\n", False),
        ("conf/loss.yaml", "# package.helpers.at_most\nloss: other_helpers.at_most\n", False),
        ("notes.txt", "package.helpers.at_most\n", False),
    ],
)
def test_a_configuration_that_names_it(project: Path, name: str, text: str, is_named: bool) -> None:
    path = project.parent / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    found = callers(project, RUN, ALONE)
    assert (f"is handed on at line 2 of {path.name}" in found or f"line 1 of {path.name}" in found) is is_named
    assert bool(found) is is_named


@pytest.mark.parametrize(
    "call",
    [
        "from package.helpers import at_most\ndef test():\n    assert at_most(torch.tensor(3), 4) == 3",
        "from package.helpers import at_most\ndef test():\n    n = torch.arange(3).max()\n    at_most(n, 4)",
        "from package.helpers import at_most\ndef size(n: torch.Tensor):\n    return at_most(n + 1, 4)",
        "from package.others import at_most\ndef size(n):\n    return at_most(n, 4)",
        "def at_most(n, most):\n    return n\ndef helpers(n):\n    return at_most(n, 4)",
        "from package import helpers\ndef size(n):\n    return helpers.budget(n)",
    ],
)
def test_what_gives_tensors_or_calls_another_function_does_not_count(project: Path, call: str) -> None:
    (project / "tests.py").write_text(call)
    assert callers(project, RUN, ALONE) == ""


METHOD = """
class Pool:
    def at_most(self, n, most):
        if n > most:
            return most
        return n

    def forward(self, x, count):
        return x * self.at_most(count, 5)

    def plan(self, batches):
        return [self.at_most(GIVEN, 4) for batch in batches]
"""


@pytest.mark.parametrize(
    ("given", "is_number"),
    [("len(batch)", True), ("3", True), ("int(batch)", True), ("batch", False), ("batch.sum()", False)],
)
def test_a_method_is_known_by_its_class_unless_a_call_plainly_gives_a_number(
    project: Path, given: str, is_number: bool
) -> None:
    found = callers(project, ("FILE::Pool.at_most", "FILE::Pool.forward"), METHOD.replace("GIVEN", given))
    assert (found == "`at_most` is called at line 12, perhaps with what is no tensor") is is_number


COUNTED = """
LEVELS = {"dusk": 0.1, "noon": 0.9}; MIXED = {"dusk": 0.1, "noon": x}
class Pool:
    CUTS: tuple = (1, 2)
    def at_most(self, n, most):
        if n > most:
            return most
        return n

    def forward(self, x, count):
        return x * self.at_most(count, 5)

    def longest(self):
        return len(self.parts) + 1

    def summary(self):
        for LOOP:
            print(part, self.at_most(GIVEN, 4))
"""


@pytest.mark.parametrize(
    ("loop", "given", "is_number"),
    [
        ("nth, part in enumerate(self.parts)", "nth", True),
        ("nth, part in enumerate(self.parts)", "part", False),
        ("part in self.parts", "part", False),
        ("part in range(4)", "part / 4", True),
        ("part in (0.1, 0.5)", "part", True),
        ("part, name in [(1, 'a'), (2, 'b')]", "part", True),
        ("name, part in [(1, x), (2, y)]", "part", False),
        ("part, weight in zip(self.parts, range(4))", "weight", True),
        ("part, weight in zip(self.parts, range(4))", "part", False),
        ("nth, (part, weight) in enumerate(zip(self.parts, reversed([1, 2])))", "weight", True),
        ("name, part in LEVELS.items()", "part", True),
        ("name, part in LEVELS.items()", "name", False),
        ("part in sorted(LEVELS.values())", "part", True),
        ("part in self.CUTS", "part", True),
        ("name, part in MIXED.items()", "part", False),
        ("part in LEVELS", "LEVELS[part]", True),
        ("part in MIXED", "MIXED[part]", False),
        ("part in self.parts", "part[0]", False),
        ("part in self.parts", "self.longest()", True),
        ("part in self.parts", "self.mean()", False),
        ("part in self.parts", "max(part.shape[0], 1)", True),
        ("part in self.parts", "max(part, 1)", False),
        ("part in self.parts", "math.sqrt(part)", True),
    ],
)
def test_what_a_loop_counts_or_goes_through_is_a_number_too(
    project: Path, loop: str, given: str, is_number: bool
) -> None:
    text = COUNTED.replace("LOOP", loop).replace("GIVEN", given)
    found = callers(project, ("FILE::Pool.at_most", "FILE::Pool.forward"), text)
    assert (found == "`at_most` is called at line 18, perhaps with what is no tensor") is is_number
    assert bool(found) is is_number


@pytest.mark.parametrize(
    ("given", "is_number"),
    [
        ("self.rows, x.shape[0]", True),
        ("n=self.rows, most=2", True),
        ("self.first, 4", True),
        ("most=len(x), n=self.least", True),
        ("self.loaded, 4", False),
        ("self.loaded, most=x.shape[0]", False),
    ],
)
def test_what_a_class_was_made_with_is_a_number_where_it_was_given_one(
    project: Path, given: str, is_number: bool
) -> None:
    text = METHOD.replace("GIVEN", "batch") + textwrap.dedent(
        f"""
        class Fixed(Pool):
            def __init__(self, rows=5, *, least: int, loaded=None):
                self.rows, self.first = rows, 3
                self.least = least
                self.loaded = loaded

            def forward(self, x):
                return x[: self.at_most({given})]
        """
    )
    run = ("FILE::Pool.at_most", "FILE::Pool.forward")
    found = callers(project, run, text)
    assert (found == "`at_most` is called at line 21, perhaps with what is no tensor") is is_number
    assert callers(project, (*run, "FILE::Fixed.forward"), text) == ""


@pytest.mark.parametrize(
    ("report", "is_number"),
    [
        ("return [self.at_most(n, m) for n, m in zip(self.counts, self.counts[1:])]", True),
        ("for n in self.counts:\n            self.at_most(n, 3)", True),
        ("for i, n in enumerate(reversed(self.counts)):\n            self.at_most(n - 1, most=i)", True),
        ("last = 0\n        for n in self.counts:\n            last = self.at_most(n, last)", True),
        ("return [self.at_most(part, 3) for part in self.parts(self.counts)]", True),
        ("pairs = zip(self.counts, self.counts[1:])\n        return [self.at_most(n, m) for n, m in pairs]", True),
        ("return self.at_most(self.counts[-1], self.counts[0])", True),
        ("return self.at_most(max(self.counts), 3)", True),
        ("return self.at_most(torch.stack(self.counts), 3)", False),
        ("return [self.at_most(n, 3) for n in self.recent]", True),
        ("return self.at_most(self.recent.popleft(), 3)", True),
        ("return [self.at_most(n, 3) for n in self.named.values()]", True),
        ("return self.at_most(self.best, 3)", True),
        ("return self.at_most(self.last, 3)", False),
        ("return list(map(self.at_most, self.counts, batches))", True),
        ("return sorted(batches, key=self.at_most)", True),
        ("return torch.vmap(self.at_most)(batches, batches)", False),
        ("return [self.at_most(x, 3) for x in self.loader]", False),
        ("return [self.at_most(x, 3) for x in batches]", False),
    ],
)
def test_what_a_list_of_the_class_holds_may_be_numbers(project: Path, report: str, is_number: bool) -> None:
    text = METHOD.replace("GIVEN", "batch") + (
        "    def __init__(self, loader):\n        self.counts: list[int] = []\n        self.loader = loader\n"
        "        self.recent, self.named, self.best, self.last = deque(maxlen=4), {}, float('inf'), None\n\n"
        "    def note(self, loss):\n        self.best, self.last = torch.minimum(self.best, loss), loss\n\n"
        f"    def report(self, batches):\n        {report}\n"
    )
    found = callers(project, ("FILE::Pool.at_most", "FILE::Pool.forward"), text)
    assert bool(found) is is_number


@pytest.mark.parametrize(("base", "counts"), [("Pool", True), ("helpers.Pool", True), ("Other", False)])
def test_a_class_of_another_file_may_inherit_the_method(project: Path, base: str, counts: bool) -> None:
    uses = f"import helpers\nfrom helpers import Pool\nclass Rows({base}):\n    def forward(self, x):\n"
    (project / "rows.py").write_text(uses + "        return x[: self.at_most(len(x), 4)]\n")
    found = callers(project, ("FILE::Pool.at_most", "FILE::Pool.forward"), METHOD.replace("GIVEN", "batch"))
    assert (found == "`at_most` is called at line 5 of rows.py, perhaps with what is no tensor") is counts


@pytest.mark.parametrize(
    ("module", "counts"),
    [
        ("class Head:\n    def forward(self, x):\n        return x[: at_most(x.shape[0], 3)]", True),
        ("class Head:\n    def forward(self, x):\n        n = x.size(0) - 1\n        return x[: at_most(n, 3)]", True),
        ("def cut(x):\n    return at_most(len(x), 3)\nclass Head:\n    def forward(self, x):\n        cut(x)", True),
        ("@torch.compile\ndef cut(x, n: int):\n    return x[: at_most(most=n, n=x.numel())]", True),
        ("class Head:\n    def forward(self, x, k: int):\n        return x * at_most(x.sum(), most=k)", True),
        ("class Head:\n    def forward(self, x):\n        return x * at_most(x.sum(), x.mean())", False),
        ("class Head:\n    def forward(self, x, k):\n        return x * at_most(x.sum(), most=k)", False),
        ("def report(rows):\n    return at_most(len(rows), 3)", False),
        ("class Report:\n    def rows(self, rows):\n        return at_most(len(rows), 3)", False),
    ],
)
def test_what_may_be_compiled_and_gives_numbers_counts_where_eager_is_left_as_it_was(
    project: Path, module: str, counts: bool
) -> None:
    beside = callers(project, RUN, f"{ALONE}\n{module}\n", compiled=True)
    (project / "heads.py").write_text(f"import torch\nfrom .helpers import at_most\n{module}\n")
    elsewhere = callers(project, RUN, ALONE, compiled=True)
    assert beside.endswith(" with a number, in what may be compiled") == counts
    assert elsewhere.endswith(" of heads.py with a number, in what may be compiled") == counts


@pytest.mark.parametrize(
    ("module", "row"),
    [
        ("WAYS = {'at most': at_most}\ndef sizes(raw):\n    return [WAYS['at most'](n, 3) for n in raw]", 14),
        ("def sizes(raw):\n    return list(map(at_most, raw, [3] * len(raw)))", 15),
        ("import functools\nat_most_three = functools.partial(at_most, most=3)", 15),
        ("class Settings:\n    bound = at_most", 15),
        ("def sizes(raw, bound=at_most):\n    return [bound(n, 3) for n in raw]", 14),
        ("WAYS = []\nWAYS.append(at_most)", 15),
    ],
)
def test_what_is_handed_on_is_called_by_whoever_holds_it(project: Path, module: str, row: int) -> None:
    said = "and called there perhaps with what is no tensor"
    beside = callers(project, RUN, f"{ALONE}\n{module}\n")
    assert beside == f"`at_most` is handed on at line {row}, {said}"
    (project / "ways.py").write_text(f"from .helpers import at_most\n{module}\n")
    assert callers(project, RUN, ALONE) == f"`at_most` is handed on at line {row - 12} of ways.py, {said}"


def test_a_decorator_may_keep_what_it_is_given(project: Path) -> None:
    kept = ALONE.replace("def at_most", "@WAYS.register('at most')\ndef at_most")
    assert "is handed on at line 2" in callers(project, RUN, kept)
    assert callers(project, RUN, kept.replace("WAYS.register('at most')", "torch.no_grad()")) == ""
    assert callers(project, RUN, kept.replace("WAYS.register('at most')", "functools.lru_cache")) == ""


@pytest.mark.parametrize(
    "module",
    [
        "fast = torch.compile(at_most)",
        "def ddelint_entries():\n    return [ddelint.Entry(at_most, inputs), Entry(program=at_most, inputs=inputs)]",
        "model = at_most",
        "class Model2:\n    def forward(self, x):\n        return map(at_most, x)",
        "class Other:\n    def rows(self):\n        return self.at_most",
    ],
)
def test_what_is_given_to_torch_or_in_what_was_run_is_given_tensors(project: Path, module: str) -> None:
    assert callers(project, (*RUN, "FILE::Model2.forward"), f"{ALONE}\n{module}\n") == ""


STATIC = METHOD.replace("    def at_most(self, n", "    @staticmethod\n    def at_most(n").replace(
    "GIVEN", "batch.sum()"
)


@pytest.mark.parametrize(
    ("call", "counts"),
    [
        ("def plan(n):\n    return Pool.at_most(n, 4)", True),
        ("def plan(old):\n    return [Pool.at_most(n['hits'], 4) for n in old]", True),
        ("class Plan:\n    def size(self):\n        return Pool.at_most(self.n, 4)", True),
        ("def plan(n: torch.Tensor):\n    return Pool.at_most(n + 1, 4)", False),
        ("def plan(n):\n    return Other.at_most(n, 4)", False),
    ],
)
def test_a_class_may_be_asked_for_what_needs_no_instance(project: Path, call: str, counts: bool) -> None:
    run = ("FILE::Pool.at_most", "FILE::Pool.forward")
    assert bool(callers(project, run, f"{STATIC}\n{call}\n")) is counts
    (project / "plans.py").write_text(f"from .helpers import Pool\n{call}\n")
    assert callers(project, run, STATIC).endswith("of plans.py, perhaps with what is no tensor") is counts


SIGNS = """
class Curve:
    def METHOD(self, n, most=3):
        if n > most:
            return most
        return n

class Model:
    def __init__(self):
        self.curve, self.other = Curve(), Other()

    def forward(self, x, count):
        return x * self.curve.METHOD(count)

    def report(self, x, levels: float):
        curve = self.curve
        return [GIVEN for step in range(11)]

SHARED = Curve()
"""


@pytest.mark.parametrize(
    ("method", "given", "counts"),
    [
        ("__getitem__", "self.curve[step / 10]", True),
        ("__getitem__", "curve[3]", True),
        ("__getitem__", "Curve()[levels]", True),
        ("__getitem__", "SHARED[step]", True),
        ("__getitem__", "self.curve[x.abs()]", False),
        ("__getitem__", "self.other[step]", False),
        ("__getitem__", "self.curve(step)", False),
        ("__call__", "self.curve(step)", True),
        ("forward", "self.curve(step)", True),
        ("__contains__", "step in self.curve", True),
        ("__matmul__", "self.curve @ 0.5", True),
        ("__rmul__", "0.5 * self.curve", True),
        ("__rmul__", "self.curve * 0.5", False),
        ("__lt__", "self.curve < 0.5", True),
        ("at_most", "self.curve[step]", False),
    ],
)
def test_an_instance_may_be_asked_by_a_sign(project: Path, method: str, given: str, counts: bool) -> None:
    text = SIGNS.replace("METHOD", method).replace("GIVEN", given)
    found = callers(project, (f"FILE::Curve.{method}", "FILE::Model.forward"), text)
    assert found == (f"`{method}` is called at line 17, perhaps with what is no tensor" if counts else "")
    assert callers(project, (f"FILE::Curve.{method}", "FILE::Model.forward", "FILE::Model.report"), text) == ""
