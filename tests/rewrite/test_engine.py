"""Imports in the file's own style, and edits between two texts."""

from __future__ import annotations

import pytest
from control_flow import applied

from ddelint.nouns.diagnostics import Claim, Edit, Span
from ddelint.rewrite.candidate import Candidate, Import
from ddelint.rewrite.search.history import History, fix_edits
from ddelint.rewrite.writing import imports as engine
from ddelint.rewrite.writing.edits import minimal_edits, without_repeats
from ddelint.sources.source import SourceFile

SHAPES = "torch.fx.experimental.symbolic_shapes"
GUARD = Import(SHAPES, "guard_or_false")
TORCH = Import("torch")


def with_imports(text: str, *imports: Import) -> str:
    source = SourceFile("m.py", text)
    return source.apply(engine.import_edits(source, imports))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\nx = 1\n", f"import torch\nfrom {SHAPES} import guard_or_false\nx = 1\n"),
        ("import torch as t\nx = 1\n", f"import torch as t\nfrom {SHAPES} import guard_or_false\nx = 1\n"),
        ("import torch\r\nx = 1\r\n", f"import torch\r\nfrom {SHAPES} import guard_or_false\r\nx = 1\r\n"),
        ("import torch", f"import torch\nfrom {SHAPES} import guard_or_false"),
        (
            "import torch\nfrom torch import nn\nfrom torch.utils import data\n",
            f"import torch\nfrom torch import nn\nfrom {SHAPES} import guard_or_false\nfrom torch.utils import data\n",
        ),
        (
            f"import torch\nfrom {SHAPES} import sym_eq\n",
            f"import torch\nfrom {SHAPES} import sym_eq, guard_or_false\n",
        ),
        (
            f"from {SHAPES} import (\n    sym_eq,\n    guard_int,\n)\n",
            f"from {SHAPES} import (\n    sym_eq,\n    guard_int,\n    guard_or_false,\n)\n",
        ),
        (
            f"from {SHAPES} import guard_or_false\n",
            f"from {SHAPES} import guard_or_false\n",
        ),
        (
            '"""Doc."""\nfrom __future__ import annotations\nx = 1\n',
            f'"""Doc."""\nfrom __future__ import annotations\n\nfrom {SHAPES} import guard_or_false\nx = 1\n',
        ),
        ('"""Doc."""\n\nx = 1\n', f'"""Doc."""\n\nfrom {SHAPES} import guard_or_false\n\nx = 1\n'),
        ("x = 1\n", f"from {SHAPES} import guard_or_false\n\nx = 1\n"),
        (
            "import os\nif ok():\n    import torch\n",
            f"import os\nif ok():\n    import torch\n    from {SHAPES} import guard_or_false\n",
        ),
        (
            "import torch\ntry:\n    import torch.cuda\nexcept ImportError:\n    pass\n",
            f"import torch\nfrom {SHAPES} import guard_or_false\n"
            "try:\n    import torch.cuda\nexcept ImportError:\n    pass\n",
        ),
    ],
)
def test_a_name_joins_the_imports_in_the_style_of_the_file(before: str, after: str) -> None:
    assert with_imports(before, GUARD) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\n", "import torch\n"),
        ("import torch.nn as nn\n", "import torch.nn as nn\nimport torch\n"),
        ("import torch.nn\n", "import torch.nn\n"),
        ("import torch as t\n", "import torch as t\n"),
        ("import os\nfrom torch import nn\n", "import os\nimport torch\nfrom torch import nn\n"),
    ],
)
def test_torch_is_imported_where_it_is_missing(before: str, after: str) -> None:
    assert with_imports(before, TORCH) == after


def test_two_missing_names_share_a_line() -> None:
    text = with_imports("import torch\n", Import(SHAPES, "guard_or_true"), GUARD, GUARD)
    assert text == f"import torch\nfrom {SHAPES} import guard_or_false, guard_or_true\n"


@pytest.mark.parametrize(
    "text",
    [
        "def guard_or_false(x):\n    return x\n",
        "guard_or_false = bool\n",
        "from mine import guard_or_false\n",
        "import mine as guard_or_false\n",
        "try:\n    from mine import guard_or_false\nexcept ImportError:\n    pass\n",
    ],
)
def test_a_name_that_means_something_else_is_refused(text: str) -> None:
    with pytest.raises(engine.EngineError):
        with_imports(text, GUARD)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import torch\n", "torch"),
        ("import torch as th\n", "th"),
        ("import torch.nn\n", "torch"),
        ("import torch.nn as nn\n", None),
        ("from torch import nn\n", None),
        ("if True:\n    import torch\n", "torch"),
        ("if TYPE_CHECKING:\n    import torch\n", None),
    ],
)
def test_torch_name(text: str, name: str | None) -> None:
    assert engine.torch_name(SourceFile("m.py", text)) == name


def test_apply_adds_the_import_once_and_keeps_the_rest() -> None:
    source = SourceFile("m.py", "import torch\r\n\r\ndef f(n):  # keep\r\n\tif n == 0:\r\n\t\treturn 1\r\n")
    candidate = Candidate(
        move="m",
        claim=Claim.GENERAL_PATH,
        message="",
        edits=(Edit(Span("m.py", 4, 5, 4, 11), "guard_or_false(n == 0)"),),
        imports=(GUARD,),
    )
    after = applied({"m.py": source}, candidate)["m.py"]
    assert after == (
        f"import torch\r\nfrom {SHAPES} import guard_or_false\r\n\r\n"
        "def f(n):  # keep\r\n\tif guard_or_false(n == 0):\r\n\t\treturn 1\r\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "contents"),
    [
        ("a = int(x)\nb = 2\n", "a = x.item()\nb = 2\n", ["x.item()"]),
        ("a\nb\nc\n", "a\nb\nnew\nc\n", ["new\n"]),
        ("a\nb\nc\n", "a\nc\n", [""]),
        ("a\r\nb\r\n", "a\r\nbee\r\n", ["bee"]),
        ("a", "a\nb", ["\nb"]),
        ("", "a\n", ["a\n"]),
        ("same\n", "same\n", []),
        ("one\ntwo\nthree\n", "ONE\ntwo\nTHREE\n", ["ONE", "THREE"]),
    ],
)
def test_minimal_edits_lead_from_one_text_to_the_other(before: str, after: str, contents: list[str]) -> None:
    source = SourceFile("m.py", before)
    edits = minimal_edits(source, after)
    assert source.apply(edits) == after
    assert [edit.content for edit in edits] == contents


def test_the_edits_of_a_step_stand_on_the_original_text() -> None:
    source = SourceFile("m.py", "import torch\na = 1\nb = 2\n")
    history = History({"m.py": source})
    history = history.add([Edit(Span("m.py", 2, 5, 2, 6), "11"), Edit(Span("m.py", 2, 1, 2, 1), "import os\n")], 1)
    history = history.add([Edit(Span("m.py", 4, 5, 4, 6), "22")], 2)
    assert source.apply(fix_edits(history, 2)) == "import torch\na = 1\nb = 22\n"
    assert source.apply(fix_edits(history, 1)) == "import torch\nimport os\na = 11\nb = 2\n"
    with_guard = source.apply(fix_edits(history, 2, (GUARD,)))
    assert with_guard == f"import torch\nfrom {SHAPES} import guard_or_false\na = 1\nb = 22\n"


@pytest.mark.parametrize(
    ("contents", "after"),
    [
        (("import torch\n", "import torch\nfrom a import b\n"), "import torch\nfrom a import b\nx = 1\n"),
        (("from a import c\n\n", "from a import b\n\n", "y = 2\n"), "from a import b, c\n\ny = 2\nx = 1\n"),
        (("y = 2\n", "y = 3\n"), "y = 2\ny = 3\nx = 1\n"),
    ],
)
def test_imports_of_several_fixes_are_put_together(contents: tuple[str, ...], after: str) -> None:
    place = Span("m.py", 1, 1, 1, 1)
    assert SourceFile("m.py", "x = 1\n").apply(without_repeats([Edit(place, c) for c in contents])) == after


def test_names_of_several_fixes_for_one_import_are_put_together() -> None:
    place = Span("m.py", 1, 16, 1, 16)
    edits = [Edit(place, ", c"), Edit(place, ", b, c"), Edit(place, ", b")]
    assert SourceFile("m.py", "from a import a\n").apply(without_repeats(edits)) == "from a import a, c, b\n"


def test_a_submodule_is_imported_beside_its_package() -> None:
    text = "def f(x):\n    import torch\n\n    return x\n"
    source = SourceFile("m.py", text)
    needed = [TORCH, Import("torch._functorch.config")]
    change = Edit(Span("m.py", 4, 12, 4, 13), "torch._functorch.config.patch(x)")
    assert source.apply(engine.import_edits(source, needed, [change])) == text.replace(
        "    import torch\n", "    import torch\n    import torch._functorch.config\n"
    )
