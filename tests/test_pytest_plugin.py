"""The pytest plugin: `--ddelint` and `assert_traceable`, in projects of their own."""

from __future__ import annotations

from importlib import import_module

import pytest

pytest_plugins = ["pytester"]
for _name in ("settings.config", "capturing", "traceability", "trace.live", "report.console"):
    import_module(f"ddelint.{_name}")  # pytester forgets what a run has loaded, and classes would be there twice

MODEL = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        n = x.sum().item()
        if n > 4:
            return x
        return -x
"""
HERE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-n0")


@pytest.fixture(scope="module", autouse=True)
def _torch_stays_loaded() -> None:
    """What a run in this process imports goes with it, and torch's compiler registers some things but once."""
    import_module("torch._inductor.compile_fx")


def test_each_file_is_an_item_that_fails_with_its_findings(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(model=MODEL, clean="x = 1\n", test_mine="def test_mine():\n    pass\n")
    result = pytester.runpytest_inprocess("--ddelint", "-v", "--color=no", *HERE)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "clean.py::ddelint PASSED*",
            "model.py::ddelint FAILED*",
            "*model.py:7:12 DDE101 branch-on-value: the compiler must answer `n > 4` while tracing",
            "*if n > 4:*",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_without_the_option_nothing_is_collected_and_with_the_marker_nothing_else(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(model=MODEL, test_mine="def test_mine():\n    pass\n")
    pytester.runpytest_inprocess(*HERE).assert_outcomes(passed=1)
    result = pytester.runpytest_inprocess("--ddelint", "-m", "ddelint", *HERE)
    result.assert_outcomes(passed=1, failed=1, deselected=1)


def test_the_configuration_counts(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(model=MODEL, generated=MODEL)
    pytester.makefile(".toml", ddelint="exclude = ['generated.py']\nignore = ['DDE101']\n")
    pytester.runpytest_inprocess("--ddelint", *HERE).assert_outcomes(passed=1)


def test_a_bad_configuration_is_told_in_a_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(model=MODEL)
    pytester.makefile(".toml", ddelint="selct = []\n")
    result = pytester.runpytest_inprocess("--ddelint", *HERE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: ddelint: *unknown key `selct` (did you mean `select`?)"])


def test_a_program_that_asks_fails_its_test_with_the_finding(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_traceable="""
        import pytest
        import torch


        def test_asks(assert_traceable):
            scale = 2.0

            def shrink(x, mask):
                index = mask.nonzero().squeeze(1)
                if index.shape[0] == 0:
                    return x.new_zeros(0)
                return x[index] * scale

            assert_traceable(shrink, torch.ones(4), torch.tensor([True, False, True, True]), target="export")


        def test_does_not(assert_traceable):
            def double(x, mask):
                return x.masked_fill(mask, 0) * 2

            x = torch.ones(4)
            assert_traceable(double, x, kwargs={"mask": x > 1}, unbacked="x.0,mask.0", target="compile")
            assert not torch.compiler.is_compiling()


        def test_guards_on_a_size(assert_traceable):
            def special(x):
                return x * 2 if x.shape[0] == 1 else x

            with pytest.raises(AssertionError, match="DDE402") as error:
                assert_traceable(special, torch.ones(4), unbacked="x.0")
            assert [found.code for found in error.value.report.remaining] == ["DDE402"]


        def test_a_bad_call(assert_traceable):
            assert_traceable(torch.sin, torch.ones(2), unbacked="nonsense")
        """
    )
    result = pytester.runpytest_inprocess("--color=no", *HERE)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*NotTraceable: test_traceable.py:*:* DDE102 emptiness-check: the compiler must answer "
            "`index.shape[[]0[]] == 0` while tracing",
            "*if index.shape[[]0[]] == 0:*",
            "E*asks*export*",
            "E*ConfigError: --unbacked: `nonsense` is neither `none`, `all` nor NAME.DIM,*",
        ]
    )


@pytest.mark.slow
def test_a_spec_is_held_against_the_program(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        scaled="""
        import torch
        from torch.fx.experimental.dynamic_spec import ShapesSpec, ShapeVar, TensorSpec


        def fn(x, scale):
            torch._check(x.shape[0] <= 64)
            return x.cumsum(0) * scale.unsqueeze(1)


        def make_inputs(seed):
            return torch.ones(4, 3), torch.ones(4)


        def spec(most, tied):
            rows, width, other = ShapeVar("rows", max=most), ShapeVar("width"), ShapeVar("other", max=most)
            return ShapesSpec({"x": TensorSpec([rows, width]), "scale": TensorSpec([rows if tied else other])})


        RIGHT = spec(64, True)
        """,
        test_sizes="""
        import pytest
        import torch
        from scaled import fn, make_inputs, spec


        def test_named(assert_traceable):
            assert_traceable("scaled.py:fn", spec="scaled.py:RIGHT", exact=True, target="compile", samples=4)


        def test_an_equality_is_forgotten(assert_traceable):
            with pytest.raises(AssertionError, match="DDE408") as error:
                assert_traceable(fn, *make_inputs(0), spec=spec(64, False), target="compile")
            (found,) = error.value.sizes.findings
            assert found.witness["x.shape[0]"] != found.witness["scale.shape[0]"]


        def test_narrower(assert_traceable):
            assert_traceable(fn, *make_inputs(0), spec=spec(32, True), target="compile", samples=4)
            with pytest.raises(AssertionError, match="DDE407"):
                assert_traceable(fn, *make_inputs(0), spec=spec(32, True), exact=True, target="compile")


        def test_dims(assert_traceable):
            rows, width = torch.export.Dim("rows", min=2, max=64), torch.export.Dim("width")
            spec = {"x": {0: rows, 1: width}, "scale": {0: rows}}
            assert_traceable(fn, *make_inputs(0), spec=spec, exact=True, target="compile", samples=4)


        def test_no_spec(assert_traceable):
            assert_traceable(fn, *make_inputs(0), spec=3, target="compile")
        """,
    )
    result = pytester.runpytest_inprocess("--color=no", *HERE)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["E*DdelintError: spec: neither a ShapesSpec*"])
