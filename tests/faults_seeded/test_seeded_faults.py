"""The seeded faults can still be applied: each old text stands in its file once, and what comes out compiles.

`make mutants` runs the tests that should see them.
"""

import subprocess

import pytest

from pipeline.study.build_kernels import compilers
from pipeline.study.kernels import HEADERS
from tests.faults_seeded.seeded import NEVER, Fault, faults, main
from tests.helpers.engine import ROOT

ALL = faults()


@pytest.mark.parametrize("file", sorted({fault.file for fault in ALL}))
def test_every_fault_applies_and_compiles(file):
    text = (ROOT / file).read_text("utf-8")
    for fault in ALL:
        if fault.file == file:
            if file.endswith(".py"):
                compile(fault.applied(text), file, "exec", dont_inherit=True)
            else:
                words = ["-fsyntax-only", f"-I{HEADERS}", "-include", "kernel.h", '-DKERNEL_DIGEST=""', "-Wno-psabi",
                         "-x", "c", "-"]
                subprocess.run([*next(compilers()), *words], input=fault.applied(text), text=True, check=True)


def test_tests_that_should_see_them_are_there():
    for name in {name for fault in ALL for name in fault.tests.split() if name.startswith("tests/")}:
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file() and (not test or f"def {test}(" in (ROOT / path).read_text("utf-8")), name


def test_there_are_many_and_none_twice():
    assert len(ALL) >= 150 and len({(one.file, one.old, one.new) for one in ALL}) == len(ALL)
    assert sum(one.kind == NEVER for one in ALL) >= 50


def test_a_text_that_is_not_there_once_is_refused():
    for old in ("nowhere", "a"):
        with pytest.raises(ValueError, match="must once"):
            Fault("kind", "file", old, "x", "tests").applied("a a")


def test_what_is_no_kind_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["seeded", "privat"])
    with pytest.raises(SystemExit):
        main()
    assert "kinds are" in capsys.readouterr().err
