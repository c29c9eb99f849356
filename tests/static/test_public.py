"""A package's public functions of tensors count as compiled; what draws, reads files or answers in Python does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import checked, rows

ASKS = "if (x > 0).any():\n        x = x + 1\n    return x\n"


def function(header: str, body: str = ASKS, before: str = "") -> str:
    return f"import torch\nfrom torch import Tensor\n{before}\n{header}\n    {body}"


@pytest.mark.parametrize(
    "header",
    [
        "def clean(x: Tensor) -> Tensor:",
        "def clean(x: torch.Tensor, low: float = 0.0) -> tuple[torch.Tensor, Tensor]:",
        'def clean(low: float, x: "torch.Tensor | None") -> "Tensor":',
        "def clean(\n    x: Tensor,  # what comes in\n    scale=lambda a: a + 1,\n) -> Tensor:  # what goes out",
        "def clean(x: Tensor):",
        "def clean(x: Tensor) -> dict:",
        "def clean(x: Tensor) -> tuple:",
        "def clean(x: Tensor) -> List:",
        "def clean(x: Tensor) -> Optional[list]:",
        "def clean(x: Tensor) -> typing.Tuple:",
    ],
)
def test_what_is_declared_to_be_of_tensors(tmp_path: Path, header: str) -> None:
    assert len(rows(tmp_path, {"ops.py": function(header)})) == 1


@pytest.mark.parametrize(
    "body",
    [
        f"x = x.contiguous()\n    {ASKS}",
        f"y = torch.exp(x)\n    {ASKS}",
        f"y = x.new_zeros(3)\n    {ASKS}",
        f"y = other(x).unsqueeze(0)\n    {ASKS}",
        f"y = other(3, x).pinverse()\n    {ASKS}",
        f"y = self.other(x, 3).detach()\n    {ASKS}",
        "return _clean(x, 3)\n\ndef _clean(x, n):\n    x = x.unsqueeze(0)\n    " + ASKS,
        "return _outer(x)\n\ndef _outer(x):\n    return _clean(x)\n\ndef _clean(x):\n    x = x.detach()\n    " + ASKS,
    ],
)
def test_what_is_used_as_only_tensors_are(tmp_path: Path, body: str) -> None:
    assert len(rows(tmp_path, {"ops.py": function("def clean(x):", body)})) == 1


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("def _clean(x: Tensor) -> Tensor:", ASKS),
        ("def clean_state_dict(x: Tensor) -> dict[str, Tensor]:", ASKS),
        ("def clean(x: Tensor) -> 'None':", "if (x > 0).any():\n        x.zero_()\n"),
        ("def clean(x: Tensor) -> dict[str, float]:", ASKS),
        ("def clean(x: Tensor) -> bool:", "return bool((x > 0).any())\n"),
        ("def clean(x: Tensor, path: Path) -> Tensor:", ASKS),
        ("def clean(x: Tensor, optimizer) -> Tensor:", ASKS),
        ("def clean(x: Tensor) -> Tensor:", f"for _ in tqdm(x):\n        pass\n    {ASKS}"),
        ("def clean(x: Tensor) -> Tensor:", f"y = x.numpy()\n    {ASKS}"),
        ("def clean(x: Tensor) -> Tensor:", f"y = pickle.dumps(x)\n    {ASKS}"),
        ("def clean_metrics(x: Tensor) -> Tensor:", ASKS),
        ("def metrics_of(x: Tensor) -> Tensor:", ASKS),
        ("def visualize(x: Tensor) -> Tensor:", ASKS),
        ("def clean(x: Tensor) -> Tensor:", f"y = np.ones(3)\n    {ASKS}"),
        ("def clean(x: Tensor, name) -> Tensor:", f"y = torch.load(name)\n    {ASKS}"),
        ("def clean(x: Tensor):", "if (x > 0).any():\n        x.zero_()\n"),
        ("def clean(x):", ASKS),
        ("def clean(x):", f"y = other(x).squeeze(0)\n    {ASKS}"),
        ("def clean(x):", f"y = other(x=3).unsqueeze(0)\n    {ASKS}"),
        ("def clean(x):", f"y = other(x.rows).unsqueeze(0)\n    {ASKS}"),
    ],
)
def test_what_nobody_compiles_is_silent(tmp_path: Path, header: str, body: str) -> None:
    files = {"ops.py": function(header, body, before="import pickle\nimport numpy as np\nfrom pathlib import Path")}
    assert rows(tmp_path, files) == []


@pytest.mark.parametrize("name", ["plain/ops.py", "plain/deeper/ops.py"])
def test_a_folder_inside_of_a_package_is_part_of_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / "kit" / name
    path.parent.mkdir(parents=True)
    (tmp_path / "kit" / "__init__.py").touch()
    path.write_text(function("def clean(x: Tensor) -> Tensor:"))
    assert len(checked(tmp_path, tmp_path / "kit")) == 1


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Args:\n        x (torch.Tensor): what comes in", 1),
        ("Args:\n        x (Tensor, optional): what comes in", 1),
        ("Parameters\n    ----------\n    x : torch.Tensor, shape (n, 3)", 1),
        (":param x: what comes in\n    :type x: torch.Tensor", 1),
        ("Args:\n        x (:obj:`torch.Tensor`): what comes in", 1),
        ("Args:\n        x (`torch.FloatTensor` of shape `(n,)`): what comes in", 1),
        ("- x: Tensor[N, 4], what comes in", 1),
        ("x (Tensor or float): what comes in", 0),
        ("x (list of Tensor): what comes in", 0),
        ("x (Tensor, int): what comes in", 0),
        ("x (Tensor | list): what comes in", 0),
        ("y (Tensor): what goes out", 0),
        ("the Tensor x: what comes in", 0),
    ],
)
@pytest.mark.parametrize("prefix", ["", "r"])
def test_what_the_docstring_says_is_a_tensor(tmp_path: Path, said: str, found: int, prefix: str) -> None:
    body = f'{prefix}"""Clean.\n\n    {said}\n    """\n    {ASKS}'
    assert len(rows(tmp_path, {"ops.py": function("def clean(x, n=3):", body)})) == found


def test_words_in_strings_and_comments_do_nothing(tmp_path: Path) -> None:
    body = f'"""Does not tqdm() or open()."""\n    # open(x)\n    {ASKS}'
    assert len(rows(tmp_path, {"ops.py": function("def clean(x: Tensor) -> Tensor:", body)})) == 1


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ("k = np.log(2)", 1),
        ("k = np.prod(x.shape)", 1),
        ("k = 2 * np.pi", 1),
        ("x = x.clamp(-np.inf, np.inf)", 1),
        ("k = np.finfo(np.float32).eps", 1),
        ("k = np.mean(x)", 0),
        ("k = np.log(np.asarray(x))", 0),
        ("k = isinstance(x, np.ndarray)", 0),
    ],
)
def test_numpy_may_be_asked_about_numbers(tmp_path: Path, numbers: str, found: int) -> None:
    text = function("def clean(x: Tensor) -> Tensor:", f"{numbers}\n    {ASKS}", before="import numpy as np")
    assert len(rows(tmp_path, {"ops.py": text})) == found


DISPATCH = "from kit.low import _clean{more}\n\ndef clean(fn, x, way='plain'):\n    {body}\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return _clean(fn, x)", 1),
        ("if way == 'plain':\n        return _clean(fn, x, 3)\n    raise ValueError(way)", 1),
        ("y = _clean(\n        fn, x\n    )\n    return y", 1),
        ("return _other(x, _clean(fn, x))", 1),
        ("options = {}\n    return _clean(fn, x, **options)", 1),
        ("print(_clean(fn, x))", 0),
        ("return _other(way, x)", 0),
    ],
)
def test_what_hands_a_tensor_on_to_another_file_takes_one(tmp_path: Path, body: str, found: int) -> None:
    files = {
        "top.py": DISPATCH.format(more=", _other", body=body).replace("from kit", "import torch\nfrom kit"),
        "low.py": function("def _clean(fn, x, k=0):", f"x = x.detach()\n    {ASKS}")
        + "\n\ndef _other(a, b):\n    return a\n",
    }
    assert rows(tmp_path, files) == [("low.py", 6)] * found


@pytest.mark.parametrize(
    "name",
    [
        "tests/ops.py",
        "_old/ops.py",
        "plot_ops.py",
        "datasets/ops.py",
        "cli.py",
        "datamanagers/ops.py",
        "agents/ops.py",
        "planner.py",
    ],
)
def test_files_beside_the_library_are_silent(tmp_path: Path, name: str) -> None:
    assert rows(tmp_path, {name: function("def clean(x: Tensor) -> Tensor:")}) == []


def test_lines_may_end_as_they_do_on_windows(tmp_path: Path) -> None:
    text = function("def clean(x: Tensor) -> Tensor:").replace("\n", "\r\n")
    assert len(rows(tmp_path, {"ops.py": text})) == 1


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("dist = torch.distributions.Poisson(3.0)\n    x = dist.sample()", 1),
        ("x = x - dist.log_prob(x)", 1),
        ("dist.all_reduce(x)", 0),
        ("x = x / dist.get_world_size()", 0),
        ("dist.broadcast(x, src=0)", 0),
    ],
)
def test_a_distribution_is_no_group_of_processes(tmp_path: Path, line: str, found: int) -> None:
    text = function("def clean(x: Tensor) -> Tensor:", f"{line}\n    {ASKS}")
    assert len(rows(tmp_path, {"ops.py": text})) == found


def test_a_script_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(function("def clean(x: Tensor) -> Tensor:"))
    assert checked(tmp_path, tmp_path) == []
    assert len(checked(tmp_path, tmp_path, assume_compiled=True)) == 1


METHOD = """
import torch
from torch import Tensor

class {name}({base}):
    def forward(self, x):
        return x

    def decode(self, x: Tensor) -> Tensor:
        if (x > 0).any():
            x = x + 1
        return x
"""


def test_methods_of_modules_are_an_interface_and_those_of_others_are_not(tmp_path: Path) -> None:
    files = {
        "a.py": METHOD.format(name="Codec", base="torch.nn.Module"),
        "b.py": METHOD.format(name="Row", base="object"),
    }
    assert rows(tmp_path, files) == [("a.py", 10)]


@pytest.mark.parametrize(("called", "found"), [("x", []), ("self.row_metrics(x)", [("a.py", 10)])])
def test_a_method_that_tells_how_well_it_went_is_one_where_forward_calls_it(
    tmp_path: Path, called: str, found: list[tuple[str, int]]
) -> None:
    text = METHOD.format(name="Codec", base="torch.nn.Module").replace("decode", "row_metrics")
    assert rows(tmp_path, {"a.py": text.replace("return x\n\n", f"return {called}\n\n")}) == found


@pytest.mark.parametrize(
    ("before", "base", "found"),
    [
        ("from engine.model import BaseModule", "BaseModule", 1),
        ("import lightning as L", "L.LightningModule", 1),
        ("from engine import BaseModel", "BaseModel", 1),
        ("from kit.base import Base", "Base", 1),
        ("from kit.base import Base", "Base, metaclass=ABCMeta", 1),
        ("import lightning as L", "L.LightningDataModule", 0),
        ("from engine import Record", "Record", 0),
        ("from engine import Registry", "Registry", 0),
    ],
)
def test_a_base_of_another_library_is_known_by_its_name(tmp_path: Path, before: str, base: str, found: int) -> None:
    files = {
        "base.py": "import torch\nfrom engine.model import BaseModule\n\nclass Base(BaseModule):\n    pass\n",
        "a.py": before + METHOD.format(name="Codec", base=base),
    }
    assert rows(tmp_path, files) == [("a.py", 10)] * found


def test_what_a_public_function_calls_elsewhere_is_compiled(tmp_path: Path) -> None:
    call = "from torch import Tensor\n\ndef clean(x: Tensor) -> Tensor:\n    return _clean(x)[: int(x.sum())]\n"
    files = {
        "top.py": f"from kit.low import _clean\n{call}",
        "low.py": function("def _clean(x: Tensor):"),
    }
    assert rows(tmp_path, files) == [("low.py", 5), ("top.py", 5)]


HELPERS = {
    "return labels >= 0": True,
    "return torch.isnan(labels)": True,
    "return labels.ge(0)": True,
    "return ~labels.bool()": True,
    "return torch.logical_and(labels > 0, labels < 9)": True,
    "known = labels >= 0\n    return known": True,
    "known = labels.isfinite() & \\\n        (labels[0] >= 0)\n    return known": True,
    "known = labels.bool()\n    known &= labels != 0\n    return known": True,
    "if kind:\n        known = torch.isnan(labels)\n    else:\n        known = labels.lt(0)\n    return known": True,
    "known = (labels.isfinite()\n        | (labels > 0))\n    return known": True,
    "known = len(labels)\n    return known": False,
    "return len(labels)": False,
}


@pytest.mark.parametrize("returns", HELPERS)
def test_a_mask_that_a_helper_of_another_file_makes(tmp_path: Path, returns: str) -> None:
    loss = """
import torch
from kit.helpers import known

class Loss(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        for row in range(x[known(y)].size(0)):
            x = x + row
        return x
"""
    files = {"helpers.py": f"import torch\n\ndef known(labels, kind=0):\n    {returns}\n", "loss.py": loss}
    assert bool(rows(tmp_path, files)) is HELPERS[returns]


BASE = """
import torch

class Base(torch.nn.Module):
    def pick(self, x):
        return x
"""
HEIR = """
import torch
from kit.base import Base

class _Common(Base):
    def forward(self, x: torch.Tensor):
        return self.pick(x){check}

class Heir(_Common):
    def pick(self, x: torch.Tensor):
        return x[: int(x.sum())]
"""


@pytest.mark.parametrize("check", ["", " if isinstance(x, PIL.Image.Image) else x"])
def test_a_method_that_an_heir_defines_anew(tmp_path: Path, check: str) -> None:
    assert [row for _, row in rows(tmp_path, {"base.py": BASE, "heir.py": HEIR.format(check=check)})] == [11]


def test_a_function_may_log(tmp_path: Path) -> None:
    body = f"logger.warning('%s', x)\n    {ASKS}"
    assert len(rows(tmp_path, {"ops.py": function("def clean(x: Tensor) -> Tensor:", body)})) == 1


def test_a_configuration_may_say_that_they_are_not_compiled(tmp_path: Path) -> None:
    assert rows(tmp_path, {"ops.py": function("def clean(x: Tensor):")}) == [("ops.py", 5)]
    assert checked(tmp_path, tmp_path / "kit", public_functions=False) == []


METRIC = """
import torch
from torch import Tensor
{above}
class {name}:
    def reset(self):
        self.hits = 0

    def update(self, {given}):
        {first}
        if (given > 0).any():
            self.hits = self.hits + given.sum()

    def {answer}(self):
        return torch.zeros(1)
"""


@pytest.mark.parametrize(
    ("above", "name", "given", "first", "answer", "found"),
    [
        ("", "Hits", "given: Tensor", "pass", "compute", 1),
        ("", "Hits(object)", "given", "given = given.detach()", "compute", 1),
        ("from torchmetrics import Metric", "Hits(Metric)", "given: Tensor, target: Tensor", "pass", "compute", 1),
        ("from ignite.metrics import Metric", "Hits(Metric)", "given: torch.Tensor", "pass", "compute", 1),
        ("class Base: pass", "Hits(Base)", "given: Tensor | None", "given = torch.exp(given)", "compute", 1),
        ("", "Hits", "given: Tensor", "pass", "result", 0),
        ("", "Hits", "given", "pass", "compute", 0),
        ("", "Hits", "given: Tensor", "open('hits')", "compute", 0),
        ("import numpy as np", "Hits", "given: Tensor", "given = np.asarray(given)", "compute", 0),
    ],
)
def test_a_metric_of_tensors_is_used_by_what_others_compile(
    tmp_path: Path, above: str, name: str, given: str, first: str, answer: str, found: int
) -> None:
    text = METRIC.format(above=above, name=name, given=given, first=first, answer=answer)
    assert len(rows(tmp_path, {"hits.py": text})) == found


DISTRIBUTION = """
import torch
from torch import Tensor
{above}

class Bounded({base}):
    def log_prob(self, value{declared}):
        value = value.detach()
        if (value > 1).any():
            value = value + 1
        return value
"""


@pytest.mark.parametrize(
    ("above", "base", "declared", "found"),
    [
        ("from torch.distributions import Distribution", "Distribution", "", 1),
        ("from torch import distributions as D", "D.Distribution", ": Tensor", 1),
        ("import torch.distributions", "torch.distributions.Transform", "", 1),
        ("from torch.distributions.distribution import Distribution", "Distribution", "", 1),
        ("from kit.base import Base", "Base", "", 1),
        ("from records import Distribution", "Distribution", "", 0),
        ("", "object", "", 0),
    ],
)
def test_a_distribution_is_compiled_with_the_module_that_asks_it(
    tmp_path: Path, above: str, base: str, declared: str, found: int
) -> None:
    files = {
        "base.py": "from torch.distributions import Distribution\n\nclass Base(Distribution):\n    pass\n",
        "bounded.py": DISTRIBUTION.format(above=above, base=base, declared=declared),
    }
    assert len(rows(tmp_path, files)) == found


PART = """
import torch
from torch import Tensor
from kit.records import Result

class Part({base}):
    {decorator}
    def run({given}) -> {returned}:
        if (x > 0).any():
            x = x + 1
        return Result(x)
"""


@pytest.mark.parametrize(
    ("base", "decorator", "given", "returned", "found"),
    [
        ("torch.nn.Module", "", "self, x: Tensor", "Result", 1),
        ("torch.nn.Module", "", "self, x: Tensor", "Result | None", 1),
        ("torch.nn.Module", "", "self, x: Tensor", "list[Result]", 1),
        ("torch.nn.Module", "", "self, x: Tensor", "'Result'", 1),
        ("torch.nn.Module", "", "self, x: Tensor", "dict[str, float]", 0),
        ("torch.nn.Module", "", "self, x: Tensor", "int", 0),
        ("object", "@staticmethod", "x: Tensor", "Tensor", 1),
        ("object", "@staticmethod", "x: torch.Tensor, scale: float = 1.0", "torch.Tensor", 1),
        ("Result", "@staticmethod", "scale, x: Tensor", "tuple[Tensor, Tensor]", 1),
        ("object", "@staticmethod\n    @torch.no_grad()", "x: Tensor", "Tensor", 1),
        ("object", "@staticmethod", "\n        x: Tensor,\n        scale=1,\n    ", "Tensor", 1),
        ("object", "", "self, x: Tensor", "Tensor", 0),
        ("object", "@classmethod", "cls, x: Tensor", "Tensor", 0),
        ("object", "", "\n        self,\n        x: Tensor,\n    ", "Tensor", 0),
        ("object", "@staticmethod", "x: Tensor", "Result", 0),
    ],
)
def test_methods_of_modules_may_give_objects_and_static_methods_are_functions(
    tmp_path: Path, base: str, decorator: str, given: str, returned: str, found: int
) -> None:
    text = PART.format(base=base, decorator=decorator, given=given, returned=returned)
    assert len(rows(tmp_path, {"records.py": "class Result:\n    pass\n", "part.py": text})) == found


TYPES = """\
import numpy
import torch
from typing import Optional, Union
from torchtyping import TensorType

Points = TensorType["n", 3]
Data = Union[torch.Tensor, numpy.ndarray]
Pair = tuple[torch.Tensor, torch.Tensor]
Size = Union[int, torch.Tensor]


class Times(TensorType["n"]):
    pass


class Sparse:
    pass
"""


@pytest.mark.parametrize("kind", ["Points", "Data", "Times", "Optional[Points]"])
@pytest.mark.parametrize("way", ["from .types import *", "from .types import Points, Data, Times"])
def test_other_names_for_tensors(tmp_path: Path, kind: str, way: str) -> None:
    way = f"{way}\nfrom typing import Optional\n"
    files = {"types.py": TYPES, "ops.py": function(f"def clean(x: {kind}) -> {kind}:", before=way)}
    assert len(rows(tmp_path, files)) == 1


def test_another_name_for_what_holds_tensors(tmp_path: Path) -> None:
    text = function(
        "def clean(xs: Pair) -> torch.Tensor:", "x = xs[0]\n    " + ASKS, before="from .types import Pair\n"
    )
    assert (
        len(rows(tmp_path, {"types.py": TYPES, "ops.py": text.replace("(x > 0).any()", "(x > 0).any().item()")})) == 1
    )


@pytest.mark.parametrize("kind", ["Size", "Sparse", "Unheard"])
def test_names_for_something_else(tmp_path: Path, kind: str) -> None:
    way = "from .types import *\n"
    files = {"types.py": TYPES, "ops.py": function(f"def clean(x: {kind}) -> {kind}:", before=way)}
    assert rows(tmp_path, files) == []


RECORDS = """\
from dataclasses import dataclass
from typing import List, NamedTuple, Optional
import torch
from torch import Tensor


class Fit(NamedTuple):
    shift: Tensor
    scale: "torch.Tensor"


@dataclass
class Split:
    parts: List[torch.Tensor]
    names: Optional[list[str]] = None


class Wider(Split):
    pass


class Job(NamedTuple):
    name: str
    rows: int
"""


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("Fit", 1),
        ('"Fit"', 1),
        ("Optional[Split]", 1),
        ("tuple[Tensor, Wider]", 1),
        ("list[Wider]", 1),
        ("Job", 0),
        ("tuple[Fit, Job]", 0),
        ("list[int]", 0),
    ],
)
def test_functions_that_give_records_of_tensors(tmp_path: Path, kind: str, found: int) -> None:
    way = "from .records import *\nfrom typing import Optional\n"
    files = {"records.py": RECORDS, "ops.py": function(f"def clean(x: Tensor) -> {kind}:", before=way)}
    assert len(rows(tmp_path, files)) == found


PREPARES = """import torch
from torch import Tensor, nn

class Layer(nn.Module):
    def __init__(self, weight):
        super().__init__()
        {constructor}

    def rounded(self, x: Tensor) -> Tensor:
        if (x > 0).any():
            x = x + 1
        return x

    def quantize(self):
        {quantize}

    def other(self, x):
        {other}

    def forward(self, x):
        return {forward}
"""


@pytest.mark.parametrize(
    ("constructor", "quantize", "other", "forward", "found"),
    [
        ("pass", "pass", "pass", "x", 1),
        ("self.w = self.rounded(weight)", "pass", "pass", "x", 0),
        ("pass", "self.w = nn.Parameter(self.rounded(self.w))", "pass", "x", 0),
        ("pass", "if True:\n            self.w = torch.nn.Parameter(self.rounded(self.w))", "pass", "x", 0),
        ("self.w = self.rounded(weight)", "self.w = nn.Parameter(self.rounded(self.w))", "pass", "x", 0),
        ("self.w = self.rounded(weight)", "pass", "return self.rounded(x)", "x", 1),
        ("self.w = self.rounded(weight)", "pass", "pass", "self.rounded(x)", 1),
        ("self.step = self.rounded", "pass", "pass", "self.step(x)", 1),
    ],
)
def test_methods_that_only_make_a_module_ready(
    tmp_path: Path, constructor: str, quantize: str, other: str, forward: str, found: int
) -> None:
    text = PREPARES.format(constructor=constructor, quantize=quantize, other=other, forward=forward)
    assert len(rows(tmp_path, {"ops.py": text})) == found


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", 1),
        ("def run(x):\n    for _ in tqdm(x):\n        clean(x)\n", 0),
        (
            "def run(x):\n    return clean(x), x.numpy()\n\ndef again(x):\n    return run(clean(x.numpy()))\n",
            0,
        ),
        ("def run(x):\n    for _ in tqdm(x):\n        clean(x)\n\ndef again(x):\n    return clean(x)\n", 1),
        ("def run(x, using=clean):\n    for _ in tqdm(x):\n        clean(x)\n", 1),
        ("def convert_state_dict(states):\n    return {k: clean(v) for k, v in states.items()}\n", 0),
        ("def from_json(states):\n    return {k: clean(v) for k, v in states.items()}\n", 0),
        ("def converted(states):\n    return {k: clean(v) for k, v in states.items()}\n", 1),
        ("def run(x):\n    for _ in tqdm(x):\n        clean(x)\n\n__all__ = ['clean', 'run']\n", 1),
        ("class Run:\n    def one(self, x):\n        return clean(x)\n\ndef run(x):\n    return tqdm(clean(x))\n", 1),
    ],
)
def test_what_only_eager_functions_of_its_file_call(tmp_path: Path, more: str, found: int) -> None:
    text = function("def clean(x: Tensor) -> Tensor:", before="from tqdm import tqdm")
    assert len(rows(tmp_path, {"ops.py": f"{text}\n\n{more}"})) == found


USE = """from torch import Tensor
from .ops import clean

def use(x: Tensor) -> Tensor:
    return clean(x)
"""


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, 0),
        ({"__init__.py": "from .ops import clean, run\n__all__ = ['clean']\n"}, 1),
        ({"__init__.py": "from .ops import clean as tidy\n"}, 1),
        ({"__init__.py": "from kit.ops import (\n    run,\n    clean,\n)\n"}, 1),
        ({"__init__.py": "from .ops import *\n"}, 1),
        ({"__init__.py": "from .front import clean\n", "front.py": "from .ops import clean\n"}, 1),
        ({"api.py": USE}, 1),
        ({"__init__.py": "from .ops import run\n"}, 0),
        ({"__init__.py": "from .other import clean\n", "other.py": "def clean(x):\n    return x\n"}, 0),
    ],
    ids=[
        "not",
        "listed",
        "renamed",
        "absolute",
        "star",
        "through-another",
        "called",
        "another-function",
        "of-another-file",
    ],
)
def test_it_is_for_others_where_the_package_imports_it(tmp_path: Path, files: dict[str, str], found: int) -> None:
    text = function("def clean(x: Tensor) -> Tensor:", before="from tqdm import tqdm")
    text = f"{text}\n\ndef run(x):\n    for _ in tqdm(x):\n        clean(x)\n"
    assert len(rows(tmp_path, {"ops.py": text, **files})) == found


def test_that_is_seen_where_the_file_itself_is_known(tmp_path: Path) -> None:
    text = function("def clean(x: Tensor) -> Tensor:", before="from tqdm import tqdm")
    text = f"{text}\n\ndef run(x):\n    for _ in tqdm(x):\n        clean(x)\n"
    front = tmp_path / "kit" / "__init__.py"
    assert rows(tmp_path, {"ops.py": text, "__init__.py": ""}) == []
    assert checked(tmp_path, tmp_path / "kit", cache=True) == []
    front.write_text("from .ops import clean\n")
    assert len(checked(tmp_path, tmp_path / "kit", cache=True)) == 1
    front.write_text("from .ops import run\n")
    assert checked(tmp_path, tmp_path / "kit", cache=True) == []


def test_the_package_around_its_own_one_may_import_it(tmp_path: Path) -> None:
    text = function("def clean(x: Tensor) -> Tensor:", before="from tqdm import tqdm")
    text = f"{text}\n\ndef run(x):\n    for _ in tqdm(x):\n        clean(x)\n"
    assert rows(tmp_path / "not", {"inner/ops.py": text, "__init__.py": ""}) == []
    (found,) = rows(tmp_path / "is", {"inner/ops.py": text, "__init__.py": "from .inner.ops import clean\n"})
    assert found[0] == "ops.py"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("found = []\n    if (x > 0).any():\n        found.append(x)\n    return found\n", 1),
        ("found = []\n    if (x > 0).any():\n        found.append({'first': 1})\n    return found\n", 0),
        ("found = []\n    one = {}\n    if (x > 0).any():\n        found.append(one)\n    return found\n", 0),
        ("found = []\n    one = {}\n    if (x > 0).any():\n        found.append(one)\n    return found, x\n", 1),
        ("if (x > 0).any():\n        return x\n    return _more(x)\n\ndef _more(x):\n    return x\n", 1),
        (
            "if (x > 0).any():\n        x = x + 1\n    return _more(x)\n\n"
            "def _more(x):\n    found = []\n    found.append({'first': x})\n    return found\n",
            0,
        ),
    ],
)
def test_lists_of_dictionaries_are_for_people_to_read(tmp_path: Path, body: str, found: int) -> None:
    assert len(rows(tmp_path, {"ops.py": function("def clean(x: Tensor):", body)})) == found


@pytest.mark.parametrize(
    ("annotation", "found"), [("List[Tensor]", 1), ("list", 1), ("List[Dict]", 0), ("list[dict]", 0)]
)
def test_they_are_where_the_annotation_says_it(tmp_path: Path, annotation: str, found: int) -> None:
    assert len(rows(tmp_path, {"ops.py": function(f"def clean(x: Tensor) -> {annotation}:")})) == found


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("torch.exp(n)", 1),
        ("torch.special.expit(n)", 1),
        ("torch.arange(n)", 0),
        ("torch.tensor(n)", 0),
        ("torch.from_numpy(n)", 0),
        ("torch.zeros(n)", 0),
        ("torch.kaiser_window(n, beta=2.0)", 0),
        ("torch.hann_window(n)", 0),
    ],
)
def test_what_is_made_of_a_number_makes_it_no_tensor(tmp_path: Path, made: str, found: int) -> None:
    body = f"y = {made}\n    if (y > 0).any():\n        y = y + 1\n    return y\n"
    assert len(rows(tmp_path, {"ops.py": function("def clean(n):", body)})) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("pad = self.tokenizer.pad_token_id", 1),
        ("said = self.tokenizer.decode(x)", 0),
        ("said = self.encoder.tokenizer.decode(x)", 0),
        ("x = self.tokenizer(x)", 0),
    ],
)
@pytest.mark.parametrize("far", [False, True])
def test_what_makes_tokens_of_texts(tmp_path: Path, line: str, found: int, far: bool) -> None:
    method = (
        f"    def clean(self, x: Tensor) -> Tensor:\n        {line}\n        {ASKS.replace(chr(10), chr(10) + '    ')}"
    )
    files = {"ops.py": f"import torch\nfrom torch import Tensor, nn\n\nclass Model(nn.Module):\n{method.rstrip()}\n"}
    if far:
        files["far.py"] = (
            "from torch import Tensor, nn\nfrom .ops import Model\n\nclass Outer(nn.Module):\n"
            "    def __init__(self):\n        self.model = Model()\n\n"
            "    def tidy(self, x: Tensor) -> Tensor:\n        return self.model.clean(x)\n"
        )
    assert len(rows(tmp_path, files)) == found
