"""What tests of GPU code wait for."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="waits for triton: pip install ddelint[gpu]")
