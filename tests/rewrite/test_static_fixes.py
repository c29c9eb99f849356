"""Retired functions are replaced without a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from control_flow import context_of

from ddelint.knowledge.catalog import Replacement
from ddelint.nouns.diagnostics import Applicability, Diagnostic
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.renamed_calls import renamed_call
from ddelint.rewrite.static_fixes import fixed_text, with_static_fixes
from ddelint.sources.source import SourceFile
from ddelint.static.checks import check_source

TEXT = (
    "import torch\n\n\ndef fn(x, n):\n    torch._check_is_size(n, max=8)\n"
    "    torch._constrain_as_value(n, 2, 8)\n    return x[:n]\n"
)


def finding(text: str, asking: str, code: str) -> tuple[Diagnostic, dict[str, object]]:
    context = context_of(text, asking, code=code)
    return context.diagnostic, {"model.py": context.site.source}


def test_a_retired_call_gets_a_fix() -> None:
    diagnostic, sources = finding(TEXT, "torch._check_is_size(n, max=8)", "DDE601")
    fixed = with_static_fixes([diagnostic], sources)[0]  # type: ignore[arg-type]
    assert fixed.fix is not None
    assert sources["model.py"].apply(fixed.fix.edits) == TEXT.replace(  # type: ignore[attr-defined]
        "torch._check_is_size(n, max=8)", "torch._check(n >= 0)\n    torch._check(n <= 8)"
    )


def test_other_findings_pass_through() -> None:
    diagnostic, sources = finding(TEXT, "x[:n]", "DDE301")
    assert with_static_fixes([diagnostic], sources) == [diagnostic]  # type: ignore[arg-type]


def test_what_cannot_be_said_in_other_words_has_no_fix() -> None:
    text = TEXT.replace("torch._check_is_size(n, max=8)", "y = torch._check_is_size(n)")
    diagnostic, sources = finding(text, "torch._check_is_size(n)", "DDE601")
    assert with_static_fixes([diagnostic], sources)[0].fix is None  # type: ignore[arg-type]


def test_a_successor_that_not_every_release_has_is_only_shown() -> None:
    text = "from torch.fx.experimental.symbolic_shapes import hint_int\n\n\n"
    text += "def fn(n):\n    return hint_int(n, fallback=64)\n"
    diagnostic, sources = finding(text, "hint_int(n, fallback=64)", "DDE604")
    fixed = with_static_fixes([diagnostic], sources)[0]  # type: ignore[arg-type]
    assert fixed.fix is not None
    assert fixed.fix.applicability is Applicability.DISPLAY
    source = context_of(text, "hint_int(n, fallback=64)").site.source
    assert source.apply(fixed.fix.edits) == text.replace("hint_int", "optimization_hint")


READING = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, sizes: torch.Tensor):
        for height, width in sizes.tolist():
            x = x * int(height)
        rows = sizes[0]
        x = x + int(rows.max())
        if x.sum() > 3:
            raise ValueError(f"{x.sum()}")
        if width > 3:
            raise ValueError(f"{width}")
        return x
"""


def test_numbers_that_were_read_are_not_read_again() -> None:
    source = SourceFile("model.py", READING)
    fixed = {d.span.row: d.fix for d in with_static_fixes(check_source(source), {"model.py": source})}
    texts = {row: fix.edits[0].content for row, fix in fixed.items() if fix is not None}
    assert texts[7] == "torch.sym_int(height)"
    assert texts[9] == "torch.sym_int(rows.max().item())"
    assert "torch._check(torch.sym_not((x.sum() > 3).item()))" in texts[10]
    assert "torch._check(width <= 3)" in texts[12]


def test_what_nothing_is_known_of_is_left_to_the_tracer() -> None:
    source = SourceFile("model.py", READING)
    unknown = [replace(d, kinds=()) for d in check_source(source)]
    fixed = with_static_fixes(unknown, {"model.py": source})
    assert [d.span.row for d in fixed if d.fix is not None and d.code in ("DDE103", "DDE104", "DDE201")] == []


def after_fixes(text: str, filename: str = "model.py") -> str:
    """The text after all fixes that need no trace, and of which nothing more is known than what no text shows."""
    source = SourceFile(filename, text)
    found = with_static_fixes(check_source(source), {filename: source})
    plain = [d for d in found if d.fix is not None and len(d.fix.reasons) <= 1]
    return fixed_text(source, plain, unsafe=True)


def compiled(*lines: str, head: str = "import torch\n", parameters: str = "x, flag=True") -> str:
    """A compiled function of these lines."""
    body = "".join(f"    {line}\n" for line in (*lines, "return x"))
    return f"{head}\n\n@torch.compile\ndef f({parameters}):\n{body}"


RAISES = ("    if x.sum() > 5:", "        raise ValueError('big')")


@pytest.mark.parametrize(
    ("lines", "is_fixed"),
    [
        (("try:", *RAISES, "except ValueError:", "    return x * 0"), False),
        (("try:", *RAISES, "except (KeyError, ValueError):", "    return x * 0"), False),
        (("try:", *RAISES, "except Exception:", "    return x * 0"), False),
        (("try:", *RAISES, "except:", "    return x * 0"), False),
        (("try:", *RAISES, "except errors.Big:", "    return x * 0"), False),
        (("try:", *RAISES, "except RuntimeError:", "    return x * 0"), False),
        (("with contextlib.suppress(ValueError):", *RAISES), False),
        (("try:", "    assert x.sum() > 5", "except AssertionError:", "    return x * 0"), False),
        (("try:", *RAISES, "except KeyError:", "    return x * 0"), True),
        (("try:", "    pass", "except ValueError:", "    pass", "else:", *RAISES), True),
        (("try:", *RAISES, "finally:", "    flag = False"), True),
        (("with torch.no_grad():", *RAISES), True),
        (("with warnings.catch_warnings(), open('f') as file:", *RAISES), True),
        (("try:", *RAISES, "finally:", "    return x"), False),
        (("for _ in range(2):", "    try:", "        assert x.sum() > 5", "    finally:", "        break"), False),
        (("try:", *RAISES, "finally:", "    def again():", "        return x"), True),
        (("with mine.attempt():", *RAISES), False),
        (("with mine.attempts[0] as a:", *RAISES), False),
        (("with contextlib.ExitStack() as stack:", *RAISES), False),
        (("if x.sum() > 5:", "    raise StopIteration"), False),
        (("if x.sum() > 5:", "    raise AttributeError('none')"), False),
    ],
)
def test_what_may_be_caught_keeps_its_raise(lines: tuple[str, ...], is_fixed: bool) -> None:
    text = compiled(*lines)
    assert ("torch._check" in after_fixes(text)) is is_fixed


LAYER = "class Layer(torch.nn.Module):\n    def forward(self, x):\n" + "".join(f"    {line}\n" for line in RAISES)
SMALL = "def small(x):\n" + "".join(f"{line}\n" for line in RAISES) + "    return x\n"
ATTEMPT = "def attempt(check, x):\n    try:\n        return check(x)\n    except ValueError:\n        return x * 0\n"


def caught_in_a_method(call: str, kind: str = "ValueError") -> str:
    """A module that keeps the layer in several ways, and catches what `call` raises."""
    return (
        LAYER + "        return x\n\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.layer = Layer()\n"
        "        self.layers = torch.nn.ModuleList([Layer()])\n\n"
        f"    def forward(self, x):\n        for layer in self.layers:\n            try:\n                x = {call}\n"
        f"            except {kind}:\n                pass\n        return x\n"
    )


@pytest.mark.parametrize(
    ("text", "is_fixed"),
    [
        (caught_in_a_method("self.layer(x)"), False),
        (caught_in_a_method("layer(x)"), False),
        (caught_in_a_method("self.layers[0](x)"), False),
        (caught_in_a_method("self.layer(x)", "KeyError"), True),
        (caught_in_a_method("torch.load(x).float()"), True),
        (f"{ATTEMPT}\n{SMALL}\n@torch.compile\ndef f(x):\n    return attempt(small, x)\n", False),
        (f"{ATTEMPT}\n{SMALL}\nTABLE = [small]\n\n@torch.compile\ndef f(x):\n    return TABLE[0](x)\n", False),
        (f"{ATTEMPT}\n{SMALL}\n@torch.compile\ndef f(x):\n    return small(x)\n", True),
        (f"{ATTEMPT}\n@attempted\n{SMALL}\n@torch.compile\ndef f(x):\n    return small(x)\n", False),
        (f"import again\n\n@again.retried\n{SMALL}\n@torch.compile\ndef f(x):\n    return small(x)\n", True),
        (f"import again\n{ATTEMPT}\n@again.kept\n{SMALL}\n@torch.compile\ndef f(x):\n    return small(x)\n", False),
        (f"{ATTEMPT}\n@torch.no_grad()\n{SMALL}\n@torch.compile\ndef f(x):\n    return small(x)\n", True),
        (f"{ATTEMPT}\n{SMALL}\n@torch.compile\ndef f(x):\n    return attempt(lambda y: small(y), x)\n", False),
        (f"{ATTEMPT}\n{SMALL}\n@torch.compile\ndef f(x):\n    return attempt(globals()['sm' + 'all'], x)\n", False),
    ],
)
def test_what_is_called_by_another_name_may_be_caught_there(text: str, is_fixed: bool) -> None:
    assert ("torch._check" in after_fixes(f"import torch\n\n\n{text}")) is is_fixed


def test_what_another_file_may_catch_keeps_its_raise(tmp_path: Path) -> None:
    text = f"import torch\n\n\n@torch.compile\n{SMALL}".replace("(x)", "(x: torch.Tensor)")
    main = "def main(x):\n    try:\n        return check(x)\n    except {}:\n        pass\n"
    use = f"from {{}}checks import small as check\n\n\n{main}"
    (tmp_path / "checks.py").write_text(text)
    (tmp_path / "inner").mkdir()
    for origin, kind, is_fixed in (("", "ValueError", False), ("", "KeyError", True), ("inner.", "ValueError", True)):
        (tmp_path / "use.py").write_text(use.format(origin, kind))
        fixed = after_fixes(text, str(tmp_path / "checks.py"))
        assert ("torch._check" in fixed) is is_fixed


OWN = "class BadBatch(ValueError):\n    pass\n\n\n__all__ = ['BadBatch']\n\n\n"


@pytest.mark.parametrize(
    ("text", "is_fixed"),
    [
        ("import checks\n\nRETRIED = (checks.BadBatch, OSError)\n", False),
        ("from checks import BadBatch\n\n\ndef run(f, x):\n    with passing(BadBatch):\n        return f(x)\n", False),
        ("from guards import Passing\n\nGUARD = Passing('BadBatch')\n", False),
        ("GUARD = Passing('checks.BadBatch')\n", False),
        ("from checks import BadBatch\n\n\ndef run(f):\n    raise BadBatch(f)\n", True),
        ("from checks import BadBatch\n\n\nclass Worse(BadBatch):\n    pass\n", True),
        ("from checks import BadBatch\n\n__all__ = ['BadBatch']\n", True),
        ('"""A BadBatch is one with large sums."""\n', True),
    ],
)
def test_a_type_of_the_projects_own_may_be_caught_by_its_name(tmp_path: Path, text: str, is_fixed: bool) -> None:
    checks = f"import torch\n\n\n{OWN}@torch.compile\n{SMALL}".replace("(x)", "(x: torch.Tensor)")
    checks = checks.replace("raise ValueError", "raise BadBatch")
    (tmp_path / "checks.py").write_text(checks)
    (tmp_path / "use.py").write_text(text)
    assert ("torch._check" in after_fixes(checks, str(tmp_path / "checks.py"))) is is_fixed


@pytest.mark.parametrize(
    ("kind", "called", "is_fixed"),
    [
        ("ValueError", "self.model(x)", False),
        ("(KeyError, ValueError)", "self.model(x)", False),
        ("KeyError", "self.model(x)", True),
        ("Exception", "self.model(x)", True),
        ("ValueError", "torch.load(x)", True),
    ],
)
def test_a_model_that_is_handed_in_may_raise_where_it_is_caught(
    tmp_path: Path, kind: str, called: str, is_fixed: bool
) -> None:
    model = f"import torch\n\n\n{LAYER}        return x\n"
    (tmp_path / "model.py").write_text(model)
    tried = f"        try:\n            return {called}\n        except {kind}:\n            return None\n"
    made = "    def __init__(self, model):\n        self.model = model\n\n"
    (tmp_path / "trainer.py").write_text(f"import torch\n\n\nclass Trainer:\n{made}    def step(self, x):\n{tried}")
    assert "torch._check" in after_fixes(model, str(tmp_path / "model.py")), "nothing brings the two together"
    (tmp_path / "main.py").write_text(
        "from model import Layer\nfrom trainer import Trainer\n\nTrainer(Layer()).step(3)\n"
    )
    assert ("torch._check" in after_fixes(model, str(tmp_path / "model.py"))) is is_fixed


@pytest.mark.parametrize(("kind", "is_fixed"), [("ValueError", False), ("KeyError", True)])
def test_what_a_decorator_of_another_file_may_catch_keeps_its_raise(tmp_path: Path, kind: str, is_fixed: bool) -> None:
    tried = f"        try:\n            return f(*args)\n        except {kind}:\n            return 0\n"
    (tmp_path / "tools.py").write_text(f"def kept(f):\n    def inner(*args):\n{tried}\n    return inner\n")
    small = SMALL.replace("(x)", "(x: torch.Tensor)")
    text = f"import torch\nfrom tools import kept\n\n\n@kept\n@torch.compile\n{small}"
    fixed = after_fixes(text, str(tmp_path / "model.py"))
    assert ("torch._check" in fixed) is is_fixed


def test_what_another_files_logger_keeps_is_said(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom told import logger\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n"
        "    if x.sum() > 4:\n        logger.warning('high')\n    return x\n"
    )
    for line, is_fixed in (("import logging\n\nlogger = logging.getLogger('told')", True), ("logger = Kept()", False)):
        (tmp_path / "told.py").write_text(f"{line}\n" if is_fixed else f"class Kept:\n{KEPT}\n\n{line}\n")
        fixed = after_fixes(text, str(tmp_path / "model.py"))
        assert ("is_compiling" in fixed) is is_fixed


KEPT = "    count = 0\n\n    def warning(self, text):\n        self.count += 1\n"


def inside(manager: str) -> str:
    """A function that raises, called within a context manager of the file."""
    return (
        f"import contextlib\n\n\n{manager}\n\n{SMALL}\n@torch.compile\ndef f(x):\n    with tolerant():\n"
        "        return small(x)\n    return x\n"
    )


GENERATOR = "@contextlib.contextmanager\ndef tolerant():\n"
MANAGER = "class tolerant:\n    def __enter__(self):\n        pass\n"


@pytest.mark.parametrize(
    ("manager", "is_fixed"),
    [
        (GENERATOR + "    try:\n        yield\n    except ValueError:\n        pass\n", False),
        (GENERATOR + "    with contextlib.suppress(ValueError):\n        yield\n", False),
        (GENERATOR + "    try:\n        yield\n    finally:\n        return\n", False),
        (GENERATOR + "    try:\n        yield\n    finally:\n        print('done')\n", True),
        (GENERATOR + "    try:\n        yield\n    except KeyError:\n        pass\n", True),
        ("def tolerant():\n    return contextlib.suppress(ValueError)\n", False),
        (MANAGER + "\n    def __exit__(self, kind, error, trace):\n        return kind is ValueError\n", False),
        (MANAGER + "\n    def __exit__(self, *error):\n        return True\n", False),
        (MANAGER + "\n    def __exit__(self, *error):\n        self.ended = True\n", True),
        (MANAGER + "\n    def __exit__(self, *error):\n        return False\n", True),
        ("class tolerant(contextlib.suppress):\n    pass\n", False),
        ("from mine import tolerant\n", False),
        ("from torch import no_grad as tolerant\n", True),
    ],
)
def test_what_a_context_manager_may_keep_to_itself(manager: str, is_fixed: bool) -> None:
    assert ("torch._check" in after_fixes(f"import torch\n{inside(manager)}")) is is_fixed


def in_a_class(method: str, use: str, raised: str = "IndexError") -> str:
    """A method that raises, and a function that uses its object."""
    return (
        f"import torch\n\n\nclass Rows:\n    def {method}:\n        if self.x.sum() > 5:\n"
        f"            raise {raised}('x')\n"
        "        return self.x\n\n    def __init__(self, x: torch.Tensor):\n        self.x = x\n\n\n"
        f"@torch.compile\ndef f(x: torch.Tensor):\n    rows = Rows(x)\n    {use}\n    return x\n"
    )


ATTEMPTED = "try:\n        y = {}\n    except ValueError:\n        y = x"


@pytest.mark.parametrize(
    ("method", "use", "raised", "is_fixed"),
    [
        ("__getitem__(self, i)", "y = [row for row in rows]", "IndexError", False),
        ("__add__(self, other)", ATTEMPTED.format("rows + 1"), "ValueError", False),
        ("__len__(self)", ATTEMPTED.format("len(rows)"), "ValueError", False),
        ("__contains__(self, i)", ATTEMPTED.format("3 in rows"), "ValueError", False),
        ("each(self)", ATTEMPTED.format("rows.each()"), "ValueError", False),
        ("each(self)", "y = rows.each()", "ValueError", True),
        ("each(self)", "y = rows.each()", "AttributeError", False),
        ("__next__(self)", "y = [row for row in rows]", "StopIteration", False),
    ],
)
def test_what_python_runs_or_catches_by_itself(method: str, use: str, raised: str, is_fixed: bool) -> None:
    assert ("torch._check" in after_fixes(in_a_class(method, use, raised))) is is_fixed


@pytest.mark.parametrize(
    ("rest", "is_fixed"),
    [
        ("def main(pool, x):\n    return pool.submit(small, x).exception()\n", False),
        ("def main(pool, x):\n    return pool.submit(small, x).result()\n", False),
        ("from mine import attempt\n\n\ndef main(x):\n    return attempt(check=small)\n", False),
        ("def main(x):\n    return torch.utils.checkpoint.checkpoint(small, x)\n", True),
        ("def attempt(f, x):\n    return f(x)\n\n\ndef main(x):\n    return attempt(small, x)\n", True),
        ("async def main(x):\n    return await gather(run(small, x), return_exceptions=True)\n", False),
        ("def main(x):\n    LOG.exception('small: %s', small(x))\n", True),
        ("scripted = torch.jit.script(small)\n", False),
        ("@torch.jit.script\ndef both(x):\n    return small(x) + 1\n", False),
        ("traced = torch.jit.trace(small, torch.ones(2))\n", True),
    ],
)
def test_what_is_run_and_asked_elsewhere(rest: str, is_fixed: bool) -> None:
    small = SMALL.replace("(x):", "(x: torch.Tensor):")
    text = f"import torch\n\n\n{small}\n@torch.compile\ndef f(x):\n    return small(x)\n\n\n{rest}"
    assert ("torch._check" in after_fixes(text)) is is_fixed


@pytest.mark.parametrize(
    ("rest", "is_fixed"),
    [
        ("def main(x):\n    return _whole(x.sum())\n", True),
        ("SIZES = list(map(_whole, (1, 2)))\n", False),
        ("two = functools.partial(_whole, 2)\n", False),
        ("TABLE = {'whole': _whole}\n", False),
        ("fast = torch.vmap(_whole)\n", True),
    ],
)
def test_a_function_that_is_handed_on_may_be_given_numbers(rest: str, is_fixed: bool) -> None:
    text = "import torch\n\n\ndef _whole(n):\n    return int(n) + 1\n\n\n@torch.compile\ndef f(x):\n"
    text += f"    return x * {'x' if 'main' in rest else '_whole(x.sum())'}\n\n\n{rest}"
    if "main" in rest:
        text = text.replace("def main", "@torch.compile\ndef main")
    assert (".item()" in after_fixes(text)) is is_fixed


@pytest.mark.parametrize(
    ("function", "is_fixed"),
    [
        ("def whole(n)", False),
        ("def _whole(n)", True),
        ("def whole(n: torch.Tensor)", True),
        ("def whole(n, /, *, more=None)", False),
    ],
)
def test_a_parameter_that_others_may_give_a_number(function: str, is_fixed: bool) -> None:
    name = function.partition("(")[0].removeprefix("def ")
    text = f"import torch\n\n\n{function}:\n    return int(n) + 1\n\n\n@torch.compile\ndef f(x):\n"
    text += f"    return x * {name}(x.sum())\n"
    assert (".item()" in after_fixes(text)) is is_fixed


@pytest.mark.parametrize(("call", "is_fixed"), [("f(x)", False), ("fast(x)", False), ("g(x)", True), ("x.sum()", True)])
def test_what_a_caller_may_catch_keeps_its_raise(call: str, is_fixed: bool) -> None:
    text = compiled("assert x.sum() < 3")
    text += f"\n\nfast = torch.compile(f)\n\n\ndef main(x):\n    try:\n        {call}\n    except AssertionError:\n"
    text += "        return f(x)\n"
    assert ("torch._check" in after_fixes(text)) is is_fixed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.shape[0], max=5", ("torch._check(x.shape[0] >= 0)", "torch._check(x.shape[0] <= 5)")),
        ("sizes.pop()", ("torch._check(sizes.pop() >= 0)",)),
        (
            "sizes.pop(), max=5",
            ("bounded = sizes.pop()", "torch._check(bounded >= 0)", "torch._check(bounded <= 5)"),
        ),
        (
            "x.sum().item(), max=bounded",
            ("bounded_2 = x.sum().item()", "torch._check(bounded_2 >= 0)", "torch._check(bounded_2 <= bounded)"),
        ),
    ],
)
def test_the_argument_of_a_retired_check_is_computed_once(before: str, after: tuple[str, ...]) -> None:
    parameters = "x, sizes, bounded=5" if "bounded" in before else "x, sizes"
    text = compiled(f"torch._check_is_size({before})", parameters=parameters)
    assert after_fixes(text) == compiled(*after, parameters=parameters)


@pytest.mark.parametrize(
    ("condition", "after"),
    [
        ("n == 0 or 10 % n == 0", ""),
        ("not (n != 0 and 10 // n > 2)", ""),
        ("n == 0 or flag[n] == 1", ""),
        ("n == 0 or (x * 0 + n).max() < 3", ""),
        ("n > x.dim() or n < x.shape[2]", ""),
        ("n == 0 or n * 3 - 1 > x.shape[0]", "sym_or(n == 0, n * 3 - 1 > x.shape[0])"),
        ("n == 0 or n == x.size(0) or n < len(flag)", "sym_or(n == 0, n == x.size(0), n < len(flag))"),
        ("not (n > 4 and n < x.numel())", "sym_or(n <= 4, n >= x.numel())"),
        ("n % 2 == 0 or n == 1", "sym_or(n % 2 == 0, n == 1)"),
    ],
)
def test_an_operand_that_may_fail_keeps_its_short_circuit(condition: str, after: str) -> None:
    text = compiled("n = x.sum().int().item()", f"torch._check({condition})")
    assert f"torch._check({after or condition})" in after_fixes(text)
    assert ("sym_or" in after_fixes(text)) is bool(after)


AS_T = "import torch as t\n\n\n@t.compile\ndef f(x):\n"


@pytest.mark.parametrize(
    ("text", "is_fixed"),
    [
        (compiled("torch = x * 2", "assert x.max() < 3"), False),
        (compiled("assert x.max() < 3", parameters="x, torch"), False),
        (compiled("for torch in x:", "    pass", "assert x.max() < 3"), False),
        (compiled("assert x.max() < 3", "import torch"), False),
        (compiled("from mine import torch", "assert x.max() < 3"), False),
        (compiled("import torch", "assert x.max() < 3"), True),
        (compiled("y = [torch for torch in x]", "assert x.max() < 3"), True),
        (compiled("t = x * 2", "assert x.max() < 3"), True),
        (AS_T + "    for t in x:\n        pass\n    assert x.max() < 3\n    return x\n", False),
        (AS_T + "    for u in x:\n        pass\n    assert x.max() < 3\n    return x\n", True),
        (compiled("n = x.sum().item()", "torch._check(n == 0 or n == 3)", parameters="x, sym_or"), False),
        (compiled("n = x.sum().item()", "torch._check(n == 0 or n == 3)", parameters="x, sym_and"), True),
    ],
)
def test_a_name_that_means_something_else_around_is_not_used(text: str, is_fixed: bool) -> None:
    assert (after_fixes(text) != text) is is_fixed


def test_the_name_of_a_function_around_is_looked_at_too() -> None:
    inner = "    @compile\n    def f(x):\n        assert x.max() < 3\n        return x\n\n    return f\n"
    assert after_fixes(f"from torch import compile\n\n\ndef make(torch):\n{inner}").count("torch.compiler") == 0
    assert after_fixes(f"from torch import compile\n\n\ndef make(other):\n{inner}").count("torch.compiler") == 1


LAZY = """\
import os


def build():
    import torch{comment}
    @torch.compile
    def f(x):
        assert x.max() < 3
        n = x.sum().int().item()
        torch._check(n == 0 or n == x.shape[0])
        torch._check(n == 0 or (n == 4 and n > x.shape[0]))
        return x

    return f
"""


@pytest.mark.parametrize("comment", ["", "  # late"])
def test_an_import_inside_a_function_is_in_scope_there(comment: str) -> None:
    after = after_fixes(LAZY.format(comment=comment))
    shapes = "from torch.fx.experimental.symbolic_shapes import sym_and, sym_or"
    assert after.startswith(f"import os\n\n\ndef build():\n    import torch{comment}\n    {shapes}\n    @torch")
    assert after.count("import") == 3
    assert "torch.compiler.is_compiling()" in after


def test_an_import_that_only_another_function_makes_stays_late() -> None:
    text = "def f(x):\n    assert x.max() < 3\n    return x\n\n\n"
    text += "def main():\n    import torch\n\n    return torch.compile(f)\n"
    assert after_fixes(text) == text


def test_several_fixes_bring_one_import() -> None:
    text = compiled(
        "assert x.max() < 3",
        "n = x.sum().int().item()",
        "if n == 0 and n == 3:",
        "    raise RuntimeError(n)",
        head="from torch import compile\n",
    ).replace("@torch.", "@")
    after = after_fixes(text)
    assert after.startswith(
        "import torch\nfrom torch import compile\nfrom torch.fx.experimental.symbolic_shapes import sym_or\n\n"
    )
    assert after.count("import torch\n") == 1


@pytest.mark.parametrize(("parameter", "is_fixed"), [("new_op", False), ("other", True)])
def test_a_replacement_is_not_taken_for_a_parameter_of_its_name(parameter: str, is_fixed: bool) -> None:
    text = f"from pack import old_op\n\n\ndef fn(x, {parameter}):\n    return old_op(x)\n"
    context = context_of(text, "old_op(x)", code="DDE601")
    replacement = Replacement({"pack.old_op": "elsewhere.new_op"}, Applicability.SAFE, "")
    assert (renamed_call(context.diagnostic, context.site.source, replacement) is not None) is is_fixed


HEAD = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x: torch.Tensor, flag):\n"


@pytest.mark.parametrize("test", ["x[0] != 0", "x[:, 0] != 0", "x.flatten()[-1] != 0"])
def test_a_place_of_a_tensor_is_a_tensor(test: str) -> None:
    after = after_fixes(f'{HEAD}        if {test}:\n            raise ValueError("m")\n        return x\n')
    checked = test.replace("!=", "==")
    assert after == f'{HEAD}        torch._check_value(({checked}).item(), lambda: "m")\n        return x\n'


@pytest.mark.parametrize(
    ("flag", "is_known"), [("flag", True), ("flag == 'a'", True), ("x.sum() < 3", False), ("(x < 3).any()", False)]
)
def test_what_asks_nothing_stays_an_if_of_python(flag: str, is_known: bool) -> None:
    after = after_fixes(
        f"{HEAD}        if {flag} and (x.max() > 1 or x.min() < 0):\n            raise KeyError(x)\n        return x\n"
    )
    checks = f"            if {flag}:\n                torch._check(torch.sym_not((x.max() > 1).item()))\n"
    assert (checks in after) is is_known


@pytest.mark.parametrize(
    ("loop", "use", "is_fixed"),
    [
        ("for i in torch.where(x > 0)[0]:", "y[i] = x[i]", True),
        ("for k, i in enumerate(torch.where(x > 0)[0]):", "y[k] = x[i] + k", True),
        ("for w, i in zip(x, torch.where(x > 0)[0]):", "y[i] = w", True),
        ("for i in torch.where(x > 0)[0][:3]:", "y[i] = x[i] + x[i + 1]", True),
        ("for row in x.argmax(-1):", "y[row[0]] = x[row[1]]", False),
        ("for k, row in enumerate(x.argmax(-1)):", "y[k] = x[row[y[k]]]", False),
        ("for i in torch.where(x > 0)[0]:", "y[i] = x[i] * i.float()", False),
        ("for i in torch.where(x > 0)[0]:", "y[i] = self.table[i]", True),
        ("table = {}\n        for i in torch.where(x > 0)[0]:", "y[i] = x[i]\n            table[i] = 1", False),
    ],
)
def test_a_loop_gives_numbers_where_all_it_gives_is_used_as_such(loop: str, use: str, is_fixed: bool) -> None:
    after = after_fixes(f"{HEAD}        y = x.clone()\n        {loop}\n            {use}\n        return y\n")
    assert (".tolist()" in after) is is_fixed


@pytest.mark.parametrize(
    ("declared", "around"),
    [
        ("t: float | torch.Tensor", "if True:"),
        ("t=torch.ones(()), u=1.0", "if isinstance(t, (float, int)) or t.numel() == 1:"),
        ("t=1.0", "if u:"),
    ],
)
def test_what_is_a_number_for_others_is_not_read_as_a_tensor(declared: str, around: str) -> None:
    head = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x: torch.Tensor, u):\n"
    body = f"        return limit(x, x.max())\n\n\ndef limit(x, {declared}):\n    {around}\n        if t <= 0:\n"
    text = f"{head}{body}            raise ValueError(f'got {{t}}')\n    return x / t\n"
    assert after_fixes(text) == text


@pytest.mark.parametrize(
    ("parameters", "use", "is_fixed"),
    [
        ("x, known", "return x if n in known else -x", False),
        ("x, known", "if n not in known:\n        known[n] = x\n    return x", False),
        ("x, known: dict", "known[n] = x\n    return x", False),
        ("x, known: typing.Dict[int, torch.Tensor]", "return x * known[n]", False),
        ("x, known: set[int]", "known.add(n)\n    return x", False),
        ("x, known: torch.Tensor", "return x * known[n]", True),
        ("x, known", "return x[:n]", True),
    ],
)
def test_what_may_be_a_key_stays_a_number_of_python(parameters: str, use: str, is_fixed: bool) -> None:
    text = f"import torch\nimport typing\n\n\n@torch.compile\ndef fn({parameters}):\n    n = int(x.sum())\n    {use}\n"
    assert ("sym_int" in after_fixes(text)) is is_fixed


def test_what_no_text_shows_is_said_of_each_move() -> None:
    table = knowledge()
    entries = table.without_trace.items()
    asked = {(code, move) for code, entry in entries for move in entry.moves}
    assert [pair for pair in sorted(asked) if not table.unshown.keys() & {*pair}] == []
    known = {name for pair in asked for name in pair}
    assert table.unshown.keys() <= known


@pytest.mark.parametrize("code", sorted(knowledge().without_trace))
def test_what_was_not_run_says_what_no_text_shows(code: str) -> None:
    """But for what the text shows by itself (reading/test_shown.py)."""
    path = Path(__file__).parents[2] / "fixtures" / "rules" / code / "flagged.py"
    source = SourceFile(str(path), path.read_text())
    fixed = with_static_fixes(check_source(source), {str(path): source})
    fixes = [d.fix for d in fixed if d.code == code and d.fix is not None]
    assert fixes
    for fix in fixes:
        if fix.applicability is Applicability.SAFE:
            assert fix.reasons == ()
            continue
        assert fix.reasons[-1] in fix.message
        assert "{" not in fix.reasons[-1]
