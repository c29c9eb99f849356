"""What torch itself advises stands beside ours, and a flag where a flag is all that is missing."""

from __future__ import annotations

import pytest

from ddelint.explain.explain import explain_text
from ddelint.nouns.diagnostics import Diagnostic
from ddelint.settings.options import CheckOptions

PLACE = '\nfrom user code:\n   File "/home/me/model.py", line 9, in forward\n    {line}\n'


def explained(text: str, line: str = "n = t.item()") -> Diagnostic:
    (found,) = explain_text(text + PLACE.format(line=line), (), CheckOptions()).remaining
    return found


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "Unsupported: Data-dependent branching\n  Hint: Use `torch.cond`.\n",
            "Use `torch.cond`.",
        ),
        (
            "Unsupported: dynamic shape operator: aten.nonzero.default; to enable, set "
            "torch._dynamo.config.capture_dynamic_output_shape_ops = True\n",
            "torch._dynamo.config.capture_dynamic_output_shape_ops = True",
        ),
        (
            "Graph break from `Tensor.item()`, consider setting:\n"
            "    torch._dynamo.config.capture_scalar_outputs = True\n",
            "torch._dynamo.config.capture_scalar_outputs = True",
        ),
        (
            "UserError: Dynamic control flow is not supported at the moment. "
            "Please use torch.cond to explicitly capture the control flow.\n",
            "use torch.cond to explicitly capture the control flow",
        ),
        (
            "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).\n"
            "ATTENTION: guard_size_oblivious would fix the error, evaluating expression to False.\n",
            "guard_size_oblivious would fix the error, evaluating expression to False "
            "(retired since: `guard_or_false` and `guard_or_true` took its place)",
        ),
        (
            "Could not guard on data-dependent expression u0 > 4 (unhinted: u0 > 4).\n"
            "To fix the error, insert one of the following checks before this call:\n"
            "  1. torch._check(kept > 4)\n  2. torch._check(kept <= 4)\n",
            "torch._check(kept > 4)",
        ),
    ],
)
def test_torchs_own_hint_is_kept(text: str, hint: str) -> None:
    assert hint in explained(text, "if n > 4:").hints


def test_what_says_nothing_of_the_program_is_left_out() -> None:
    text = "Data-dependent branching\n  Hint: This graph break is fundamental - it is unlikely that.\n  Hint: Do it.\n"
    assert explained(text, "if x.sum() > 0:").hints == ("Do it.",)


@pytest.mark.parametrize(
    ("text", "line", "flag"),
    [
        ("Unsupported: Tensor.item\n", "n = t.item()", "capture_scalar_outputs"),
        ("Graph break from `Tensor.item()`\n", "self.step(x)", "capture_scalar_outputs"),
        ("dynamic shape operator: aten.nonzero.default\n", "i = x.nonzero()", "capture_dynamic_output_shape_ops"),
        ("data dependent operator: aten._local_scalar_dense.default\n", "n = t.item()", "capture_scalar_outputs"),
    ],
)
def test_a_read_that_broke_the_graph_waits_for_a_flag(text: str, line: str, flag: str) -> None:
    found = explained(text, line)
    assert found.code == "DDE503"
    assert found.message.endswith(f"breaks the graph: Dynamo captures it with `{flag}` only")
    assert found.fix is not None
    assert found.fix.message.endswith(f"torch._dynamo.config.{flag} = True")


def test_a_decision_on_a_read_is_a_decision() -> None:
    found = explained("Unsupported: Tensor.item\n", "if scale.item() > 1:")
    assert (found.code, found.expression) == ("DDE101", "scale.item() > 1")
    assert found.hints == ("torch._dynamo.config.capture_scalar_outputs = True captures the read itself",)


def test_an_operator_that_no_flag_captures_has_none() -> None:
    assert explained("data dependent operator: aten.equal.default\n", "if torch.equal(x, y):").hints == ()


def test_the_cause_that_a_message_names_counts_where_the_traceback_ends_at_the_compiler() -> None:
    text = (
        'Traceback (most recent call last):\n  File "test.py", line 13, in <module>\n    torch.compile(f)(a)\n'
        "UserError: Could not extract specialized integer from data-dependent expression u0 (unhinted: u0).\n\n"
        "Caused by: return a.new_tensor([num])  # test.py:9 in f (_dynamo/utils.py:3906 in run_node)\n"
    )
    (found,) = explain_text(text, (), CheckOptions()).remaining
    assert (found.span.filename, found.span.row) == ("test.py", 9)
