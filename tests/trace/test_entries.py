"""What is found to run, and with which inputs."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from ddelint.nouns.protocol import EntrySpec, SessionOptions  # noqa: E402
from ddelint.trace import entries, importing, registrations  # noqa: E402
from ddelint.trace.arguments import as_arguments  # noqa: E402
from ddelint.trace.entry import Entry, EntryProblem  # noqa: E402

pytestmark = pytest.mark.usefixtures("clean_imports")

MODEL = """
class Model(torch.nn.Module):
    def __init__(self, width=2, depth=1):
        super().__init__()
        self.linear = torch.nn.Linear(width, 2)
        self.depth = depth

    def forward(self, x, mask=None):
        return self.linear(x)
"""


def write(folder: Path, text: str, name: str = "program.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("import torch\n" + textwrap.dedent(text))
    return path


def options(path: Path, *, paths: tuple[Path, ...] | None = None, unbacked: str = "", **spec: Any) -> SessionOptions:
    ours = tuple(str(one) for one in (paths or (path,)))
    return SessionOptions(EntrySpec(str(path), **spec), ours, unbacked=unbacked)


def load(path: Path, **given: Any) -> Entry:
    chosen = options(path, **given)
    importing.prepare_path(chosen)
    return entries.Loader(chosen).load()


def problem(path: Path, **given: Any) -> EntryProblem:
    with pytest.raises(EntryProblem) as caught:
        load(path, **given)
    return caught.value


# ---------------------------------------------------------------------------- conventions


def test_get_inputs_beside_model(tmp_path: Path) -> None:
    text = MODEL + "def get_init_inputs():\n    return [3]\ndef get_inputs():\n    return [torch.rand(4, 3)]\n"
    entry = load(write(tmp_path, text))
    assert entry.label == "program.py:Model, inputs from get_inputs()"
    assert entry.parameters == ("x", "mask")
    (x,), kwargs = entry.inputs(0)
    assert (x.shape, kwargs) == ((4, 3), {})
    assert entry.build()(x).shape == (4, 2)
    assert entry.seeded
    assert not torch.equal(x, entry.inputs(1)[0][0])


def test_inputs_without_randomness_are_not_seeded(tmp_path: Path) -> None:
    entry = load(write(tmp_path, MODEL + "def get_inputs():\n    return [torch.ones(4, 2)]\n"))
    assert not entry.seeded


def test_make_inputs_beside_fn(tmp_path: Path) -> None:
    text = "def fn(x, n):\n    return x\ndef make_inputs(seed):\n    return torch.full((2,), float(seed)), seed\n"
    entry = load(write(tmp_path, text))
    assert entry.seeded
    assert entry.inputs(3)[0][1] == 3
    assert entry.parameters == ("x", "n")


def test_model_with_args_and_kwargs(tmp_path: Path) -> None:
    text = MODEL + "model = Model().eval()\nargs = (torch.ones(1, 2),)\nkwargs = dict(mask=torch.ones(1))\n"
    entry = load(write(tmp_path, text))
    assert not entry.seeded
    first, second = entry.inputs(0), entry.inputs(0)
    assert first[1].keys() == {"mask"}
    first[0][0].zero_()
    assert second[0][0].sum() == 2
    assert entry.inputs(0)[0][0].sum() == 2
    assert not entry.build().training


def test_each_copy_of_an_instance_has_tables_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        "import torch\nfrom collections import OrderedDict\n"
        "model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())\n"
        "model.seen = OrderedDict()\nmodel[1].seen = model.seen\n"
        "model[0].register_forward_hook(lambda module, given, result: result + 1)\n"
        "args = (torch.ones(1, 2),)\n"
    )
    entry = load(path, entry="model")
    first, second = entry.build(), entry.build()
    first[1].register_forward_hook(lambda module, given, result: result * 0)
    first.seen["a"] = 1
    x = torch.ones(1, 2)
    assert torch.equal(first(x), torch.zeros(1, 2))
    assert first[1].seen is first.seen
    assert not second.seen
    assert second[1].seen is second.seen
    assert torch.equal(second(x), entry.build()(x))
    assert torch.equal(second(x), torch.relu(torch.nn.functional.linear(x, second[0].weight, second[0].bias) + 1))


def test_the_instance_stays_in_the_mode_that_the_file_chose(tmp_path: Path) -> None:
    assert load(write(tmp_path, MODEL + "model = Model()\nargs = ()\neval_mode = False\n")).build().training


def test_lightning_example(tmp_path: Path) -> None:
    text = """
    class LightningModule(torch.nn.Module):
        pass

    class Net(LightningModule):
        def __init__(self):
            super().__init__()
            self.example_input_array = torch.ones(2, 3)

        def forward(self, x):
            return x
    """
    entry = load(write(tmp_path, text))
    assert entry.label == "program.py:Net, inputs from example_input_array"
    assert entry.inputs(0)[0][0].shape == (2, 3)


def test_a_declared_entry_without_a_seed_is_called_once_in_its_label(tmp_path: Path) -> None:
    text = """
    import ddelint

    def double(x):
        return 2 * x

    def ddelint_entries():
        return [ddelint.Entry(double, lambda: (torch.ones(1),))]
    """
    assert load(write(tmp_path, text)).label == "program.py:double, inputs from ddelint_entries()"


def test_declared_entries(tmp_path: Path) -> None:
    text = """
    import ddelint

    class Wide(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.linear = torch.nn.Linear(width, 2)

        def forward(self, x):
            return self.linear(x)

    def double(x):
        return 2 * x

    def ddelint_entries():
        yield ddelint.Entry(Wide, lambda seed: (torch.ones(seed + 1, 3),), init=(3,), unbacked={"x": [0]})
        yield ddelint.Entry(double, (torch.ones(1),), name="twice")
    """
    path = write(tmp_path, text)
    entry = load(path)
    assert entry.label == "program.py:Wide, inputs from ddelint_entries()(seed)"
    assert entry.unbacked == {"x": (0,)}
    assert entry.build()(*entry.inputs(1)[0]).shape == (2, 2)
    assert entries.Loader(options(path)).entry_names() == ("Wide", "twice")
    second = load(path, entry="twice")
    assert second.label.startswith("program.py:twice")
    assert second.build()(*second.inputs(0)[0]) == 2


def test_entries_of_one_program_have_names_of_their_own(tmp_path: Path) -> None:
    text = """
    import ddelint

    class Wide(torch.nn.Module):
        def forward(self, x):
            return x

    def ddelint_entries():
        sizes = [(1,), (2,), (3,)]
        ones = [ddelint.Entry(Wide, (torch.ones(size),)) for size in sizes]
        same = [ddelint.Entry(Wide(), (torch.ones(4),), name=name) for name in (None, "last", "last")]
        return [*ones, ddelint.Entry(lambda x: x, (torch.ones(5),)), *same]
    """
    path = write(tmp_path, text)
    names = entries.Loader(options(path)).entry_names()
    assert names == ("Wide", "Wide[1]", "Wide[2]", "<lambda>", "Wide[4]", "last", "last[6]")
    rows = [load(path, entry=name).inputs(0)[0][0].shape for name in names]
    assert [row[0] for row in rows] == [1, 2, 3, 5, 4, 4, 4]


def test_the_first_convention_wins(tmp_path: Path) -> None:
    text = MODEL + "def fn(x):\n    return x\ndef make_inputs(seed):\n    return (1,)\nmodel = 3\nargs = ()\n"
    assert load(write(tmp_path, text)).label == "program.py:Model, inputs from make_inputs(seed)"


def test_nothing_offered(tmp_path: Path) -> None:
    found = problem(write(tmp_path, "class Other:\n    pass\n"))
    assert found.kind == "missing"
    assert "Other" in found.message
    assert "make_inputs(seed)" in found.message


# ---------------------------------------------------------------------------- what is asked for


@pytest.mark.parametrize("inputs", ["give", "plain", "pair", "mapping", "tensor"])
def test_named_entry_and_inputs(tmp_path: Path, inputs: str) -> None:
    text = """
    def run(x, *, scale=1):
        return x * scale

    def give(*, seed):
        return (torch.full((1,), 2.0),), {"scale": seed}

    plain = (torch.full((1,), 2.0),)
    pair = ((torch.full((1,), 2.0),), {"scale": 1})
    mapping = {"x": torch.full((1,), 2.0)}
    tensor = torch.full((1,), 2.0)
    """
    entry = load(write(tmp_path, text), entry="run", inputs=inputs)
    args, kwargs = entry.inputs(1)
    assert entry.build()(*args, **kwargs) == 2


def test_entry_inputs_and_init_from_other_files(tmp_path: Path) -> None:
    model = write(tmp_path, MODEL)
    bench = write(tmp_path / "bench", "def give():\n    return (torch.ones(2, 5),)\nsizes = {'width': 5}\n", "bench.py")
    entry = load(
        model,
        entry="Model",
        inputs="give",
        inputs_filename=str(bench),
        init="sizes",
        init_filename=str(bench),
    )
    args, kwargs = entry.inputs(0)
    assert entry.build()(*args, **kwargs).shape == (2, 2)


def test_a_class_that_needs_arguments(tmp_path: Path) -> None:
    text = MODEL.replace("width=2", "width") + "def make_inputs(seed):\n    return (torch.ones(1, 2),)\n"
    found = problem(write(tmp_path, text))
    assert found.kind == "bad-inputs"
    assert "width" in found.message
    assert "--init" in found.message


def test_an_entry_that_is_not_there(tmp_path: Path) -> None:
    found = problem(write(tmp_path, MODEL), entry="Modle")
    assert found.kind == "missing"
    assert "`Modle`" in found.message
    assert "Model" in found.message


def test_an_entry_that_is_no_program(tmp_path: Path) -> None:
    assert problem(write(tmp_path, "SIZE = 3\n"), entry="SIZE").kind == "missing"
    assert problem(write(tmp_path, "class Plain:\n    pass\n"), entry="Plain").kind == "missing"


def test_an_entry_without_inputs(tmp_path: Path) -> None:
    found = problem(write(tmp_path, MODEL), entry="Model")
    assert "--inputs" in found.message
    assert load(write(tmp_path, "def fn(n=1):\n    return n\n", "other.py"), entry="fn").inputs(0) == ((), {})


def test_inputs_that_are_no_arguments(tmp_path: Path) -> None:
    found = problem(write(tmp_path, "def fn(x):\n    return x\nrows = 3\n"), entry="fn", inputs="rows")
    assert found.kind == "bad-inputs"
    assert "int" in found.message


def test_inputs_without_an_entry_belong_to_the_usual_names(tmp_path: Path) -> None:
    path = write(tmp_path, "def fn(x):\n    return x\ndef rows():\n    return (1,)\n")
    assert load(path, inputs="rows").label == "program.py:fn, inputs from rows()"
    assert "--entry" in problem(write(tmp_path, "def rows():\n    return (1,)\n", "b.py"), inputs="rows").message


def test_compiled_programs_are_unwrapped(tmp_path: Path) -> None:
    text = (
        MODEL + "model = torch.compile(Model())\nargs = (torch.ones(1, 2),)\n@torch.compile\ndef fn(x):\n    return x\n"
    )
    path = write(tmp_path, text)
    assert type(load(path).build()).__name__ == "Model"
    assert load(path, entry="fn", inputs="args").build().__code__.co_name == "fn"


# ---------------------------------------------------------------------------- the same every time


def test_builds_are_equal_and_apart(tmp_path: Path) -> None:
    path = write(tmp_path, MODEL + "def get_inputs():\n    return [torch.rand(1, 2)]\n")
    entry = load(path)
    one, other = entry.build(), entry.build()
    assert one is not other
    assert torch.equal(one.linear.weight, other.linear.weight)


def test_unseeded_module_level_weights_are_the_same_in_every_load(tmp_path: Path) -> None:
    path = write(tmp_path, MODEL + "model = Model()\nargs = (torch.rand(1, 2),)\n")
    loader = entries.Loader(options(path))
    one, other = loader.load(), loader.load(again=True)
    assert torch.equal(one.build().linear.weight, other.build().linear.weight)
    assert torch.equal(one.inputs(0)[0][0], other.inputs(0)[0][0])


def test_a_module_that_cannot_be_copied_is_made_again(tmp_path: Path) -> None:
    text = MODEL + "model = Model()\nmodel.cache = model.linear.weight * 2\nargs = (torch.ones(1, 2),)\n"
    entry = load(write(tmp_path, text))
    one, other = entry.build(), entry.build()
    assert one is not other
    assert torch.equal(one.cache, other.cache)


def test_inputs_that_are_results_of_operations_are_copied(tmp_path: Path) -> None:
    text = "leaf = torch.ones(2, requires_grad=True)\nargs = (leaf * 2,)\ndef fn(x):\n    return x\n"
    (x,), _ = load(write(tmp_path, text), entry="fn", inputs="args").inputs(0)
    assert x.is_leaf
    assert x.requires_grad


def test_inputs_kept_by_the_file_are_not_shared(tmp_path: Path) -> None:
    text = "X = torch.ones(2)\ndef fn(x):\n    return x.zero_()\ndef make_inputs(seed):\n    return (X,)\n"
    entry = load(write(tmp_path, text))
    entry.build()(*entry.inputs(0)[0])
    assert entry.inputs(0)[0][0].sum() == 2


def test_an_operator_may_be_defined_by_a_file_that_runs_twice(tmp_path: Path) -> None:
    registrations.watch()
    text = """
    library = torch.library.Library("ddelint_tests", "DEF")
    library.define("thing(Tensor x) -> Tensor")
    library.impl("thing", lambda x: x + 1, "CompositeExplicitAutograd")

    def fn(x):
        return torch.ops.ddelint_tests.thing(x)

    def make_inputs(seed):
        return (torch.zeros(1),)
    """
    loader = entries.Loader(options(write(tmp_path, text)))
    loader.load()
    again = loader.load(again=True)
    assert again.build()(torch.zeros(1)) == 1


# ---------------------------------------------------------------------------- unbacked dimensions

TWO = """
def fn(x, rows, *, mask=None):
    return x

def make_inputs(seed):
    return (torch.ones(2, 3), torch.ones(4)), {"mask": torch.ones(5)}

"""


def test_constants_of_the_file(tmp_path: Path) -> None:
    entry = load(write(tmp_path, TWO + "UNBACKED = {0: [0], 'mask': 0}\nDYNAMIC = {'x': [-1]}\n"))
    assert entry.unbacked == {"x": (0,), "mask": (0,)}
    assert entry.dynamic == {"x": (1,)}


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("all", {"x": (0, 1), "rows": (0,), "mask": (0,)}),
        ("x.1,x.0", {"x": (0, 1)}),
        ("rows.0, mask.-1", {"rows": (0,), "mask": (0,)}),
    ],
)
def test_the_option_overrides_the_constants(tmp_path: Path, text: str, marks: dict[str, tuple[int, ...]]) -> None:
    assert load(write(tmp_path, TWO + "UNBACKED = {1: [0]}\n"), unbacked=text).unbacked == marks


@pytest.mark.parametrize(
    ("text", "words"),
    [("y.0", "`y`"), ("x.2", "dimension 2"), ("x", "NAME.DIM"), ("x.a", "NAME.DIM")],
)
def test_unbacked_that_does_not_fit(tmp_path: Path, text: str, words: str) -> None:
    found = problem(write(tmp_path, TWO), unbacked=text)
    assert found.kind == "bad-inputs"
    assert words in found.message


NESTED = """
def fn(batch, pair=(), n=1):
    return batch

def make_inputs(seed):
    return ({"tokens": torch.ones(2, 3), "lengths": [torch.ones(4)], "n": 3}, (torch.ones(5), torch.tensor(1.0)))

"""


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("all", {"batch['tokens']": (0, 1), "batch['lengths'][0]": (0,), "pair[0]": (0,)}),
        ("batch['tokens'].1,pair[0].0", {"batch['tokens']": (1,), "pair[0]": (0,)}),
    ],
)
def test_tensors_in_containers(tmp_path: Path, text: str, marks: dict[str, tuple[int, ...]]) -> None:
    assert load(write(tmp_path, NESTED), unbacked=text).unbacked == marks


def test_a_container_has_no_size_of_its_own(tmp_path: Path) -> None:
    found = problem(write(tmp_path, NESTED), unbacked="batch.0")
    assert found.message == (
        "--unbacked names `batch`, which is a dict: name a tensor in it (batch['tokens'], batch['lengths'][0])"
    )


def test_names_behind_stars(tmp_path: Path) -> None:
    text = "def fn(x, *rest, **named):\n    return x\ndef make_inputs(seed):\n    return (1, 2, 3), {'k': 4}\n"
    assert load(write(tmp_path, text)).parameters == ("x", "rest_0", "rest_1", "k")


# ---------------------------------------------------------------------------- where modules come from


def test_a_copy_under_paths_wins_over_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "installed", "VALUE = 1\n", "pack/__init__.py")
    copy = write(tmp_path / "copy", "VALUE = 2\n", "pack/__init__.py")
    case = write(
        tmp_path / "cases", "from pack import VALUE\ndef fn(x):\n    return VALUE\nmake_inputs = lambda seed: (1,)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    __import__("pack")
    entry = load(case, paths=(copy.parent,))
    assert entry.build()(1) == 2


def test_a_file_in_a_package_uses_relative_imports(tmp_path: Path) -> None:
    write(tmp_path, "", "pack/__init__.py")
    write(tmp_path, "", "pack/nets/__init__.py")
    write(tmp_path, "VALUE = 3\n", "pack/common.py")
    path = write(
        tmp_path,
        "from ..common import VALUE\ndef fn(x):\n    return VALUE\nmake_inputs = lambda seed: (1,)\n",
        "pack/nets/net.py",
    )
    entry = load(path)
    assert entry.build()(1) == 3
    assert entry.build().__module__ == "pack.nets.net"


@pytest.mark.parametrize("name", ["random.py", "torch.py", "104_case.py", "my-case.py"])
def test_files_with_awkward_names(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, "def fn(x):\n    return x\nmake_inputs = lambda seed: (1,)\n", name)
    assert load(path).build()(5) == 5
    assert hasattr(torch, "Tensor")


def test_helpers_beside_the_file_are_found(tmp_path: Path) -> None:
    write(tmp_path, "VALUE = 4\n", "helper_beside.py")
    path = write(
        tmp_path, "from helper_beside import VALUE\ndef fn(x):\n    return VALUE\nmake_inputs = lambda seed: (1,)\n"
    )
    assert load(path).build()(1) == 4


def test_eager_run_skips_inputs_that_are_meant_to_raise(tmp_path: Path) -> None:
    text = """
    def fn(x):
        if x < 2:
            raise ValueError(x)
        return x

    def make_inputs(seed):
        return (seed,)
    """
    entry = load(write(tmp_path, text))
    assert entries.run_eagerly(entry, 0, 8) is False
    with pytest.raises(ValueError, match="0"):
        entries.run_eagerly(entry, 0, 2)


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ((1, 2), ((1, 2), {})),
        ([1, 2], ((1, 2), {})),
        (([1], {"a": 2}), ((1,), {"a": 2})),
        (((1,), {3: 4}), (((1,), {3: 4}), {})),
        ({"a": 1}, ((), {"a": 1})),
        ((), ((), {})),
    ],
)
def test_shapes_of_arguments(value: Any, arguments: Any) -> None:
    assert as_arguments(value, "inputs") == arguments


@pytest.mark.parametrize("name", ["model.v2.py", "my-model.py", "2nd.py"])
def test_files_whose_names_cannot_be_imported_are_loaded(tmp_path: Path, name: str) -> None:
    assert load(write(tmp_path, TWO, name)).parameters
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    assert load(write(tmp_path / "package", TWO, name)).parameters
