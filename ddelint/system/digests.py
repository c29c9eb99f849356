"""What stands for a content: 16 bytes of BLAKE2b."""

from __future__ import annotations

try:
    from _blake2 import blake2b  # hashlib gives the same one, and loads OpenSSL for it
except ImportError:
    from hashlib import blake2b

_SIZE = 16
"""Bytes."""


def digest_of(*parts: bytes) -> str:
    """What stands for these parts, one behind the other."""
    made = blake2b(digest_size=_SIZE)
    for part in parts:
        made.update(part)
    return made.hexdigest()
