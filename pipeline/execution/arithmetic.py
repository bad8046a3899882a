"""One arithmetic: instructions that every machine of a kind has, chosen before NumPy is loaded.

OpenBLAS and NumPy pick code by the processor, and this rounds differently: a study that was begun
on a machine with AVX-512 could not go on on one with AVX2. Without NumPy, which must not be loaded
before `pin` is called.
"""

import importlib.util
import os
import platform
import re
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from pipeline.study import proc

SETTING = "PIPELINE_ARITHMETIC"  # environment variable of a person
FREE = "free"  # its value for what fits the processor best
KERNELS = "OPENBLAS_CORETYPE"  # environment variable that OpenBLAS reads when it is loaded
# The same of NumPy: features of the processor that it is to do without.
FEATURES = "NPY_DISABLE_CPU_FEATURES"
BASELINE = "Haswell"  # of x86-64 with AVX2, which nearly all machines since 2013 have
# Features of NumPy's beyond those of the baseline, from version 2.4 on.
BEYOND = "X86_V4 AVX512_ICL AVX512_SPR"
# The same before that.
BEYOND_BEFORE = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
NEEDED = {"avx2", "fma"}
# In NumPy's version.py.
VERSION = re.compile(r"""^(?:short_)?version\s*=\s*["'](\d+)\.(\d+)""", re.MULTILINE)


def pin(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let OpenBLAS and NumPy use the baseline's code in this process and in those that it starts.

    Does nothing where a person chose kernels, or where the processor lacks what the baseline
    needs. Where NumPy is loaded already, workers are left as free as this process is, so that both
    compute the same numbers.

    >>> variables = {"PIPELINE_ARITHMETIC": "free"}
    >>> pin(variables)
    >>> variables
    {'PIPELINE_ARITHMETIC': 'free'}
    """
    # A parent process may have pinned it already.
    if environment.get(SETTING) == FREE or KERNELS in environment:
        return
    if "numpy" in sys.modules:
        environment[SETTING] = FREE
        return
    if not has_baseline():
        return
    environment[KERNELS] = BASELINE
    environment.setdefault(FEATURES, _beyond())


def chosen(environment: Mapping[str, str]) -> dict[str, str]:
    """What of an environment decides on kernels, for processes that must compute the same numbers.

    >>> chosen({"OPENBLAS_CORETYPE": "Haswell", "HOME": "/home/me"})
    {'OPENBLAS_CORETYPE': 'Haswell'}
    """
    return {name: environment[name] for name in (SETTING, KERNELS, FEATURES) if name in environment}


def _beyond() -> str:
    """Features that the installed NumPy is to do without.

    It disables none where it does not know one of them.
    """
    if _version_of_numpy() >= (2, 4):
        return BEYOND
    return BEYOND_BEFORE


def _version_of_numpy() -> tuple[int, int]:
    """Major and minor version of the installed NumPy, which is not loaded.

    It is read from NumPy's own file with two requests to the file system; reading what an
    installer wrote takes some 500.
    """
    spec = importlib.util.find_spec("numpy")
    if spec is not None and spec.origin:
        match = _version_in(Path(spec.origin).with_name("version.py"))
        if match:
            return int(match[1]), int(match[2])
    from importlib.metadata import version

    major, minor = map(int, version("numpy").split(".")[:2])
    return major, minor


def _version_in(file: Path) -> re.Match[str] | None:
    try:
        return VERSION.search(file.read_text("utf-8"))
    except OSError:
        return None


def has_baseline() -> bool:
    """Whether this machine's processor runs the baseline's kernels."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    try:
        with proc.PROCESSORS.open(encoding="ascii", errors="replace") as lines:
            features = next((line for line in lines if line.startswith("flags")), "")
    except OSError:
        return False
    return set(features.split()) >= NEEDED
