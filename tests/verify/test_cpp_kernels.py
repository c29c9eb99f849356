"""The C++ kernels of one graph, compiled in one file."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from ddelint.trace import torch_internals
from ddelint.verify import cpp_kernels

INCLUDE = "#include <torch/csrc/inductor/cpp_prefix.h>"
DOUBLED = f"""
{INCLUDE}
extern "C"  void  kernel(const float* in_ptr0,
                       float* out_ptr0,
                       const int64_t ks0)
{{
    for (int64_t x0 = 0; x0 < ks0; x0 += 1) {{
        out_ptr0[x0] = in_ptr0[x0] * 2;
    }}
}}
"""
CHECKED = f"""
{INCLUDE}
extern "C"  void  kernel(int64_t* in_out_ptr0)
{{
    TORCH_CHECK(in_out_ptr0[0] < 3, "index out of bounds");
    in_out_ptr0[0] += 1;
}}
"""
HELPED = DOUBLED.replace(
    'extern "C"', 'template <typename T> inline T twice(T value) { return 2 * value; }\nextern "C"'
)


def test_each_kernel_of_a_file_is_called_by_its_own_arguments() -> None:
    doubled, checked = cpp_kernels.together(
        [(["const float*", "float*", "const int64_t"], DOUBLED), (["int64_t*"], CHECKED)]
    )
    assert doubled is not None
    assert checked is not None
    given, taken, count = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(3), torch.tensor([2])

    doubled(given, taken, 2)
    checked(count)

    assert taken.tolist() == [2.0, 4.0, 0.0]
    assert count.item() == 3
    with pytest.raises(RuntimeError, match="index out of bounds"):
        checked(count)
    assert count.item() == 3


@pytest.mark.parametrize(
    "kernels",
    [
        pytest.param([(["int64_t*"], CHECKED)], id="one alone"),
        pytest.param([(["int64_t*"], CHECKED), (["int64_t*"], CHECKED.replace("+= 1", "+= one"))], id="no C++"),
        pytest.param([(["int64_t*"], CHECKED), (["const float*", "float*", "const int64_t"], HELPED)], id="a helper"),
        pytest.param([(["int64_t*"], CHECKED), (["double"], CHECKED)], id="a type that nobody knows"),
    ],
)
def test_what_is_no_plain_kernel_is_left_to_inductor(kernels: Sequence[tuple[Sequence[str], str]]) -> None:
    assert cpp_kernels.together(kernels) == [None] * len(kernels)


@pytest.mark.slow
def test_a_compiled_program_runs_kernels_of_one_file_forward_and_backward() -> None:
    files: list[int] = []

    def counted(kernels: Sequence[tuple[Sequence[str], str]]) -> list[cpp_kernels.Kernel | None]:
        built = cpp_kernels.together(kernels)
        files.append(sum(kernel is not None for kernel in built))
        return built

    layer = torch.nn.Linear(8, 8)

    def program(x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        hidden = layer(x)
        out: torch.Tensor = torch.softmax(hidden[chosen], -1).sum(0) + torch.relu(hidden).mean(0)
        return out

    x, chosen = torch.randn(6, 8), torch.tensor([True, False, True, True, False, True])
    with torch_internals.compile_settings(recompiles=2), torch_internals.kernels_compiled_by(counted):
        got = torch.compile(program, fullgraph=True)(x, chosen)
        got.sum().backward()
    gradient = layer.weight.grad
    assert gradient is not None
    layer.zero_grad()
    expected = program(x, chosen)
    expected.sum().backward()

    assert max(files) > 1
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(gradient, layer.weight.grad)
