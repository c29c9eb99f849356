"""The tracer's and the verifier's tests on other releases of torch: `nox`, or `nox -s "torch(2.11.0)"`. Not part of CI.

The oldest release that is supported, the one that CI pins, and the newest. What differs: docs/compatibility.md.
"""

from __future__ import annotations

import os

import nox

TESTS = ("-m", "pytest", "-m", "", "tests/trace", "tests/verify")
RELEASES = ("2.11.0", "2.13.0", "2.15.0")


@nox.session(python="3.11", name="torch")
@nox.parametrize("release", RELEASES, ids=RELEASES)
def torch(session: nox.Session, release: str) -> None:
    """Install one release and run the tests that depend on it."""
    session.install(f"torch=={release}", "-e", ".[trace,test]")
    session.run("python", *TESTS, *session.posargs, env={"OMP_NUM_THREADS": "1"})


@nox.session(venv_backend="none")
def interpreter(session: nox.Session) -> None:
    """The same in an environment that exists: `nox -s interpreter -- PYTHON [pytest's arguments]`."""
    python, *arguments = session.posargs
    environment = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()}
    session.run(python, *TESTS, *arguments, env=environment, external=True)
