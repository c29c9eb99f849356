"""The C++ functions behind a question: the telling ones, in order."""

from __future__ import annotations

import pytest
import torch
from tracing import entry_of

from ddelint.nouns.diagnostics import Question
from ddelint.trace import torch_internals
from ddelint.trace.cpp_frames import folded
from ddelint.trace.explorer import Explorer

STACK = [
    "__libc_start_main_impl",
    "_PyEval_EvalFrameDefault",
    "torch::autograd::THPVariable_chunk(_object*, _object*, _object*)",
    "at::_ops::chunk::call(at::Tensor const&, long, long)",
    "void c10::BoxedKernel::make_boxed_function<&pythonTLSSnapshotFallback>(c10::OperatorKernel*)",
    "at::(anonymous namespace)::wrapper_CompositeImplicitAutograd__chunk(at::Tensor const&, long, long)",
    "at::native::chunk(at::Tensor const&, long, long)",
    "at::_ops::split_Tensor::redispatch(c10::DispatchKeySet, at::Tensor const&, c10::SymInt, long)",
    "mine::choose(at::Tensor)",
    "mine::choose(at::Tensor)",
    "c10::operator==(c10::SymInt const&, int)",
    "torch::impl::PythonSymNodeImpl::guard_bool(char const*, long)",
    "pybind11::cpp_function::dispatcher(_object*, _object* const*, unsigned long, _object*)",
    "torch::unwind::unwind()",
]


def explored(cpp: bool) -> list[Question]:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        return torch.chunk(x[keep], 3)[0]

    keep = torch.tensor([True, False, True])
    explorer = Explorer(entry_of(program, torch.ones(3), keep), (__file__,))
    explorer.describer.cpp = cpp
    explorer.explore()
    return list(explorer.result().questions)


def test_plumbing_is_folded() -> None:
    assert folded(STACK) == (
        "at::native::chunk(at::Tensor, long, long)",
        "mine::choose(at::Tensor)",
        "c10::operator==(c10::SymInt, int)",
    )


def test_a_call_without_a_kernel_on_the_stack_stays() -> None:
    call = "at::_ops::nonzero::call(at::Tensor const&)"
    assert folded([call, "at::native::chunk(at::Tensor const&)"]) == (
        "at::_ops::nonzero::call(at::Tensor)",
        "at::native::chunk(at::Tensor)",
    )
    assert len(folded(["at::native::" + "x" * 400])[0]) == 160


def test_a_question_tells_of_them_where_they_are_wanted() -> None:
    assert [question.cpp_frames for question in explored(cpp=False)] == [()]
    if not torch_internals.cpp_stack():
        pytest.skip("waits for a build of torch that unwinds C++ (Linux on x86-64)")
    (question,) = explored(cpp=True)
    assert question.cpp_frames[0] == "at::native::chunk(at::Tensor, long, long)"
    assert "SymInt" in question.cpp_frames[1]
