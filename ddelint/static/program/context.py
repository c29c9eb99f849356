"""What a file learns from others. A file that stands alone needs no more than this."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ddelint.static.domain.values import Value


class Returns(Protocol):
    """Who knows what functions of other files return."""

    def returned(
        self, importer: str, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call
    ) -> Value:
        """What the call `name(…)` in the file `importer` gives."""
        ...

    def kinds(self, importer: str, name: str) -> tuple[bool, bool]:
        """Whether the call `name(…)` in the file `importer` may give what depends on data; and at least a tensor."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """What a file learns from the others."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    """Imported name → what it is outside of the project: `nz` → `torch.nonzero`, through however many files."""
    modules: Mapping[str, bool] = field(default_factory=dict)
    """Name of an imported base class → whether it is an nn.Module."""
    tensors: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Name of an imported base class → the attributes that its constructors make buffers or parameters."""
    roots: frozenset[str] = frozenset()
    """Functions (`fn`, `Class.method`) that are compiled because of what stands in other files."""
    training: frozenset[str] = frozenset()
    """Entries of its classes (`Class.forward`) that always train something, by what they call."""
    sources: tuple[str, ...] = ()
    """Calls of functions of other files that may return what depends on data, each with its parenthesis."""
    tensor_sources: tuple[str, ...] = ()
    """Those that return tensors, of which nothing says more: whether they are tested decides."""
    unvalidated: bool = False
    """Whether a package around the file switches off what else asks whether arguments fit."""
    elsewhere: Returns | None = None

    @property
    def inherited_tensors(self) -> frozenset[str]:
        """All attributes that are tensors because of some class of another file."""
        return frozenset().union(*self.tensors.values())
