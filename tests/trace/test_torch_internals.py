"""Each private name of torch that the tracer rests on, in use: what a release moved fails here, by name."""

from __future__ import annotations

import inspect
import os
import platform
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sympy
import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from ddelint.trace import torch_internals
from ddelint.trace.torch_internals import TorchInternalsMissing


def test_a_missing_name_is_told_with_the_version() -> None:
    with pytest.raises(TorchInternalsMissing, match=r"no torch\._guards\.no_such_thing"):
        torch_internals.private("torch._guards", "no_such_thing")
    with pytest.raises(TorchInternalsMissing) as raised:
        torch_internals.private("torch._no_such_module", "name")
    assert raised.value.torch_version == torch.__version__
    assert raised.value.name == "torch._no_such_module.name"


def test_where_torch_lies() -> None:
    assert torch.nn.functional.__file__.startswith(torch_internals.TORCH_FOLDER)


def test_a_seed_waits_for_devices_without_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    stacks = []
    for devices in (torch.cuda, torch.xpu, torch.mtia):
        monkeypatch.setattr(devices, "traceback", traceback)
    monkeypatch.setattr(traceback, "format_stack", lambda *_: stacks.append("a stack") or [])

    torch.manual_seed(7)
    assert len(stacks) == 3, "torch notes stacks elsewhere, or none any more"
    torch_internals.seed_without_stacks()
    torch.manual_seed(7)
    first = torch.rand(2)
    torch.manual_seed(7)

    assert len(stacks) == 3
    assert torch.equal(first, torch.rand(2))


def test_settings_make_a_shape_env_like_exports() -> None:
    assert ShapeEnv(**torch_internals.shape_env_settings()).trace_asserts


def test_the_undecidable_error_carries_its_expression() -> None:
    u0 = sympy.Symbol("u0", integer=True)
    error = torch_internals.undecidable(ShapeEnv(), u0 > 4, u0 > 4)
    assert isinstance(error, torch_internals.Undecidable)
    assert str(error).startswith("Could not guard on data-dependent expression u0 > 4")
    assert error.cond == (u0 > 4)
    assert "extract specialized integer" in torch_internals.undecidable_text(ShapeEnv(), u0, u0)


def test_the_text_is_torchs_own_first_line() -> None:
    env = ShapeEnv()
    n = env.create_unbacked_symint()
    for ask in (lambda: bool(n > 4), lambda: int(n)):
        with pytest.raises(torch_internals.Undecidable) as raised:
            ask()
        expression = raised.value.cond
        assert torch_internals.undecidable_text(env, expression, expression) == str(raised.value).splitlines()[0]


def test_whether_export_loses_what_is_read_through_data() -> None:
    class Detached(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.detach() + 1

    torch.export.export(Detached(), (torch.ones(2),), strict=False)
    assert torch_internals.export_loses_data() is (torch.__version__ >= "2.11")


def test_bounds() -> None:
    env = ShapeEnv()
    n, f = env.create_unbacked_symint(), env.create_unbacked_symfloat()
    symbol, number = torch_internals.expression_of(n), torch_internals.expression_of(f)
    assert torch_internals.symbol_bounds(env, symbol) == (None, None)
    assert torch_internals.symbol_bounds(env, number) == (None, None)
    torch._check(n >= 2)
    torch._check(n <= 9)
    assert torch_internals.symbol_bounds(env, symbol) == (2, 9)
    assert torch_internals.bounds(env, 2 * symbol + 1) == (5, 19)
    assert torch_internals.symbol_bounds(env, sympy.Symbol("nobody")) == (None, None)


def test_symbols_and_their_kinds() -> None:
    env = ShapeEnv()
    symbol = torch_internals.expression_of(env.create_unbacked_symint())
    assert torch_internals.is_unbacked(symbol)
    assert torch_internals.is_unbacked(torch_internals.expression_of(env.create_unbacked_symfloat()))
    flag = torch_internals.expression_of(env.create_unbacked_symbool())
    assert str(flag) == "Eq(u1, 1)"
    mode = torch_internals.fake_mode(env)
    x = torch_internals.fakeify(mode, torch.ones(5), "x", dynamic=(0,))
    assert not torch_internals.is_unbacked(torch_internals.expression_of(x.shape[0]))
    assert torch_internals.expression_of(3) is None


def test_replacements() -> None:
    env = ShapeEnv()
    n, m = env.create_unbacked_symint(), env.create_unbacked_symint()
    torch._check(n == 4)
    first, second = (torch_internals.expression_of(v) for v in (n, m))
    symbol = sympy.Symbol("u0", integer=True)
    assert torch_internals.specialized_to(env, symbol) == 4
    assert torch_internals.specialized_to(env, second) is None
    assert torch_internals.replaced(env, symbol + second) == 4 + second
    assert first == 4


def test_fake_tensors_static_dynamic_and_unbacked() -> None:
    env = ShapeEnv()
    mode = torch_internals.fake_mode(env)
    weight = torch.nn.Parameter(torch.ones(2))
    fake = torch_internals.fakeify(mode, weight)
    assert isinstance(fake, torch_internals.FakeTensor)
    assert isinstance(fake, torch.nn.Parameter)
    assert torch_internals.fakeify(mode, weight) is fake
    x = torch_internals.fakeify(mode, torch.ones(3, 4, 5), "x", unbacked=(0,), dynamic=(-1,))
    kinds = [type(size) for size in x.shape]
    assert kinds == [torch.SymInt, int, torch.SymInt]
    size = torch_internals.expression_of(x.shape[0])
    assert torch_internals.is_unbacked(size)
    assert torch_internals.symbol_bounds(env, size)[0] == 0


def test_a_renewed_mode_keeps_its_old_tensors() -> None:
    mode = torch_internals.fake_mode(ShapeEnv())
    old = torch_internals.fakeify(mode, torch.ones(2))
    env = ShapeEnv()
    torch_internals.renew(mode, env)
    with torch_internals.surroundings(mode):
        total = old + torch.ones(2)
        assert torch_internals.expression_of(total.sum().item()) in env.var_to_range


def test_real_constants_keep_their_value() -> None:
    mode = torch_internals.fake_mode(ShapeEnv())
    one, several = torch.tensor(3), torch.tensor([3, 4])
    torch_internals.know_constants(mode)
    with torch_internals.surroundings(mode):
        assert one.item() == 3
        assert (one + 1).item() == 4
        assert isinstance(several[0].item(), torch.SymInt)


def test_text_of_symbols_is_heard_and_still_written() -> None:
    heard: list[str] = []
    mode = torch_internals.fake_mode(ShapeEnv())
    plain = torch.SymInt.__repr__
    with torch_internals.surroundings(mode), torch_internals.watched_text(lambda e: heard.append(str(e))):
        count = torch_internals.fakeify(mode, torch.tensor(3)).item()
        assert f"{count} kept" == f"{heard[0]} kept"
        str(count + 1)
    assert heard == ["u0", "u0 + 1"]
    assert torch.SymInt.__repr__ is plain


def test_surroundings_are_exports() -> None:
    mode = torch_internals.fake_mode(ShapeEnv())
    maximum = max
    with torch_internals.surroundings(mode):
        assert torch.compiler.is_compiling()
        assert torch.compiler.is_exporting()
        assert isinstance(torch.ones(2), torch_internals.FakeTensor)
        swapped = torch.utils.swap_tensors
    assert not torch.compiler.is_compiling()
    assert not torch.compiler.is_exporting()
    assert max is maximum
    assert torch.utils.swap_tensors is not swapped


def test_modules_convert_themselves_on_fake_parameters() -> None:
    mode = torch_internals.fake_mode(ShapeEnv())
    linear = torch.nn.Linear(2, 2)
    for name, parameter in list(linear.named_parameters()):
        linear._parameters[name] = torch_internals.fakeify(mode, parameter)
    with torch_internals.surroundings(mode):
        before = linear(torch.ones(1, 2))
        linear.to(torch.float32)
        linear.to(torch.float64)
        assert linear(torch.ones(1, 2, dtype=torch.float64)).dtype == torch.float64
    assert before.dtype == torch.float32


def test_tensors_of_a_tree_are_replaced() -> None:
    tree = {"a": [torch.ones(2), 3], "b": (torch.zeros(1), None)}
    doubled = torch_internals.map_tensors(lambda t: t * 2, tree)
    assert doubled["a"][0].tolist() == [2, 2]
    assert (doubled["a"][1], doubled["b"][1]) == (3, None)


def test_a_modules_own_state() -> None:
    parameters, buffers = torch_internals.state_of(torch.nn.BatchNorm1d(2))
    assert set(parameters) == {"weight", "bias"}
    assert "running_mean" in buffers


def test_operators_without_an_answer() -> None:
    mode = torch_internals.fake_mode(ShapeEnv())
    with torch_internals.surroundings(mode), pytest.raises(RuntimeError) as raised:
        torch.equal(torch.ones(2), torch.ones(2))
    assert torch_internals.value_operator(raised.value) == "aten.equal.default"
    assert torch_internals.answers_with_truth(raised.value)
    assert torch_internals.unknown_operator(raised.value) == ""
    assert torch_internals.value_operator(RuntimeError("other")) == ""
    assert not torch_internals.answers_with_truth(RuntimeError("other"))


def test_operators_without_a_fake_kernel() -> None:
    unsupported = torch_internals.private("torch._subclasses.fake_tensor", "UnsupportedOperatorException")
    assert torch_internals.unknown_operator(unsupported(torch.ops.aten.add.Tensor)) == "aten.add.Tensor"


def test_an_operator_without_a_fake_kernel_may_get_a_stand_in() -> None:
    asked = []

    def stand_in(mode: object, operator: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        asked.append((str(operator), len(args), kwargs))
        return NotImplemented if len(asked) == 1 else torch_internals.new_number(mode, operator, "int")

    mode = torch_internals.fake_mode(ShapeEnv(), stand_in=stand_in)
    with torch.library._scoped_library("ddelint_internals", "FRAGMENT") as library:
        library.define("count(Tensor x, Tensor y) -> SymInt")
        operator = torch.ops.ddelint_internals.count
        x = torch_internals.fakeify(mode, torch.ones(2))
        with mode, pytest.raises(RuntimeError) as raised:
            operator(x, x)
        assert torch_internals.lacks_fake_kernel(raised.value)
        assert torch_internals.unknown_operator(raised.value) == "ddelint_internals.count.default"
        with mode:
            assert str(torch_internals.expression_of(operator(x, y=x))) == "u0"
        assert torch_internals.argument_names(operator.default) == ["x", "y"]
        assert torch_internals.default_flags(torch.ops.aten.sum.dim_IntList) == {"keepdim": False}
        assert not torch_internals.returns_several(operator.default)
    assert asked == [("ddelint_internals.count.default", 2, {})] * 2
    assert not torch_internals.lacks_fake_kernel(RuntimeError("sizes do not fit"))


def test_which_constant_torch_asks_for_when_it_takes_a_launch_apart() -> None:
    """The real function is run by the tests with Triton; here only what is read from its frames."""
    kernels = torch_internals.private("torch._higher_order_ops.triton_kernel_wrap", "TraceableTritonKernelWrapper")
    assert "arg" in inspect.signature(kernels.specialize_symbolic).parameters
    launching = torch_internals.private("torch._higher_order_ops.triton_kernel_wrap", "TritonHOPifier")
    names = [
        name for function in vars(launching).values() if inspect.isfunction(function) for name in names_of(function)
    ]
    assert {"specialize_symbolic", "arg_name", "idx"} <= set(names)
    seen = SimpleNamespace(f_locals={"arg_name": "BLOCK", "idx": 3})
    caller = SimpleNamespace(code=SimpleNamespace(co_name="call", co_filename=""), frame=seen)
    asking = SimpleNamespace(code=kernels.specialize_symbolic.__code__, frame=None)
    assert torch_internals.triton_constant([caller, asking]) == ("BLOCK", 3)
    assert torch_internals.triton_constant([caller, caller]) is None


def names_of(function: Any) -> tuple[str, ...]:
    code = function.__code__
    return (*code.co_names, *code.co_varnames)


def test_symbols_of_a_custom_operator_that_nothing_holds() -> None:
    told = []
    mode = torch_internals.fake_mode(ShapeEnv(), unbound=lambda operator, text: told.append((str(operator), text)))
    with torch.library._scoped_library("ddelint_internals", "FRAGMENT") as library:
        library.define("grow(Tensor x, bool held) -> Tensor")

        def fake(x: torch.Tensor, held: bool) -> torch.Tensor:
            size = torch.library.get_ctx().new_dynamic_size()
            return x.new_empty(size if held else 3)

        torch.library.register_fake("ddelint_internals::grow", fake, lib=library)
        x = torch_internals.fakeify(mode, torch.ones(2))
        with mode:
            torch.ops.ddelint_internals.grow(x, True)
            assert told == []
            torch.ops.ddelint_internals.grow(x, False)
    ((operator, text),) = told
    assert operator == "ddelint_internals.grow.default"
    assert text.startswith("Pending unbacked symbols {u1} not in returned outputs")


def test_equalities_that_were_stated() -> None:
    env = ShapeEnv()
    a, b, c, five = (env.create_unbacked_symint() for _ in range(4))
    torch._check(a == b)
    torch._check(c == a + b)
    torch._check(five == 5)
    u0, u1, u2, u3 = (torch_internals.first_expression_of(value.node) for value in (a, b, c, five))
    assert torch_internals.equalities_of(env) == {u1: u0, u2: u0 + u1, u3: sympy.Integer(5)}
    env.guard_or_defer_runtime_assert(sympy.Eq(u0, 2 * u2 + 1), "by an answer")
    assert u0 in torch_internals.equalities_of(env)
    assert u0 not in torch_internals.equalities_of(env, but="by an answer")


def test_the_cpp_stack_below_a_dispatch() -> None:
    seen = []

    class Watch(torch_internals.dispatch_mode()):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(torch_internals.cpp_stack())
            return func(*args, **(kwargs or {}))

    torch_internals.warm_cpp_stack()
    with Watch():
        torch.ones(2)
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        assert any(name.startswith("at::_ops::ones::call") for name in seen[0])
        assert not any(name.endswith("__torch_dispatch__") for name in seen[0])
    else:
        assert all(isinstance(name, str) for name in seen[0])


@pytest.mark.parametrize(("kind", "least"), [("size", 0), ("int", None), ("float", None), ("bool", 0)])
def test_new_numbers_of_a_fake_kernel(kind: str, least: int | None) -> None:
    env = ShapeEnv()
    number = torch_internals.new_number(torch_internals.fake_mode(env), None, kind)
    (symbol,) = torch_internals.expression_of(number).free_symbols
    assert torch_internals.is_unbacked(symbol)
    assert torch_internals.symbol_bounds(env, symbol)[0] == least
    assert torch_internals.map_leaves(lambda value: value is number, [number, (1,)]) == [True, (False,)]


def test_the_operator_that_a_dispatcher_frame_works_on() -> None:
    operator = torch.ops.aten.add.Tensor
    assert torch_internals.operator_in({"func": operator}, "dispatch") == "aten.add.Tensor"
    assert torch_internals.operator_in({"self": operator}, "__call__") == "aten.add.Tensor"
    assert torch_internals.operator_in({"func": operator}, "forward") == ""
    assert torch_internals.operator_in({"func": 3}, "dispatch") == ""


def test_exports_function_mode_takes_symbolic_indices() -> None:
    env = ShapeEnv()
    mode = torch_internals.fake_mode(env)
    x = torch_internals.fakeify(mode, torch.arange(4))
    n = env.create_unbacked_symint()
    with torch_internals.surroundings(mode), torch_internals.function_mode()():
        assert isinstance(x[:n].shape[0], torch.SymInt)


def test_frames_of_code_that_dynamo_traces() -> None:
    torch._dynamo.reset()

    def asks(x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x

    with pytest.raises(Exception, match="ata-dependent") as raised:
        torch.compile(asks, backend="eager", fullgraph=True)(torch.ones(2))
    assert any(summary.name == "asks" for summary in torch_internals.symbolic_stack(raised.value))
    assert torch_internals.symbolic_stack(ValueError("no stack")) == []


def test_who_handles_not_knowing() -> None:
    from torch._higher_order_ops import utils

    assert torch_internals.tolerates_undecidable(utils.diff_tensor_meta.__code__)
    assert not torch_internals.tolerates_undecidable(ShapeEnv.evaluate_expr.__code__)
    assert not torch_internals.tolerates_undecidable(torch.nn.functional.interpolate.__code__)


def test_files_that_the_search_for_the_user_passes_over() -> None:
    from torch.fx.experimental import symbolic_shapes

    assert symbolic_shapes.__file__ in torch_internals.uninteresting_files()


def test_calls_of_what_is_compiled_are_heard_while_the_watch_lasts() -> None:
    heard: list[tuple[object, object]] = []

    def tell(program: object, args: object, kwargs: object) -> None:
        heard.append((program, args))

    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x

    watch = torch_internals.CompileWatch(tell)
    before = torch._dynamo.optimize
    with watch:
        compiled = torch.compile(double, fullgraph=True)
        module = torch.compile(torch.nn.ReLU())
        assert compiled(torch.ones(1)).item() == 2
        module(torch.ones(1))
        with watch.paused():
            compiled(torch.ones(1))
            assert torch_internals.watched(torch.compile(double)) is None
    compiled(torch.ones(1))
    assert [program for program, _ in heard] == [double, torch_internals.uncompiled(module)]
    assert torch_internals.watched(compiled) is torch_internals.uncompiled(compiled) is double
    assert torch._dynamo.optimize is before
    assert torch_internals.watched(torch.compile(double)) is None


def test_what_was_compiled_under_the_watch_is_part_of_a_graph_around_it() -> None:
    torch._dynamo.reset()
    with torch_internals.CompileWatch(lambda *call: None):
        inner = torch.compile(lambda x: x + 1)
    outer = torch.compile(lambda x: inner(x) * 2, backend="eager", fullgraph=True)
    assert outer(torch.ones(1)).item() == 4


def test_marked_dimensions_are_seen() -> None:
    tensor = torch.ones(2, 3, 4)
    assert torch_internals.marked(tensor) == ((), ())
    torch_internals.mark_unbacked(tensor, (0, 2))
    torch._dynamo.mark_dynamic(tensor, 1)
    assert torch_internals.marked(tensor) == ((0, 2), (1,))


def test_each_operator_of_a_mode_is_heard_and_loops_still_have_their_rule() -> None:
    heard: list[str] = []
    mode = torch_internals.fake_mode(ShapeEnv(), lambda operator: heard.append(str(operator)))
    with torch_internals.surroundings(mode):
        x = torch_internals.fakeify(mode, torch.ones(2))
        total = torch_internals.private("torch._higher_order_ops.while_loop", "while_loop")(
            lambda y: y.sum() > 1, lambda y: (y / 2,), (x,)
        )
        assert total[0].shape == (2,)
        torch.neg(x)
    assert "aten.neg.default" in heard


def test_hints_and_bounds_of_an_input_are_kept() -> None:
    tensor = torch.ones(8, 4)
    torch_internals.mark_sizes(tensor, 0, unbacked=True, hint=512)
    assert torch_internals.hints_of(tensor) == {0: 512}
    assert torch_internals.marked_bounds_of(tensor) == ({}, {})
    torch_internals.mark_sizes(tensor, 1, unbacked=False)
    assert torch_internals.marked(tensor) == ((0,), (1,))
    bounded = torch.ones(8)
    torch_internals.mark_sizes(bounded, 0, unbacked=True, lower=2, upper=64)
    takes_bounds = "max" in inspect.signature(torch._dynamo.decorators.mark_unbacked).parameters
    assert torch_internals.marked_bounds_of(bounded) == (({0: 2}, {0: 64}) if takes_bounds else ({}, {}))


def test_the_autocast_of_backward_passes_is_put_back() -> None:
    before = torch_internals.backward_autocast()
    assert before == "same_as_forward"
    with torch_internals.compiled_backward_autocast("off"):
        assert torch_internals.backward_autocast() == "off"
    assert torch_internals.backward_autocast() == before


def test_inductor_has_an_empty_cache_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/nowhere")
    with torch_internals.empty_inductor_cache():
        folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
        assert os.path.isdir(folder)
        assert os.listdir(folder) == []
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/nowhere"


def test_the_code_that_inductor_writes_is_at_hand() -> None:
    codes: list[str] = []
    with torch_internals.compile_settings(recompiles=4):
        torch.compile(lambda x: x.sin() + 1, backend=torch_internals.lowering_to(codes))(torch.zeros(8))
    (code,) = codes
    assert "def call" in code
    assert "sin" in code


@pytest.mark.skipif(not torch.__version__.startswith("2.13"), reason="what docs/concepts.md says of torch 2.13")
@pytest.mark.parametrize(
    ("flag", "program"),
    [
        ("capture_scalar_outputs", lambda x: x * x.sum().item()),
        ("capture_dynamic_output_shape_ops", lambda x: x[x > 0] * 2),
    ],
)
@pytest.mark.parametrize(
    ("fullgraph", "captured", "whole"), [(False, False, False), (False, True, True), (True, False, True)]
)
def test_a_flag_or_fullgraph_captures_what_is_read(
    flag: str, program: Any, fullgraph: bool, captured: bool, whole: bool
) -> None:
    graphs: list[Any] = []
    torch._dynamo.reset()
    with torch._dynamo.config.patch(**{flag: captured}):  # type: ignore[attr-defined]
        torch.compile(program, fullgraph=fullgraph, backend=lambda graph, _: graphs.append(graph) or graph.forward)(
            torch.ones(4)
        )
    assert (len(graphs) == 1) is whole


def test_operations_of_products_are_counted() -> None:
    a, b = torch.zeros(3, 4), torch.zeros(4, 5)
    aten = torch.ops.aten
    out = torch.zeros(3, 5)
    assert torch_internals.operations_of(aten.mm.default, (a, b), {}, a @ b) == 2 * 3 * 4 * 5
    assert torch_internals.operations_of(aten.mm.out, (a, b), {"out": out}, out) == 2 * 3 * 4 * 5
    assert torch_internals.operations_of(aten.add.Tensor, (a, a), {}, a + a) == 0
    assert torch_internals.operations_of(aten.mm.default, (), {}, out) == 0, "no shapes to go by"


needs_specs = pytest.mark.skipif(torch_internals.spec_kinds() is None, reason="waits for a torch with ShapesSpec")


@needs_specs
def test_a_spec_of_sizes_is_taken_apart_and_compiled_under() -> None:
    kinds = torch_internals.spec_kinds()
    rows = kinds.ShapeVar("rows", min=2, max=9)
    spec = kinds.ShapesSpec({"x": kinds.TensorSpec([rows, None])}, assumptions=[rows % 2 == 0])
    parameters, assumptions = torch_internals.parts_of_spec(spec)
    assert list(parameters) == ["x"]
    assert len(assumptions) == 1
    (symbol,) = torch_internals.symbols_of(assumptions[0])
    assert torch_internals.spec_bounds(symbol) == (2, 9)

    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    compiled = torch_internals.compiled_under(double, spec)
    assert compiled(torch.ones(4, 3)).shape == (4, 3)
    with torch.compiler.set_stance("fail_on_recompile"):
        assert compiled(torch.ones(6, 3)).shape == (6, 3)
        with pytest.raises((RuntimeError, AssertionError)) as refused:
            compiled(torch.ones(20, 3))
    assert torch_internals.is_refusal(refused.value)
    assert not torch_internals.is_refusal(ValueError("no such rows"))


@needs_specs
def test_a_spec_says_what_is_in_args_and_kwargs_and_may_be_attached() -> None:
    kinds = torch_internals.spec_kinds()
    rows = kinds.TensorSpec([kinds.ShapeVar("rows")])
    spec = kinds.ShapesSpec({"x": rows, "*args": [None, rows], "**kwargs": {"mask": rows}})
    assert list(torch_internals.parts_of_spec(spec)[0]) == ["x", "*0", "*1", "**mask"]

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    assert torch_internals.attached_spec(Model()) is None
    Model.forward._dynamic_spec = spec  # type: ignore[attr-defined] # what @dynamic_spec does, from torch 2.14 on
    assert torch_internals.attached_spec(Model()) is spec
    with torch_internals.without_attached_spec(Model()):  # who compiles under another: torch refuses two
        assert torch_internals.attached_spec(Model()) is None
    assert torch_internals.attached_spec(Model()) is spec


@needs_specs
def test_tensors_and_specs_inside_of_containers_have_places() -> None:
    given = {"a": torch.ones(2), "rest": (torch.ones(3), 4)}
    assert [place for place, _ in torch_internals.leaves_at("x", given)] == ["x['a']", "x['rest'][0]", "x['rest'][1]"]
    sizes = torch_internals.map_tensors_at(lambda place, tensor: f"{place} {len(tensor)}", "x", given)
    assert sizes == {"a": "x['a'] 2", "rest": ("x['rest'][0] 3", 4)}
    kinds = torch_internals.spec_kinds()
    rows = kinds.TensorSpec([kinds.ShapeVar("rows")])
    assert torch_internals.parts_of_container_spec(kinds.DictSpec({"a": rows})) == [("keys", "a", rows)]
    assert torch_internals.parts_of_container_spec(kinds.SeqSpec([None, rows])) == [
        ("items", 0, None),
        ("items", 1, rows),
    ]
    assert torch_internals.parts_of_container_spec(kinds.ObjectSpec({"y": rows})) == [("attributes", "y", rows)]
    assert torch_internals.parts_of_container_spec(rows) == []


def test_what_torch_calls_its_argument_for_specs() -> None:
    def of_2_13(model: object = None, *, shapes_spec: object = None) -> None: ...
    def of_2_14(model: object = None, *, dynamic_shapes: object = None) -> None: ...

    assert torch_internals.spec_argument(of_2_13) == "shapes_spec"
    assert torch_internals.spec_argument(of_2_14) == "dynamic_shapes"


def test_dims_of_export_and_marks_on_inputs_are_read() -> None:
    rows = torch.export.Dim("rows", min=2, max=8)
    assert isinstance(rows, torch_internals.dim_kind())
    assert torch_internals.dim_parts(rows) == ("rows", 1, 0, (2, 8))
    assert torch_internals.dim_parts(2 * rows + 1) == ("rows", 2, 1, (2, 8))
    x = torch.ones(4, 3)
    assert torch_internals.marks_of(x) == []
    torch._dynamo.decorators.mark_unbacked(x, 0)
    assert torch_internals.marks_of(x) == [(0, (0, None), "")]


def test_an_interruption_leaves_the_thread_as_it_was() -> None:
    keys = torch._C._dispatch_tls_local_include_set
    before = str(keys())
    kept: list[Any] = []

    def interrupted() -> None:
        suppressed = ShapeEnv().suppress_guards()
        suppressed.__enter__()
        dispatched = torch._C._ForceDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.Negative), keys())
        dispatched.__enter__()
        kept.extend((suppressed, dispatched))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), torch_internals.same_thread_state(KeyboardInterrupt):
        interrupted()
    assert str(keys()) == before
    size = ShapeEnv().create_unbacked_symint()
    torch._check(size >= 3)
    assert torch_internals.symbol_bounds(size.node.shape_env, torch_internals.expression_of(size))[0] == 3


def test_what_an_environment_knows_without_asking() -> None:
    env = ShapeEnv()
    size = env.create_unbacked_symint()
    torch._check(size >= 3)
    expression = torch_internals.expression_of(size)
    assert torch_internals.statically(env, expression >= 2) is True
    assert torch_internals.statically(env, expression < 0) is False
    assert torch_internals.statically(env, sympy.Eq(expression, 5)) is None


def test_the_widest_vector_instructions_are_those_that_inductor_finds_itself() -> None:
    from torch._inductor import cpu_vec_isa

    everything = cpu_vec_isa.supported_vec_isa_list
    cpu_vec_isa.valid_vec_isa_list.cache_clear()
    itself = cpu_vec_isa.pick_vec_isa()
    cpu_vec_isa.valid_vec_isa_list.cache_clear()

    torch_internals.find_vector_instructions()

    assert cpu_vec_isa.pick_vec_isa() is itself
    assert cpu_vec_isa.supported_vec_isa_list is everything
    cpu_vec_isa.valid_vec_isa_list.cache_clear()


@pytest.mark.parametrize("refused", ["", "all of them", "__avx512_bf16"])
def test_instructions_are_tried_by_one_program_where_that_works(refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiler is asked here: what is `refused` is a word of the program, or that it holds several functions."""
    from torch._inductor import cpu_vec_isa

    kind = cpu_vec_isa.VecAMX()
    tried: list[str] = []

    def build(self: object, program: str) -> bool:
        tried.append(program)
        several = program.count("_chk_kernel") > 2
        return not (refused and (several or refused in program))

    monkeypatch.setattr(cpu_vec_isa.VecISA, "check_build", build)
    monkeypatch.setattr(cpu_vec_isa, "supported_vec_isa_list", [kind])
    monkeypatch.setattr(cpu_vec_isa, "x86_isa_checker", lambda: str(kind).split())
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: True)
    monkeypatch.setattr(torch.cpu, "_is_amx_fp16_supported", lambda: False)
    monkeypatch.setattr(torch.cpu, "_init_amx", lambda: True)
    monkeypatch.setattr(cpu_vec_isa.platform, "machine", lambda: "x86_64")
    forget = (cpu_vec_isa.valid_vec_isa_list, *(vars(one).get("__bool__") for one in type(kind).__mro__))
    forget += (vars(cpu_vec_isa.VecISA)["_VecISA__bool__impl"],)
    torch_internals._forget(*forget)
    try:
        torch_internals.find_vector_instructions()
        assert cpu_vec_isa.pick_vec_isa() is kind
        assert ("-mavx512bf16" in kind.build_arch_flags()) is ("bf16" not in refused)
        assert kind._arch_flags == type(kind)._arch_flags
        assert len(tried) == (5 if refused else 1)
        assert all(word in tried[0] for word in ("avx_chk", "avx512_bf16", "avx512_vnni", "amx_chk"))
    finally:
        torch_internals._forget(*forget)


def test_a_fork_says_what_can_be_loaded(tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_text("no library")
    paths = torch._C.__file__, str(broken), str(tmp_path / "gone.so")
    assert list(map(torch_internals.can_be_loaded, paths)) == [True, False, False]


def test_a_header_is_precompiled_once_for_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import codecache

    header, asked = tmp_path / "header.h", []

    def precompile(name: str, command_line: str, **command: object) -> str:
        asked.append((name, command_line, command))
        (tmp_path / "header.h.gch").touch()
        return str(header)

    def in_another_process(command_line: str) -> str | None:
        monkeypatch.setattr(codecache, "_precompile_header", precompile)
        torch_internals.keep_headers()
        return codecache._precompile_header("torch/x.h", command_line, shared=True)

    monkeypatch.setattr(codecache, "_HEADER_DIR", str(tmp_path / "headers"))
    assert in_another_process("g++ -O3") is None  # one file is sooner compiled without
    assert [in_another_process("g++ -O3") for _ in range(3)] == [str(header)] * 3
    assert asked == [("torch/x.h", "g++ -O3", {"shared": True})]
    assert [in_another_process("g++ -O2") for _ in range(2)] == [None, str(header)]
    assert len(asked) == 2
    (tmp_path / "header.h.gch").unlink()
    in_another_process("g++ -O3")
    assert len(asked) == 3


def test_the_checks_of_distributions_are_off_where_something_is_compiled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    kind: Any = torch.distributions.Distribution
    monkeypatch.setattr(kind, "_validate_args", True)
    with torch_internals.compile_settings(recompiles=1):
        torch.compile(torch.sin, backend="eager")(torch.ones(2))
        assert not kind._validate_args
    assert kind._validate_args
    with torch_internals.compile_settings(recompiles=1, exporting=True):
        assert kind._validate_args
