"""Kernels under AddressSanitizer and UndefinedBehaviorSanitizer: what the door lets through reads and writes nothing
else than what it was given.

They are built with sanitizers in a copy of the package, and called by `kernels_called.py` with arguments of many sizes,
right ones and wrong ones. Skipped where the compiler has no sanitizers.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.kernels import loader
from pipeline.study.errors import PipelineError
from tests.helpers.engine import ROOT, copy_program, environment
from tools import build_kernels

CHECKED = "address,shift,signed-integer-overflow,integer-divide-by-zero,bounds,float-cast-overflow"
COMPILER = ["cc", "-DKERNEL=", f"-fsanitize={CHECKED}", "-fno-sanitize-recover=all"]
LITTLE_OPTIMISED = tuple("-O1" if flag == "-O3" else flag for flag in build_kernels.FLAGS)
PLANTED = """
#include "kernel.h"
KERNEL int beyond(int64_t n, double *x) { x[n] = 1; return 0; }
KERNEL int before(int64_t n, const int64_t *x, int64_t *y) { y[0] = x[n - 1 - n]; return 0; }
KERNEL int share(int64_t n, int64_t *y) { y[0] = 100 / n; return 0; }
KERNEL int double_of(int64_t n, int64_t *y) { y[0] = n + n; return 0; }
"""
DECLARED = {
    "beyond": "n: size\nx: out f8[n]",
    "before": "n: size\nx: i8[n]\ny: out i8[1]",
    "share": "n: size\ny: out i8[1]",
    "double_of": "n: size\ny: out i8[1]",
}
CALLED = """
import os
import sys
import numpy as np
from pipeline.kernels.loader import function
name, declaration, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
x = {"beyond": [np.zeros(n % 99)], "before": [np.zeros(n % 99, np.int64), np.zeros(1, np.int64)]}
function(os.path.abspath("planted.py"), name, declaration)(n, *x.get(name, [np.zeros(1, np.int64)]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the package, whose kernels are built with sanitizers, and with some faults that are planted."""
    folder = tmp_path_factory.mktemp("sanitized")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_kernels, "FLAGS", LITTLE_OPTIMISED)
        return built(folder)


def built(folder):
    (folder / "planted.c").write_text(PLANTED)
    try:
        build_kernels.build(folder / "planted.c", COMPILER, loader.library(folder / "planted.c"))
    except (PipelineError, FileNotFoundError) as error:
        pytest.skip(f"no compiler with sanitizers here: {str(error).splitlines()[-1]}")
    if not runtime().is_file():
        pytest.skip("the compiler does not say where the library of its sanitizer is")
    copy_program(folder, "*.so")
    for source in sorted((folder / "pipeline").rglob("*.c")):
        build_kernels.build(source, COMPILER, loader.library(source))
    return folder


def runtime():
    """The library of the sanitizer, which must be there before Python's memory is."""
    asked = ["cc", "-print-file-name=libasan.so"]
    return Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())


def run(site, *words):
    """Run Python in that folder under the sanitizers."""
    variables = environment(
        PYTHONPATH=str(site),
        LD_PRELOAD=str(runtime()),
        ASAN_OPTIONS="detect_leaks=0",
        UBSAN_OPTIONS="print_stacktrace=1",
    )
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=site, env=variables, capture_output=True, text=True
    )


def test_kernels_keep_to_what_they_are_given(site):
    done = run(site, ROOT / "tests/helpers/kernels_called.py", 1, 150)
    assert done.returncode == 0, done.stderr[:4000]
    calls = [line.split() for line in done.stdout.splitlines()]
    print(*calls, sep="\n")
    declared = sum(
        source.read_text().count("\nKERNEL int ") for source in (site / "pipeline").rglob("*.c")
    )
    assert len(calls) == declared and all(
        int(computed) > 40 < int(refused) + 20 for _, computed, refused in calls
    )


@pytest.mark.parametrize(
    "name, n, said",
    [
        ("beyond", 5, "heap-buffer-overflow"),
        ("before", 5, "heap-buffer-overflow"),
        ("share", 0, "division by zero"),
        ("double_of", 2**62, "signed integer overflow"),
    ],
)
def test_a_planted_fault_is_found(site, name, n, said):
    """The negative controls."""
    done = run(site, "-c", CALLED, name, DECLARED[name], n)
    assert done.returncode != 0 and said in done.stderr, done.stderr[:4000]


def test_what_is_right_is_not_found(site):
    done = run(site, "-c", CALLED, "share", DECLARED["share"], 7)
    assert done.returncode == 0, done.stderr[:4000]
