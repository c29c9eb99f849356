"""Torch's private names for writing GPU code without a GPU: a device that is only described, and Inductor believes in.

A sibling of torch_internals, with the same rule: what a release lacks is named. Everything here patches torch
and Triton for as long as a `with` lasts, and only in a process that answers one request.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol
from unittest import mock

import torch
from torch.utils import _pytree as pytree

from ddelint.knowledge.gpus import Gpu
from ddelint.trace.closed_devices import forget_devices
from ddelint.trace.torch_internals import TorchInternalsMissing, private

WARP = 32
_WITHOUT_DEVICE = {
    # a graph that is kept would be found again where there is a device
    "fx_graph_cache": False,
    "compile_threads": 1,
    # what is decided by timing is decided as where nothing is timed
    "benchmark_fusion": False,
    "benchmark_combo_kernel": False,
}
"""Inductor's settings while code is written."""
_RENAMED = ("benchmark_template_fusion", "benchmark_epilogue_fusion")
"""One more of these, under its present name and the one that it had until torch 2.13."""
_LOAD = "_compile_to_module_lines"


def missing() -> str:
    """Why no GPU code can be made here; empty where it can."""
    if find_spec("triton") is None:
        return "triton is not installed (pip install ddelint[gpu])"
    try:
        for module, name in (
            ("torch._inductor.graph", "GraphLowering"),
            ("torch._inductor.compile_fx", "compile_fx"),
            ("torch._inductor.compile_fx", "compile_fx_inner"),
            ("torch._inductor.runtime.triton_heuristics", "GridExpr"),
            ("torch._inductor.runtime.triton_heuristics", "CachingAutotuner"),
            ("torch._inductor.async_compile", "AsyncCompile"),
            ("torch._dynamo.device_interface", "CudaInterface"),
            ("torch._subclasses.fake_tensor", "FakeTensor"),
        ):
            found = private(module, name)
            if name == "GraphLowering" and not hasattr(found, _LOAD):
                return f"torch {torch.__version__} has no GraphLowering.{_LOAD}"
        import_module("triton.runtime.interpreter")
        import_module("triton.runtime.driver")
    except (TorchInternalsMissing, ImportError) as error:
        return str(error)
    return ""


def triton_version() -> str:
    """The version of Triton that is installed."""
    return str(import_module("triton").__version__)


class _Driver:
    """Stands for Triton's driver: which GPU to write code for."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu

    def get_current_target(self) -> Any:
        return target_of(self._gpu)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return self._gpu.capability

    def is_active(self) -> bool:
        return True


def target_of(gpu: Gpu) -> Any:
    """Triton's word for the GPU."""
    major, minor = gpu.capability
    return private("triton.backends.compiler", "GPUTarget")("cuda", 10 * major + minor, WARP)


def source_of(function: Any, signature: Any, constants: Any, attributes: Any) -> Any:
    """A kernel as Triton's compiler takes it; one in Gluon, which lays out its blocks itself, has its own source."""
    is_gluon = getattr(function, "is_gluon", lambda: False)()
    place = ("triton.experimental.gluon._runtime", "GluonASTSource") if is_gluon else ("triton.compiler", "ASTSource")
    return private(*place)(function, signature, constants, attributes)


@contextlib.contextmanager
def pretended(gpu: Gpu) -> Iterator[None]:
    """While this lasts, Inductor believes in the GPU; nothing may be allocated on it, and nothing is."""
    interface = private("torch._dynamo.device_interface", "CudaInterface")
    major, minor = gpu.capability
    properties = types.SimpleNamespace(
        name=f"NVIDIA {gpu.name}",
        type="cuda",
        index=0,
        major=major,
        minor=minor,
        multi_processor_count=gpu.multiprocessors,
        total_memory=gpu.memory,
        regs_per_multiprocessor=gpu.registers,
        max_threads_per_multi_processor=gpu.threads_per_multiprocessor,
        max_threads_per_block=1024,
        warp_size=WARP,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=gpu.shared_per_block,
        shared_memory_per_multiprocessor=gpu.shared_per_multiprocessor,
        L2_cache_size=gpu.l2,
        gcnArchName="",
    )
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: gpu.capability,
        "get_device_name": lambda device=None: properties.name,
        "is_bf16_supported": lambda *_, **__: major >= 8,
        "_lazy_init": lambda: None,
        "synchronize": lambda device=None: None,
        "_exchange_device": lambda device: 0,
        "_maybe_exchange_device": lambda device: 0,
        "get_rng_state": lambda device=None: torch.zeros(16, dtype=torch.uint8),
        "set_rng_state": lambda state, device=None: None,
    }
    fakes = import_module("torch._subclasses.fake_tensor")
    driver = private("triton.runtime.driver", "driver")
    helpers = import_module("torch._inductor.runtime.triton_helpers")
    with contextlib.ExitStack() as stack:

        def answer(owner: Any, name: str, value: Any) -> None:
            if hasattr(owner, name):
                stack.enter_context(mock.patch.object(owner, name, value))

        for name, value in answers.items():
            answer(torch.cuda, name, value)
            answer(interface, name, staticmethod(value))
        for name in ("get_device_properties", "current_device"):
            answer(interface.Worker, name, staticmethod(answers[name]))
        answer(interface, "get_compute_capability", staticmethod(lambda device=None: 10 * major + minor))
        answer(fakes, "init_gpu_context", lambda device: None)
        for name in _GUARDED:
            answer(fakes.FakeTensor, name, _as_on_cpu(getattr(fakes.FakeTensor, name), fakes.FakeTensor))
        # operators without a fake kernel are run on zeros to see what they give
        answer(fakes, "run_fallback_kernel", _as_on_cpu(fakes.run_fallback_kernel, fakes.FakeTensor))
        answer(helpers, "set_driver_to_gpu", lambda: None)
        answer(import_module("torch._C"), "_conv_determine_backend_memory_format", _layout_of_cudnn)
        if not torch.version.cuda:
            stack.enter_context(mock.patch.object(torch.version, "cuda", "13.0"))
        before = getattr(driver, "_active", None)
        driver.set_active(_Driver(gpu))
        forget_devices()
        try:
            yield
        finally:
            if hasattr(driver, "_active"):
                driver._active = before
            else:
                driver.reset_active()
            forget_devices()


_GUARDED = ("__getitem__", "__setitem__", "__invert__", "contiguous", "copy_", "nonzero", "item")
"""Methods whose bindings ask for a guard of the tensor's device, which a CPU build has not for a GPU."""


def _as_on_cpu(method: Callable[..., Any], fake_tensor: Any) -> Callable[..., Any]:
    """The method with its fake tensors said to lie on the CPU while it lasts, and what it makes on their own device."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        there = {
            id(value): (value, value.fake_device)
            for value in pytree.tree_leaves((args, kwargs))
            if isinstance(value, fake_tensor) and value.fake_device.type == "cuda"
        }
        if not there:
            return method(*args, **kwargs)
        device = next(iter(there.values()))[1]
        for value, _ in there.values():
            value.fake_device = torch.device("cpu")
        try:
            made = method(*args, **kwargs)
        finally:
            for value, before in there.values():
                value.fake_device = before
        for value in pytree.tree_leaves(made):
            if isinstance(value, fake_tensor):
                value.fake_device = device
        return made

    return call


def _layout_of_cudnn(image: Any, weight: Any, backend: Any) -> torch.memory_format:
    """In which layout cuDNN gives a convolution: by pixels where one of its operands lies so, and is no double.

    As `cudnn_conv_suggest_memory_format` in aten/src/ATen/native/ConvUtils.h; a CPU build knows of no cuDNN.
    """
    plain: torch.memory_format = torch.contiguous_format
    if torch.float64 in (image.dtype, weight.dtype):
        return plain
    suggest = private("torch._prims_common", "suggest_memory_format")
    suggested = (suggest(operand) for operand in (image, weight))
    return next((found for found in suggested if found != plain), plain)


def _settings_without_device() -> Any:
    config = import_module("torch._inductor.config")
    renamed = next((name for name in _RENAMED if hasattr(config, name)), None)
    return config.patch({**_WITHOUT_DEVICE, **({renamed: False} if renamed else {})})


class Kernels(Protocol):
    """Who takes the kernels that Inductor writes."""

    def kernel(self, name: str, autotuner: Any, code: str) -> Any:
        """What stands for the kernel in the wrapper: something with `run`."""

    def written(self, code: str, backward: bool, stacks: Sequence[tuple[int, str]]) -> str:
        """A graph's code has been written; gives the file name that it is to run under.

        `stacks`: from which of its lines on it does what which stack of the program asks for.
        """

    def calling(self, backward: bool) -> contextlib.AbstractContextManager[None]:
        """Around one call of a wrapper."""


@dataclass
class Backend:
    """A backend of `torch.compile` that writes a GPU's code for programs on the CPU.

    The code is run on CPU tensors where `runs`, with kernels as `kernels` has them; else the graph itself is called.
    """

    gpu: Gpu
    kernels: Kernels
    runs: bool
    untimed: list[str] = field(default_factory=list, init=False)
    """Operations whose code Inductor would choose by timing; the first Triton template was taken."""

    def __call__(self, graph: Any, example_inputs: Any) -> Any:
        compile_fx = private("torch._inductor.compile_fx", "compile_fx")
        return compile_fx(graph, example_inputs, inner_compile=self._lower)

    def _lower(self, module: Any, inputs: Sequence[Any], **settings: Any) -> Any:
        inner = private("torch._inductor.compile_fx", "compile_fx_inner")
        lowering = private("torch._inductor.graph", "GraphLowering")
        backward = bool(settings.get("is_backward"))
        eager = torch.fx.GraphModule(module, _copied(module.graph))
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._untimed_templates())
            constants = _lifted(module)
            fakes = [_fake(constant, inputs) for constant in constants]
            inputs = [*inputs, *fakes]
            stack.enter_context(_on_gpu(module, inputs))
            stack.enter_context(pretended(self.gpu))
            stack.enter_context(_settings_without_device())
            stack.enter_context(mock.patch.object(lowering, _LOAD, self._loader(eager, constants, backward)))
            compiled = inner(module, inputs, **settings)
        return compiled if not constants else _with_more(compiled, constants)

    @contextlib.contextmanager
    def _untimed_templates(self) -> Iterator[None]:
        """Choices between templates and libraries made without running any."""
        selection = private("torch._inductor.select_algorithm", "AlgorithmSelectorCache")
        template = private("torch._inductor.select_algorithm", "TritonTemplateCaller")

        def chosen(choices: Sequence[Any]) -> dict[Any, float]:
            first = next((choice for choice in choices if isinstance(choice, template)), choices[0])
            self.untimed.append(str(getattr(first, "name", first)))
            return {choice: 1.0 if choice is first else 2.0 for choice in choices}

        with (
            mock.patch.object(selection, "make_benchmark_fn", return_value=chosen),
            mock.patch.object(selection, "make_precompile_fn", return_value=dict),
            mock.patch.object(selection, "log_results"),
        ):
            yield

    def _loader(self, eager: Any, constants: Sequence[Any], backward: bool) -> Callable[..., Any]:
        def load(lowering: Any, code: Any, *_: Any) -> Any:
            text = str(getattr(code, "value", code))
            stacks = [(line, getattr(node, "stack_trace", None) or "") for line, node in getattr(code, "line_map", ())]
            name = self.kernels.written(text, backward, stacks)
            loaded = self._executed(text, name, {**lowering.constants, **getattr(lowering, "torchbind_constants", {})})
            plain = loaded.call

            def call(args: list[Any]) -> Any:
                with self.kernels.calling(backward), pretended_calls():
                    return plain(args)

            def graph(args: list[Any]) -> Any:
                given = args[: len(args) - len(constants)]
                args.clear()
                return eager(*given)

            loaded.call = call if self.runs else graph
            return loaded

        return load

    def _executed(self, text: str, name: str, attributes: dict[str, Any]) -> Any:
        """The wrapper as a module, its kernels as `kernels` has them."""
        module: Any = types.ModuleType("ddelint_gpu_wrapper")
        module.__file__ = ""
        vars(module).update(attributes)
        compiler: Any = private("torch._inductor.async_compile", "AsyncCompile")
        kernels = self.kernels

        class Compiler(compiler):  # type: ignore[misc]
            def triton(self, kernel_name: str, source_code: str, *_: Any, **__: Any) -> Any:
                cache = private("torch._inductor.codecache", "PyCodeCache")
                autotuner = getattr(cache.load(source_code), kernel_name)
                return kernels.kernel(kernel_name, autotuner, source_code)

            def wait(self, scope: dict[str, Any]) -> None:
                pass

        with pretended_calls(), mock.patch("torch._inductor.async_compile.AsyncCompile", Compiler):
            exec(compile(text, name, "exec"), vars(module))
        # the wrapper's own allocations and copies name the device
        module.device = lambda *_, **__: torch.device("cpu")
        if hasattr(module, "assert_size_stride"):
            module.assert_size_stride = _laid_out(module.assert_size_stride)
        return module


def _laid_out(plain: Callable[..., None]) -> Callable[..., None]:
    """A wrapper's check of layouts; what eager's operator made on the CPU first gets the layout that it has on a GPU.

    A convolution's result lies channel by channel on one device and pixel by pixel on the other. Views, and what the
    wrapper itself was given, stay as they are.
    """

    def check(tensor: Any, size: Sequence[int], stride: Sequence[int], *name: Any) -> None:
        made = bool(name) and name[0] not in _GIVEN and isinstance(tensor, torch.Tensor) and not tensor._is_view()
        if made and tuple(tensor.shape) == tuple(size) and tensor.stride() != tuple(stride):
            with without_modes(), torch.no_grad():
                tensor.set_(torch.empty_strided(tuple(size), tuple(stride), dtype=tensor.dtype).copy_(tensor))
        plain(tensor, size, stride, *name)

    return check


_GIVEN = (None, "input")
"""What a wrapper calls tensors that it did not make."""


@contextlib.contextmanager
def pretended_calls() -> Iterator[None]:
    """What a wrapper calls of a device: streams and guards do nothing, memory comes from the CPU, filled with NaN."""
    answers: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        (torch.cuda, "_DeviceGuard", lambda index: contextlib.nullcontext()),
        (torch.cuda, "set_device", lambda index: None),
        (torch.cuda, "synchronize", lambda *_: None),
        (import_module("torch._C"), "_cuda_getCurrentRawStream", lambda index: 0),
        (import_module("torch._C._dynamo").guards, "_empty_strided_cuda", allocated),
    )
    with contextlib.ExitStack() as stack:
        for owner, name, answer in answers:
            stack.enter_context(mock.patch.object(owner, name, answer, create=True))
        yield


def without_modes() -> Any:
    """Inside, no dispatch mode sees what is called: it is ours, not the program's."""
    return private("torch.utils._python_dispatch", "_disable_current_modes")()


def allocated(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Memory as a device gives it: with nothing in it that a program could rely on."""
    with without_modes():
        made = torch.empty_strided(tuple(size), tuple(stride), dtype=dtype)
        return made.fill_(float("nan") if dtype.is_floating_point or dtype.is_complex else 113)


def grid_of(inductor_meta: dict[str, Any], blocks: dict[str, Any], given: dict[str, Any]) -> tuple[int, int, int]:
    """The launch grid, by Inductor's own expression."""
    grid = private("torch._inductor.runtime.triton_heuristics", "GridExpr").from_meta(inductor_meta, dict(blocks))
    found = grid.eval_slow({**given, **blocks})
    return int(found[0]), int(found[1]), int(found[2])


# ------------------------------------------------------------------------------------------------------ the graph


def _copied(graph: Any) -> Any:
    copy = torch.fx.Graph()
    output = copy.graph_copy(graph, {})
    if output is not None:
        copy.output(output)
    return copy


def _lifted(module: Any) -> list[torch.Tensor]:
    """The constants of a graph, which become its last inputs: on a device they would lie there."""
    constants: list[torch.Tensor] = []
    nodes = [node for node in module.graph.nodes if node.op == "get_attr"]
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node in nodes:
        value = functools.reduce(getattr, str(node.target).split("."), module)
        if not isinstance(value, torch.Tensor) or value.dim() == 0:
            continue
        after = placeholders[-1] if placeholders else None
        with module.graph.inserting_after(after) if after is not None else module.graph.inserting_before():
            lifted = module.graph.placeholder(f"ddelint_constant_{len(constants)}")
        lifted.meta = dict(node.meta)
        node.replace_all_uses_with(lifted)
        module.graph.erase_node(node)
        placeholders.append(lifted)
        constants.append(value)
    if constants:
        module.recompile()
    return constants


def _fake(constant: torch.Tensor, inputs: Sequence[Any]) -> Any:
    mode = next((value.fake_mode for value in inputs if hasattr(value, "fake_mode")), None)
    if mode is None:
        mode = private("torch._guards", "detect_fake_mode")(inputs)
    return mode.from_tensor(constant)


def _with_more(compiled: Any, constants: Sequence[torch.Tensor]) -> Any:
    def call(args: list[Any]) -> Any:
        return compiled([*args, *constants])

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


@contextlib.contextmanager
def _on_gpu(module: Any, inputs: Sequence[Any]) -> Iterator[None]:
    """The graph's tensors said to lie on the GPU: its inputs', its nodes', and the devices that its calls name."""
    fake_tensor = private("torch._subclasses.fake_tensor", "FakeTensor")
    cuda = torch.device("cuda", 0)
    moved: dict[int, tuple[Any, torch.device]] = {}
    calls: list[tuple[Any, Any, Any]] = []

    def move(value: Any) -> Any:
        if isinstance(value, fake_tensor) and value.fake_device.type == "cpu":
            moved.setdefault(id(value), (value, value.fake_device))
            value.fake_device = cuda
        return value

    def renamed(value: Any) -> Any:
        return cuda if isinstance(value, torch.device) and value.type == "cpu" else value

    pytree.tree_map(move, list(inputs))
    for part in module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        for node in part.graph.nodes:
            pytree.tree_map(move, node.meta.get("val"))
            if node.op == "call_function":
                calls.append((node, node.args, node.kwargs))
                node.args = torch.fx.node.map_aggregate(node.args, renamed)
                node.kwargs = torch.fx.node.map_aggregate(node.kwargs, renamed)
        part.recompile()
    try:
        yield
    finally:
        for value, device in moved.values():
            value.fake_device = device
        for node, args, kwargs in calls:
            if node.graph is not module.graph:
                node.args, node.kwargs = args, kwargs
        for part in module.modules():
            if isinstance(part, torch.fx.GraphModule) and part is not module:
                part.recompile()
