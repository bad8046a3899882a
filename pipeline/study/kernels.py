"""Compiled kernels: a C file beside the Python module that calls it, of the same name, built when it is installed.

`newton.py` calls functions of `newton.c`, which `build_kernels` makes `libnewton.so` beside them: a plain library,
called by ctypes, for any release of Python on this type of machine. Headers, such as `kernel.h` with what all share,
are in this folder. Numbers do not depend on the compiler or the processor: nothing is fused or reordered, and the order
of sums stands in the source.
"""

import ctypes
import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.study.errors import PipelineError

HEADERS = Path(__file__).parent
FLAGS = ("-std=gnu11", "-O3", "-fPIC", "-shared", "-s", "-ffp-contract=off", "-fno-math-errno",
         "-fno-trapping-math")
_ADVICE = "run `make setup`, or install the package again"
_NUMBERS: dict[str, Any] = {"i8": ctypes.c_int64, "f8": ctypes.c_double}
_loaded: dict[Path, str] = {}  # C files whose libraries this process has -> their digests


def library(source: Path) -> Path:
    """The library that a C file, or the Python module beside it, has."""
    return source.with_name(f"lib{source.stem}.so")


def digest(source: Path) -> str:
    """Digest, 16 hexadecimal digits, of a C file, of the headers that it includes, and of how they are compiled."""
    content = source.read_bytes()
    included = [(HEADERS / name.decode()).read_bytes() for name in re.findall(rb'^#include "(.+)"', content, re.M)]
    return hashlib.blake2b(b"".join([content, *included, " ".join(FLAGS).encode()]), digest_size=8).hexdigest()


def digest_of(module: Path) -> str:
    """`digest` of the C file beside a Python module, as this process loaded it if it did; empty if there is none."""
    source = module.with_suffix(".c")
    return _loaded.get(source) or (digest(source) if source.is_file() else "")


@cache
def library_digest(module: Path) -> str:
    """Digest, 8 hexadecimal digits, of the bytes of the library of a Python module; empty if it has none."""
    path = library(module)
    return hashlib.blake2b(path.read_bytes(), digest_size=4).hexdigest() if path.is_file() else ""


def function(module: str, name: str, arguments: str) -> Callable[..., None]:
    """A function of the library of a module, which is given as its __file__.

    arguments: a word for each, i8 or f8 for a number (int64_t, double), and with [] for an array of a NumPy type, such
    as f8[] or u1[]: C-contiguous, of which C gets the address. C returns 0, or 1 where memory ends. Other threads run
    meanwhile. Raises PipelineError if the library is missing, or not that of the C file beside it. The call raises
    TypeError for an array of another type, and MemoryError.
    """
    call, words = getattr(_opened(Path(module).with_suffix(".c")), name), arguments.split()
    call.argtypes = [ctypes.c_void_p if word.endswith("[]") else _NUMBERS[word] for word in words]

    def run(*values: Any) -> None:
        given = [_address(value, word[:-2], name) if word.endswith("[]") else value
                 for value, word in zip(values, words, strict=True)]
        if call(*given):
            raise MemoryError(f"{name}: no memory for its work arrays")

    return run


@cache
def _opened(source: Path) -> ctypes.CDLL:
    path = library(source)
    if not path.is_file():
        raise PipelineError(f"{source}: not compiled; {_ADVICE}")
    try:
        opened = ctypes.CDLL(str(path))
        built_from = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(opened, "kernel_digest"))).decode()
    except (OSError, ValueError) as error:
        raise PipelineError(f"{path}: cannot be loaded ({error}); {_ADVICE}") from None
    if built_from != digest(source):
        raise PipelineError(f"{source}: edited, or its header, since it was compiled; {_ADVICE}")
    _loaded[source] = built_from
    return opened


def _address(array: Any, kind: str, name: str) -> int:
    """Address of an array's numbers; TypeError unless it is one as C expects it."""
    dtype = getattr(array, "dtype", None)
    if dtype is None or dtype.str[1:] != kind or not (dtype.isnative and array.flags.c_contiguous):
        found = type(array).__name__ if dtype is None else f"{dtype} with strides {array.strides}"
        raise TypeError(f"{name}: an array must be {kind} and contiguous, this is {found}")
    address: int = array.ctypes.data
    return address
