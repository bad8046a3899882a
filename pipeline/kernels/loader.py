"""Compiled kernels: a C file beside the Python module that calls it, of the same name, built when
it is installed.

`newton.py` calls functions of `newton.c`, which `build_kernels` makes `libnewton.so` beside them: a
plain library, called by ctypes, for any release of Python on this type of machine. Headers, such as
`kernel.h` with what all share, are in this folder. Numbers do not depend on the compiler or the
processor: nothing is fused or reordered, and the order of sums stands in the source.
"""

import ctypes
import hashlib
import re
import struct
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from pipeline.kernels.arguments import Declaration, check, read
from pipeline.kernels.fast_check import fast_check
from pipeline.study.errors import PipelineError
from pipeline.study.files import read_regular

HEADERS = Path(__file__).parent
FLAGS = (
    "-std=gnu11",
    "-O3",
    "-fPIC",
    "-shared",
    "-s",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
)
_ADVICE = "run `make setup`, or install the package again"
_TYPES: dict[str, Any] = {
    "size": ctypes.c_int64,
    "i8": ctypes.c_int64,
    "f8": ctypes.c_double,
    "generator": ctypes.c_int64,
}
# Of the head of a library: where its segments and sections are described, in how many bytes each,
# and how many.
ELF = struct.Struct("<32x2Q6x4H2x")
SEGMENT = struct.Struct("<8xQ16xQ16x")  # where it is in the file, and how long
_loaded: dict[Path, str] = {}  # C files whose libraries this process has -> their digests


def library(source: Path) -> Path:
    """The library that a C file, or the Python module beside it, has."""
    return source.with_name(f"lib{source.stem}.so")


def digest(source: Path) -> str:
    """Digest, 16 hexadecimal digits, of a C file, of the headers that it includes, and of how they
    are compiled.
    """
    content = read_regular(source)
    included = [
        read_regular(HEADERS / name.decode())
        for name in re.findall(rb'^#include "(.+)"', content, re.M)
    ]
    return hashlib.blake2b(
        b"".join([content, *included, " ".join(FLAGS).encode()]), digest_size=8
    ).hexdigest()


def digest_of(module: Path) -> str:
    """`digest` of the C file beside a Python module, as this process loaded it if it did.

    Empty if there is none.
    """
    source = module.with_suffix(".c")
    if source in _loaded:
        return _loaded[source]
    if not source.is_file():
        return ""
    return digest(source)


@cache
def library_digest(module: Path) -> str:
    """Digest, 8 hexadecimal digits, of the bytes of the library of a Python module.

    Empty if it has none.
    """
    path = library(module)
    if not path.is_file():
        return ""
    return hashlib.blake2b(read_regular(path), digest_size=4).hexdigest()


class Kernel:
    """A function of a library, and what it must be called with. Other threads run meanwhile.

    The call raises WrongArgument, and MemoryError where C says that memory ends.
    """

    def __init__(self, declaration: Declaration, call: Callable[..., int]):
        self.declaration = declaration
        self._call = call
        self._fast_check = fast_check(declaration)
        kinds = [argument.kind for argument in declaration.arguments]
        self._drawn_from = None
        if "generator" in kinds:
            self._drawn_from = kinds.index("generator")

    def __call__(self, *values: object) -> None:
        passed = self._passed(values)
        if self._drawn_from is None:
            failed = self._call(*passed)
        else:
            with cast(np.random.BitGenerator, values[self._drawn_from]).lock:
                failed = self._call(*passed)
        if failed:
            raise MemoryError(f"{self.declaration.kernel}: no memory for its work arrays")

    def _passed(self, values: tuple[Any, ...]) -> Sequence[Any]:
        """What C gets. Raises WrongArgument."""
        try:
            passed = self._fast_check(*values)
        except Exception:  # of a value that has nothing of what it must be
            passed = None
        if passed is None:
            return check(self.declaration, values)
        return passed


def function(module: str, name: str, declaration: str) -> Kernel:
    """A function of the library of a module, which is given as its __file__: the only door to
    compiled code.

    declaration: what each argument must be, as `kernel_arguments` says; of arrays C gets the
    address. C returns 0, or 1 where memory ends. Raises PipelineError if the library is missing,
    damaged, or not that of the C file beside it.
    """
    source = Path(module).with_suffix(".c")
    call = getattr(_opened(source), name, None)
    if call is None:
        raise PipelineError(f"{source}: has no function {name}; {_ADVICE}")
    declared = read(name, declaration)
    call.argtypes = [
        ctypes.c_void_p if argument.dtype else _TYPES[argument.kind]
        for argument in declared.arguments
    ]
    return Kernel(declared, call)


@cache
def _opened(source: Path) -> ctypes.CDLL:
    path = library(source)
    if not path.is_file():
        raise PipelineError(f"{source}: not compiled; {_ADVICE}")
    if not _is_whole(read_regular(path)):
        raise PipelineError(f"{path}: damaged, a part of it is missing; {_ADVICE}")
    try:
        opened = ctypes.CDLL(str(path))
        built_from = ctypes.string_at(
            ctypes.addressof(ctypes.c_char.in_dll(opened, "kernel_digest"))
        ).decode()
    except (OSError, ValueError) as error:
        raise PipelineError(f"{path}: cannot be loaded ({error}); {_ADVICE}") from None
    if built_from != digest(source):
        raise PipelineError(f"{source}: edited, or its header, since it was compiled; {_ADVICE}")
    _loaded[source] = built_from
    return opened


def _is_whole(library: bytes) -> bool:
    """Whether a library of Linux (ELF of 64 bits, least byte first) has all of its parts.

    True of others.

    One that was cut off would end the process as soon as something reads what is missing.
    """
    if len(library) < ELF.size:
        return False
    if not library.startswith(b"\x7fELF\x02\x01"):
        return True
    segments, sections, segment_size, segment_count, section_size, section_count = ELF.unpack_from(
        library
    )
    ends = [sections + section_size * section_count]
    for number in range(segment_count):
        at = segments + segment_size * number
        if at + SEGMENT.size > len(library):
            return False
        offset, length = SEGMENT.unpack_from(library, at)
        ends.append(offset + length)
    return bool(max(ends) <= len(library))
