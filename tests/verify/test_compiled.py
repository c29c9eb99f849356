"""Programs through export, strict export and torch.compile: what passes, what is asked, what differs on replay."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ddelint.nouns.protocol import Compilation, SessionOptions, TargetResult
from ddelint.trace.entry import Entry
from ddelint.verify import replaying
from ddelint.verify.compiled import compile_targets

Program = Callable[..., Entry]
ALL = ("export", "strict", "compile")
OLD = tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) < (2, 13)
"""Releases that are supported and do less well (docs/compatibility.md)."""

INPUTS = """

def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(6, 3, generator=g), torch.rand(6, generator=g) > 0.3
"""


@pytest.fixture
def compiled(program: Program, options: SessionOptions) -> Callable[..., Compilation]:
    def run(
        text: str,
        *,
        original: str | None = None,
        targets: tuple[str, ...] = ALL,
        samples: int = 12,
        inputs: str = INPUTS,
        **marks: object,
    ) -> Compilation:
        first = program(textwrap.dedent(original or text) + textwrap.dedent(inputs), **marks)
        second = program(textwrap.dedent(text) + textwrap.dedent(inputs), **marks)
        return compile_targets(first, lambda: second, targets, options, samples, "eager")

    return run


def by_target(compilation: Compilation) -> dict[str, TargetResult]:
    return {result.target: result for result in compilation.results}


def asked(result: TargetResult) -> str:
    (question,) = result.questions
    line = Path(question.span.filename).read_text().splitlines()[question.span.row - 1]
    text = line[question.span.column - 1 : question.span.end_column - 1]
    assert question.expression == text
    assert question.asks == (result.target,)
    return f"{question.kind} {text}"


def test_a_program_without_questions_passes_everywhere(compiled: Callable[..., Compilation]) -> None:
    found = compiled("def fn(x, keep):\n    return x[keep].sum(0)\n")

    for result in found.results:
        assert result.ok, result
        assert result.replayed >= 8
        assert result.mismatches == ()
    assert by_target(found)["compile"].graphs == 1
    assert by_target(found)["compile"].recompiles == 0


def test_a_branch_is_asked_at_its_test(compiled: Callable[..., Compilation]) -> None:
    found = compiled(
        """
        def fn(x, keep):
            n = keep.sum().item()
            if n > 4:
                return x
            return -x
        """
    )

    assert {target: asked(result) for target, result in by_target(found).items()} == dict.fromkeys(ALL, "truth n > 4")
    assert not any(result.ok for result in found.results)


def test_a_tensor_in_a_branch_is_known_to_be_a_tensor(compiled: Callable[..., Compilation]) -> None:
    found = compiled("def fn(x, keep):\n    return x if keep.any() else -x\n", targets=("compile",))

    (question,) = found.results[0].questions
    assert question.types["keep.any()"].kind == "tensor"


def test_questions_in_helpers_are_blamed_there_with_their_callers(compiled: Callable[..., Compilation]) -> None:
    found = compiled(
        """
        def helper(x, n):
            for _ in range(n):
                x = x + 1
            return x


        def fn(x, keep):
            return helper(x, keep.sum().item())
        """,
    )

    for result in found.results:
        assert asked(result) == "integer range(n)", result
        functions = [frame.function.rpartition(".")[2] for frame in result.questions[0].frames]
        assert functions[-2:] == ["fn", "helper"]


def test_operators_without_an_answer_are_named(compiled: Callable[..., Compilation]) -> None:
    found = compiled("def fn(x, keep):\n    return x if torch.equal(x, -x) else x + 1\n", targets=("export", "compile"))

    for result in found.results:
        # older Dynamo knows the line, not the operand
        whole = OLD and result.target == "compile"
        assert asked(result) == f"operator {'x if torch.equal(x, -x) else x + 1' if whole else 'torch.equal(x, -x)'}"
        assert result.questions[0].operator == "aten.equal.default"


def test_a_failure_that_is_not_data_dependent_is_told_apart(compiled: Callable[..., Compilation]) -> None:
    found = compiled(
        """
        def fn(x, keep):
            with open(__file__) as file:
                return x + len(file.read())
        """,
        targets=("compile",),
    )

    (question,) = found.results[0].questions
    assert question.kind == "other"
    assert question.detail.startswith("Unsupported")


def test_a_symbol_as_a_key_is_a_data_dependent_failure(compiled: Callable[..., Compilation]) -> None:
    found = compiled("def fn(x, keep):\n    return {3: x}.get(keep.sum().item(), -x)\n", targets=("export",))

    assert asked(found.results[0]).startswith("failure {3: x}.get(")


def test_an_export_of_which_no_module_can_be_made_is_an_error_of_export_alone(
    compiled: Callable[..., Compilation],
) -> None:
    text = """
    import torch

    class Bias(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x + self.bias

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.graph = Bias()

        def forward(self, x, mask):
            return self.graph(x)
    """
    found = by_target(compiled(text, targets=("export", "compile")))
    assert (found["export"].ok, found["compile"].ok) == (False, True)
    assert "references nonexistent attribute" in found["export"].error


def test_an_export_that_silently_differs_is_caught_on_replay(compiled: Callable[..., Compilation]) -> None:
    found = compiled("def fn(x, keep):\n    return [f'{keep.sum().item()} kept']\n", targets=("export",))

    assert not found.results[0].ok
    assert {m.aspect for m in found.results[0].mismatches} == {"value"}
    assert found.results[0].mismatches[0].declared


def test_a_path_that_only_tracing_takes_is_compared_with_the_original(compiled: Callable[..., Compilation]) -> None:
    original = "def fn(x, keep):\n    return x[keep].sum(0) if keep.any() else x.new_zeros(3)\n"
    wrong = "def fn(x, keep):\n    return x[keep].mean(0) if torch.compiler.is_compiling() else x[keep].sum(0)\n"

    found = compiled(wrong, original=original)

    for result in found.results:
        assert not result.ok
        assert result.mismatches[0].where == result.target


def test_raising_where_the_original_raises_is_right_whatever_the_type(compiled: Callable[..., Compilation]) -> None:
    original = """
    def fn(x, keep):
        if keep.sum() > 4:
            raise ValueError("too many")
        return x[keep]
    """
    checked = """
    def fn(x, keep):
        torch._check_value(keep.sum().item() <= 4, lambda: "too many")
        return x[keep]
    """
    silent = "def fn(x, keep):\n    return x[keep]\n"

    # strict export of torch 2.13 fails on any check with a text, Dynamo of torch 2.11 on one of `_check_value`
    targets = ("export",) if OLD else ("export", "compile")
    assert all(result.ok for result in compiled(checked, original=original, targets=targets).results)
    for result in compiled(silent, original=original).results:
        assert not result.ok
        assert {(m.aspect, m.got) for m in result.mismatches} == {("exception", "a result")}


def test_marked_sizes_are_unknown_to_compile_and_dynamic_for_export(compiled: Callable[..., Compilation]) -> None:
    inputs = "\ndef make_inputs(seed):\n    return (torch.ones([5, 2, 7, 3][seed % 4], 3),)\n"

    good = compiled("def fn(x):\n    return x.cumsum(0)\n", inputs=inputs, unbacked={"x": (0,)})
    bad = compiled("def fn(x):\n    return x if x.shape[0] > 4 else -x\n", inputs=inputs, unbacked={"x": (0,)})

    assert all(result.ok and result.replayed >= 6 for result in good.results)
    assert by_target(good)["compile"].recompiles == 0
    assert asked(by_target(bad)["compile"]) == "truth x.shape[0] > 4"
    assert "Guard failed" in by_target(bad)["export"].mismatches[0].got


def test_sizes_that_nobody_marked_are_skipped_by_export_and_recompiled(compiled: Callable[..., Compilation]) -> None:
    inputs = "\ndef make_inputs(seed):\n    return (torch.ones([5, 2, 7, 3][seed % 4], 3),)\n"

    found = by_target(compiled("def fn(x):\n    return x.cumsum(0)\n", inputs=inputs))

    assert found["export"].ok
    assert found["export"].skipped >= 3
    assert found["compile"].ok
    assert found["compile"].skipped == 0
    assert found["compile"].recompiles == 1


@pytest.mark.parametrize(
    "text",
    [
        """
        class Model(torch.nn.Module):
            def forward(self, x, rest, *, scale):
                return x.cumsum(0) * scale + rest["y"][0]
        """,
        """
        def fn(x, rest, *, scale):
            return x.cumsum(0) * scale + rest["y"][0]
        """,
    ],
    ids=["module", "function"],
)
def test_keywords_and_nested_arguments_are_exported_with_dynamic_sizes(
    compiled: Callable[..., Compilation], text: str
) -> None:
    found = compiled(
        text,
        inputs="""

        def make_inputs(seed):
            n = [5, 2, 7][seed % 3]
            return (torch.ones(n, 3), {"y": [torch.ones(3)]}), {"scale": torch.full((), 2.0)}
        """,
        dynamic={"x": (0,)},
        targets=("export", "strict"),
    )

    for result in found.results:
        assert result.ok, result
        assert result.skipped == 0


def test_a_number_hidden_by_specialization_is_found_by_the_clone(compiled: Callable[..., Compilation]) -> None:
    inputs = "\ndef make_inputs(seed):\n    return torch.ones(6), torch.tensor(seed % 3 + 1)\n"

    found = compiled(
        "def fn(x, n):\n    return x if n.item() > 1 else -x\n", inputs=inputs, targets=("compile",)
    ).results[0]

    assert not found.ok
    assert "cloned" in found.error
    assert asked(found) == "truth n.item() > 1"
    assert found.recompiles is not None
    assert found.recompiles >= 1


def test_a_question_that_only_a_later_input_brings_up_is_found(compiled: Callable[..., Compilation]) -> None:
    inputs = "\ndef make_inputs(seed):\n    return torch.ones(6), [1, 1, 1, 2][seed % 4]\n"

    found = compiled(
        "def fn(x, n):\n    return x if n == 1 or x.sum() > 3 else -x\n", inputs=inputs, targets=("compile",)
    ).results[0]

    assert not found.ok
    assert asked(found).startswith("truth ")
    assert found.replayed >= 1


def test_effects_on_arguments_and_buffers_are_compared(compiled: Callable[..., Compilation]) -> None:
    original = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x, keep):
            self.seen.add_(keep.sum())
            x.mul_(2)
            return x + self.seen
    """

    assert all(result.ok for result in compiled(original).results)
    for wrong in (
        original.replace("add_(keep.sum())", "add_(1)").replace("+ self.seen", "+ self.seen - 1 + keep.sum()"),
        original.replace("x.mul_(2)", "x = x * 2"),
    ):
        for result in compiled(wrong, original=original).results:
            assert "mutation" in {m.aspect for m in result.mismatches}, result


TRAINED = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x, keep):
        return torch.tanh(self.linear(x[keep]))
"""


def test_gradients_of_parameters_are_compared(compiled: Callable[..., Compilation]) -> None:
    wrong = TRAINED.replace(
        "torch.tanh(self.linear(x[keep]))",
        "torch.tanh(self.linear(x[keep]).detach() if torch.compiler.is_compiling() else self.linear(x[keep]))",
    )

    assert compiled(TRAINED, targets=("compile",)).backward is True
    found = compiled(wrong, original=TRAINED, targets=("compile",))
    assert found.backward is False
    assert {m.where for m in found.mismatches} == {"backward"}


def test_gradients_of_another_result_say_nothing(compiled: Callable[..., Compilation]) -> None:
    doubled = "torch.tanh(self.linear(x[keep]))", "torch.tanh(self.linear(x[keep]) * (2 if compiling else 1))"
    wrong = TRAINED.replace(*doubled).replace("compiling", "torch.compiler.is_compiling()")

    found = compiled(wrong, original=TRAINED, targets=("compile",))
    assert found.results[0].ok is False
    assert found.backward is True  # where no row is kept, both give the same, and so do their gradients


def test_a_program_without_gradients_has_no_backward(compiled: Callable[..., Compilation]) -> None:
    assert compiled("def fn(x, keep):\n    return x[keep]\n", targets=("compile",)).backward is None


def test_without_samples_only_the_questions_are_looked_for(compiled: Callable[..., Compilation]) -> None:
    found = compiled(TRAINED, samples=0)

    assert all(result.ok and result.replayed == 0 for result in found.results)
    assert by_target(found)["compile"].recompiles is None


def test_an_example_that_raises_is_not_what_is_traced(compiled: Callable[..., Compilation]) -> None:
    found = compiled(
        """
        def fn(x, keep):
            torch._check(keep.sum().item() > 0)
            return x[keep].sum(0)
        """,
        inputs="\ndef make_inputs(seed):\n    return torch.ones(4, 3), torch.full((4,), seed % 2 == 1)\n",
    )

    assert all(result.ok for result in found.results), found


def test_no_device_is_said_and_the_cpu_is_not_enough(program: Program, options: SessionOptions) -> None:
    from ddelint.verify import device

    if not device.missing():
        pytest.skip("there is a device")
    entry = program("def fn(x, keep):\n    return x[keep]\n" + INPUTS)
    auto = replace(options, device="auto")

    assert compile_targets(entry, lambda: entry, (), auto, 2, "inductor").notes == ()
    notes = compile_targets(entry, lambda: entry, ("compile",), auto, 2, "inductor").notes
    assert notes == ("cuda not run: no device",)


@pytest.mark.slow
def test_inductor_gives_what_eager_gives(program: Program, options: SessionOptions) -> None:
    entry = program(textwrap.dedent(TRAINED) + INPUTS)

    found = compile_targets(entry, lambda: entry, ("compile",), options, 8, "inductor")

    assert found.results[0].ok, found
    assert found.backward is True


DRAWING = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x, mask):
            return torch.nn.functional.dropout(self.linear(x), 0.5) + SAME * torch.rand_like(x)
"""


@pytest.mark.slow
def test_what_draws_random_numbers_is_compared_under_eagers_own(program: Program, options: SessionOptions) -> None:
    entry = program(textwrap.dedent(DRAWING.replace("SAME", "1")) + INPUTS)
    other = program(textwrap.dedent(DRAWING.replace("SAME", "2")) + INPUTS)

    found = compile_targets(entry, lambda: entry, ("compile",), options, 4, "inductor")
    wrong = compile_targets(entry, lambda: other, ("compile",), options, 4, "inductor")

    assert found.results[0].ok, found
    assert any("random numbers are drawn as eager draws them" in note for note in found.notes)
    assert not wrong.results[0].ok


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="waits for a CUDA device")
def test_the_same_on_a_gpu(program: Program, options: SessionOptions) -> None:
    entry = program(textwrap.dedent(TRAINED) + INPUTS)

    found = compile_targets(entry, lambda: entry, ("compile",), replace(options, device="cuda"), 8, "inductor")

    assert {result.device: result.ok for result in found.results} == {"cpu": True, "cuda": True}


def test_where_time_is_over_one_input_and_the_calls_in_a_row_are_replayed(
    compiled: Callable[..., Compilation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else `export ok` would be said of a program that took long to trace, and of which nothing was compared."""
    monkeypatch.setattr(replaying, "REPLAY_SECONDS", -1.0)
    text = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x, keep):
            self.calls += 1
            return x + 1.0 if self.calls % 5 == 0 else x * 2.0
    """
    compilation = compiled(text, targets=("export", "compile"))
    export, compile_ = by_target(compilation)["export"], by_target(compilation)["compile"]

    assert (export.replayed, export.compared, export.ok) == (1, 1, False)
    assert (compile_.replayed, compile_.compared) == (1, 1)
    assert any(mismatch.in_a_row for mismatch in export.mismatches)
    assert {note.partition(":")[0] for note in compilation.notes if "1 of" in note} == {"export", "compile"}


@pytest.mark.parametrize("target", ["export", "compile"])
def test_each_input_begins_with_the_state_as_it_was_though_only_a_later_call_in_a_row_changed_it(
    compiled: Callable[..., Compilation], target: str
) -> None:
    text = """
        import torch

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("peak", torch.zeros(()))

            def forward(self, x):
                self.peak.copy_(torch.maximum(self.peak, x.max()))
                return x * 2
    """
    inputs = """
        def make_inputs(seed):
            g = torch.Generator().manual_seed(seed)
            return (torch.rand(6, generator=g) - (1.0 if seed == 0 else 0.0),)
    """
    result = by_target(compiled(text, inputs=inputs, targets=(target,)))[target]
    assert result.mismatches == ()
    assert result.ok


def test_a_count_that_only_the_first_input_reads_shows_where_it_comes_again(
    compiled: Callable[..., Compilation],
) -> None:
    text = """
        def counted(x, empty, *, seen=[0]):
            seen[0] += 1
            return torch.where(empty, x + seen[0], x)

        class Model(torch.nn.Module):
            def forward(self, x):
                return counted(x, (x == 0).all())
    """
    inputs = "\n\ndef make_inputs(seed):\n    return (torch.full((3,), float(seed)),)\n"
    (export,) = compiled(text, targets=("export",), inputs=inputs).results
    assert any(mismatch.in_a_row for mismatch in export.mismatches)


COND = """
    class Model(torch.nn.Module):
        def forward(self, x, mask):
            def one(x, mask):
                return {one}

            def other(x, mask):
                return x * 2

            return torch.cond({test}, one, other, (x, mask))
"""


@pytest.mark.parametrize(
    ("test", "one", "is_taken"),
    [
        ("mask.all()", "x * mask.sum()", True),
        ("mask.sum().item() > 4", "x * mask.sum()", True),
        ("mask.all()", "x * mask.sum().item()", False),
        ("mask.nonzero().shape[0] > 3", "x + x[mask].sum()", False),
        ("mask.sum().item() > 4", "x.narrow(0, 0, mask.sum().item()).sum() + x", False),
    ],
)
def test_control_flow_that_is_captured_only_as_a_whole(
    compiled: Callable[..., Compilation], test: str, one: str, is_taken: bool
) -> None:
    (result,) = compiled(COND.format(test=test, one=one), targets=("compile",)).results
    assert result.ok
    assert (result.as_installed == "") is is_taken, result.as_installed


@pytest.mark.parametrize(("value", "is_taken"), [("scale", False), ("2.0", True), ("float(mask.shape[0])", True)])
def test_control_flow_that_knows_a_number_of_the_first_call(
    compiled: Callable[..., Compilation], value: str, is_taken: bool
) -> None:
    text = COND.replace("x, mask):\n            def", "x, mask, scale: float = 0.5):\n            def", 1)
    text = text.format(test="mask.all()", one=f"x + {value}").replace("x * 2", f"x * {value}")
    (result,) = compiled(text, targets=("compile",)).results
    assert result.ok
    assert (result.otherwise == "") is is_taken, result.otherwise
    assert is_taken or result.otherwise.startswith("scale=1.5: ")


@pytest.mark.parametrize(
    ("one", "refused"),
    [
        ("self.norm(x)", "in train(): "),
        ("x / self.heat", ""),
        ("x * (1 / self.heat)", "self.heat=0.0: "),
        ("self.mix(x)", "under autocast: "),
        ("self.mix(x).to(x.dtype)", ""),
        ("x * keep.double().mean()", ""),
        ("x.float() * 2", "in bfloat16: "),
        ("x * x.sum(1).topk(3).values.sum()", "with one row: "),
    ],
)
def test_control_flow_is_compiled_in_another_mode_and_setting(
    compiled: Callable[..., Compilation], one: str, refused: str
) -> None:
    text = f"""
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.heat, self.norm = 0.5, torch.nn.BatchNorm1d(3)
            self.mix = torch.nn.Linear(3, 3)
            self.eval()

        def forward(self, x, mask):
            def one(x, keep):
                return {one}

            def other(x, keep):
                return x.clone()

            keep = torch.ones(3)
            if not torch.compiler.is_compiling():
                return one(x, keep) if mask.all() else other(x, keep)
            return torch.cond(mask.all(), one, other, (x, keep))
    """
    (result,) = compiled(text, targets=("compile",)).results
    assert result.otherwise.startswith(refused), result
    assert bool(result.otherwise) == bool(refused), result


def test_a_program_without_control_flow_is_compiled_with_settings_alone(compiled: Callable[..., Compilation]) -> None:
    text = """
    class Model(torch.nn.Module):
        def forward(self, x, mask):
            return x * mask.sum().item()
    """
    (result,) = compiled(text, targets=("compile",)).results
    assert result.ok
    assert not result.as_installed


COUNTING = """
    import dataclasses
    import torch

    class Meter:
        def __init__(self):
            self.n, self.seen = 0, {{"n": 0}}

        def add(self, value):
            self.n += value

    @dataclasses.dataclass
    class Slim:
        n: int = 0

        def once(self):
            self.n += 1

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = {first}

        def forward(self, x, mask):
            {counts}
            return x * 2
"""


@pytest.mark.parametrize(
    ("first", "counts", "expected"),
    [
        ("0", "self.calls += 1", "counted self.calls"),
        ("3", "self.calls = self.calls + 2", "counted self.calls"),
        ("torch.tensor(0)", "self.calls = self.calls + 1", ""),
        ("False", "self.calls = True", ""),
        ("0", "self.calls = int(x.shape[0])", ""),
        ("0", "self.calls = 0; self.calls += 1", ""),
        ("0", "self.calls = max(self.calls, 5)", ""),
        ("0", "self.calls: int = (self.calls + 1) % 5", "counted self.calls"),
        ("{'n': 0, 'k': 0}", "self.calls['n'] += 1", "counted self.calls['n']"),
        ("[0, 0]", "self.calls[1] = self.calls[1] + 1", "counted self.calls[1]"),
        ("[0, 0]", "self.calls[1] = 5", ""),
        ("[0, 0]", "if not torch.compiler.is_compiling(): self.calls[1] += 1", ""),
        ("Meter()", "self.calls.add(3)", "counted self.n"),
        ("Meter()", "self.calls.seen['n'] += 1", "counted self.calls.seen['n']"),
        ("Meter()", "self.calls.n += 1; self.calls.n = 0", ""),
        ("Slim()", "self.calls.once()", "counted self.n"),
    ],
)
def test_what_is_counted_in_python(
    compiled: Callable[..., Compilation], first: str, counts: str, expected: str
) -> None:
    result = by_target(compiled(COUNTING.format(first=first, counts=counts), targets=("compile",)))["compile"]
    assert result.error == ""
    assert (asked(result) if result.questions else "") == expected


def test_what_is_not_replayed_is_not_asked_for_its_counts(compiled: Callable[..., Compilation]) -> None:
    text = COUNTING.format(first="0", counts="self.calls += 1")
    assert by_target(compiled(text, targets=("compile",), samples=0))["compile"].questions == ()
