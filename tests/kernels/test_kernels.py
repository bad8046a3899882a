"""Compiled kernels: the same bits of every compiler and register width, functions within their
bounds, clear refusals.
"""

import shutil
import subprocess
import sys
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from pipeline.identity.fingerprints import _module, _syntax
from pipeline.kernels import loader
from pipeline.study.errors import PipelineError
from tests.helpers.engine import ROOT, copy_program, environment
from tools import build_kernels

SOURCES = sorted((ROOT / "pipeline").rglob("*.c"))
FUNCTIONS = """
#include "kernel.h"
#define EACH(name, f) KERNEL int name(int64_t n, const double *x, double *y) { \\
    for (int64_t i = 0; i < n; i += LANES) store(y + i, f(load(x + i))); \
    return 0; }
EACH(exponentials, exponential)
EACH(logarithms, logarithm)
EACH(logarithms_1p, logarithm_1p)
EACH(roots, root)
KERNEL int fail(double x) { return x > 0; }
"""
OF_ARRAYS = """
    n: size
    x: f8[n]
    y: out f8[n]
"""
PLAIN = "-DKERNEL="  # one version, of the width that is asked for
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wno-psabi")  # warnings change no code
SHIPPED = "as installed"


def versions():
    """Every compiler that is here but the first one, and with the first one the narrowest and the
    widest registers that this processor has. What the first one makes of the sources as they are
    was compiled before the tests: it uses AVX2 where the processor has it.
    """
    first, *others = build_kernels.compilers()
    flags = Path("/proc/cpuinfo").read_text()
    narrow = [*first, PLAIN]
    wide = [[*narrow, f"-m{name}"] for name in ("avx512f",) if f" {name} " in flags]
    return [*others, narrow, *wide]


class Versions:
    """The package once for every version, whose kernels that version compiled.

    complaints: source -> what the compilers said where it is not compiled without a warning.
    """

    def __init__(self, folder):
        self.complaints = {}
        self.digests = {SHIPPED: kernel_values(ROOT)}
        for number, compiler in enumerate(versions()):
            site = folder / str(number)
            copy_program(site)
            for source in SOURCES:
                self.compile(source, compiler, site / loader.library(source).relative_to(ROOT))
            self.digests[" ".join(compiler)] = kernel_values(site)
        for source in SOURCES:
            self.read(source, next(build_kernels.compilers()))

    def read(self, source, compiler):
        """Let a compiler look at a source as it ships, of which it makes nothing."""
        define = '-DKERNEL_DIGEST=""'
        command = [*compiler, *loader.FLAGS, *STRICT, "-fsyntax-only", f"-I{loader.HEADERS}"]
        done = subprocess.run(
            [*command, define, source.name], cwd=source.parent, capture_output=True, text=True
        )
        if done.returncode:
            self.complaints[source] = done.stderr

    def compile(self, source, compiler, target):
        try:
            build_kernels.build(source, [*compiler, *STRICT], target)
        except PipelineError as error:
            self.complaints[source] = str(error)
            build_kernels.build(source, compiler, target)


def kernel_values(site):
    """Kernel -> digest of what its functions give, with the libraries of that site."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests/helpers/kernel_values.py"],
        text=True,
        capture_output=True,
        env=environment(PYTHONPATH=str(site)),
    )
    assert done.returncode == 0, done.stderr
    package, *lines = done.stdout.splitlines()
    assert package.startswith(str(site))
    return dict(line.split() for line in lines)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return Versions(tmp_path_factory.mktemp("versions"))


@pytest.fixture
def functions(tmp_path):
    """The path of a module whose kernel is `FUNCTIONS`."""
    (tmp_path / "functions.c").write_text(FUNCTIONS)
    build_kernels.build_all(tmp_path)
    return str(tmp_path / "functions.py")


def units_off(name, module, exact, x):
    """Greatest error of a function in units in the last place."""
    found = np.empty_like(x)
    loader.function(module, name, OF_ARRAYS)(len(x), x, found)
    with localcontext(prec=60):
        true = [exact(Decimal(float(one))) for one in x]
        return max(
            abs(float((Decimal(float(got)) - one) / Decimal(float(np.spacing(abs(float(one)))))))
            for got, one in zip(found, true, strict=True)
        )


def test_functions_are_exact_within_their_bounds(functions):
    rng = np.random.default_rng(1)
    wide, near = rng.uniform(-708, 708, 4000), rng.uniform(-1, 1, 4000)
    sizes = np.exp(rng.uniform(-700, 700, 4000))
    off = {
        "exp": max(
            units_off("exponentials", functions, Decimal.exp, one)
            for one in (wide, near, near * 1e-9)
        ),
        "log": max(
            units_off("logarithms", functions, Decimal.ln, one) for one in (sizes, 1 + near / 2)
        ),
        "log1p": max(
            units_off(
                "logarithms_1p", functions, lambda x: (1 + x).ln() if abs(x) > 1e-20 else x, one
            )
            for one in (sizes, near * 0.9999, near * 1e-9)
        ),
        "root": units_off("roots", functions, Decimal.sqrt, sizes),
    }
    print(off)
    assert off["exp"] <= 1 and off["log"] <= 1 and off["log1p"] <= 2 and off["root"] <= 0.5
    wrong = Decimal(2) ** -51  # the negative control
    assert units_off("exponentials", functions, lambda x: x.exp() * (1 + wrong), wide) > 1


def test_ends_of_functions(functions):
    x, y = np.array([np.nan, 1e9, -1e9, np.inf, -np.inf, 0, 708, -708]), np.empty(8)
    loader.function(functions, "exponentials", OF_ARRAYS)(8, x, y)
    top, bottom = y[6], y[7]
    assert np.isnan(y[0]) and y[1:].tolist() == [top, bottom, top, bottom, 1, top, bottom]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_compiler_and_width_gives_the_same_bits(source, compiled):
    """Digests of what its functions give, in a process each."""
    digests = {version: values[source.stem] for version, values in compiled.digests.items()}
    print(digests)
    assert SHIPPED in digests and len(digests) >= 2 and len(set(digests.values())) == 1


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_no_compiler_warns(source, compiled):
    assert source not in compiled.complaints, compiled.complaints[source]


def test_a_compiler_that_warns_is_noticed(tmp_path):
    """The negative control."""
    source = tmp_path / "warned.c"
    source.write_text(FUNCTIONS + "static int unused(void) { return 0; }\n")
    with pytest.raises(PipelineError, match="unused"):
        build_kernels.build(source, [*next(build_kernels.compilers()), *STRICT], tmp_path / "x.so")


def test_memory_that_ends_is_an_error(functions):
    with pytest.raises(MemoryError, match="fail"):
        loader.function(functions, "fail", "x: f8")(1.0)
    loader.function(functions, "fail", "x: f8")(-1.0)
    with pytest.raises(PipelineError, match="functions.c: has no function cube; run `make setup`"):
        loader.function(functions, "cube", OF_ARRAYS)


def test_a_kernel_that_is_not_that_of_its_source_is_refused(tmp_path, functions, monkeypatch):
    compiler = next(build_kernels.compilers())
    edited, missing, damaged = (tmp_path / f"{name}.c" for name in ("edited", "missing", "damaged"))
    for source in (edited, missing, damaged):
        source.write_text(FUNCTIONS)
    build_kernels.build_all(tmp_path)
    edited.write_text(FUNCTIONS + "\n")
    loader.library(missing).unlink()
    whole = loader.library(damaged).read_bytes()
    loader.library(damaged).write_bytes(b"no library" * 10)
    for path, why in (
        (edited, "edited, or its header, since"),
        (missing, "not compiled"),
        (loader.library(damaged), "cannot be loaded"),
    ):
        with pytest.raises(PipelineError, match=f"{path}: {why}.*; run `make setup`"):
            loader.function(str(path.with_name(path.stem.removeprefix("lib"))), "roots", OF_ARRAYS)
    for length in (
        0,
        10,
        100,
        len(whole) // 2,
        len(whole) - 1,
    ):  # the process would end where such a one is read
        loader.library(damaged).write_bytes(whole[:length])
        with pytest.raises(
            PipelineError, match="libdamaged.so: damaged, a part of it is missing; run `make setup`"
        ):
            loader.function(str(tmp_path / "damaged.py"), "roots", OF_ARRAYS)
    build_kernels.build_all(tmp_path)
    again = tmp_path / "again.c"  # a process keeps what it has opened
    shutil.copy(edited, again), shutil.copy(loader.library(edited), loader.library(again))
    loader.function(str(again), "roots", OF_ARRAYS)
    monkeypatch.setattr(build_kernels, "compilers", lambda: iter(()))
    loader.library(edited).unlink()
    with pytest.raises(PipelineError, match="edited.c: no C compiler; install"):
        build_kernels.build_all(tmp_path)
    broken = tmp_path / "broken.c"
    broken.write_text("int f(void) { return g; }")
    with pytest.raises(PipelineError, match="(?s)broken.c: .* cannot compile it.*g"):
        build_kernels.build(broken, compiler, loader.library(broken))
    assert not loader.library(broken).exists() and not list(tmp_path.glob(".build*"))


def test_an_edited_kernel_changes_fingerprints(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "survey_kernel.py").write_text("x = 1\n")
    source, seen = tmp_path / "survey_kernel.c", []
    for text in (None, FUNCTIONS, FUNCTIONS.replace("x > 0", "x > 1")):
        if text:
            source.write_text(text)
        _module.cache_clear(), _syntax.cache_clear()
        seen.append((_module("survey_kernel").digest, _syntax("survey_kernel")))
    assert len({a for a, _ in seen}) == len({b for _, b in seen}) == 3


def test_a_header_counts_for_what_includes_it(tmp_path, monkeypatch):
    for name in ("kernel.h", "random.h"):
        shutil.copy(loader.HEADERS / name, tmp_path)
    monkeypatch.setattr(loader, "HEADERS", tmp_path)
    with_it, without = (
        ROOT / "pipeline/problems/ranking/sampling/binomial.c",
        ROOT / "pipeline/problems/common/stationary.c",
    )
    before = loader.digest(with_it), loader.digest(without)
    with open(tmp_path / "random.h", "a") as header:
        header.write("/* more */\n")
    assert loader.digest(with_it) != before[0] and loader.digest(without) == before[1]
