"""The original against the rewritten program. Called, `ddelint.verify(paths, entry=…)` is `ddelint.api.verify`."""

import sys

from ddelint.callable_package import CallablePackage

sys.modules[__name__].__class__ = CallablePackage
