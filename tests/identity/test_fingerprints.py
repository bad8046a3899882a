"""Fingerprints: equal for the same code however it is written down, different where a number may change."""

import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from pipeline.identity import fingerprints
from pipeline.identity.fingerprints import (
    code_digest,
    fingerprint,
    modules,
    syntax_digest,
    third_parties,
)
from pipeline.kernels import loader
from pipeline.study.parameters import InvalidInput
from tests.helpers.engine import ROOT, copy_program, environment

PLAIN = '''
"""A module."""
from math import exp

class Part:
    """A part."""
    scale = 2.0

    def fit(self, values, *, power=1):
        """Fit."""
        total = sum(values)
        return {one: exp(-total) * self.scale for one in (1, 2) if one in {1, 2, 3}}, power
'''
SAME = {
    "comment": ("total = sum(values)", "# of all\n        total = sum(values)  # here"),
    "docstring": ('"""Fit."""', '"""Fit it,\n\n        in many words.\n        """'),
    "no docstring": ('"""Fit."""\n        total', "total"),
    "blank lines": ("    scale = 2.0", "\n\n\n    scale = 2.0"),
    "line breaks": ("total = sum(values)", "total = sum(\n            values,\n        )"),
    "parentheses": ("total = sum(values)", "total = (sum(values))"),
    "a number as another writes it": ("2.0", "2.00e0"),
}
OTHER = {
    "number": ("2.0", "2.1"),
    "type of a number": ("2.0", "2"),
    "function": ("exp(-", "abs(-"),
    "operator": ("exp(-total) *", "exp(-total) /"),
    "order": ("exp(-total) * self.scale", "self.scale * exp(-total)"),
    "default": ("power=1", "power=2"),
    "name of an argument": ("power", "degree"),
    "set": ("{1, 2, 3}", "{1, 2, 4}"),
    "attribute": ("scale", "size"),
    "class": ("Part", "Portion"),
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Function that writes modules into a folder that Python imports from, as if this process were new."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(files):
        for name, text in files.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text))
        forget()

    yield write
    forget()


def forget():
    for cached in (
        fingerprints._module,
        fingerprints._closure,
        fingerprints._file,
        fingerprints._is_persons,
        fingerprints._syntax,
    ):
        cached.cache_clear()


def part(module, name="Part"):
    return SimpleNamespace(__module__=module, __qualname__=name)


@pytest.mark.parametrize("before, after", SAME.values(), ids=SAME)
def test_another_way_to_write_it_is_the_same(before, after):
    for digest in (code_digest, syntax_digest):
        assert before in PLAIN and digest(PLAIN.replace(before, after)) == digest(PLAIN)


def test_a_local_name_does_not_count():
    renamed = PLAIN.replace("total", "whole").replace("one", "item")
    assert code_digest(renamed) == code_digest(PLAIN)


@pytest.mark.parametrize("before, after", OTHER.values(), ids=OTHER)
def test_another_code_is_another(before, after):
    for digest in (code_digest, syntax_digest):
        assert before in PLAIN and digest(PLAIN.replace(before, after)) != digest(PLAIN)


def test_what_is_imported_counts_and_nothing_else(write):
    files = {
        "own/__init__": "from .parts import Part",
        "own/unused": "A = 1",
        "beside_it": "def f(x): return x",
        "own/parts": "import numpy\nfrom . import rates\nclass Part: pass",
        "own/deep": "from beside_it import f",
        "own/rates": "def rate(x):\n    from own.deep import depth\n    return depth(x)",
    }
    write(files)
    before = fingerprint(part("own.parts"))
    assert set(modules([part("own.parts")])) == {
        "own",
        "own.parts",
        "own.rates",
        "own.deep",
        "beside_it",
    }
    assert third_parties([part("own.parts")]) == {"numpy"}
    for name in ("own/parts", "own/rates", "own/deep", "beside_it"):
        write({name: files[name] + "\nB = 1"})
        assert fingerprint(part("own.parts")) != before
        write({name: files[name] + "  # a comment"})
        assert fingerprint(part("own.parts")) == before
    write({"own/unused": "A = 2"})
    assert fingerprint(part("own.parts")) == before
    assert fingerprint(part("own.parts", "Other")) != before  # another part of the same module


def test_a_package_beside_counts(write):
    write({"alone": "import helpers.deep", "helpers/__init__": "", "helpers/deep": "A = 1"})
    before = fingerprint(part("alone"))
    write({"helpers/deep": "A = 2"})
    assert fingerprint(part("alone")) != before


def notebook(text):
    """What the cells of a notebook leave: the class Part."""
    names = {"__name__": "__main__"}
    exec(compile(text, "<cell>", "exec"), names)
    return names["Part"]


CELLS = """
from dataclasses import dataclass
import numpy as np
import pipeline as pl
factor, table = 2, np.arange(3)
def inner(x):
    return factor * x
def helper(x):
    "Twice."
    return inner(x) + table
class Base:
    def shared(self):
        return 1
@dataclass(frozen=True)
class Part(Base, pl.Checked):
    "A part."
    k: int = pl.parameter("people", default=1)
    def fit(self, release, rng):
        "An estimate."
        found = helper(release)  # by hand
        return pl.ranking.Debiased(m=3).fit(found)
"""


@pytest.mark.parametrize(
    "old, new, same",
    [
        ("# by hand", "# at once", True),
        ("An estimate.", "Another text.", True),
        ("Twice.", "Thrice.", True),
        ("found", "seen", True),
        ("helper(release)", "inner(release)", False),
        ("table = 2", "table = 3", False),
        ("arange(3)", "arange(4)", False),
        ("inner(x) + table", "inner(x) - table", False),
        ("return 1", "return 2", False),
        ("default=1", "default=2", False),
        ("factor * x", "factor + x", False),
        ("Debiased", "PlugIn", False),
    ],
)
def test_what_a_notebook_defines_counts_with_all_that_it_uses(old, new, same):
    assert old in CELLS
    one, other = fingerprint(notebook(CELLS)), fingerprint(notebook(CELLS.replace(old, new)))
    assert (one == other) == same and one == fingerprint(notebook(CELLS))


def test_names_of_the_library_count_as_the_code_that_they_stand_for():
    part = notebook(CELLS)
    assert {"pipeline.problems.ranking.estimators.moments", "pipeline.study.parameters"} <= modules(
        [part]
    ).keys()
    assert not any(
        name.startswith(("pipeline.cli", "pipeline.execution")) for name in modules([part])
    )
    assert "numpy" in third_parties([part])


def test_modules_of_one_name_do_not_hide_a_compiled_library(tmp_path, monkeypatch):
    """Names come in the order of their hashes, which differ from process to process; most namesakes have no library."""
    names = [f"folder_{number}" for number in range(12)]
    files = {name: tmp_path / name / "same.py" for name in names}
    for name in ("folder_3", "folder_7"):
        files[name].parent.mkdir()
        (files[name].parent / "libsame.so").write_bytes(name.encode())
    monkeypatch.setattr(fingerprints, "_file", lambda name: str(files[name]))
    digests = []
    for order in (names, names[::-1], names[4:] + names[:4]):
        monkeypatch.setattr(fingerprints, "_needed", lambda part, order=order: order)
        digests.append(fingerprints.kernel_libraries(["part"]))
    assert digests[0] == digests[1] == digests[2]
    expected = " ".join(loader.library_digest(files[name]) for name in ("folder_3", "folder_7"))
    assert digests[0] == {"libsame.so": expected}


def test_a_file_that_was_edited_after_its_import_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "edited_part.py"
    text = "class Part:\n    def fit(self):\n        return 1\n"
    path.write_text(text)
    part = __import__("edited_part").Part
    fingerprint(part)
    fingerprints._module.cache_clear()
    path.write_text("# a comment\n" + text)
    fingerprint(part)
    fingerprints._module.cache_clear()
    path.write_text(text.replace("1", "2"))
    with pytest.raises(
        InvalidInput,
        match="Part.fit was edited in edited_part.py after this process had imported it",
    ):
        fingerprint(part)
    fingerprints._module.cache_clear()


SCRIPT = """
import sys
for name in sys.argv[1:]:
    __import__(name)
from tests.helpers.engine import study
from pipeline.execution.runner import writer
print(writer(study(parameters=dict(model="btl", mechanism="randomized_response", draw="marginal"))).id)
"""


def test_they_depend_on_the_code_alone(tmp_path):
    """Not on the seed of hashes, the folder, what is imported already, or whether the program is installed."""
    site = tmp_path / "site-packages"
    copy_program(site)
    paths = {"": str(ROOT), "installed": f"{site}:{ROOT}"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *imported],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(PYTHONPATH=path, PYTHONHASHSEED=seed),
        )
        for path, seed, imported in [
            (paths[""], "1", []),
            (paths["installed"], "2", []),
            (paths[""], "3", ["scipy.stats", "xarray", "pipeline.problems.ranking.claims"]),
        ]
    ]
    marks = {process.communicate(timeout=100)[0] for process in processes}
    assert len(marks) == 1 and len(marks.pop().strip()) == 16


def test_threads_may_ask_at_once():
    """Python 3.11.7 fails where a thread parses while another one is interrupted in it, as by a callback of gc.

    Without a lock it fails in 8 questions of 8 threads already.
    """
    script = (
        "import gc, time\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "from pipeline.identity import fingerprints as f\n"
        "def ask(_):\n    f._module.cache_clear(), f._closure.cache_clear()\n    return f.fingerprint(f.Module)\n"
        "gc.callbacks.append(lambda *_: time.sleep(0))\ngc.set_threshold(200)\n"
        "with ThreadPoolExecutor(8) as threads:\n    print(len(set(threads.map(ask, range(16)))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True
    )
    assert done.stdout == "1\n", done.stderr
