"""`ddelint init`: what is read off a program's text, how errors correct it, what is written."""

from __future__ import annotations

import ast
import math
import shutil
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ddelint.cli import main
from ddelint.guessing.annotations import said_by
from ddelint.guessing.arguments import guess_for
from ddelint.guessing.corrections import MOST_ELEMENTS, corrections
from ddelint.guessing.demos import Called, Demo, demos_in_docstring, demos_in_source, recipes_in
from ddelint.guessing.knowledge import knowledge, read
from ddelint.guessing.nouns import Argument, Code, Guess, Tensor, Value
from ddelint.guessing.programs import chosen
from ddelint.guessing.shapes_in_text import shape_in
from ddelint.guessing.writing import block_of, recipe_of, with_block
from ddelint.knowledge.catalog import CatalogError
from ddelint.nouns.protocol import ConfigText, ProgramText
from ddelint.sources.source import SourceFile

MODELS = Path(__file__).parents[1] / "fixtures/init"
FACTS = knowledge()


def arguments(call: str, init: str = "", **more: Any) -> dict[str, Value]:
    """The values that a program's text leads to, by parameter."""
    guess = guess_for(ProgramText("Model", True, 1, call, init, **more), FACTS)
    return {argument.name: argument.value for argument in guess.inputs if argument.is_given}


def tensor(value: Value) -> Tensor:
    assert isinstance(value, Tensor)
    return value


# ---------------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x (Tensor): input of shape (B, T, C)", ("B", "T", "C")),
        ("x: `[batch, 3, H, W]`", ("batch", "3", "H", "W")),
        ("boxes (Tensor[N, 4]): boxes", ("N", "4")),
        ("image with shape :math:`(B, C, H, W)`", ("B", "C", "H", "W")),
        ("features, (N, 2 * dim)", ("N", "2 * dim")),
        ("x (torch.Tensor, optional): the input", None),
        ("a number (default: 3)", None),
    ],
)
def test_shapes_are_read_as_people_write_them(text: str, shape: tuple[str, ...] | None) -> None:
    assert shape_in(text) == shape


@pytest.mark.parametrize(
    ("annotation", "form", "kind"),
    [
        ("torch.LongTensor", "tensor", "int"),
        ("Optional[torch.Tensor]", "tensor", ""),
        ("Tensor | None", "tensor", ""),
        ("Union[None, 'Optional[LongTensor]']", "tensor", "int"),
        ("Annotated[Union[int, None], 'rows']", "number", ""),
        ("None | 'Bool[Tensor, \"b t\"]'", "tensor", "bool"),
        ("list[Tensor]", "list", ""),
        ("Literal['sum', 'mean']", "literal", ""),
        ("int", "number", ""),
        ("Router", "", ""),
    ],
)
def test_annotations_are_read_by_their_names(annotation: str, form: str, kind: str) -> None:
    said = said_by(ast.parse(annotation, mode="eval").body, FACTS)
    assert (said.form, said.kind) == (form, kind)


def test_dimensions_of_one_name_have_one_size() -> None:
    found = arguments(
        "def forward(self, x: Float[Tensor, 'batch tokens dim'], keep: Bool[Tensor, 'batch tokens']): ...",
        "def __init__(self, dim: int): ...",
    )
    x, keep = tensor(found["x"]), tensor(found["keep"])
    assert x.sizes[:2] == keep.sizes
    assert (x.sizes[2], keep.kind) == (FACTS.sizes["features"], "bool")


def test_the_constructor_says_how_large_a_dimension_is() -> None:
    found = arguments("def forward(self, x):\n    '''x: (B, hidden_size)'''", "def __init__(self, hidden_size=48): ...")
    assert tensor(found["x"]).sizes == (2, 48)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("b, t, c = x.shape", (2, 12, 3)),
        ("return rearrange(x, 'b c h w -> b (c h w)')", (2, 3, 32, 32)),
        ("return self.conv(x)", (2, 5, 32, 32)),
        ("return self.first(x)", (2, 24)),
    ],
)
def test_what_the_code_does_says_the_shape(body: str, wanted: tuple[int, ...]) -> None:
    init = (
        "def __init__(self, planes=5, wide=8):\n    self.conv = nn.Conv2d(planes, 2, 3)\n"
        "    self.first = nn.Sequential(nn.Linear(3 * wide, 2), nn.ReLU())"
    )
    assert tensor(arguments(f"def forward(self, x):\n    {body}", init)["x"]).sizes == wanted


def test_what_feeds_an_embedding_is_whole_numbers_below_its_size() -> None:
    init = "def __init__(self, words):\n    self.table = nn.Embedding(words, 4)"
    found = tensor(
        arguments("def forward(self, x):\n    return self.table(x)", init.replace("words)", "words=50)"))["x"]
    )
    assert (found.kind, found.high) == ("int", 50)


@pytest.mark.parametrize(
    ("call", "kinds"),
    [
        ("x.scatter_add_(0, y, w)", ("float", "int", "float")),
        ("torch.scatter(x, 0, y, w)", ("float", "int", "float")),
        ("x.gather(1, y)", ("float", "int", "float")),
        ("torch.masked_fill(x, y, 0.0)", ("float", "bool", "float")),
        ("x.masked_fill(y, 0.0)", ("float", "bool", "float")),
        ("torch.where(y, x, w)", ("float", "bool", "float")),
        ("F.one_hot(y)", ("float", "int", "float")),
    ],
)
def test_what_an_operator_takes_says_the_kind(call: str, kinds: tuple[str, ...]) -> None:
    found = arguments(f"def forward(self, x, y, w):\n    return {call}")
    assert tuple(tensor(found[name]).kind for name in "xyw") == kinds


def test_a_large_configuration_is_made_small() -> None:
    config = ConfigText("config", "BigConfig", {"hidden_size": "4096", "num_labels": "2", "rope": "..."})
    guess = guess_for(
        ProgramText("Model", True, 1, "def forward(self, input_ids=None): ...", "def __init__(self, config): ...", "",
                    (config,)),
        FACTS,
    )  # fmt: skip
    assert recipe_of(guess, FACTS).init == '{"config": BigConfig(hidden_size=32)}'
    assert [argument.name for argument in guess.inputs if argument.is_given] == ["input_ids"]


def test_what_nothing_is_said_of_is_left_to_fill_in() -> None:
    guess = guess_for(ProgramText("f", False, 1, "def f(x: Tensor, hook: Callable): ..."), FACTS)
    recipe = recipe_of(guess, FACTS)
    assert recipe.missing == ("hook",)
    assert "hook = ...  # TODO: " in block_of([recipe], "ddelint check f.py")


@pytest.mark.parametrize(
    ("call", "inputs"),
    [
        ("def f(*tensors: Tensor, dim=0): ...", "(tensors_1,)"),
        ("def f(x: Tensor, *rest: Tensor): ...", "(x,)"),
        ("def f(*, x: Tensor): ...", '(), {"x": x}'),
        ("def f(x: Tensor = None, *, y: Tensor): ...", '(), {"y": y}'),
    ],
)
def test_arguments_go_as_the_signature_takes_them(call: str, inputs: str) -> None:
    program = ProgramText("f", False, 1, call)
    assert recipe_of(guess_for(program, FACTS), FACTS).inputs == inputs
    source = SourceFile("f.py", "")
    assert chosen([program], source, ()) == ((program,), ())


@pytest.mark.parametrize(
    ("annotation", "given"),
    [("Part", "Part(config=Config(dim=32))"), ("Optional[Part]", "Part(config=Config(dim=32))"), ("Type[Part]", "Part"),
     ("type[Part | Other]", "Part"), ("Callable[..., Part]", "Part"),
     ("Optional[Type[Part]]", "Part")],
)  # fmt: skip
def test_a_class_of_the_file_is_an_argument(annotation: str, given: str) -> None:
    config = ConfigText("config", "settings:Config", {"dim": ""})
    part = ProgramText("Part", True, 1, "def forward(self, x): ...", "def __init__(self, config): ...", "", (config,))
    whole = ProgramText("Whole", True, 2, "def forward(self, x): ...", f"def __init__(self, part: {annotation}): ...")
    guess = guess_for(whole, FACTS, [part, whole])
    assert [argument.value for argument in guess.init] == [Code(given)]
    assert ("from settings import Config" in guess.imports) == ("Config" in given)


# ---------------------------------------------------------------------------- correcting


def first(message: str, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors of the first guess that an error leads to."""
    guess = Guess("f", tuple(Argument(name, value, "") for name, value in zip("abc", tensors)))
    found = next(corrections(guess, message, FACTS))
    assert all(argument.reason.isascii() for argument in found.inputs)  # it is written into a file of any encoding
    return tuple(tensor(argument.value) for argument in found.inputs)


@pytest.mark.parametrize(
    ("message", "before", "after"),
    [
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (24x32 and 64x10)", (2, 12, 32), (2, 12, 64)),
        ("RuntimeError: Given groups=1, weight of size [8, 1, 3, 3], expected input[2, 3, 32, 32] to have 1 channels, "
         "but got 3 channels instead", (2, 3, 32, 32), (2, 1, 32, 32)),
        ("ValueError: not enough values to unpack (expected 4, got 2)", (2, 32), (2, 3, 32, 32)),
        ("RuntimeError: Expected 2D (unbatched) or 3D (batched) input to conv1d, but got input of size: [2, 32]",
         (2, 32), (2, 12, 32)),
        ("RuntimeError: a Tensor with 64 elements cannot be converted to Scalar", (2, 32), ()),
        ("RuntimeError: Boolean value of Tensor with more than one value is ambiguous", (2, 32), ()),
    ],
)  # fmt: skip
def test_an_error_says_which_shape_is_wanted(message: str, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    assert first(message, Tensor(before))[0].sizes == after


def test_an_error_says_which_kind_is_wanted() -> None:
    message = "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long"
    assert first(message, Tensor((2, 12)))[0].kind == "int"
    assert first("IndexError: index out of range in self", Tensor((2,), "int", 10))[0].high == 5
    message = "RuntimeError: Subtraction, the `-` operator, with a bool tensor is not supported."
    assert first(message, Tensor((2,), "bool"))[0].kind == "float"


def test_nothing_grows_beyond_what_can_be_run() -> None:
    guess = Guess("f", (Argument("a", Tensor((2, 3, 2048, 2048)), ""),))
    for message in ("mat1 and mat2 shapes cannot be multiplied (2x2048 and 900000x1)", "Output size is too small"):
        found = [tensor(other.inputs[0].value).sizes for other in corrections(guess, message, FACTS)]
        assert found
        assert all(math.prod(sizes) <= MOST_ELEMENTS for sizes in found)


def test_settings_of_any_usual_name_get_the_field_that_is_missed() -> None:
    for name in ("types.SimpleNamespace", "ModelCfg", "Hparams"):
        guess = Guess("f", init=(Argument("config", Code(f"{name}(dim=8)"), ""),))
        message = f"AttributeError: '{name}' object has no attribute 'num_heads'"
        assert next(corrections(guess, message, FACTS)).init[0].value == Code(f"{name}(dim=8, num_heads=4)")


def test_what_the_text_says_is_doubted_last() -> None:
    said, unsaid = Tensor((2, 12), has_kind=True), Tensor((2, 8))
    kinds = [found.kind for found in first("tensors used as indices must be long", said, unsaid)]
    assert kinds == ["float", "int"]


def test_an_argument_that_the_error_names_is_given() -> None:
    guess = Guess("f", (Argument("a", Tensor((2,)), ""), Argument("labels", Tensor((2,)), "", is_given=False)))
    message = "ValueError: You have to specify labels"
    assert any(other.inputs[1].is_given for other in corrections(guess, message, FACTS))


# ---------------------------------------------------------------------------- what somebody has written


DEMO = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scale):
        return x * scale


def make(wide=4):
    model = Model()
    return model


if __name__ == "__main__":
    size = 8
    model = {model}
    x = torch.randn(2, size)
    y = {call}
"""


@pytest.mark.parametrize(
    ("model", "call", "builder"),
    [
        ("Model()", "model(x, scale=2)", ""),
        ("Model().eval()", "model(x, scale=2)", ""),
        ("torch.compile(Model())", "model(x, scale=2)", None),
        ("Model()", "torch.export.export(model, (x, 2))", ""),
        ("make()", "model(x, scale=2)", "make()"),
        ("load('weights')", "model(x, scale=2)", None),
    ],
)
def test_calls_in_a_demo_are_taken_over(model: str, call: str, builder: str | None) -> None:
    text = DEMO.format(model=model, call=call)
    called = Called("Model", True, frozenset(("make",)))
    found = list(recipes_in(demos_in_source(text, "model.py"), called, frozenset(("Model", "make", "torch"))))
    if builder is None:
        assert found == []
        return
    (recipe,) = found
    assert recipe.builder == builder
    assert [line for line, _ in recipe.input_lines][1:] == ["size = 8", "x = torch.randn(2, size)"]
    assert recipe.reasons == (("all", "as in the demo of model.py, line 19"),)


def test_examples_in_docstrings_are_taken_over() -> None:
    doc = "Blur.\n\nExample:\n    >>> x = torch.rand(1, 3, 4, 4)\n    >>> Blur(3)(x).shape\n    torch.Size([1])\n"
    (recipe,) = recipes_in(
        demos_in_docstring(doc, "the docstring of Blur"), Called("Blur", True), frozenset(("torch",))
    )
    assert (recipe.inputs, recipe.init) == ("(x,)", "(3,)")


FENCED = "```\nnet = Net(7)\nx = torch.zeros(5, 7)\nx[:, 0] = 1\nnet(x, **k or {})\n```\n"


@pytest.mark.parametrize("doc", [f"A net.\n\n{FENCED}", "A net.\n\n" + textwrap.indent(FENCED, "    ")])
def test_a_fenced_example_keeps_the_changes_of_its_inputs(doc: str) -> None:
    demos = demos_in_docstring(doc, "the docstring of Net")
    (recipe,) = recipes_in(demos, Called("Net", True), frozenset(("torch", "k")))
    assert [line for line, _ in recipe.input_lines] == [
        "# as in the docstring of Net", "x = torch.zeros(5, 7)", "x[:, 0] = 1",
    ]  # fmt: skip
    assert (recipe.inputs, recipe.init) == ("((x,), {**(k or {})})", "(7,)")


def test_pages_and_lines_are_counted_as_python_does() -> None:
    text = 'import torch\nNAME = "a\x0cb\x85c"\n\n\nif __name__ == "__main__":\n#   to try\n    f(torch.ones(3))\n'
    (recipe,) = recipes_in(demos_in_source(text, "f.py"), Called("f", False), frozenset(("f",)))
    assert recipe.reasons == (("all", "as in the demo of f.py, line 7"),)
    written = with_block(text, ast.parse(text), "BLOCK = 1\n")
    before, _, after = text.partition("if __name__")
    assert written == f"{before.rstrip()}\n\n\nBLOCK = 1\n\n\nif __name__{after}"


def test_a_call_that_needs_more_than_assignments_is_left() -> None:
    code = "model = Model()\nfor x in loader:\n    model(x)\n"
    assert list(recipes_in([Demo(code, "train.py")], Called("Model", True), frozenset(("Model",)))) == []


# ---------------------------------------------------------------------------- writing


@pytest.mark.parametrize(
    ("text", "before_the_end"),
    [
        ("import torch\n", ""),
        ("import torch", ""),
        (
            'import torch\n\n# run\nif __name__ == "__main__":\n    run()\n',
            '# run\nif __name__ == "__main__":\n    run()\n',
        ),
    ],
)
def test_the_block_stands_before_the_main_guard(text: str, before_the_end: str) -> None:
    recipe = recipe_of(Guess("f", (Argument("x", Tensor((2, 3)), "why"),)), FACTS)
    written = with_block(text, ast.parse(text), block_of([recipe], "ddelint check f.py"))
    assert written.startswith("import torch\n\n\ndef ddelint_entries():\n")
    assert written.endswith(f"    return [Entry(f, f_inputs)]\n{before_the_end and chr(10) * 2}{before_the_end}")
    ast.parse(written)


def test_two_names_that_differ_in_case_only_have_inputs_of_their_own() -> None:
    block = block_of([recipe_of(Guess(name), FACTS) for name in ("Blur", "blur")], "")
    assert "Entry(Blur, blur_inputs)" in block
    assert "Entry(blur, blur__inputs)" in block


def test_an_entry_that_cannot_be_built_does_not_keep_others_from_running() -> None:
    plain = replace(recipe_of(Guess("f"), FACTS), init='{"width": 4}')
    assert "Entry(f, f_inputs, init={" in block_of([plain], "")
    assert "Entry(f, f_inputs, init=lambda: {" in block_of([replace(plain, init='{"inner": Inner(3)}')], "")


def test_line_ends_stay_those_of_the_file() -> None:
    recipe = recipe_of(Guess("f", (Argument("x", Tensor((2,)), "why"),)), FACTS)
    text = "import torch\r\n"
    written = with_block(text, ast.parse(text), block_of([recipe], "ddelint check f.py"))
    assert written.count("\n") == written.count("\r\n")


@pytest.mark.parametrize(
    "change",
    [
        {"tensor": [{"names": ["x"], "kind": "soft", "dims": ["batch"]}]},
        {"tensor": [{"names": ["x"], "kind": "float", "dims": ["bach"]}]},
        {"tensor": [{"names": ["("], "kind": "float", "dims": ["batch"]}]},
        {"error": [{"pattern": "x", "action": "pray"}]},
        {"kinds": None},
    ],
)
def test_knowledge_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    import tomllib

    from ddelint.knowledge.catalog import rules_folder

    data = tomllib.loads((rules_folder() / "inputs.toml").read_text("utf-8"))
    with pytest.raises(CatalogError, match=r"inputs\.toml"):
        read({**data, **change})


# ---------------------------------------------------------------------------- the command


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["init", *words], prog_name="ddelint")
    return result.exit_code, result.output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_an_entry_is_shown_then_written_then_left_alone(folder: Path) -> None:
    shutil.copy(MODELS / "transformer.py", folder / "model.py")
    before = (folder / "model.py").read_text()
    code, said = run("model.py")
    assert code == 0
    assert "Block: runs, gives float32[2, 12, 32]" in said
    assert "+def ddelint_entries():" in said
    assert (folder / "model.py").read_text() == before
    code, said = run("model.py", "--write")
    assert (code, "written to model.py" in said) == (0, True)
    written = (folder / "model.py").read_text()
    assert written.startswith(before.rstrip())
    code, said = run("model.py", "--write")
    assert (code, "offers an entry already" in said) == (0, True)
    assert (folder / "model.py").read_text() == written
    found = CliRunner().invoke(main, ["check", "model.py", "--no-suggest", "--output-format", "concise"])
    assert "DDE105" in found.output
    assert "DDE002" not in found.output


def test_what_does_not_run_is_said_and_left_to_fill_in(folder: Path) -> None:
    (folder / "f.py").write_text(
        "import torch\n\n\ndef f(x: torch.Tensor, hook):\n    return hook(x).missing\n", "utf-8"
    )
    code, said = run("f.py")
    assert code == 1
    assert "f: does not run: " in said


def test_what_does_not_run_is_said_with_its_place(folder: Path) -> None:
    (folder / "f.py").write_text(
        "import torch\n\n\ndef f(x: torch.Tensor):\n    raise ImportError('no such')\n", "utf-8"
    )
    code, said = run("f.py")
    assert code == 1
    assert "f: does not run: ImportError: no such (f.py:5)" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("WIDTH = 4\n", "defines no nn.Module and no function of tensors"),
        ("import torch\nraise ValueError('not today')\n", "cannot be loaded: ValueError: not today"),
        ("def f(:\n", "cannot be read as Python"),
    ],
)
def test_where_there_is_nothing_to_guess(text: str, why: str, folder: Path) -> None:
    (folder / "f.py").write_text(text)
    code, said = run("f.py")
    assert code == 2
    assert why in said


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(MODELS.glob("*.py")), ids=lambda path: path.stem)
def test_models_of_many_styles_get_an_entry_that_runs(model: Path, folder: Path) -> None:
    shutil.copy(model, folder / "model.py")
    code, said = run("model.py")
    assert code == 0, said
    assert ": runs" in said
