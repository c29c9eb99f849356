"""Rewrites of the programs in mutations/: those that are refused, those that are doubtful, and right ones.

Each has the letter of a class of mistakes, which docs/how-fixes-are-verified.md lists; `-` is a plain one.
"""

from __future__ import annotations

from dataclasses import dataclass

from ddelint.nouns.diagnostics import Claim

EQUIVALENT, GENERAL_PATH, RESTRUCTURED = Claim.EQUIVALENT, Claim.GENERAL_PATH, Claim.RESTRUCTURED


@dataclass(frozen=True)
class Row:
    """One rewrite of a program's decision."""

    letter: str
    """The class of what is wrong with it, or, for a right one, of what might have been."""
    program: str
    what: str
    claim: Claim
    text: str
    aspect: str = ""
    """In which respect it must be found to differ; empty for a right rewrite."""

    def __str__(self) -> str:
        return f"{self.letter}-{self.program}: {self.what}"


COMPILING = "torch.compiler.is_compiling()"
UNBACKED = {"batch_of_one": "x.0"}
"""Input sizes of the programs that exist at run time only."""

WRONG = (
    Row(
        "B",
        "tallied",
        "the object is not called",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and x.abs().max() > bound:
            DEPTH.set(DEPTH.get() + 1)
            note()
        x = x.clamp(-bound, bound)
        """,
        "mutation",
    ),
    Row(
        "B",
        "tallied",
        "the context variable is not set",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and x.abs().max() > bound:
            TALLY()
            note()
        x = x.clamp(-bound, bound)
        """,
        "mutation",
    ),
    Row(
        "B",
        "tallied",
        "the function does not count",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and x.abs().max() > bound:
            TALLY()
            DEPTH.set(DEPTH.get() + 1)
        x = x.clamp(-bound, bound)
        """,
        "mutation",
    ),
    Row(
        "F",
        "centred_or_standardized",
        "the spread of one reward behind torch.where",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            several = torch.full((), kept.shape[0] > 1)
            spread = torch.where(several, kept.std() + 1e-6, 1)
            kept = torch.where(several, (kept - kept.mean()) / spread, kept)
        elif kept.shape[0] > 1:
            kept = (kept - kept.mean()) / (kept.std() + 1e-6)
        """,
        "gradient",
    ),
    # ------------------------------------------------------------------------------------------------- which side
    Row(
        "-",
        "choose_arm",
        "branches swapped",
        RESTRUCTURED,
        """
        first = scores.sum() > 0
        y = torch.where(first, self.soft(x), self.sharp(x))
        z = torch.where(first, x - 1, x * 2)
        """,
        "value",
    ),
    Row(
        "-",
        "choose_arm",
        "outputs swapped",
        RESTRUCTURED,
        """
        first = scores.sum() > 0
        z = torch.where(first, self.sharp(x), self.soft(x))
        y = torch.where(first, x * 2, x - 1)
        """,
        "requires_grad",
    ),
    Row(
        "-",
        "choose_arm",
        "one of two outputs keeps its first arm",
        RESTRUCTURED,
        """
        first = scores.sum() > 0
        y = torch.where(first, self.sharp(x), self.soft(x))
        z = x * 2
        """,
        "value",
    ),
    Row(
        "-",
        "choose_arm",
        "true where the sum is zero",
        RESTRUCTURED,
        """
        first = scores.sum() >= 0
        y = torch.where(first, self.sharp(x), self.soft(x))
        z = torch.where(first, x * 2, x - 1)
        """,
        "value",
    ),
    Row(
        "-",
        "choose_arm",
        "gradient of one arm is cut off",
        RESTRUCTURED,
        """
        first = scores.sum() > 0
        y = torch.where(first, self.sharp(x), self.soft(x).detach())
        z = torch.where(first, x * 2, x - 1)
        """,
        "gradient",
    ),
    Row(
        "-",
        "choose_arm",
        "no gradients at all",
        RESTRUCTURED,
        """
        with torch.no_grad():
            first = scores.sum() > 0
            y = torch.where(first, self.sharp(x), self.soft(x))
            z = torch.where(first, x * 2, x - 1)
        """,
        "requires_grad",
    ),
    Row(
        "-",
        "choose_arm",
        "a result in double precision",
        RESTRUCTURED,
        """
        first = scores.sum() > 0
        y = torch.where(first, self.sharp(x), self.soft(x))
        z = torch.where(first, x * 2, x.double() - 1)
        """,
        "dtype",
    ),
    Row(
        "-",
        "choose_arm",
        "the wrong arm while compiling",
        GENERAL_PATH,
        f"""
        if {COMPILING} or scores.sum() > 0:
            y = self.sharp(x)
            z = x * 2
        else:
            y = self.soft(x)
            z = x - 1
        """,
        "value",
    ),
    # --------------------------------------------------------------------------------------------- empty and full
    Row(
        "H",
        "mean_of_kept",
        "NaN for an empty mask",
        RESTRUCTURED,
        "y = x[keep].mean(0)",
        "value",
    ),
    Row(
        "H",
        "mean_of_kept",
        "NaN for an empty mask, compiled alone",
        GENERAL_PATH,
        f"""
        if {COMPILING} or keep.any():
            y = x[keep].mean(0)
        else:
            y = x.new_zeros(x.shape[1])
        """,
        "value",
    ),
    Row(
        "H",
        "mean_of_kept",
        "nothing times infinity, where nothing is kept",
        RESTRUCTURED,
        "y = (x * keep[:, None]).sum(0) / keep.sum().clamp(min=1)",
        "value",
    ),
    Row(
        "-",
        "mean_of_kept",
        "divided by all rows",
        RESTRUCTURED,
        "y = (x * keep[:, None]).sum(0) / keep.shape[0]",
        "value",
    ),
    Row(
        "-",
        "mean_of_kept",
        "wrong where one row is kept",
        RESTRUCTURED,
        "y = (x * keep[:, None]).sum(0) / keep.sum().clamp(min=2)",
        "value",
    ),
    Row(
        "-",
        "mean_of_kept",
        "wrong where all rows are kept",
        RESTRUCTURED,
        "y = (x * keep[:, None]).sum(0) / keep.sum().clamp(min=1, max=keep.shape[0] - 1)",
        "value",
    ),
    Row(
        "-",
        "mean_of_kept",
        "a dimension too many",
        RESTRUCTURED,
        "y = (x * keep[:, None]).sum(0, keepdim=True) / keep.sum().clamp(min=1)",
        "shape",
    ),
    Row(
        "H",
        "spread_of_series",
        "an outlier in what has no spread, compiled alone",
        GENERAL_PATH,
        f"""
        y = x
        if {COMPILING} or spread.item() >= 1e-8:
            z = (x - middle) / spread
            y = torch.where(z.abs() > 3, middle + 3 * z.sign() * spread, x)
        """,
        "value",
    ),
    Row(
        "H",
        "one_row",
        "a lone row is divided, too",
        RESTRUCTURED,
        """
        n = rows.shape[0]
        y = rows - rows.sum(0) / torch.sym_max(n, 1)
        y = y / (y.square().sum(0) / torch.sym_max(n - 1, 1) + 1e-3) + (keep.sum() == 1)
        """,
        "value",
    ),
    Row(
        "H",
        "one_row",
        "NaN for a lone row, compiled alone",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] <= 1:
            y = rows - rows
        else:
            y = (rows - rows.mean(0)) / (rows.var(0) + 1e-3)
        """,
        "value",
    ),
    Row(
        "F",
        "one_row",
        "only the gradient is NaN for a lone row",
        RESTRUCTURED,
        """
        n = rows.shape[0]
        y = rows - rows.sum(0) / torch.sym_max(n, 1)
        spread = y.square().sum(0) / torch.sym_max(n - 1, 1)
        y = y / (spread.sqrt().square() + 1e-3)
        """,
        "gradient",
    ),
    Row(
        "G",
        "largest_of_kept",
        "zero for an empty mask",
        RESTRUCTURED,
        """
        top = torch.where(keep.any(), x.masked_fill(~keep, float("-inf")).max(), 0.0)
        last = torch.where(keep, torch.arange(keep.shape[0]), -1).max()
        """,
        "value",
    ),
    Row(
        "G",
        "largest_of_kept",
        "a low number in the place of minus infinity",
        RESTRUCTURED,
        """
        top = x.masked_fill(~keep, torch.finfo(x.dtype).min).max()
        last = torch.where(keep, torch.arange(keep.shape[0]), -1).max()
        """,
        "value",
    ),
    Row(
        "-",
        "largest_of_kept",
        "zero counts as kept",
        RESTRUCTURED,
        """
        top = (x * keep).max()
        top = torch.where(keep.any(), top, float("-inf"))
        last = torch.where(keep, torch.arange(keep.shape[0]), -1).max()
        """,
        "value",
    ),
    Row(
        "-",
        "largest_of_kept",
        "the first place, not the last",
        RESTRUCTURED,
        """
        top = x.masked_fill(~keep, float("-inf")).max()
        last = torch.where(keep.any(), keep.int().argmax(), -1)
        """,
        "value",
    ),
    Row(
        "-",
        "largest_of_kept",
        "never looks at the last row",
        RESTRUCTURED,
        """
        top = x.masked_fill(~keep, float("-inf")).max()
        last = torch.where(keep[:-1], torch.arange(keep.shape[0] - 1), -1).max()
        """,
        "value",
    ),
    Row(
        "-",
        "largest_of_kept",
        "a place as a float",
        RESTRUCTURED,
        """
        top = x.masked_fill(~keep, float("-inf")).max()
        last = torch.where(keep, torch.arange(keep.shape[0]), -1.0).max()
        """,
        "dtype",
    ),
    Row("C", "batch_of_one", "wrong for a batch of one", RESTRUCTURED, "y = x.mean(0)", "value"),
    Row(
        "C",
        "batch_of_one",
        "wrong for a batch of one, compiled alone",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and x.shape[0] == 1:
            y = x[0] - x[0]
        else:
            y = x.mean(0)
        """,
        "value",
    ),
    Row(
        "C",
        "batch_of_one",
        "zero for no batch at all, where the mean of nothing is NaN",
        RESTRUCTURED,
        "y = x.sum(0) / torch.sym_max(x.shape[0], 1) * torch.sym_min(x.shape[0] - 1, 1)",
        "value",
    ),
    # ----------------------------------------------------------------------------------------- validation, exceptions
    Row(
        "-",
        "validate",
        "another exception type",
        EQUIVALENT,
        'torch._check(labels.max().item() < 8, lambda: "label out of range")',
        "exception",
    ),
    Row(
        "-",
        "validate",
        "another message",
        EQUIVALENT,
        'torch._check_value(labels.max().item() < 8, lambda: "label is out of range")',
        "message",
    ),
    Row(
        "-",
        "validate",
        "off by one",
        EQUIVALENT,
        'torch._check_value(labels.max().item() <= 8, lambda: "label out of range")',
        "exception",
    ),
    Row(
        "-",
        "validate",
        "the check is dropped, the label clamped",
        RESTRUCTURED,
        "labels = labels.clamp(max=7)",
        "exception",
    ),
    Row(
        "-",
        "validate_rarely",
        "another exception type where no declared input raises",
        EQUIVALENT,
        'torch._check(lengths.max().item() <= 6, lambda: "a length is larger than 6")',
        "exception",
    ),
    Row(
        "-",
        "validate_rarely",
        "another message where no declared input raises",
        EQUIVALENT,
        'torch._check_value(lengths.max().item() <= 6, lambda: "a length is above 6")',
        "message",
    ),
    Row(
        "-",
        "validate_rarely",
        "accepts what was refused",
        EQUIVALENT,
        'torch._check_value(lengths.max().item() <= 7, lambda: "a length is larger than 6")',
        "exception",
    ),
    Row(
        "-",
        "validate_rarely",
        "refuses what was accepted",
        EQUIVALENT,
        """
        torch._check_value(lengths.max().item() <= 6, lambda: "a length is larger than 6")
        torch._check_value(lengths.min().item() > 0, lambda: "a length is zero")
        """,
        "exception",
    ),
    Row(
        "-",
        "validate_rarely",
        "nothing is checked any more",
        RESTRUCTURED,
        "pass",
        "exception",
    ),
    # ------------------------------------------------------------------------------------------------- bounds, slices
    Row(
        "-",
        "first_rows",
        "one row too few",
        RESTRUCTURED,
        """
        n = keep.sum().item()
        y = x.narrow(0, 0, torch.sym_max(n - 1, 0))
        """,
        "shape",
    ),
    Row(
        "-",
        "first_rows",
        "the last rows instead of the first",
        RESTRUCTURED,
        """
        n = keep.sum().item()
        y = x.narrow(0, x.shape[0] - n, n)
        """,
        "value",
    ),
    Row(
        "L",
        "first_rows",
        "a tensor where the result was a number",
        RESTRUCTURED,
        """
        n = keep.sum()
        y = x[: n.item()]
        """,
        "type",
    ),
    Row(
        "L",
        "first_rows",
        "rows that do not lie one behind the other",
        RESTRUCTURED,
        """
        n = keep.sum().item()
        y = x[:n].t().contiguous().t()
        """,
        "stride",
    ),
    Row(
        "-",
        "same_lengths",
        "wrong where all lengths are alike",
        RESTRUCTURED,
        """
        y = x * (torch.arange(x.shape[1]) < lengths[:, None])
        y = y * torch.where((lengths == lengths[0]).all(), 2.0, 1.0)
        """,
        "value",
    ),
    Row(
        "-",
        "same_lengths",
        "one entry too many",
        RESTRUCTURED,
        "y = x * (torch.arange(x.shape[1]) <= lengths[:, None])",
        "value",
    ),
    Row(
        "-",
        "same_lengths",
        "every row by the first one's length, compiled alone",
        GENERAL_PATH,
        f"""
        if {COMPILING} or (lengths == lengths[0]).all():
            y = x * (torch.arange(x.shape[1]) < lengths[0])
        else:
            y = x * (torch.arange(x.shape[1]) < lengths[:, None])
        """,
        "value",
    ),
    Row(
        "-",
        "over_the_limit",
        "wrong over the limit",
        RESTRUCTURED,
        """
        x = torch.where(counts.max() > 8, x * 0.5, x)
        counts = torch.where(counts > 8, 7, counts)
        """,
        "value",
    ),
    Row(
        "-",
        "over_the_limit",
        "halves at the limit already",
        RESTRUCTURED,
        """
        x = torch.where(counts.max() >= 8, x * 0.5, x)
        counts = counts.clamp(max=8)
        """,
        "value",
    ),
    Row(
        "-",
        "over_the_limit",
        "counts in another integer type",
        RESTRUCTURED,
        """
        x = torch.where(counts.max() > 8, x * 0.5, x)
        counts = counts.clamp(max=8).int()
        """,
        "dtype",
    ),
    Row(
        "-",
        "unique_labels",
        "wrong where no label occurs twice",
        RESTRUCTURED,
        "y = x.sum(0)",
        "value",
    ),
    Row(
        "-",
        "unique_labels",
        "wrong where all labels are one",
        RESTRUCTURED,
        """
        twice = (ordered[1:] == ordered[:-1]).any() & (ordered[0] != ordered[-1])
        y = torch.where(twice, x.sum(0), x.mean(0))
        """,
        "value",
    ),
    Row(
        "-",
        "unique_labels",
        "never looks at the last label",
        RESTRUCTURED,
        """
        twice = (ordered[1:-1] == ordered[:-2]).any()
        y = torch.where(twice, x.sum(0), x.mean(0))
        """,
        "value",
    ),
    Row(
        "A",
        "count_large",
        "large sums lose their last digits",
        RESTRUCTURED,
        "total = torch.where(total > 4_000_000_000, (total.double() * (1 + 1e-15)).long() - 3, total)",
        "value",
    ),
    Row(
        "A",
        "count_large",
        "the limit in single precision",
        RESTRUCTURED,
        "total = torch.where(total > 4_000_000_000, (total.float() - 3.0).long(), total)",
        "value",
    ),
    Row(
        "-",
        "count_large",
        "a count as a float",
        RESTRUCTURED,
        "total = torch.where(total > 4_000_000_000, total - 3, total.float())",
        "dtype",
    ),
    Row(
        "G",
        "half_overflow",
        "infinity stays",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and torch.isinf(y).any():
            top = torch.finfo(y.dtype).max - 1000
            y = y.clamp(min=-top, max=top)
        """,
        "value",
    ),
    Row(
        "G",
        "half_overflow",
        "the sign of infinity is lost",
        RESTRUCTURED,
        """
        top = torch.finfo(y.dtype).max - 1000
        y = torch.where(torch.isinf(y).any(), torch.where(torch.isinf(y), top, y.clamp(min=-top, max=top)), y)
        """,
        "value",
    ),
    Row(
        "G",
        "half_overflow",
        "NaN becomes a number",
        RESTRUCTURED,
        """
        top = torch.finfo(y.dtype).max - 1000
        y = torch.where(torch.isinf(y).any(), y.clamp(min=-top, max=top), torch.nan_to_num(y))
        """,
        "value",
    ),
    # ---------------------------------------------------------------------------------------------------- gradients
    Row(
        "-",
        "clip_norm",
        "the norm without its gradient",
        RESTRUCTURED,
        "y = torch.where(norm > 2, y * (2 / norm.detach()), y)",
        "gradient",
    ),
    Row(
        "F",
        "clip_norm",
        "NaN in the gradient of a zero vector",
        RESTRUCTURED,
        "y = torch.where(norm > 2, y / norm * 2, y)",
        "gradient",
    ),
    Row(
        "-",
        "clip_norm",
        "the gradient of the clipped arm, always",
        RESTRUCTURED,
        "y = torch.where(norm > 2, y * (2 / norm), y * (norm / norm.detach().clamp(min=1e-6)))",
        "gradient",
    ),
    Row(
        "F",
        "root_of_positive",
        "NaN in the gradient of what isn't positive",
        RESTRUCTURED,
        "y = torch.where(positive, x.sqrt(), 0.0)",
        "gradient",
    ),
    Row(
        "F",
        "root_of_positive",
        "no gradient where something is not positive",
        RESTRUCTURED,
        """
        safe = torch.where(positive, x, 1.0)
        y = torch.where(positive.all(), safe.sqrt(), torch.where(positive, safe.sqrt().detach(), 0.0))
        """,
        "gradient",
    ),
    # ------------------------------------------------------------------------------------------- effects and memory
    Row(
        "-",
        "zero_bad_values",
        "the caller's tensor stays as it was",
        RESTRUCTURED,
        "x = torch.where(torch.isnan(x), 0.0, x)",
        "mutation",
    ),
    Row(
        "-",
        "zero_bad_values",
        "the caller's infinities go, too",
        RESTRUCTURED,
        "x.nan_to_num_(0.0)",
        "mutation",
    ),
    Row(
        "-",
        "zero_bad_values",
        "writes the result into the caller's tensor",
        RESTRUCTURED,
        """
        x.masked_fill_(torch.isnan(x), 0.0)
        x.add_(torch.isnan(x).any())
        x.mul_(torch.where((x == 0).all(), 1.0, 1.0 + 1e-3))
        """,
        "value",
    ),
    Row(
        "-",
        "copy_and_fill",
        "the clone is dropped",
        RESTRUCTURED,
        """
        x.masked_fill_(mask[:, None], -1.0)
        y = x.clone()
        """,
        "mutation",
    ),
    Row(
        "-",
        "copy_and_fill",
        "the result is the caller's tensor where nothing is filled",
        GENERAL_PATH,
        f"""
        if {COMPILING} or mask.any():
            y = y.clone()
            y[mask] = -1.0
        """,
        "alias",
    ),
    Row(
        "-",
        "copy_and_fill",
        "another layout of the copy",
        RESTRUCTURED,
        "y = torch.where(mask[:, None], -1.0, y).t().contiguous().t()",
        "stride",
    ),
    Row(
        "-",
        "best_so_far",
        "the counter counts every call",
        RESTRUCTURED,
        """
        better = score > self.best
        self.best.copy_(torch.where(better, score, self.best))
        self.seen += 1
        self.calls += 1
        """,
        "mutation",
    ),
    Row(
        "-",
        "best_so_far",
        "the buffer is left as it was",
        RESTRUCTURED,
        """
        better = score > self.best
        self.seen += better
        self.calls += 1
        """,
        "value",
    ),
    Row(
        "-",
        "best_so_far",
        "the attribute is left as it was",
        RESTRUCTURED,
        """
        better = score > self.best
        self.best.copy_(torch.where(better, score, self.best))
        self.seen += better
        """,
        "mutation",
    ),
    Row(
        "-",
        "best_so_far",
        "a new attribute stays behind",
        RESTRUCTURED,
        """
        self.better = score > self.best
        self.best.copy_(torch.where(self.better, score, self.best))
        self.seen += self.better
        self.calls += 1
        """,
        "mutation",
    ),
    Row(
        "-",
        "best_so_far",
        "the buffer is another tensor afterwards",
        RESTRUCTURED,
        """
        better = score > self.best
        self.best = torch.where(better, score, self.best).detach()
        self.seen += better
        self.calls += 1
        """,
        "mutation",
    ),
    Row(
        "-",
        "best_so_far",
        "the buffer becomes an attribute of another type",
        RESTRUCTURED,
        """
        better = score > self.best
        self.best.copy_(torch.where(better, score, self.best))
        self.seen = self.seen.double() + better
        self.calls += 1
        """,
        "mutation",
    ),
    Row(
        "J",
        "first_call_differs",
        "the second call scales anew",
        RESTRUCTURED,
        "self.scale.copy_(x.abs().max())",
        "value",
    ),
    Row(
        "J",
        "first_call_differs",
        "scales anew on the second call, compiled alone",
        GENERAL_PATH,
        f"""
        if {COMPILING} or self.scale == 0:
            self.scale.copy_(x.abs().max())
        """,
        "value",
    ),
    Row(
        "B",
        "remember",
        "the caller's dict stays as it was",
        RESTRUCTURED,
        """
        last = torch.where(x.sum() > 0, x, cache["last"])
        self.part.count += 1
        """,
        "mutation",
    ),
    Row(
        "B",
        "remember",
        "the caller's dict gets the argument itself",
        GENERAL_PATH,
        f"""
        if {COMPILING} or x.sum() > 0:
            cache["last"] = x
        self.part.count += 1
        """,
        "mutation",
    ),
    Row(
        "B",
        "remember",
        "a number in a part of the module is not counted up",
        RESTRUCTURED,
        'cache["last"] = torch.where(x.sum() > 0, x, cache["last"])',
        "mutation",
    ),
    Row(
        "B",
        "remember",
        "what is kept out of sight is lost: only the second call shows it",
        RESTRUCTURED,
        """
        cache["last"] = torch.where(x.sum() > 0, x, cache["last"])
        self.part.count += 1
        self.memory.last = None
        """,
        "value",
    ),
    Row(
        "B",
        "remember",
        "a part is in evaluation mode afterwards",
        RESTRUCTURED,
        """
        cache["last"] = torch.where(x.sum() > 0, x, cache["last"])
        self.part.count += 1
        self.part.eval()
        """,
        "mutation",
    ),
    # --------------------------------------------------------------------------------------------------- random draws
    Row(
        "L",
        "noisy",
        "a random draw in any case",
        RESTRUCTURED,
        "x = torch.where(loud.any(), x + torch.randn_like(x), x)",
        "random state",
    ),
    Row(
        "-",
        "noisy",
        "the draw is missing",
        RESTRUCTURED,
        "x = x + 0 * loud.any()",
        "value",
    ),
    Row(
        "-",
        "noisy",
        "another distribution",
        RESTRUCTURED,
        "x = x + torch.rand_like(x) * loud.any()",
        "value",
    ),
    Row(
        "J",
        "seldom_kept",
        "never while compiling",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and torch.rand(()) < 0.02:
            y = self.layer(x) * 2
        else:
            y = self.layer(x)
        """,
        "value",
    ),
    Row(
        "-",
        "seldom_kept",
        "twice more seldom",
        RESTRUCTURED,
        "y = torch.where(torch.rand(()) < 0.002, self.layer(x) * 2, self.layer(x))",
        "value",
    ),
    Row(
        "B",
        "own_generator",
        "its generator moves in any case",
        RESTRUCTURED,
        "y = torch.where(x.sum() > 0, x * draw.uniform(0.5, 2.0), x - 1)",
        "mutation",
    ),
    # --------------------------------------------------------------------------------------------- loops, containers
    Row(
        "-",
        "experts",
        "only the first expert",
        GENERAL_PATH,
        f"""
        if number == 0 if {COMPILING} else rows.numel() > 0:
            out.index_add_(0, rows, expert(x[rows]))
        """,
        "value",
    ),
    Row(
        "-",
        "experts",
        "every expert adds to every row",
        RESTRUCTURED,
        "out = out + expert(x)",
        "value",
    ),
    Row(
        "-",
        "experts",
        "the weight is taken twice where it is chosen",
        RESTRUCTURED,
        "out = out + expert(x) * (1 + (route == number).all()) * (route == number)[:, None]",
        "value",
    ),
    Row(
        "-",
        "pick_layer",
        "always the first",
        RESTRUCTURED,
        "weight = self.weights[0] + 0 * which",
        "value",
    ),
    Row(
        "-",
        "pick_layer",
        "the last one is never taken",
        RESTRUCTURED,
        "weight = torch.stack(list(self.weights))[which.clamp(max=2)]",
        "value",
    ),
    Row(
        "-",
        "pick_layer",
        "the weights get no gradient",
        RESTRUCTURED,
        "weight = torch.stack([weight.data for weight in self.weights])[which]",
        "requires_grad",
    ),
    # ------------------------------------------------------------------------- large, small and double numbers
    Row(
        "A",
        "masked_attention",
        "equal weights where nothing may be seen, hidden by the size of the mask",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and bool((bias < -1.0).all()):
            y = x
        else:
            y = torch.softmax(x @ x.t() + bias, -1) @ x
        """,
        "value",
    ),
    Row(
        "A",
        "masked_attention",
        "half of it where nothing may be seen",
        RESTRUCTURED,
        """
        seen = torch.softmax(x @ x.t() + bias, -1) @ x
        y = torch.where((bias < -1.0).all(), x * 0.5, seen)
        """,
        "value",
    ),
    Row(
        "A",
        "tiny_rate",
        "small steps swapped",
        RESTRUCTURED,
        """
        first = x.sum() > 0
        step = torch.where(first, x * 2e-7, x * 1e-7)
        scaled = torch.where(first, wide * 0.1, wide * 0.3)
        """,
        "value",
    ),
    Row(
        "A",
        "tiny_rate",
        "a factor of double precision put as one of single precision",
        RESTRUCTURED,
        """
        first = x.sum() > 0
        step = torch.where(first, x * 1e-7, x * 2e-7)
        scaled = wide * torch.where(first, 0.1, 0.3)
        """,
        "value",
    ),
    Row(
        "A",
        "tiny_rate",
        "a step that is one in a thousand too long",
        RESTRUCTURED,
        """
        first = x.sum() > 0
        step = torch.where(first, x * 1.001e-7, x * 2e-7)
        scaled = torch.where(first, wide * 0.1, wide * 0.3)
        """,
        "value",
    ),
    Row(
        "A",
        "spread",
        "the mean of squares less the square of the mean",
        RESTRUCTURED,
        """
        n = keep.sum().clamp(min=1)
        masked = torch.where(keep[:, None], x, 0.0)
        mean = masked.sum(0) / n
        y = masked.square().sum(0) / n - mean.square()
        """,
        "value",
    ),
    # --------------------------------------------------------------------------------- state that stands elsewhere
    Row(
        "B",
        "counts_and_norms",
        "both arms run, and both count",
        RESTRUCTURED,
        """
        loud = x.sum() > 0
        SEEN["loud"] += 1
        self.meter.count += 1
        Model.highest = max(Model.highest, x.shape[0])
        y = torch.where(loud, NORMS[0](x), x * 2)
        """,
        "mutation",
    ),
    Row(
        "B",
        "counts_and_norms",
        "nothing is counted",
        RESTRUCTURED,
        "y = torch.where(x.sum() > 0, NORMS[0](x), x * 2)",
        "mutation",
    ),
    Row(
        "B",
        "counts_and_norms",
        "the norm in the list is not updated",
        RESTRUCTURED,
        """
        n = NORMS[0]
        y = torch.nn.functional.batch_norm(x, None, None, n.weight, n.bias, True)
        y = torch.where(x.sum() > 0, y, x * 2)
        """,
        "mutation",
    ),
    Row(
        "B",
        "counts_and_norms",
        "the meter counts both ways",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            y = torch.where(x.sum() > 0, NORMS[0](x), x * 2)
        elif x.sum() > 0:
            SEEN["loud"] += 1
            Model.highest = max(Model.highest, x.shape[0])
            y = NORMS[0](x)
        else:
            y = x * 2
        self.meter.count += 1
        """,
        "mutation",
    ),
    Row(
        "G",
        "signed_zero",
        "a shift in any case",
        RESTRUCTURED,
        "x = x + shift",
        "value",
    ),
    # -------------------------------------------------------------- what one call, or one argument at a time, hides
    Row(
        "J",
        "every_fifth",
        "never while compiling: the first calls show nothing",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and self.calls % 5 == 0:
            self.collected *= 0.5
        """,
        "value",
    ),
    Row(
        "J",
        "every_fifth",
        "on every sixth call",
        RESTRUCTURED,
        "self.collected.copy_(torch.where(self.calls % 6 == 0, self.collected * 0.5, self.collected))",
        "value",
    ),
    Row(
        "J",
        "every_fifth",
        "on the first five calls as it should be, and then no more",
        RESTRUCTURED,
        "self.collected.copy_(torch.where(self.calls == 5, self.collected * 0.5, self.collected))",
        "value",
    ),
    Row(
        "H",
        "gated_growth",
        "nothing times infinity, where the gate is shut",
        RESTRUCTURED,
        "y = x + gate.clamp(min=0) * torch.exp(x * 3)",
        "value",
    ),
    Row(
        "F",
        "gated_growth",
        "its gradient alone is nothing times infinity",
        RESTRUCTURED,
        "y = torch.where(gate > 0, x + gate * torch.exp(x * 3), x * 1.0)",
        "gradient",
    ),
    Row(
        "L",
        "better_half",
        "of equal ones the first has the gradient",
        RESTRUCTURED,
        "best = torch.where(first >= second, first, second)",
        "gradient",
    ),
    Row(
        "L",
        "better_half",
        "equal ones share the gradient",
        RESTRUCTURED,
        """
        both = torch.where(torch.isnan(first), second, torch.maximum(first, second))
        best = torch.where(torch.isnan(second), second, both)
        """,
        "gradient",
    ),
    Row(
        "G",
        "larger_of_two",
        "NaN in either wins",
        RESTRUCTURED,
        """
        best = torch.maximum(first, second)
        """,
        "value",
    ),
    Row(
        "G",
        "larger_of_two",
        "the second where the first is NaN",
        RESTRUCTURED,
        """
        best = torch.where(first > second, first, second)
        """,
        "value",
    ),
    Row(
        "G",
        "larger_of_two",
        "NaN never wins",
        RESTRUCTURED,
        """
        best = torch.fmax(second, first)
        """,
        "value",
    ),
    Row(
        "G",
        "larger_of_two",
        "the sum of the first and what is positive of a difference",
        RESTRUCTURED,
        """
        best = first + (second - first).clamp(min=0)
        """,
        "value",
    ),
    Row(
        "H",
        "first_found",
        "the place of none is out of range",
        GENERAL_PATH,
        f"""
        if {COMPILING} or places.numel() > 0:
            y = x[found.nonzero().squeeze(1)[:1].sum() + 4 * (~found).all()] * 2
        else:
            y = x.sum(0)
        """,
        "exception",
    ),
    Row(
        "H",
        "first_found",
        "the place of none is beyond the last row, though it is not taken",
        RESTRUCTURED,
        """
        place = torch.where(found, torch.arange(4), 4).min()
        y = torch.where(found.any(), x.index_select(0, place[None])[0] * 2, x.sum(0))
        """,
        "exception",
    ),
    Row(
        "H",
        "weighed_growth",
        "nothing times infinity, for each that has no share",
        RESTRUCTURED,
        """
        y = y + share.clamp(min=0) * grow(x)
        """,
        "value",
    ),
    Row(
        "I",
        "bounded_rows",
        "fewer rows than may be kept",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            n = keep.sum().item()
            torch._check(n <= 3)
            y = torch.where(keep[:, None], x, 0.0).sum(0) / torch.sym_max(n, 1)
        elif keep.any():
            y = x[keep].sum(0) / int(keep.sum())
        else:
            y = x.new_zeros(3)
        """,
        "exception",
    ),
    Row(
        "I",
        "bounded_rows",
        "never none",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            n = keep.sum().item()
            torch._check(n > 0, lambda: "nothing is kept")
            y = torch.where(keep[:, None], x, 0.0).sum(0) / torch.sym_max(n, 1)
        elif keep.any():
            y = x[keep].sum(0) / int(keep.sum())
        else:
            y = x.new_zeros(3)
        """,
        "exception",
    ),
    Row(
        "I",
        "bounded_rows",
        "a bound that a helper checks",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            n = keep.sum().item()
            n = limited(n)
            y = torch.where(keep[:, None], x, 0.0).sum(0) / torch.sym_max(n, 1)
        elif keep.any():
            y = x[keep].sum(0) / int(keep.sum())
        else:
            y = x.new_zeros(3)
        """,
        "exception",
    ),
    Row(
        "I",
        "bounded_rows",
        "an operator gives at least one",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            places = at_least_one(keep)
            y = torch.where(keep[:, None], x, 0.0).sum(0) / torch.sym_max(places.shape[0], 1)
        elif keep.any():
            y = x[keep].sum(0) / int(keep.sum())
        else:
            y = x.new_zeros(3)
        """,
        "exception",
    ),
    Row(
        "I",
        "bounded_rows",
        "an operator gives three at most",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            places = at_most_three(keep)
            y = torch.where(keep[:, None], x, 0.0).sum(0) / torch.sym_max(places.shape[0], 1)
        elif keep.any():
            y = x[keep].sum(0) / int(keep.sum())
        else:
            y = x.new_zeros(3)
        """,
        "exception",
    ),
    Row(
        "I",
        "bounded_rows",
        "asserted in the graph",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            n = keep.sum().item()
            torch._assert_async(keep.any())
            y = torch.where(keep[:, None], x, 0.0).sum(0) / torch.sym_max(n, 1)
        elif keep.any():
            y = x[keep].sum(0) / int(keep.sum())
        else:
            y = x.new_zeros(3)
        """,
        "exception",
    ),
    Row(
        "K",
        "kept_boxes",
        "as many as there are intervals",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            kept = as_many_as_starts(starts, scores, 6)
        else:
            kept = apart(starts, scores, 6)
        """,
        "shape",
    ),
    Row(
        "K",
        "kept_boxes",
        "as many as there are scores",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            kept = as_many_as_scores(starts, scores, 6)
        else:
            kept = apart(starts, scores, 6)
        """,
        "shape",
    ),
    Row(
        "K",
        "kept_boxes",
        "as many as are allowed",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            kept = as_many_as_allowed(starts, scores, 6)
        else:
            kept = apart(starts, scores, 6)
        """,
        "shape",
    ),
    Row(
        "K",
        "kept_boxes",
        "always six",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            kept = always_six(starts, scores, 6)
        else:
            kept = apart(starts, scores, 6)
        """,
        "shape",
    ),
    Row(
        "K",
        "kept_boxes",
        "as the scores are",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            kept = like_the_scores(starts, scores, 6)
        else:
            kept = apart(starts, scores, 6)
        """,
        "shape",
    ),
    Row(
        "G",
        "leading_row",
        "the opposite comparison, which NaN does not pass either",
        RESTRUCTURED,
        "y = torch.where(x[0].sum() > 0, x - limit, x * 2)",
        "value",
    ),
    Row(
        "G",
        "leading_row",
        "NaN counts as zero",
        RESTRUCTURED,
        "y = torch.where(x[0].nan_to_num().sum() <= 0, x * 2, x - limit)",
        "value",
    ),
    Row(
        "G",
        "leading_row",
        "the smaller of two, where NaN is never it",
        RESTRUCTURED,
        "y = torch.where(x[0].sum().fmin(limit) <= 0, x * 2, x - limit)",
        "value",
    ),
    Row(
        "A",
        "ids_beyond_single",
        "compared in single precision",
        RESTRUCTURED,
        "ids = torch.where(ids.max() > 1e9, ids % 1_000_003, ids)",
        "value",
    ),
    Row(
        "A",
        "ids_beyond_single",
        "as many are hashed, and one more",
        RESTRUCTURED,
        "ids = torch.where(ids.max() >= 1_000_000_000, ids % 1_000_003, ids)",
        "value",
    ),
    Row(
        "A",
        "cold_or_warm",
        "compared in single precision",
        RESTRUCTURED,
        "logits = torch.where(temperature < 0.7, logits * 2, logits / 2)",
        "value",
    ),
    Row(
        "F",
        "counted_backward",
        "the gradients of what is not chosen are counted, too",
        RESTRUCTURED,
        "y = torch.where(x.abs().max() > 2, y + Counted.apply(y * 0.5, self.trained), y)",
        "mutation by the backward pass",
    ),
)

DOUBTFUL = (
    Row(
        "C",
        "survivors",
        "which rows survive is drawn twice",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            y = torch.where(x.abs().mean() > 0.8, self.depth(x) * 2, self.depth(x))
        elif x.abs().mean() > 0.8:
            y = self.depth(x) * 2
        else:
            y = self.depth(x)
        """,
        "in train() with survival=0.5",
    ),
    Row(
        "C",
        "tail_and_finish",
        "the empty mask in eager only, with a projection that nobody has attached",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and not mask.any():
            return x * 1
        """,
        "no input made `self.projection is None` false",
    ),
    Row(
        "C",
        "tail_and_finish",
        "both computed where nothing is shifted",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            return torch.where(mask.any(), self.emptied(x, mask), self.finish(self.tail(x)))
        if not mask.any():
            return x * 1
        """,
        "Tail.shift=0.5: value differs",
    ),
    Row(
        "C",
        "adapter_later",
        "the empty mask in eager only, with an adapter that nobody has added",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and not mask.any():
            return x * 1
        """,
        "no input made `self.adapter is not None` true",
    ),
    Row(
        "C",
        "adapter_later",
        "the shortcut in eager only, with gradients that are always on",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and not mask.any():
            return x.clone()
        """,
        "no input made `torch.is_grad_enabled()` false",
    ),
    Row(
        "C",
        "adapter_later",
        "what further terms add, whether anything is marked or not",
        GENERAL_PATH,
        f"""
        if not ({COMPILING} or mask.any()):
            return x * 1
        """,
        "terms with float32[3]: value differs",
    ),
    Row(
        "D",
        "default_of_helper",
        "without what another caller fills with",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_full((3,), fill)
        else:
            y = rows.sum(0)
        """,
        "pooled(fill)=0.5: value differs",
    ),
    Row(
        "C",
        "power_of_rest",
        "nothing to a power that is not one",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rest.shape[0] == 0:
            y = x.new_zeros(())
        else:
            y = rest.abs().sum() ** self.power
        """,
        "Model.power=0: value differs",
    ),
    Row(
        "C",
        "fill_in_holders",
        "without what a named tuple adds",
        RESTRUCTURED,
        """
        fill = self.slots.shift + self.settings.loss.prior + self.names.get("more", 0.0)
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "Options.base=0.5: value differs",
    ),
    Row(
        "C",
        "fill_in_holders",
        "without what slots adds",
        RESTRUCTURED,
        """
        fill = self.options.base + self.settings.loss.prior + self.names.get("more", 0.0)
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "Slots.shift=0.5: value differs",
    ),
    Row(
        "C",
        "fill_in_holders",
        "without what a dictionary with attributes adds",
        RESTRUCTURED,
        """
        fill = self.options.base + self.slots.shift + self.names.get("more", 0.0)
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "Settings.prior=0.5: value differs",
    ),
    Row(
        "C",
        "fill_in_holders",
        "without what a key that is not there adds",
        RESTRUCTURED,
        """
        fill = self.options.base + self.slots.shift + self.settings.loss.prior
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "dict.more=0.5: value differs",
    ),
    Row(
        "C",
        "fill_of_callers",
        "without what the function encloses",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        fill = x.new_full((4,), Shared.share + options.get("base", 0.0))
        fill = fill if start is None else fill + start
        y = torch.where(none, fill, rows.sum(0))
        """,
        "made(enclosed)=0.5: value differs",
    ),
    Row(
        "C",
        "fill_of_callers",
        "without what the class has",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        fill = x.new_full((4,), enclosed + options.get("base", 0.0))
        fill = fill if start is None else fill + start
        y = torch.where(none, fill, rows.sum(0))
        """,
        "Shared.share=0.5: value differs",
    ),
    Row(
        "C",
        "fill_of_callers",
        "without what may be given by keyword",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        fill = x.new_full((4,), enclosed + Shared.share)
        fill = fill if start is None else fill + start
        y = torch.where(none, fill, rows.sum(0))
        """,
        "options with base=0.5: value differs",
    ),
    Row(
        "C",
        "fill_of_callers",
        "without the tensor that may be given",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        fill = x.new_full((4,), enclosed + Shared.share + options.get("base", 0.0))
        y = torch.where(none, fill, rows.sum(0))
        """,
        "start=float32[4]: value differs",
    ),
    Row(
        "C",
        "gated_dropout",
        "the gradient of an arm draws anew what is left out",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            y = torch.cond(x.abs().mean() > 0.8, lambda x: x + self.inner(x), lambda x: x.clone(), (x,))
        elif x.abs().mean() > 0.8:
            y = x + self.inner(x)
        else:
            y = x
        """,
        "draws random numbers anew",
    ),
    Row(
        "C",
        "dropped_ahead",
        "what is dropped again is drawn for small rows, too",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            again = F.dropout(kept, self.dropout, self.training)
            y = kept + torch.where(rows.abs().mean() < 0.6, kept, again)
        elif rows.abs().mean() < 0.6:
            y = kept * 2
        else:
            y = kept + F.dropout(kept, self.dropout, self.training)
        """,
        "random numbers",
    ),
    Row(
        "H",
        "stored_row",
        "a slot that is no place at all, not the last one, is read and written all the same",
        RESTRUCTURED,
        """
        cache[place] = torch.where(torch.full((), place >= 0), row, cache[place])
        """,
        "exception",
    ),
    Row(
        "H",
        "stored_rows",
        "slots that are no places at all are read and written all the same",
        RESTRUCTURED,
        """
        for row, slot in zip(rows, slots.tolist(), strict=True):
            cache[slot] = torch.where(torch.full((), slot >= 0), row, cache[slot])
        """,
        "exception",
    ),
    Row(
        "C",
        "pooled_as_made",
        "0 of nothing in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_zeros(4)
        else:
            y = self.pool(rows, 0)
        """,
        "Bag(pool=prod): value differs",
    ),
    Row(
        "C",
        "activated_as_made",
        "a row of zeros comes to nothing",
        GENERAL_PATH,
        f"""
        if {COMPILING} or chosen.any():
            y = x + self.act(self.proj(rows))
        else:
            y = x + 0
        """,
        "Model(options with activation='sigmoid'): value differs",
    ),
    Row(
        "C",
        "activated_as_made",
        "what is made of zeros is nothing",
        RESTRUCTURED,
        "y = x + self.act(self.proj(rows))",
        "Model(options with activation='sigmoid'): value differs",
    ),
    Row(
        "C",
        "newest_frames",
        "the slice from behind, whose end is always there",
        RESTRUCTURED,
        """
        y = torch.where(x.mean() > 0, x[x.shape[0] - count :].sum(0), x[-1])
        """,
        "count=0: value differs",
    ),
    Row(
        "B",
        "damped_in_place",
        "the query is damped before the keys are read",
        RESTRUCTURED,
        """
        loud = query.abs().max() > 2
        query.copy_(torch.where(loud, query * 0.5, query))
        mixed = torch.where(loud, query + key * 2, query + key)
        """,
        "alone requiring grad: exception differs",
    ),
    Row(
        "L",
        "halve_in_place",
        "the argument comes back",
        RESTRUCTURED,
        "y = x.copy_(torch.where(x.max() > 2, x * 0.5, x))",
        "alone requiring grad: exception differs",
    ),
    Row(
        "G",
        "signed_zero",
        "shifted where there is a shift",
        RESTRUCTURED,
        "x = torch.where(shift.abs().sum() > 0, x + shift, x)",
        "shift alone in double precision: dtype differs",
    ),
    Row(
        "C",
        "prior_in_a_buffer",
        "the prior or the sum",
        RESTRUCTURED,
        "y = torch.where(torch.full((), rows.shape[0] == 0), self.prior * 1.0, rows.sum(0))",
        "x alone in double precision: dtype differs",
    ),
    Row(
        "C",
        "offset_in_options",
        "nothing of nothing in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_zeros(3)
        else:
            y = rows.sum(0) + options.offset
        """,
        "options with offset=0.5: value differs",
    ),
    Row(
        "C",
        "priced_levels",
        "nothing of nothing in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and found.shape[0] == 0:
            y = flat.new_zeros(())
        else:
            y = found.sum() + 0.5 * (len(levels) - 1)
        """,
        "levels with one more: value differs",
    ),
    Row(
        "C",
        "prior_set_later",
        "nothing of nothing in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_zeros(3)
        else:
            y = rows.sum(0) + self.prior
        """,
        "with other weights: value differs",
    ),
    Row(
        "D",
        "bonus_of_heirs",
        "nothing of nothing in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_zeros(3)
        else:
            y = self.bonus(rows).sum(0)
        """,
        "`Averaging` has a `bonus` of its own",
    ),
    Row(
        "E",
        "skipped_by_the_loop",
        "a check, which raises RuntimeError once it is compiled",
        EQUIVALENT,
        """
        torch._check_value(torch.sym_not((x.max() > 3).item()), lambda: "too large")
        """,
        "may catch what is raised",
    ),
    Row(
        "C",
        "reduced_as_named",
        "the reduction of nothing, which is 0 as long as it is the sum",
        RESTRUCTURED,
        "y = REDUCERS[how](rows, dim=0)",
        "how='prod': value differs",
    ),
    Row(
        "C",
        "reduced_as_named",
        "0 of nothing in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_zeros(4)
        else:
            y = REDUCERS[how](rows, dim=0)
        """,
        "how='prod': value differs",
    ),
    Row(
        "B",
        "tallied",
        "clipped where that is due while compiling, and nobody told",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            x = torch.where(x.abs().max() > bound, x.clamp(-bound, bound), x)
        elif x.abs().max() > bound:
            TALLY()
            DEPTH.set(DEPTH.get() + 1)
            note()
            x = x.clamp(-bound, bound)
        """,
        "side effect differs",
    ),
    Row(
        "F",
        "adapter_or_scale",
        "both computed, one chosen, whatever it has read",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            y = torch.where(wanted.any(), self.adapter(x), x * 0.5)
        elif wanted.any():
            y = self.adapter(x)
        else:
            y = x * 0.5
        """,
        "gradient of NaN differs",
    ),
    Row(
        "F",
        "choose_arm",
        "both arms, whatever they have read",
        GENERAL_PATH,
        f"""
        first = scores.sum() > 0
        if {COMPILING}:
            y = torch.where(first, self.sharp(x), self.soft(x))
            z = torch.where(first, x * 2, x - 1)
        elif first:
            y = self.sharp(x)
            z = x * 2
        else:
            y = self.soft(x)
            z = x - 1
        """,
        "gradient of NaN differs",
    ),
    Row(
        "J",
        "milestones",
        "left to eager, as if no milestone were ever met",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and step.item() in self.milestones:
            self.decay.mul_(0.5)
        """,
        "no input made `step.item() in self.milestones` true",
    ),
    Row(
        "J",
        "loss_scale",
        "the count goes on after the scale has grown",
        RESTRUCTURED,
        """
        steps = self.good + 1
        grown = torch.where(steps >= self.interval, self.scale * 2, self.scale)
        self.scale.copy_(torch.where(found, self.scale * 0.5, grown))
        self.good.copy_(torch.where(found, 0, steps))
        """,
        "no input made `self.good >= self.interval` true",
    ),
    # --------------------------------------------------------------------------- what no entry declares (24 November)
    Row(
        "C",
        "least_rows",
        "the side for few rows left to eager",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] <= self.least:
            return x.new_zeros(3)
        return rows.sum(0)
        """,
        "Model.least=2",
    ),
    Row(
        "C",
        "doubled_or_gone",
        "divided by one half, which makes floats of integers",
        RESTRUCTURED,
        "y = torch.where(x.abs().max() > 2, x / 0.5, x - x)",
        "in integers",
    ),
    Row(
        "C",
        "adapter_twice",
        "left out under autocast",
        RESTRUCTURED,
        """
        twice = 1 if torch.is_autocast_enabled("cpu") else 2
        y = torch.where(wanted.any(), y * twice, y)
        """,
        "under autocast: value differs",
    ),
    Row(
        "D",
        "bound_by_name",
        "numbers of a table's callers come to torch.where",
        RESTRUCTURED,
        "return torch.where(value > most, most, value)",
        "is handed on at line",
    ),
    Row(
        "D",
        "ratio_of_class",
        "numbers of a report come to torch.where",
        RESTRUCTURED,
        """
        none = whole == 0
        return torch.where(none, part * 0.0, part / torch.where(none, 1, whole))
        """,
        "is called at line",
    ),
    Row(
        "F",
        "gated_head",
        "what is not chosen reads a NaN, and its weights have gradients of NaN",
        RESTRUCTURED,
        """
        y = torch.where(gate.any(), y + self.head(x), y)
        """,
        "gradient of NaN differs",
    ),
    Row(
        "B",
        "damped_in_place",
        "the keys are read before the query is damped",
        RESTRUCTURED,
        """
        loud = query.abs().max() > 2
        mixed = torch.where(loud, query * 0.5 + key * 2, query + key)
        query.copy_(torch.where(loud, query * 0.5, query))
        """,
        "with one tensor for two arguments: value differs",
    ),
    Row(
        "C",
        "empty_fill",
        "a sum of nothing is zero, as the fill is here",
        RESTRUCTURED,
        "y = rows.sum(0) * self.scale",
        "Model.fill=0.5: value differs",
    ),
    Row(
        "C",
        "empty_fill",
        "the fill in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_full((4,), self.fill)
        else:
            y = rows.sum(0) * self.scale
        """,
        "Model.fill=0.5: value differs",
    ),
    Row(
        "C",
        "empty_fill",
        "not scaled, as the scale is one here",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), self.fill), rows.sum(0))
        """,
        "Model.scale=0.5: value differs",
    ),
    Row(
        "C",
        "hidden_fill",
        "without the fill, which is for those that ask for it and zero",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), SHIFT + getattr(self, f"empty_{self.kind}")), rows.sum(0))
        """,
        "Model.fills=True, Model.fill=0.5: value differs",
    ),
    Row(
        "C",
        "hidden_fill",
        "without what a global adds, which is zero",
        RESTRUCTURED,
        """
        filled = (self.fill if self.fills else 0.0) + getattr(self, f"empty_{self.kind}")
        y = torch.where(torch.full((), rows.shape[0] == 0), x.new_full((4,), filled), rows.sum(0))
        """,
        "global SHIFT=0.5: value differs",
    ),
    Row(
        "C",
        "hidden_fill",
        "without the setting whose name is made at run time",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_full((4,), (self.fill if self.fills else 0.0) + SHIFT + getattr(self, f"empty_{{self.kind}}"))
        else:
            filled = (self.fill if self.fills else 0.0) + SHIFT
            y = torch.where(torch.full((), rows.shape[0] == 0), x.new_full((4,), filled), rows.sum(0))
        """,
        "Model.empty_sum=0.5: value differs",
    ),
    Row(
        "C",
        "order_of_channels",
        "the channels as they stand",
        RESTRUCTURED,
        "y = x * self.gain",
        "self.order in reverse: value differs",
    ),
    Row(
        "C",
        "order_of_channels",
        "one gain for both sides, in what is compiled",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and x.abs().amax() > 1.5:
            y = x[:, self.order] * self.gain
        else:
            y = torch.where(x.abs().amax() > 1.5, x[:, self.order], x) * torch.arange(4.0).to(x)
        """,
        "with the last row of each weight zero: value differs",
    ),
    Row(
        "C",
        "prior_in_a_buffer",
        "a sum of nothing is zero, as the prior is before it is loaded",
        RESTRUCTURED,
        "y = rows.sum(0)",
        "with other weights: value differs",
    ),
    Row(
        "C",
        "prior_in_a_buffer",
        "the prior in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = self.prior * 1.0
        else:
            y = rows.sum(0)
        """,
        "with other weights: value differs",
    ),
    Row(
        "-",
        "reason_to_refuse",
        "the check is left out of what is compiled",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and not torch.allclose(x, x.t()):
            return "not symmetric"
        """,
        "exception differs (expected ValueError: not symmetric, got a result)",
    ),
    Row(
        "F",
        "choose_arm",
        "both arms in eager, too: the layer that is not chosen has a gradient of zeros where it had none",
        RESTRUCTURED,
        """
        first = scores.sum() > 0
        y = torch.where(first, self.sharp(x), self.soft(x))
        z = torch.where(first, x * 2, x - 1)
        """,
        "gradient of zeros differs",
    ),
    Row(
        "C",
        "zero_adapter",
        "for every task: the adapter is zero before it is trained",
        RESTRUCTURED,
        "y = y + self.adapter(x)",
        "with other weights: value differs",
    ),
    Row(
        "J",
        "zero_adapter",
        "for every task while compiling",
        GENERAL_PATH,
        f"""
        if {COMPILING} or tasks.sum() > 1:
            y = y + self.adapter(x)
        """,
        "with other weights: value differs",
    ),
    Row(
        "J",
        "zero_adapter",
        "for no task while compiling",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and tasks.sum() > 1:
            y = y + self.adapter(x)
        """,
        "with other weights: value differs",
    ),
    Row(
        "L",
        "sample_spread",
        "the spread of one row is computed and thrown away, with a warning",
        RESTRUCTURED,
        "y = torch.where(keep.sum() > 1, rows.std(0), rows.sum(0) * 0)",
        "warning differs",
    ),
    Row(
        "C",
        "masked_scores",
        "a low number that half precision does not hold",
        RESTRUCTURED,
        "y = scores.masked_fill(~keep, -1e9).softmax(-1)",
        "in half precision",
    ),
    Row(
        "C",
        "choose_arm",
        "the dtype of the input, which under autocast is not that of a layer",
        GENERAL_PATH,
        f"""
        first = scores.sum() > 0
        if {COMPILING}:
            y = torch.where(first, self.sharp(x), self.soft(x)).to(x.dtype)
            z = torch.where(first, x * 2, x - 1)
        elif first:
            y = self.sharp(x)
            z = x * 2
        else:
            y = self.soft(x)
            z = x - 1
        """,
        "requiring grad: gradient",
    ),
    Row(
        "C",
        "long_prefix",
        "places that bfloat16 cannot tell apart",
        RESTRUCTURED,
        """
        n = lengths.max()
        y = torch.where(torch.arange(x.shape[0], dtype=x.dtype) < n, x, 0)
        """,
        "in bfloat16: value differs",
    ),
    Row(
        "C",
        "optional_mask",
        "the mask must be given",
        RESTRUCTURED,
        """
        y = x.masked_fill(mask, 0.0)
        y = y.mean(0) if mean else y.sum(0)
        """,
        "mask=None: exception differs",
    ),
    Row(
        "C",
        "optional_mask",
        "the mean, whatever is asked for",
        RESTRUCTURED,
        """
        y = x if mask is None else x.masked_fill(mask, 0.0)
        y = y.mean(0)
        """,
        "mean=False: value differs",
    ),
    Row(
        "F",
        "masked_attention",
        "both computed, one chosen",
        RESTRUCTURED,
        """
        seen = torch.softmax(x @ x.t() + bias, -1) @ x
        y = torch.where((bias < -1.0).all(), x, seen)
        """,
        "one nan, requiring grad: gradient differs",
    ),
    Row(
        "F",
        "clip_norm",
        "one NaN reaches the gradients of all",
        RESTRUCTURED,
        "y = torch.where(norm > 2, y * (2 / norm.clamp(min=1.0)), y)",
        "one nan, requiring grad: gradient differs",
    ),
    Row(
        "L",
        "halve_in_place",
        "what comes back is a copy of the argument",
        RESTRUCTURED,
        """
        x.copy_(torch.where(x.max() > 2, x * 0.5, x))
        y = x.clone()
        """,
        "shared memory differs",
    ),
    Row(
        "L",
        "halve_in_place",
        "what comes back is a copy of the argument while compiling",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            x.copy_(torch.where(x.max() > 2, x * 0.5, x))
            y = x.clone()
        else:
            if x.max() > 2:
                x.mul_(0.5)
            y = x
        """,
        "shared memory differs",
    ),
    Row(
        "J",
        "every_fourth",
        "what is exported counts no calls",
        RESTRUCTURED,
        "y = torch.where(x.sum() > 0, x * (3 if self.calls % 4 == 0 else 2), x + 1)",
        "what is traced sees the first call alone",
    ),
    Row(
        "C",
        "signed_rows",
        "a dimension is lost with one row",
        RESTRUCTURED,
        "y = torch.where(x.sum() > 0, x.squeeze() * 2, x.squeeze() - 1)",
        "with one row: shape differs",
    ),
    Row(
        "C",
        "signed_rows",
        "the largest of no rows is none, the sum is",
        RESTRUCTURED,
        "y = torch.where(x.sum() > 0, x * 2, x - 1) + 0 * x.detach().nan_to_num().clamp(-1, 1).amax()",
        "without rows: exception differs",
    ),
    Row(
        "D",
        "budget_of_rows",
        "others call it with numbers",
        RESTRUCTURED,
        "return torch.where(n > most, most, n)",
        "is called at line",
    ),
    Row(
        "B",
        "counts_and_norms",
        "counted in eager only",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            y = x * 2
        elif x.sum() > 0:
            SEEN["loud"] += 1
            self.meter.count += 1
            Model.highest = max(Model.highest, x.shape[0])
            y = NORMS[0](x)
        else:
            y = x * 2
        """,
        "traced path",
    ),
    Row(
        "J",
        "reset_dead",
        "never while compiling: there was nothing to fill",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and step % 3 == 0:
            self.reset_dead(rows)
        """,
        "no input",
    ),
    Row(
        "J",
        "clean_up",
        "never while compiling: there was nothing to bound",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and step % 4 == 0:
            self.mean.clamp_(-10, 10)
        """,
        "no input shows what is skipped",
    ),
    Row(
        "J",
        "small_batch",
        "NaN while compiling, which what comes later hides",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and kept.shape[0] < 2:
            y = kept - kept
        else:
            y = (kept - kept.mean(0)) / (kept.std(0) + 1e-6)
        """,
        "meeting differs",
    ),
    Row(
        "J",
        "mean_of_none",
        "never empty while compiling: the mean of nothing, which what comes later hides",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and kept.shape[0] == 0:
            y = x.new_zeros(3)
        else:
            y = kept.sum(0) / kept.shape[0]
        """,
        "meeting differs",
    ),
    Row(
        "L",
        "langevin",
        "steps that are left out draw their noise while compiling",
        GENERAL_PATH,
        f"""
        done = torch.zeros((), dtype=torch.bool)
        for _ in range(4):
            if {COMPILING}:
                done = done | (x.abs().mean() < 0.8)
                x = torch.where(done, x, x * 0.8 + 0.05 * torch.randn_like(x))
                continue
            if x.abs().mean() < 0.8:
                break
            x = x * 0.8 + 0.05 * torch.randn_like(x)
        """,
        "generators' state differs",
    ),
    Row(
        "L",
        "noisy",
        "a random draw in any case, while compiling",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            x = torch.where(loud.any(), x + torch.randn_like(x), x)
        elif loud.any():
            x = x + torch.randn_like(x)
        """,
        "generators' state differs",
    ),
    Row(
        "L",
        "noisy",
        "drawn at most once more, and thrown away",
        GENERAL_PATH,
        f"""
        noise = torch.randn_like(x) if {COMPILING} or loud.any() else 0.0
        x = x + noise * loud.any()
        """,
        "generators' state differs",
    ),
    Row(
        "L",
        "noisy_rows",
        "noise for all rows while compiling, zero for those without",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            noise = torch.randn(x.shape[0], 3, dtype=x.dtype)
            x = torch.where(loud[:, None], x + noise[(loud.cumsum(0) - 1).clamp(min=0)], x)
        elif loud.any():
            rows = loud.nonzero().squeeze(1)
            x = x.index_add(0, rows, torch.randn(rows.numel(), 3, dtype=x.dtype))
        """,
        "differs",
    ),
    Row(
        "L",
        "run_again",
        "what its gradient drops is drawn once more",
        RESTRUCTURED,
        "y = torch.where(x.sum() > 0, 2, 1) * Again.apply(h)",
        "generators' state differs",
    ),
    Row(
        "D",
        "width_of_all",
        "others call it with numbers, by keyword",
        RESTRUCTURED,
        """
        n = torch.where(n < least, least, n)
        """,
        "is called at line",
    ),
    Row(
        "D",
        "width_of_all",
        "in place, which numbers do not have",
        RESTRUCTURED,
        """
        n = n.clamp(min=least)
        """,
        "is called at line",
    ),
    Row(
        "D",
        "width_of_all",
        "a number comes back as a tensor",
        RESTRUCTURED,
        """
        n = torch.maximum(torch.as_tensor(n), torch.as_tensor(least))
        """,
        "is called at line",
    ),
    Row(
        "D",
        "cap_by_method",
        "a method that another one calls with a number",
        RESTRUCTURED,
        """
        n = torch.where(n > most, most, n)
        """,
        "is called at line",
    ),
    Row(
        "D",
        "cap_by_method",
        "the number must be a tensor",
        RESTRUCTURED,
        """
        n = n.clamp(max=most)
        """,
        "is called at line",
    ),
    # ---------------------------------------------- arguments that cannot be written to (26 November)
    Row(
        "B",
        "damped_in_place",
        "the query is damped before the keys are read, while compiling",
        GENERAL_PATH,
        f"""
        loud = query.abs().max() > 2
        if {COMPILING}:
            query.copy_(torch.where(loud, query * 0.5, query))
            mixed = torch.where(loud, query + key * 2, query + key)
        elif loud:
            query.mul_(0.5)
            mixed = query + key * 2
        else:
            mixed = query + key
        """,
        "alone requiring grad: exception differs",
    ),
    Row(
        "L",
        "halve_in_place",
        "the argument comes back, while compiling",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            y = x.copy_(torch.where(x.max() > 2, x * 0.5, x))
        else:
            if x.max() > 2:
                x.mul_(0.5)
            y = x
        """,
        "alone requiring grad: exception differs",
    ),
    Row(
        "L",
        "zero_bad_values",
        "filled in place",
        RESTRUCTURED,
        "x.masked_fill_(torch.isnan(x), 0.0)",
        "alone requiring grad: exception differs",
    ),
    Row(
        "F",
        "gated_head",
        "the head reads nothing where it is not chosen",
        RESTRUCTURED,
        """
        opened = gate.any()
        y = torch.where(opened, y + self.head(torch.where(opened, x, 0.0)), y)
        """,
        "which momentum and weight decay act on",
    ),
    Row(
        "F",
        "root_of_positive",
        "a safe fill before the root",
        RESTRUCTURED,
        "y = torch.where(positive, torch.where(positive, x, 1.0).sqrt(), 0.0)",
        "which momentum and weight decay act on",
    ),
    Row(
        "A",
        "spread",
        "the mean of squared differences, over masked rows",
        RESTRUCTURED,
        """
        n = keep.sum().clamp(min=1)
        mean = torch.where(keep[:, None], x, 0.0).sum(0) / n
        y = torch.where(keep[:, None], (x - mean).square(), 0.0).sum(0) / n
        """,
        "gradient differs",
    ),
    # ------------------------------------------------------------------ two calls, and gradients of none (26 November)
    Row(
        "B",
        "gate_with_memory",
        "the gate is written to on each call",
        RESTRUCTURED,
        """
        self.open.copy_(self.open | (level > 0.9))
        y = torch.where(self.open, self.out(x), x)
        """,
        "called twice before the backward pass",
    ),
    Row(
        "B",
        "gate_with_memory",
        "the gate is written to on each call, while compiling",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            self.open.copy_(self.open | (level > 0.9))
        elif level > 0.9:
            self.open.fill_(True)
        y = torch.where(self.open, self.out(x), x)
        """,
        "called twice before the backward pass",
    ),
    Row(
        "B",
        "following_network",
        "it follows on each call that is compiled",
        GENERAL_PATH,
        f"""
        if {COMPILING} or due:
            for slow, fast in zip(self.target.parameters(), self.online.parameters()):
                slow.data.copy_(fast.data)
        """,
        "trained between the calls",
    ),
    Row(
        "B",
        "following_network",
        "it never follows in what is compiled",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and due:
            for slow, fast in zip(self.target.parameters(), self.online.parameters()):
                slow.data.copy_(fast.data)
        """,
        "trained between the calls",
    ),
    Row(
        "B",
        "covariance_filter",
        "never made symmetric in what is compiled",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and self.scans.item() % 4 == 0:
            cov = 0.5 * (cov + cov.transpose(-1, -2))
        """,
        "state moved between the calls",
    ),
    Row(
        "B",
        "unit_quaternion",
        "never brought back in what is compiled",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and (self.turns % 8 == 0).item():
            attitude = attitude / attitude.norm()
        """,
        "state moved between the calls",
    ),
    Row(
        "B",
        "unit_quaternion",
        "brought back on each call that is compiled",
        GENERAL_PATH,
        f"""
        if {COMPILING} or (self.turns % 8 == 0).item():
            attitude = attitude / attitude.norm()
        """,
        "state moved between the calls",
    ),
    Row(
        "F",
        "guarded_loss",
        "the loss is computed and thrown away, its gradient is not",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            loss = torch.cond(loss.isnan(), lambda loss: torch.zeros_like(loss), lambda loss: loss.clone(), (loss,))
        elif loss.isnan():
            loss = torch.zeros_like(loss)
        """,
        "gradient of NaN differs",
    ),
    Row(
        "F",
        "guarded_loss",
        "the loss or zero",
        RESTRUCTURED,
        "loss = torch.where(loss.isnan(), torch.zeros_like(loss), loss)",
        "got of self.head.weight: nan",
    ),
    Row(
        "C",
        "mean_of_kept",
        "a sum over at least one",
        RESTRUCTURED,
        "y = torch.where(keep[:, None], x, 0.0).sum(0) / keep.sum().clamp(min=1)",
        "in half precision with large numbers",
    ),
    Row(
        "F",
        "root_of_positive",
        "a safe fill before the root, while compiling",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            y = torch.where(positive, torch.where(positive, x, 1.0).sqrt(), 0.0)
        elif positive.any():
            y[positive] = x[positive].sqrt()
        """,
        "gradient of NaN differs",
    ),
    Row(
        "B",
        "best_so_far",
        "the buffers keep their memory",
        RESTRUCTURED,
        """
        better = score > self.best
        self.best.copy_(torch.where(better, score, self.best))
        self.seen += better
        self.calls += 1
        """,
        "called twice before the backward pass",
    ),
    Row(
        "J",
        "reset_dead",
        "filled where it is due",
        RESTRUCTURED,
        """
        due = (step % 3 == 0) & (self.usage < 0.01)
        self.codes.copy_(torch.where(due[:, None], rows.mean(0), self.codes))
        self.usage.masked_fill_(due, 1.0)
        """,
        "no input made `dead.any()` true",
    ),
    Row(
        "H",
        "best_few",
        "the best three, where there may be less",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            best = scores.topk(3).indices
            few = torch.zeros_like(keep)
            few[best] = True
            keep = torch.where(keep.sum() > 3, few, keep)
        elif keep.sum() > 3:
            best = scores.topk(3).indices
            keep = torch.zeros_like(keep)
            keep[best] = True
        """,
        "with one row: exception differs",
    ),
    # ----------------------- settings that are said elsewhere, numbers at a bound, sparse arguments (28 November)
    Row(
        "C",
        "said_by_the_class",
        "the fill in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_full((4,), self.empty)
        else:
            y = rows.sum(0) * self.least()
        """,
        "Model.empty=0.5: value differs",
    ),
    Row(
        "D",
        "property_of_heirs",
        "the fill in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_full((4,), self.empty)
        else:
            y = rows.sum(0)
        """,
        "`InLogarithms` has a `empty` of its own",
    ),
    Row(
        "C",
        "looked_up_elsewhere",
        "the fill in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_full((4,), self.fill)
        else:
            y = rows.sum(0)
        """,
        "Model.fill=0.5: value differs",
    ),
    Row(
        "C",
        "options_handed_on",
        "the fill in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = nothing(x, self.options)
        else:
            y = rows.sum(0)
        """,
        "Options.fill=0.5: value differs",
    ),
    Row(
        "C",
        "pooled_by_code",
        "the fill in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_zeros(4)
        else:
            y = rows.prod(0) if self.mode == 3 else rows.sum(0)
        """,
        "Model.mode=3: value differs",
    ),
    Row(
        "C",
        "said_by_the_class",
        "not scaled, as the class says one here",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), self.empty), rows.sum(0))
        """,
        "Model.least()=0.5: value differs",
    ),
    Row(
        "C",
        "heaviest_edges",
        "what is chosen of is dense",
        RESTRUCTURED,
        "edges = torch.where(total > 1, edges * 2, edges)",
        "edges sparse: exception differs",
    ),
    Row(
        "C",
        "said_by_a_classmethod",
        "the fill in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_full((4,), self.least())
        else:
            y = rows.sum(0)
        """,
        "Model.floor=0.5: value differs",
    ),
    Row(
        "C",
        "said_by_a_descriptor",
        "the fill in eager only",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and rows.shape[0] == 0:
            y = x.new_full((4,), self.fill)
        else:
            y = rows.sum(0)
        """,
        "Model.fill=0.5: value differs",
    ),
    Row(
        "C",
        "settled_steps",
        "what has settled stays so",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and moved.item() < tolerance:
            break
        """,
        "settle(tolerance)=inf: value differs",
    ),
    Row(
        "D",
        "response_curve",
        "torch.where for levels, too, which are numbers",
        RESTRUCTURED,
        "y = torch.where(level > self.knee, self.knee + (level - self.knee) * 0.5, level * 1.0)",
        "`__getitem__` is called at line 29, perhaps with what is no tensor",
    ),
    Row(
        "D",
        "row_of_bank",
        "item() of what is a text elsewhere",
        EQUIVALENT,
        "y = self.table[row.item()]",
        "`forward` is called at line 25, perhaps with what is no tensor",
    ),
    Row(
        "D",
        "row_of_bank",
        "index_select by what is a text elsewhere",
        EQUIVALENT,
        "y = self.table.index_select(0, row.reshape(1))[0]",
        "`forward` is called at line 25, perhaps with what is no tensor",
    ),
    Row(
        "C",
        "fill_of_anywhere",
        "without what a caller gives",
        RESTRUCTURED,
        """
        fill = SETTINGS.lookup("empty") + slot.now() + EMPTY.get() + float(os.environ.get("EMPTY_ROWS", "0"))
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "Model.summed(given)=0.5: value differs",
    ),
    Row(
        "C",
        "fill_of_anywhere",
        "without what a registry looks up",
        RESTRUCTURED,
        """
        fill = given + slot.now() + EMPTY.get() + float(os.environ.get("EMPTY_ROWS", "0"))
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "dict.empty=0.5: value differs",
    ),
    Row(
        "C",
        "fill_of_anywhere",
        "without what an object in a set hides",
        RESTRUCTURED,
        """
        fill = given + SETTINGS.lookup("empty") + EMPTY.get() + float(os.environ.get("EMPTY_ROWS", "0"))
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "Slot._Slot__value=0.5: value differs",
    ),
    Row(
        "C",
        "fill_of_anywhere",
        "without what a context holds",
        RESTRUCTURED,
        """
        fill = given + SETTINGS.lookup("empty") + slot.now() + float(os.environ.get("EMPTY_ROWS", "0"))
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "ContextVar.get=0.5: value differs",
    ),
    Row(
        "C",
        "fill_of_anywhere",
        "without what the environment says",
        RESTRUCTURED,
        """
        fill = given + SETTINGS.lookup("empty") + slot.now() + EMPTY.get()
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "_Environ.EMPTY_ROWS=",
    ),
    Row(
        "C",
        "fill_that_is_called",
        "without what is found in a table",
        RESTRUCTURED,
        """
        fill = empty_of(Trainer) + float(self.how.partition(":")[2]) + (1.0 if "ones" in OPTIONS else 0.0)
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "next()=0.5: value differs",
    ),
    Row(
        "C",
        "fill_that_is_called",
        "without what a getter gets",
        RESTRUCTURED,
        """
        fill = worth_of(self) + float(self.how.partition(":")[2]) + (1.0 if "ones" in OPTIONS else 0.0)
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "attrgetter(operator.attrgetter('policy.empty'))=0.5: value differs",
    ),
    Row(
        "C",
        "fill_that_is_called",
        "without what stands behind a colon",
        RESTRUCTURED,
        """
        fill = worth_of(self) + empty_of(Trainer) + (1.0 if "ones" in OPTIONS else 0.0)
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "float(0.0)=0.5: value differs",
    ),
    Row(
        "C",
        "fill_that_is_called",
        "without what an option says",
        RESTRUCTURED,
        """
        fill = worth_of(self) + empty_of(Trainer) + float(self.how.partition(":")[2])
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
        "frozenset.ones=True: value differs",
    ),
)

RIGHT = (
    Row(
        "B",
        "covariance_filter",
        "both, and which of them the count says",
        RESTRUCTURED,
        """
        cov = torch.where(self.scans % 4 == 0, 0.5 * (cov + cov.transpose(-1, -2)), cov)
        """,
    ),
    Row(
        "B",
        "unit_quaternion",
        "both, and which of them the count says",
        RESTRUCTURED,
        """
        attitude = torch.where(self.turns % 8 == 0, attitude / attitude.norm(), attitude)
        """,
    ),
    Row(
        "B",
        "following_network",
        "it takes over what it is to, or keeps what it has",
        RESTRUCTURED,
        """
        with torch.no_grad():
            for slow, fast in zip(self.target.parameters(), self.online.parameters()):
                slow.copy_(torch.where(due, fast, slow))
        """,
    ),
    Row(
        "C",
        "survivors",
        "what both arms do is done once",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            z = self.depth(x)
            y = torch.where(x.abs().mean() > 0.8, z * 2, z)
        elif x.abs().mean() > 0.8:
            y = self.depth(x) * 2
        else:
            y = self.depth(x)
        """,
    ),
    Row(
        "C",
        "tail_and_finish",
        "both computed, and chosen",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            return torch.where(mask.any(), self.emptied(x, mask), x * 1)
        if not mask.any():
            return x * 1
        """,
    ),
    Row(
        "C",
        "adapter_later",
        "both computed, and chosen",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            return torch.where(mask.any(), self.emptied(x, mask, terms), x * 1)
        if not mask.any():
            return x * 1
        """,
    ),
    Row(
        "D",
        "default_of_helper",
        "what is filled with, or the sum",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            y = torch.where(torch.full((), rows.shape[0] == 0), x.new_full((3,), fill), rows.sum(0))
        elif rows.shape[0] == 0:
            y = x.new_full((3,), fill)
        else:
            y = rows.sum(0)
        """,
    ),
    Row(
        "C",
        "power_of_rest",
        "nothing, or the power of what is left",
        RESTRUCTURED,
        "y = torch.where(torch.full((), rest.shape[0] == 0), x.new_zeros(()), rest.abs().sum() ** self.power)",
    ),
    Row(
        "C",
        "fill_in_holders",
        "what all of them hold, or the sum",
        RESTRUCTURED,
        """
        fill = self.options.base + self.slots.shift + self.settings.loss.prior + self.names.get("more", 0.0)
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
    ),
    Row(
        "C",
        "fill_of_callers",
        "what all of them come to, or the sum",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        fill = x.new_full((4,), enclosed + Shared.share + options.get("base", 0.0))
        fill = fill if start is None else fill + start
        y = torch.where(none, fill, rows.sum(0))
        """,
    ),
    Row(
        "C",
        "pooled_as_made",
        "a row in the place of none, and chosen",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        filled = torch.cat([rows, rows.new_zeros(1, 4)])[: torch.sym_max(rows.shape[0], 1)]
        y = torch.where(none, x.new_zeros(4), self.pool(filled, 0))
        """,
    ),
    Row(
        "C",
        "activated_as_made",
        "one of the two, as the compiler finds out",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            def when_true(x, rows):
                return x + self.act(self.proj(rows))

            def when_false(x, rows):
                return x + 0

            y = torch.cond(chosen.any(), when_true, when_false, (x, rows))
        elif chosen.any():
            y = x + self.act(self.proj(rows))
        else:
            y = x + 0
        """,
    ),
    Row(
        "H",
        "best_few",
        "the best three, or as many as there are",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            best = scores.topk(min(3, scores.shape[0])).indices
            few = torch.zeros_like(keep)
            few[best] = True
            keep = torch.where(keep.sum() > 3, few, keep)
        elif keep.sum() > 3:
            best = scores.topk(3).indices
            keep = torch.zeros_like(keep)
            keep[best] = True
        """,
    ),
    Row(
        "B",
        "gate_with_memory",
        "what is read is not what is written to",
        RESTRUCTURED,
        """
        opened = self.open | (level > 0.9)
        self.open.copy_(opened)
        y = torch.where(opened, self.out(x), x)
        """,
    ),
    Row(
        "F",
        "gated_head",
        "the head reads nothing where it is not chosen, while compiling",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            opened = gate.any()
            y = torch.where(opened, y + self.head(torch.where(opened, x, 0.0)), y)
        elif gate.any():
            y = y + self.head(x)
        """,
    ),
    Row(
        "A",
        "spread",
        "the mean of squared differences, over rows that are filled where they are not kept",
        RESTRUCTURED,
        """
        n = keep.sum().clamp(min=1)
        rows = torch.where(keep[:, None], x, 0.0)
        mean = (rows / n).sum(0)
        y = (torch.where(keep[:, None], (rows - mean).square(), 0.0) / n).sum(0)
        """,
    ),
    Row(
        "C",
        "newest_frames",
        "the same slice",
        RESTRUCTURED,
        """
        y = torch.where(x.mean() > 0, x[-count:].sum(0), x[-1])
        """,
    ),
    Row(
        "C",
        "offset_in_options",
        "both computed, and chosen",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_zeros(3), rows.sum(0) + options.offset)
        """,
    ),
    Row(
        "C",
        "priced_levels",
        "both computed, and chosen",
        RESTRUCTURED,
        """
        none = torch.full((), found.shape[0] == 0)
        y = torch.where(none, flat.new_zeros(()), found.sum() + 0.5 * (len(levels) - 1))
        """,
    ),
    Row(
        "C",
        "prior_set_later",
        "both computed, and chosen",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_zeros(3), rows.sum(0) + self.prior)
        """,
    ),
    Row(
        "C",
        "reduced_as_named",
        "both computed, and chosen",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_zeros(4), REDUCERS[how](rows, dim=0))
        """,
    ),
    Row(
        "C",
        "least_rows",
        "counted and chosen",
        RESTRUCTURED,
        """
        return torch.where(keep.sum() <= self.least, x.new_zeros(3), rows.sum(0))
        """,
    ),
    Row(
        "C",
        "doubled_or_gone",
        "integers stay integers",
        RESTRUCTURED,
        "y = torch.where(x.abs().max() > 2, x * 2, x - x)",
    ),
    Row(
        "C",
        "adapter_twice",
        "chosen, whatever autocast computes in",
        RESTRUCTURED,
        "y = torch.where(wanted.any(), y * 2, y)",
    ),
    Row(
        "D",
        "bound_by_name",
        "numbers keep their branch",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            return torch.where(value > most, most, value)
        if value > most:
            return most
        return value
        """,
    ),
    Row(
        "D",
        "ratio_of_class",
        "numbers keep their branch",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            none = whole == 0
            return torch.where(none, part * 0.0, part / torch.where(none, 1, whole))
        if whole == 0:
            return part * 0.0
        return part / whole
        """,
    ),
    Row(
        "L",
        "halve_in_place_later",
        "a copy is written to on the path that is compiled, whatever came in",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            y = y.copy_(torch.where(y.max() > 2, y * 0.5, y))
        elif y.max() > 2:
            y.mul_(0.5)
        """,
    ),
    Row(
        "C",
        "empty_fill",
        "the fill or the scaled sum",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), self.fill), rows.sum(0) * self.scale)
        """,
    ),
    Row(
        "C",
        "hidden_fill",
        "what was made for the empty, or the sum",
        RESTRUCTURED,
        """
        filled = (self.fill if self.fills else 0.0) + SHIFT + getattr(self, f"empty_{self.kind}")
        y = torch.where(torch.full((), rows.shape[0] == 0), x.new_full((4,), filled), rows.sum(0))
        """,
    ),
    Row(
        "C",
        "order_of_channels",
        "both orders, and a choice",
        RESTRUCTURED,
        "y = torch.where(x.abs().amax() > 1.5, x[:, self.order] * self.gain, x * torch.arange(4.0).to(x))",
    ),
    Row(
        "C",
        "prior_in_a_buffer",
        "the prior or the sum, while compiling",
        GENERAL_PATH,
        f"""
        none = rows.shape[0] == 0
        if {COMPILING}:
            y = torch.where(torch.full((), none), self.prior * 1.0, rows.sum(0))
        elif none:
            y = self.prior * 1.0
        else:
            y = rows.sum(0)
        """,
    ),
    Row(
        "L",
        "noise_ahead",
        "steps that are left out draw nothing",
        GENERAL_PATH,
        f"""
        done = torch.zeros((), dtype=torch.bool)
        for step in noise:
            if {COMPILING}:
                done = done | (x.abs().mean() < 0.8)
                x = torch.where(done, x, x * 0.8 + 0.05 * step)
                continue
            if x.abs().mean() < 0.8:
                break
            x = x * 0.8 + 0.05 * step
        """,
    ),
    Row(
        "L",
        "noisy_rows",
        "noise for no rows draws nothing",
        GENERAL_PATH,
        f"""
        if {COMPILING} or loud.any():
            rows = loud.nonzero().squeeze(1)
            x = x.index_add(0, rows, torch.randn(rows.numel(), 3, dtype=x.dtype))
        """,
    ),
    Row(
        "-",
        "seldom_kept",
        "both computed, one chosen by what was drawn",
        RESTRUCTURED,
        "y = torch.where(torch.rand(()) < 0.02, self.layer(x) * 2, self.layer(x))",
    ),
    Row(
        "L",
        "run_again",
        "what its gradient drops is what was dropped",
        RESTRUCTURED,
        "y = torch.where(x.sum() > 0, 2, 1) * FromThere.apply(h)",
    ),
    Row(
        "L",
        "keep_some",
        "a copy always, where it was one at times",
        RESTRUCTURED,
        "y = torch.where(keep.any(), x * keep, x)",
    ),
    Row(
        "-",
        "count_calls",
        "a count that nothing reads",
        RESTRUCTURED,
        "y = torch.where(x.sum() > 0, x * 2, x + 0)",
    ),
    Row(
        "C",
        "adapter_or_scale",
        "both computed, one chosen: one dtype under autocast, where there were two",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            y = torch.where(wanted.any(), self.adapter(torch.where(wanted.any(), x, 0)), x * 0.5)
        elif wanted.any():
            y = self.adapter(x)
        else:
            y = x * 0.5
        """,
    ),
    Row(
        "C",
        "long_prefix",
        "places that integers count",
        RESTRUCTURED,
        """
        n = lengths.max()
        y = torch.where(torch.arange(x.shape[0]) < n, x, 0)
        """,
    ),
    Row(
        "C",
        "optional_mask",
        "each of the arguments may be left out",
        RESTRUCTURED,
        """
        y = x if mask is None else x.masked_fill(mask, 0.0)
        y = y.mean(0) if mean else y.sum(0)
        """,
    ),
    Row(
        "A",
        "masked_attention",
        "both computed, one chosen, and nothing unread comes to the other",
        RESTRUCTURED,
        """
        nothing = (bias < -1.0).all()
        kept = torch.where(nothing, 0.0, x)
        y = torch.where(nothing, x, torch.softmax(kept @ kept.t() + bias, -1) @ kept)
        """,
    ),
    Row(
        "A",
        "tiny_rate",
        "both computed, one chosen",
        RESTRUCTURED,
        """
        first = x.sum() > 0
        step = torch.where(first, x * 1e-7, x * 2e-7)
        scaled = torch.where(first, wide * 0.1, wide * 0.3)
        """,
    ),
    Row(
        "J",
        "clean_up",
        "bounded in any case",
        RESTRUCTURED,
        "self.mean.copy_(torch.where(step % 4 == 0, self.mean.clamp(-10, 10), self.mean))",
    ),
    Row(
        "J",
        "small_batch",
        "divided by what is no less than one",
        RESTRUCTURED,
        """
        n = kept.shape[0]
        y = kept - kept.sum(0) / torch.sym_max(n, 1)
        y = y / ((y.square().sum(0) / torch.sym_max(n - 1, 1) + 1e-12).sqrt() + 1e-6)
        """,
    ),
    Row(
        "J",
        "first_of_best",
        "as many as there are, put back in order where there are no more; its test has a name",
        GENERAL_PATH,
        f"""
        longer = kept.shape[0] > 4
        few = torch.sym_min(4, kept.shape[0])
        if {COMPILING} or longer:
            kept, order = kept.topk(few)
            if {COMPILING}:
                stays = torch.where(torch.full((), longer), torch.arange(order.shape[0]), order.argsort())
                kept, order = kept[stays], order[stays]
            names = names[order]
        """,
    ),
    Row(
        "G",
        "signed_zero",
        "shifted where there is a shift, while compiling",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            x = torch.where(shift.abs().sum() > 0, x + shift, x)
        elif shift.abs().sum() > 0:
            x = x + shift
        """,
    ),
    Row(
        "-",
        "choose_arm",
        "both arms, merged while compiling",
        GENERAL_PATH,
        f"""
        first = scores.sum() > 0
        if {COMPILING}:
            y = torch.where(first, self.sharp(torch.where(first, x, 0)), self.soft(torch.where(first, 0, x)))
            z = torch.where(first, x * 2, x - 1)
        elif first:
            y = self.sharp(x)
            z = x * 2
        else:
            y = self.soft(x)
            z = x - 1
        """,
    ),
    Row(
        "J",
        "zero_adapter",
        "computed in any case, added where it is due",
        RESTRUCTURED,
        "y = torch.where(tasks.sum() > 1, y + self.adapter(x), y)",
    ),
    Row(
        "J",
        "every_fifth",
        "halved where it is due",
        RESTRUCTURED,
        "self.collected.copy_(torch.where(self.calls % 5 == 0, self.collected * 0.5, self.collected))",
    ),
    Row(
        "F",
        "gated_growth",
        "a safe fill before the growth",
        RESTRUCTURED,
        """
        is_open = gate > 0
        y = torch.where(is_open, x + gate * torch.exp(torch.where(is_open, x * 3, 0.0)), x * 1.0)
        """,
    ),
    Row(
        "L",
        "sample_spread",
        "computed where there are two rows, while compiling in any case",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            y = torch.where(keep.sum() > 1, rows.std(0), rows.sum(0) * 0)
        elif keep.sum() > 1:
            y = rows.std(0)
        else:
            y = rows.sum(0) * 0
        """,
    ),
    Row(
        "L",
        "better_half",
        "of equal ones the second",
        RESTRUCTURED,
        "best = torch.where(first > second, first, second)",
    ),
    Row(
        "C",
        "masked_scores",
        "masked in any case",
        RESTRUCTURED,
        "y = scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1)",
    ),
    Row(
        "C",
        "signed_rows",
        "both computed, one chosen",
        RESTRUCTURED,
        "y = torch.where(x.sum() > 0, x * 2, x - 1)",
    ),
    Row(
        "D",
        "budget_of_rows",
        "eager keeps what it does for numbers",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            return torch.where(n > most, most, n)
        if n > most:
            return most
        return n
        """,
    ),
    Row(
        "H",
        "mean_of_kept",
        "a sum of shares",
        RESTRUCTURED,
        "y = (torch.where(keep[:, None], x, 0.0) / keep.sum().clamp(min=1)).sum(0)",
    ),
    Row(
        "H",
        "experts",
        "no rows add nothing",
        GENERAL_PATH,
        f"""
        if {COMPILING} or rows.numel() > 0:
            out.index_add_(0, rows, expert(x[rows]))
        """,
    ),
    Row(
        "-",
        "validate",
        "the check of the same type and text",
        EQUIVALENT,
        'torch._check_value(labels.max().item() < 8, lambda: "label out of range")',
    ),
    Row(
        "-",
        "validate_rarely",
        "the check of the same type and text, of which declared inputs show one side",
        EQUIVALENT,
        'torch._check_value(lengths.max().item() <= 6, lambda: "a length is larger than 6")',
    ),
    Row(
        "C",
        "batch_of_one",
        "the factor is 0 for a batch of one, 1 for more, and NaN keeps its sign for none",
        RESTRUCTURED,
        "y = x.mean(0) * torch.sym_min(x.shape[0] - 1, 1) + 0.0",
    ),
    Row(
        "-",
        "same_lengths",
        "without the fast path",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and (lengths == lengths[0]).all():
            y = x.clone()
            y[:, lengths[0] :] = 0
        else:
            y = x * (torch.arange(x.shape[1]) < lengths[:, None])
        """,
    ),
    Row(
        "J",
        "mean_of_none",
        "never empty while compiling, where the other side divides by at least 1",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and kept.shape[0] == 0:
            y = x.new_zeros(3)
        else:
            y = kept.sum(0) / torch.sym_max(kept.shape[0], 1)
        """,
    ),
    Row(
        "J",
        "mean_of_none",
        "the same, its test spelled in another way",
        GENERAL_PATH,
        f"""
        if not {COMPILING} and not kept.shape[0]:
            y = x.new_zeros(3)
        else:
            y = kept.sum(0) / torch.sym_max(kept.shape[0], 1)
        """,
    ),
    Row(
        "B",
        "heads_in_a_tuple",
        "both computed, one chosen",
        RESTRUCTURED,
        "y = torch.where(scores.sum() > 0, head(0, x), head(1, x))",
    ),
    Row(
        "D",
        "width_of_all",
        "eager keeps what it does for numbers",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            n = torch.where(n < least, least, n)
        elif n < least:
            n = n * 0 + least
        """,
    ),
    Row(
        "G",
        "larger_of_two",
        "the first, unless the second is larger",
        RESTRUCTURED,
        """
        best = torch.where(second > first, second, first)
        """,
    ),
    Row(
        "H",
        "first_found",
        "a row of zeros behind the last, for where nothing is found",
        RESTRUCTURED,
        """
        place = torch.where(found, torch.arange(found.shape[0]), found.shape[0])
        place = torch.cat((place, place.new_full((1,), found.shape[0]))).amin()
        rows = torch.cat((x, x.new_zeros(1, x.shape[1])))
        y = torch.where(found.any(), rows.index_select(0, place[None])[0] * 2, x.sum(0))
        """,
    ),
    Row(
        "H",
        "stored_row",
        "where there is none the first slot gets what it holds",
        RESTRUCTURED,
        """
        kept = torch.where(slot >= 0, row.to(cache.dtype), cache[0])
        cache = cache.index_copy(0, slot.clamp(min=0).long().reshape(1), kept[None])
        """,
    ),
    Row(
        "I",
        "bounded_rows",
        "as many as there are rows at most",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            n = keep.sum().item()
            torch._check(n <= keep.shape[0])
            y = torch.where(keep[:, None], x, 0.0).sum(0) / torch.sym_max(n, 1)
        elif keep.any():
            y = x[keep].sum(0) / int(keep.sum())
        else:
            y = x.new_zeros(3)
        """,
    ),
    Row(
        "I",
        "bounded_rows",
        "an operator gives any number",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            places = any_number(keep)
            y = torch.where(keep[:, None], x, 0.0).sum(0) / torch.sym_max(places.shape[0], 1)
        elif keep.any():
            y = x[keep].sum(0) / int(keep.sum())
        else:
            y = x.new_zeros(3)
        """,
    ),
    Row(
        "K",
        "kept_boxes",
        "a size of its own",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            kept = of_a_new_size(starts, scores, 6)
        else:
            kept = apart(starts, scores, 6)
        """,
    ),
    Row(
        "K",
        "kept_boxes",
        "a size of its own, and six at most",
        GENERAL_PATH,
        f"""
        if {COMPILING}:
            kept = of_six_at_most(starts, scores, 6)
        else:
            kept = apart(starts, scores, 6)
        """,
    ),
    Row(
        "G",
        "leading_row",
        "both computed, one chosen by the same comparison",
        RESTRUCTURED,
        "y = torch.where(x[0].sum() <= 0, x * 2, x - limit)",
    ),
    # ----------------------- settings that are said elsewhere, numbers at a bound, sparse arguments (28 November)
    Row(
        "C",
        "said_by_the_class",
        "what is made of nothing, or the sum",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), self.empty), rows.sum(0) * self.least())
        """,
    ),
    Row(
        "C",
        "looked_up_elsewhere",
        "what is made of nothing, or the sum",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), self.fill), rows.sum(0))
        """,
    ),
    Row(
        "C",
        "options_handed_on",
        "what is made of nothing, or the sum",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, nothing(x, self.options), rows.sum(0))
        """,
    ),
    Row(
        "C",
        "pooled_by_code",
        "what is made of nothing, or the sum",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_zeros(4), rows.prod(0) if self.mode == 3 else rows.sum(0))
        """,
    ),
    Row(
        "D",
        "property_of_heirs",
        "what is made of nothing, or the sum",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), self.empty), rows.sum(0))
        """,
    ),
    Row(
        "A",
        "ids_beyond_single",
        "compared in double precision",
        RESTRUCTURED,
        "ids = torch.where(ids.max().double() > 1e9, ids % 1_000_003, ids)",
    ),
    Row(
        "A",
        "cold_or_warm",
        "compared in double precision",
        RESTRUCTURED,
        "logits = torch.where(temperature.double() < 0.7, logits * 2, logits / 2)",
    ),
    Row(
        "C",
        "heaviest_edges",
        "scaled by what is chosen",
        RESTRUCTURED,
        "edges = edges * torch.where(total > 1, 2, 1)",
    ),
    Row(
        "C",
        "said_by_a_classmethod",
        "what is made of nothing, or the sum",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), self.least()), rows.sum(0))
        """,
    ),
    Row(
        "C",
        "said_by_a_descriptor",
        "what is made of nothing, or the sum",
        RESTRUCTURED,
        """
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), self.fill), rows.sum(0))
        """,
    ),
    Row(
        "D",
        "response_curve",
        "both while compiling, and one of them for levels",
        RESTRUCTURED,
        f"""
        if {COMPILING}:
            y = torch.where(level > self.knee, self.knee + (level - self.knee) * 0.5, level * 1.0)
        elif level > self.knee:
            y = self.knee + (level - self.knee) * 0.5
        else:
            y = level * 1.0
        """,
    ),
    Row(
        "D",
        "row_of_bank",
        "item() while compiling alone",
        EQUIVALENT,
        f"y = self.table[row.item() if {COMPILING} else int(row)]",
    ),
    Row(
        "C",
        "fill_of_anywhere",
        "what was made for the empty, or the sum",
        RESTRUCTURED,
        """
        fill = given + SETTINGS.lookup("empty") + slot.now() + EMPTY.get() + float(os.environ.get("EMPTY_ROWS", "0"))
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
    ),
    Row(
        "C",
        "fill_that_is_called",
        "what was made for the empty, or the sum",
        RESTRUCTURED,
        """
        fill = worth_of(self) + empty_of(Trainer) + float(self.how.partition(":")[2])
        fill = fill + (1.0 if "ones" in OPTIONS else 0.0)
        none = torch.full((), rows.shape[0] == 0)
        y = torch.where(none, x.new_full((4,), fill), rows.sum(0))
        """,
    ),
)
