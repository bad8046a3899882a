"""The arithmetic of a process: versions of the libraries that compute, kernels of BLAS, features of the processor."""

import importlib
import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata

import numpy as np


@cache
def environment() -> dict[str, str]:
    """What, besides code, numbers may depend on: name -> version or kind."""
    import scipy.linalg  # loads its BLAS, so that the answer does not depend on what is imported already
    import threadpoolctl
    umath = importlib.import_module("numpy._core._multiarray_umath")  # holds what NumPy found

    blas = {f"{one['internal_api']} {one.get('version')} {one.get('architecture', '')}".strip()
            for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"}
    enabled = sorted(name for name, on in umath.__cpu_features__.items() if on)
    return {
        "python": ".".join(platform.python_version_tuple()[:2]), "numpy": np.__version__, "scipy": scipy.__version__,
        "machine": platform.machine(), "C library": _c_library(), "BLAS": ", ".join(sorted(blas)),
        "CPU features": " ".join(enabled),
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of packages, given by the names by which they are imported."""
    return {name: _version(name) for name in sorted(packages)}


@cache
def _version(name: str) -> str:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    distributions = metadata.packages_distributions().get(name, ())  # slow: reads what all packages bring
    return ", ".join(f"{one} {metadata.version(one)}" for one in sorted(set(distributions))) or "unknown"


def _c_library() -> str:
    """Name and version of the library that provides the elementary functions."""
    with suppress(AttributeError, ValueError, OSError):
        return os.confstr("CS_GNU_LIBC_VERSION") or platform.system()
    return f"{platform.system()} {platform.release()}"
