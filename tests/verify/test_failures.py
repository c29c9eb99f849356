"""What stands behind an error of a front end."""

from __future__ import annotations

from ddelint.verify.failures import nature


def test_memory_that_fake_tensors_lack_is_no_question_of_data() -> None:
    """Dynamo writes the sizes of the arguments into its error, whatever went wrong."""
    cause = RuntimeError("Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTensor). …")
    shown = RuntimeError(f"failed to run FX node: call_function op(*(FakeTensor(..., size=(u0,)),)): got {cause!r}")
    assert nature([shown, cause]) == ("other", "")
    assert nature([RuntimeError("got a size (u0,) that does not fit")]) == ("failure", "")
