"""jaxtyping annotations as specs, and contracts as such annotations. jaxtyping itself is needed for one test only."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.nouns.contracts import Branch, Contract, Dimension, Requirement
from ddelint.nouns.diagnostics import Span
from ddelint.shapes.annotations import annotated_spec, annotation_lines
from ddelint.shapes.comparing import compare
from ddelint.shapes.names import names_of
from ddelint.shapes.specs import spec_of

X0, X1, Y0, Y1 = "x.shape[0]", "x.shape[1]", "y.shape[0]", "y.shape[1]"
NEEDED = (f"{X0} == {Y0}", f"{X1} == 12", f"{Y1} <= 64", f"{Y0} % 4 == 0")


def contract(folder: Path, text: str, *needed: str) -> Contract:
    """Of a program `fn(x, y)` in a file, whose tensors have two dimensions each."""
    path = folder / "annotated.py"
    path.write_text(text, "utf-8")
    row = text[: text.index("def fn")].count("\n") + 1
    return Contract(
        "annotated.py:fn",
        str(path),
        Span(str(path), row, 1, row, 2),
        tuple(Dimension(name, size, "") for name, size in ((X0, 8), (X1, 12), (Y0, 8), (Y1, 6))),
        tuple(Requirement(one, "torch") for one in needed),
        (Branch(f"{X0} >= 5", Span(str(path), row, 1, row, 2), "x.shape[0] > 4"),),
        {"x": 2, "y": 2},
    )


def program(x: str, y: str, imports: str = "from jaxtyping import Float, Int") -> str:
    return f"import torch\n{imports}\nfrom torch import Tensor\n\n\ndef fn(x: {x}, y: {y}):\n    return x, y\n"


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ('Float[Tensor, "rows 12"]', 'Int[Tensor, "rows width"]'),
        ('Float[torch.Tensor, "rows wide=12"]', 'Int[Tensor, "rows _"] | None'),
        ("\"Float[Tensor, 'rows 12']\"", 'Int[Tensor, "rows ..."]'),
        ('Float[Tensor, "?rows 12"]', 'Int[Tensor, "rows *rest"]'),
        ('Float[Tensor, "half 12"]', 'Int[Tensor, "2*half-half w"]'),
    ],
)
def test_annotations_that_say_what_they_can(tmp_path: Path, x: str, y: str) -> None:
    wanted = contract(tmp_path, program(x, y), *NEEDED)
    spec = annotated_spec(wanted)
    assert spec is not None
    compared = compare(wanted, spec)
    assert (compared.findings, compared.undecided) == ([], [])


@pytest.mark.parametrize(
    ("x", "y", "code", "fact"),
    [
        ('Float[Tensor, "rows 12"]', 'Int[Tensor, "others width"]', "DDE408", f"{X0} == {Y0}"),
        ('Float[Tensor, "rows wide"]', 'Int[Tensor, "rows width"]', "DDE408", f"{X1} == 12"),
        ('Float[Tensor, "rows 12"]', 'Int[Tensor, "rows rows"]', "DDE407", f"{X0} == {Y1}"),
        ('Float[Tensor, "rows 12"]', 'Int[Tensor, "rows 6"]', "DDE407", f"{Y1} == 6"),
        ('Float[Tensor, "rows 13"]', 'Int[Tensor, "rows width"]', "DDE410", f"{X1} == 12"),
        ('Float[Tensor, "rows 12"]', 'Int[Tensor, "rows+1 width"]', "DDE410", f"{X0} == {Y0}"),
    ],
)
def test_annotations_that_say_too_little_or_too_much(tmp_path: Path, x: str, y: str, code: str, fact: str) -> None:
    wanted = contract(tmp_path, program(x, y), *NEEDED)
    spec = annotated_spec(wanted)
    assert spec is not None
    assert (code, fact) in {(one.code, one.fact) for one in compare(wanted, spec).findings}


@pytest.mark.parametrize(
    ("x", "imports"),
    [
        ("Tensor", "from jaxtyping import Float, Int"),
        ('Float[Tensor, "rows 12"]', "from elsewhere import Float, Int"),
        ('Float[Tensor, "one two three"]', "from jaxtyping import Float, Int"),
        ('Float[Tensor, "rows f(2)"]', "from jaxtyping import Float, Int"),
    ],
)
def test_what_is_no_annotation_of_sizes(tmp_path: Path, x: str, imports: str) -> None:
    assert annotated_spec(contract(tmp_path, program(x, "Tensor", imports), *NEEDED)) is None


def test_a_module_by_another_name_and_its_words(tmp_path: Path) -> None:
    text = program('jt.Float[Tensor, "rows 12"]', 'jt.Int[Tensor, "rows width"]', "import jaxtyping as jt")
    wanted = contract(tmp_path, text, *NEEDED)
    assert names_of(wanted) == {X0: "rows", Y0: "rows", Y1: "width"}
    assert annotated_spec(wanted) is not None


def test_a_contract_as_annotations(tmp_path: Path) -> None:
    wanted = contract(
        tmp_path, program('Float[Tensor, "a b"]', "Tensor"), f"{X0} == {Y0}", f"{Y1} == 2 * {X1} + 1", f"{X0} <= 64"
    )
    lines = list(annotation_lines(wanted, spec_of(wanted, names_of(wanted))))
    assert '    "x": jaxtyping.Float[torch.Tensor, "a b"],' in lines
    assert '    "y": jaxtyping.Shaped[torch.Tensor, "a 2*b+1"],' in lines
    assert list(annotation_lines(contract(tmp_path, program("Tensor", "Tensor", "")), spec_of(wanted, {}))) == []


def test_jaxtyping_takes_what_is_written(tmp_path: Path) -> None:
    jaxtyping = pytest.importorskip("jaxtyping")
    torch = pytest.importorskip("torch")
    wanted = contract(tmp_path, program('Float[Tensor, "a b"]', "Tensor"), f"{X0} == {Y0}", f"{Y1} == 2 * {X1} + 1")
    space = {"jaxtyping": jaxtyping, "torch": torch}
    exec("\n".join(annotation_lines(wanted, spec_of(wanted, names_of(wanted)))), space)
    kinds = space["ANNOTATIONS"]

    @jaxtyping.jaxtyped(typechecker=None)
    def fits(x: object, y: object) -> bool:
        return isinstance(x, kinds["x"]) and isinstance(y, kinds["y"])

    assert fits(torch.rand(3, 4), torch.rand(3, 9))
    assert not fits(torch.rand(3, 4), torch.rand(2, 9))
    assert not fits(torch.rand(3, 4), torch.rand(3, 8))
