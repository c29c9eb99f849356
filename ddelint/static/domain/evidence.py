"""What the text of a function says of its names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """Names by how sure their use makes it that they hold tensors."""

    parameters: frozenset[str] = frozenset()
    """Used like a tensor, before anything else is bound to the name."""
    surely: frozenset[str] = frozenset()
    """Used somewhere as nothing but a tensor of torch can be used (a NumPy array cannot)."""
    array_like: frozenset[str] = frozenset()
    """Used like a tensor or an array somewhere."""
