"""The arithmetic of a process: versions of the libraries that compute, kernels of BLAS, features of
the processor.
"""

import importlib
import os
import platform
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

# In the names of files that may be a BLAS, which an extension module of Python is not.
BLAS_NAMES = re.compile("blas|blis|lapack|mkl|armpl|accelerate")
EXTENSION_MODULES = re.compile(r"\.(cpython-|abi3\.)")


@cache
def environment() -> dict[str, str]:
    """What, besides code, numbers may depend on: name -> version or kind."""
    # Loads its BLAS, so that the answer does not depend on what is imported already.
    import scipy.linalg

    umath = importlib.import_module("numpy._core._multiarray_umath")  # holds what NumPy found

    blas = {_blas_in_words(library) for library in _blas_libraries()}
    enabled = sorted(name for name, on in umath.__cpu_features__.items() if on)
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": platform.machine(),
        "C library": _c_library(),
        "BLAS": ", ".join(sorted(blas)),
        "CPU features": " ".join(enabled),
    }


def _blas_in_words(library: Mapping[str, Any]) -> str:
    """A BLAS by its name, version and kernels, such as `openblas 0.3.29 Haswell`."""
    words = f"{library['internal_api']} {library.get('version')} {library.get('architecture', '')}"
    return words.strip()


def _blas_libraries() -> list[dict[str, Any]]:
    """What threadpoolctl knows of each BLAS of this process.

    It resolves the path of every library that is loaded, folder by folder: a thousand requests to a
    file system. Here those are left out whose names cannot be a BLAS's.
    """
    import threadpoolctl

    class Controller(threadpoolctl.ThreadpoolController):  # type: ignore[misc]
        def _make_controller_from_path(self, filepath: str) -> None:
            name = os.path.basename(filepath)
            if BLAS_NAMES.search(name.lower()) and not EXTENSION_MODULES.search(name):
                super()._make_controller_from_path(filepath)

    return [library for library in Controller().info() if library["user_api"] == "blas"]


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of packages, given by the names by which they are imported."""
    return {name: _version(name) for name in sorted(packages)}


@cache
def _version(name: str) -> str:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    by_import = metadata.packages_distributions()  # slow: reads what all packages bring
    distributions = sorted(set(by_import.get(name, ())))
    if not distributions:
        return "unknown"
    return ", ".join(f"{package} {metadata.version(package)}" for package in distributions)


def _c_library() -> str:
    """Name and version of the library that provides the elementary functions."""
    with suppress(AttributeError, ValueError, OSError):
        return os.confstr("CS_GNU_LIBC_VERSION") or platform.system()
    return f"{platform.system()} {platform.release()}"
