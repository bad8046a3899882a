"""Where numbers come out differently a person reads what differs, of which kind it is, and what to do: no digest."""

import re

import pytest

from pipeline.execution.refusal import kinds, refusal
from pipeline.storage import agreement
from pipeline.storage.agreement import Writer
from pipeline.storage.replications import Store
from tests.helpers.engine import study

CODE = {"estimator debiased": "aaaaaaaaaaaaaaaa", "metric kendall": "bbbbbbbbbbbbbbbb"}
AROUND = {
    "numpy": "2.3.1",
    "BLAS": "openblas 0.3.30 SkylakeX",
    "CPU features": "AVX AVX2 AVX512F",
    "librisk.so": "cccccccc",
    "parts.py reads scale.txt": "dddddddddddddddd",
}
MODULES = {
    "pipeline.problems.ranking.estimators.moments": "e" * 32,
    "pipeline.study.study": "f" * 32,
}
BEFORE = Writer(CODE, AROUND, MODULES)


def after(code=(), around=(), modules=()):
    return Writer(CODE | dict(code), AROUND | dict(around), MODULES | dict(modules))


CASES = {
    "code": (
        after(
            {"estimator debiased": "0" * 16},
            (),
            {"pipeline.problems.ranking.estimators.moments": "0" * 32},
        ),
        "code differs: estimator debiased in pipeline.problems.ranking.estimators.moments; take the code that",
    ),
    "file": (
        after((), {"parts.py reads scale.txt": "0" * 16}),
        "code differs: parts.py reads scale.txt; take the",
    ),
    "version": (
        after((), {"numpy": "2.4.6"}),
        "package versions differ: numpy 2.3.1 → 2.4.6; install the versions",
    ),
    "arithmetic": (
        after((), {"BLAS": "openblas 0.3.30 Haswell", "CPU features": "AVX AVX2"}),
        "arithmetic differs: BLAS openblas 0.3.30 SkylakeX → openblas 0.3.30 Haswell, CPU features "
        "−AVX512F; use machines of the kind",
    ),
    "kernel": (after((), {"librisk.so": "00000000"}), "kernels differ: librisk.so; compile again"),
    "nothing": (
        after(),
        "code, package versions and arithmetic are the same: a part may not be deterministic",
    ),
}


@pytest.fixture
def store(tmp_path):
    store = Store(study(), tmp_path)
    store.begin()
    return store


@pytest.mark.parametrize("writer, said", CASES.values(), ids=CASES)
def test_the_refusal_says_what_differs_and_what_to_do(writer, said, store):
    agreement.record(store, BEFORE)
    line = str(refusal(store, writer, ["kendall of m=3, block 0", "error_l2 of m=3, block 0"]))
    assert f": kendall of m=3, block 0, and 1 more; {said}" in line, line
    assert (
        line.endswith("or mix the two with accept_code=yes")
        and "outputs=…" in line
        and "\n" not in line
    )
    assert not re.search(r"\b[0-9a-f]{8,}\b", line.replace(str(store.folder), ""))


def test_without_a_record_that_is_said(store):
    line = str(refusal(store, BEFORE, ["kendall of block 0"]))
    assert "no record is left of what computed the stored numbers" in line


def test_several_kinds_are_told_apart():
    both = kinds(BEFORE, after({"metric kendall": "0" * 16}, {"numpy": "2.4.6", "scipy": "1.17"}))
    assert both == {
        "code": "metric kendall",
        "package versions": "numpy 2.3.1 → 2.4.6, scipy none → 1.17",
    }
