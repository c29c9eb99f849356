"""The order of it all: what `check`, `verify` and `run` do, from the files to the report."""

from ddelint.pipeline.checking import run_check
from ddelint.pipeline.gathering import PipelineError
from ddelint.pipeline.scripts import run_script
from ddelint.pipeline.verifying import run_verify

__all__ = ["PipelineError", "run_check", "run_script", "run_verify"]
