"""Somebody else's error text or log, reported as diagnostics. Runs in the parent: no torch, and nothing is executed.

Called, `ddelint.explain(error)` is `ddelint.api.explain`.
"""

import sys

from ddelint.callable_package import CallablePackage

sys.modules[__name__].__class__ = CallablePackage
