"""Programs that ask while tracing. `# asks: KIND[, KIND]` stands on the line of each blamed expression.

Each public function is traced with the arguments that `ARGUMENTS` gives it; what has no mark must stay silent.
"""

import functools
import numbers

import torch
import torch.nn.functional as F

NUMBERS = (int, float)
PICKS = [0.5, 1.0, 2.0]
SCALE = torch.tensor(3)


def branch_on_count(x, keep):
    n = keep.sum().item()
    if n > 2:  # asks: truth
        return x + 1
    return x - 1


def same_question_twice(x, keep):
    n = keep.sum().item()
    if n > 2:  # asks: truth
        x = x + 1
    if n > 2:  # asks: truth
        x = x * 2
    return x


def operands_ask_one_by_one(x, keep):
    if keep.any() and not (x > 0).all():  # asks: truth, truth
        return x
    return -x


def nested_sides(x, keep):
    low, high = x.min(), x.max()
    if low > 0:  # asks: truth
        return x
    if high > 5:  # asks: truth
        if high > 7:  # asks: truth
            return x * 2
        return x * 3
    return x


def behind_validation(x, keep):
    n = keep.sum().item()
    if n == 0:  # asks: truth
        raise ValueError("nothing kept")
    if n > 3:  # asks: truth
        raise ValueError(f"{n} are too many")
    if n < 2:  # asks: truth
        return x
    return x * 2


def impossible_side(x, keep):
    n = keep.sum().item()
    if n > 2:  # asks: truth
        if n < 1:
            return x.no_such_attribute
        return x
    return -x


def already_checked(x, keep):
    n = keep.sum().item()
    torch._check(n >= 1)
    if n > 0:
        return x * n
    return x


def asserted_number(x, keep):
    assert keep.sum().item() > 0
    return x


def asserted_tensor(x, keep):
    assert keep.sum() > 0  # asks: truth
    return x


def loop_without_end(x, keep):
    while x.sum() > 3:  # asks: truth
        x = x - 1
    if x.min() > 0:  # asks: truth
        return -x
    return x


def loop_left_from_within(x, keep):
    while True:
        x = x / 2
        if (x.abs() < 0.1).all():  # asks: truth
            break
    return x


def same_site_in_a_loop(x, keep):
    for limit in range(256):
        if x.sum() > limit:  # asks: truth
            continue
        x = x + 1
    return x


def tensor_of_unknown_length_iterated(x, keep):
    total = x.new_zeros(())
    for row in x[keep]:  # asks: integer
        total = total + row
    return total


def unknown_length_unpacked(x, keep):
    a, b, c = x[keep]  # asks: integer
    if a > b:  # asks: truth
        return c
    return a


def cast_to_int(x, keep):
    n = int(keep.sum())  # asks: integer
    return torch.zeros(n)


def cast_to_float(x, keep):
    return x * float(x.sum())  # asks: integer


def length_of_a_tensor(x, keep):
    hit = keep.nonzero()
    if len(hit) == 0:  # asks: integer
        return x
    if hit.sum() > 2:  # asks: truth
        return x
    return -x


def index_of_a_list(x, keep):
    return x * PICKS[keep.sum().item()]  # asks: integer


def count_of_a_range(x, keep):
    for _ in range(keep.sum().item()):  # asks: integer
        x = x + 1
    return x


def no_data_independent_answer(x, keep):
    if torch.equal(x, x * 2):  # asks: operator
        return x
    if x.max() > 1:  # asks: truth
        return -x
    return x


def number_as_key(x, keep):
    return {keep.sum().item(): x}  # asks: failure


@functools.cache
def _ramp(n):
    return torch.arange(n)


def cached_by_size(x, keep):
    return _ramp(x[keep].shape[0])  # asks: failure


def flag_for_cpp(x, keep):
    q = x.reshape(1, 1, 2, 2)
    rows = q.flatten()[keep].reshape(1, 1, 2, -1)
    return F.scaled_dot_product_attention(q, q, q, is_causal=rows.shape[3] > 1)  # asks: failure


def error_of_another_kind(x, keep):
    return torch.from_numpy(x.numpy())  # asks: other


def raised_again_by_the_library(x, keep):
    try:
        if keep.any():  # asks: truth
            return x
    except RuntimeError as error:
        raise ValueError("cannot decide") from error
    return -x


def failure_raised_again(x, keep):
    try:
        return {keep.sum().item(): x}  # asks: failure
    except TypeError as error:
        raise ValueError("cannot count") from error


def arm_of_a_cond(x, keep):
    def upper(x):
        if x.max() > 3:  # asks: truth
            return x + 1
        return x * 2

    return torch.cond(x.sum() > 0, upper, lambda x: x - 1, (x,))


def constant_from_outside(x, keep):
    if SCALE.item() > 2 and SCALE > 1:
        return x
    return -x


def skipped_while_compiling(x, keep):
    if not torch.compiler.is_compiling() and keep.any():
        return x
    return -x


def safe_guesses(x, keep):
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    hit = x[keep]
    if guard_or_false(hit.shape[0] == 0):
        return x
    return hit.sum() + torch.cat([hit, x]).max()


def builtin_maximum_of_sizes(x, keep):
    return torch.zeros(max(x[keep].shape[0], keep.nonzero().shape[0]))


def _helper(t):
    return 1 if t.sum() > 0 else 2  # asks: truth


def through_a_helper(x, keep):
    return x * _helper(x) + _helper(-x)


def key_from_data(x, keep):
    count = keep.sum().item()
    torch._check(count <= 4, lambda: f"{count} kept")
    print(f"{count} kept")
    return {f"{count} kept": x, str(x.shape[0]): x}  # asks: text


def two_questions_inside_of_one_call(x, keep):
    parts = torch.chunk(x[keep], 3)  # asks: integer
    if parts[0].sum() > 0:  # asks: truth
        return x
    return -x


def one_number_twice(x, keep):
    hit = x[keep]
    first = torch.full_like(x, len(hit))  # asks: integer
    return first / len(hit)  # asks: integer


def type_of_a_number(x, keep):
    n = keep.sum().item()
    size = (n, n) if isinstance(n, int) else n  # asks: type
    return torch.zeros(size)


def types_of_several_numbers(x, keep):
    n, value = x[keep].shape[0], x.sum().item()
    if not isinstance(n, (int, numbers.Integral)):  # asks: type
        return x
    assert isinstance(value, NUMBERS)  # asks: type
    return x * n * value


def types_that_are_right(x, keep):
    n = keep.sum().item()
    if isinstance(n, (int, torch.SymInt)) or (isinstance(n, float) and n > 1):
        n = n + 1
    if isinstance(n, (str, torch.Tensor)) or not isinstance(x, torch.Tensor) or not isinstance(x.shape[0], int):
        return x
    return torch.zeros(n)
