"""What a name says of the tensor that it holds."""

from __future__ import annotations

from ddelint.knowledge.operators import operators


def named_a_mask(name: str) -> bool:
    """Whether a name says that its tensor is a mask: `mask`, `node_mask`, `flags`, `mask_2`; not `mask_indices`."""
    words = [word for word in name.lower().split("_") if word and not word.isdigit()]
    return bool(words) and words[-1] in operators().regions["mask_words"]
