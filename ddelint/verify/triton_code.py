"""Inductor's Triton kernels assembled for a GPU that is not there."""

from __future__ import annotations

import contextlib
import os
import re
import struct
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ddelint.knowledge.gpus import Gpu
from ddelint.trace import gpu_internals

_ACCESS = re.compile(r"(?:ld|st)\.global[\w.:]{0,60}?(?:\.v(\d))?\.[bfus](\d+)")


@dataclass
class Assembled:
    """What the assembler made of one kernel."""

    name: str
    error: str = ""
    registers: int = 0
    spilled: int = 0
    """Bytes of local memory for each thread."""
    shared: int = 0
    warps: int = 0
    size: int = 0
    vector: int = 0
    """The widest access to global memory, in bits."""


def assemble(name: str, autotuner: Any, gpu: Gpu) -> Assembled:
    """The kernel compiled to machine code for `gpu`, by the first of Inductor's configurations that goes through."""
    failed = ""
    for configuration in autotuner.configs:
        found = _assembled(name, autotuner, configuration, gpu)
        if not found.error:
            return found
        failed = failed or found.error
    return Assembled(name, error=failed or "Inductor has no configuration for it")


def _assembled(name: str, autotuner: Any, configuration: Any, gpu: Gpu) -> Assembled:
    import triton

    said: list[str] = []
    try:
        meta = autotuner._create_compile_meta(configuration)
        options = autotuner._create_compile_options(configuration, meta)
        source = gpu_internals.source_of(autotuner.fn, meta["signature"], meta["constants"], meta["configs"][0])
        with warnings.catch_warnings(), _errors_of_the_compiler(said):
            warnings.simplefilter("ignore")
            made = triton.compile(source, target=gpu_internals.target_of(gpu), options=options)
    except Exception as error:
        return Assembled(name, error=_first_line(error, said))
    machine = made.asm["cubin"]
    registers, local = resources(machine)
    found = Assembled(
        name,
        registers=registers,
        spilled=local,
        shared=int(made.metadata.shared),
        warps=int(made.metadata.num_warps),
        size=len(machine),
        vector=_widest(str(made.asm.get("ptx", ""))),
    )
    if found.shared > gpu.shared_per_block:
        found.error = f"needs {found.shared} bytes of shared memory, a block of {gpu.name} has {gpu.shared_per_block}"
    elif found.registers * found.warps * gpu_internals.WARP > gpu.registers:
        found.error = f"needs {found.registers} registers in {found.warps} warps, {gpu.name} has {gpu.registers}"
    return found


@contextlib.contextmanager
def _errors_of_the_compiler(said: list[str]) -> Iterator[None]:
    """Takes the lines with errors that the compiler writes to standard error: what it raises may not say why."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as written:
        before = os.dup(2)
        os.dup2(written.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            written.seek(0)
            lines = written.read().decode("utf-8", "replace").splitlines()
            said += [line.partition("error: ")[2] for line in lines if "error: " in line]


def _first_line(error: BaseException, said: Sequence[str]) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reported = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    return f"{type(error).__name__}: {said[0] if said else reported}"[:200]


def resources(machine: bytes) -> tuple[int, int]:
    """Registers and bytes of local memory per thread, as the machine code (ELF) says.

    They stand in the attributes EIATTR_REGCOUNT (0x2f) and EIATTR_FRAME_SIZE (0x11) of the section `.nv.info`; older
    machine code has the number of registers in the upper byte of a text section's `sh_info`, too. A test holds both
    against `cuobjdump -res-usage`.
    """
    if machine[:4] != b"\x7fELF":
        return 0, 0
    offset, size, count, names = (
        *struct.unpack_from("<Q", machine, 0x28),
        *struct.unpack_from("<HHH", machine, 0x3A),
    )
    headers = [struct.unpack_from("<IIQQQQIIQQ", machine, offset + number * size) for number in range(count)]
    table = headers[names][4]

    def name(header: tuple[int, ...]) -> str:
        start = table + header[0]
        return machine[start : machine.index(b"\0", start)].decode("ascii", "replace")

    registers = local = 0
    for header in headers:
        if name(header).startswith(".text."):
            registers = max(registers, header[7] >> 24)
        elif name(header) == ".nv.info":
            at, end = header[4], header[4] + header[5]
            while at + 4 <= end:
                form, kind, length = struct.unpack_from("<BBH", machine, at)
                at += 4
                if form == 4:
                    if kind in (0x11, 0x2F) and length >= 8:
                        value = struct.unpack_from("<I", machine, at + 4)[0]
                        registers, local = (
                            (registers, max(local, value)) if kind == 0x11 else (max(registers, value), local)
                        )
                    at += length
    return registers, local


def _widest(ptx: str) -> int:
    widths = [int(number or 1) * int(bits) for number, bits in _ACCESS.findall(ptx)]
    return max(widths, default=0)
