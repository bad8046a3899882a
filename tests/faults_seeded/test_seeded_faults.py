"""The seeded faults can still be applied: each pattern stands in its symbol once, and changes the program.

`make mutants` runs the tests that should see them.
"""

import ast
import doctest
import subprocess

import pytest

from pipeline.kernels.loader import HEADERS
from tests.faults_seeded import patterns, seeded
from tests.faults_seeded.patterns import NoPattern, replaced, replaced_text
from tests.faults_seeded.seeded import NEVER, Fault, faults, main
from tests.helpers.engine import ROOT
from tools.build_kernels import compilers

ALL = faults()
MODULE = """
import functools

LIMIT = f(2)  # of the module

class Share:
    limit: int = 3

    @functools.cache
    def of(self, n):
        "Share of n, as \u00bd."
        def inner(k):
            return (k +  # half
                    1)
        while inner(n) > LIMIT:
            n -= 1
            yield n * sum(x for x in n)
        if n: return f"{n + 1}"
        elif LIMIT:
            n += f(2)
        return f(2)
"""


@pytest.mark.parametrize("file", sorted({fault.file for fault in ALL}))
def test_every_fault_applies_and_is_another_program(file):
    text = (ROOT / file).read_text("utf-8")
    for fault in ALL:
        if fault.file != file:
            continue
        if file.endswith(".py"):
            assert _tree(fault.applied(text)) != _tree(text), fault
        else:
            assert "".join(fault.applied(text).split()) != "".join(text.split()), fault
            words = [
                "-fsyntax-only",
                f"-I{HEADERS}",
                "-include",
                "kernel.h",
                '-DKERNEL_DIGEST=""',
                "-Wno-psabi",
                "-x",
                "c",
                "-",
            ]
            subprocess.run(
                [*next(compilers()), *words], input=fault.applied(text), text=True, check=True
            )


@pytest.mark.parametrize(
    "file", sorted({fault.file for fault in ALL if fault.file.endswith(".py")})[::8]
)
def test_formatting_breaks_none(file):
    """Python's own writer of trees is a formatter that keeps neither comments nor quotes nor line breaks."""
    text = (ROOT / file).read_text("utf-8")
    formatted = ast.unparse(ast.parse(text))
    assert formatted != text
    for fault in ALL:
        if fault.file == file:
            assert _tree(fault.applied(formatted)) == _tree(fault.applied(text)), fault


def _tree(text):
    """What a module does, however it is written."""
    return ast.dump(ast.parse(text))


@pytest.mark.parametrize(
    "symbol, pattern, by, line",
    [
        ("", "f(2)", "f(3)", "LIMIT = (f(3))  # of the module"),
        ("", "LIMIT = f( 2 )", "LIMIT = 3", "LIMIT = 3  # of the module"),
        ("Share", "limit: int = 3", "limit: int = 4", "    limit: int = 4"),
        ("Share.of", "k + 1", "k - 1", "            return ((k - 1))"),
        ("Share.of", "sum(x for x in n)", "0", "            yield n * (0)"),
        ("Share.of", "x for x in n", "", None),
        ("Share.of", "n -= 1\nyield n * sum(x for x in n)", "n -= 2\nbreak", "            n -= 2"),
        (
            "Share.of",
            "while inner(n) > LIMIT: ...",
            "if inner(n) > LIMIT: ...",
            "        if inner(n) > LIMIT:",
        ),
        ("Share.of", "if n: ...", "if not n: ...", '        if not n: return f"{n + 1}"'),
        ("Share.of", "if LIMIT: ...", "if True: ...", "        elif True:"),
        ("Share.of", "def of(self, n): ...", "def of(self, n=1): ...", "    def of(self, n=1):"),
        ("Share.of", "f(2)", "f(3)", None),
        (
            "Share.of",
            "n + 1",
            "n",
            None,
        ),  # inside of a text, whose parts have no place before Python 3.12
        ("Share", "k + 1", "k", None),
        ("Share.at", "k + 1", "k", None),
        ("Share.of.inner", "k + 1", "k", None),
    ],
    ids=str,
)
def test_a_pattern_is_found_in_its_symbol(symbol, pattern, by, line):
    """Once, or it is refused; and only its own lines change."""
    if line is None:
        with pytest.raises(NoPattern):
            replaced(MODULE, symbol, pattern, by)
        return
    lines = replaced(MODULE, symbol, pattern, by).splitlines()
    assert line in lines and line not in MODULE.splitlines()
    ast.parse("\n".join(lines))


def test_one_of_several_is_meant_by_its_number():
    second = replaced(MODULE, "Share.of", "f(2)", "f(3)", 2)
    assert second.endswith("return (f(3))\n") and "n += f(2)" in second
    for number in (0, 3):
        with pytest.raises(NoPattern, match=f"2 times, so there is no number {number}"):
            replaced(MODULE, "Share.of", "f(2)", "f(3)", number)


def test_in_other_languages_spaces_do_not_count():
    assert replaced_text("y = a\n  * b;", "a * b", "a / b") == "y = a / b;"
    for source in ("y = a + b;", "a*b; a * b;"):
        with pytest.raises(NoPattern, match="must once"):
            replaced_text(source, "a * b", "a / b")


def test_examples_of_patterns_run():
    failed, tried = doctest.testmod(patterns)
    assert failed == 0 and tried >= 2


def test_tests_that_should_see_them_are_there():
    for name in {
        name for fault in ALL for name in fault.tests.split() if name.startswith("tests/")
    }:
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file() and (
            not test or f"def {test}(" in (ROOT / path).read_text("utf-8")
        ), name


def test_there_are_many_and_none_twice():
    assert len(ALL) >= 150 and len({fault[1:5] + fault[6:] for fault in ALL}) == len(ALL)
    assert sum(fault.kind == NEVER for fault in ALL) >= 50


def test_a_pattern_that_is_not_there_once_is_refused():
    fault = Fault("kind", "file.py", "", "a", "x", "tests")
    for source in ("b = 1", "a = a"):
        with pytest.raises(
            ValueError, match="must once; bring tests/faults_seeded/kind.toml up to date"
        ):
            fault.applied(source)


def test_a_key_that_means_nothing_is_refused():
    entry = {"in": "", "replace": "a", "by": "b", "nth": 2}
    with pytest.raises(ValueError, match="nth means nothing"):
        seeded._fault("kind", "file.py", "tests", entry)


def test_what_is_no_kind_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["seeded", "privat"])
    with pytest.raises(SystemExit):
        main()
    assert "kinds are" in capsys.readouterr().err
