"""What a program put in place of the program's code is noticed, and nothing else is taken for that."""

import functools
import importlib
import pkgutil
import sys

import numpy as np
import pytest

import pipeline
from pipeline.cli import compose
from pipeline.execution import trials
from pipeline.identity import fingerprints, registry
from pipeline.identity.fingerprints import fingerprint
from pipeline.identity.patches import at_one_moment, patches
from pipeline.problems.common import pairwise_newton
from pipeline.problems.ranking.estimators import moments

MODULE = moments.__name__
CHANGING = {  # of a process, and in no fingerprint
    "pipeline.identity.fingerprints": {"STARTED"},
    "pipeline.storage.in_work": {"_ME"},
}


@pytest.fixture(autouse=True)
def only_the_program(monkeypatch):
    """As in a process that runs the program alone, whatever tests ran here before."""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", pytest.__file__, raising=False)
    with registry.registered(alone=True):
        yield


def test_nothing_of_the_program_counts_as_patched(monkeypatch):
    for module, name in ((trials, "_in_another_process"), (compose, "_hydra_composed")):
        remembering = getattr(module, name)  # see tests/conftest.py
        monkeypatch.setattr(module, name, remembering.__wrapped__)
    for module in pkgutil.walk_packages(pipeline.__path__, "pipeline."):
        if not module.name.rpartition(".")[2].startswith(("lib", "__main__")):
            importlib.import_module(module.name)
    names = [name for name in sys.modules if name.startswith("pipeline.")]
    found = {name: {*patches(name)} for name in names if patches(name)}
    assert found == CHANGING and len(names) > 300


def replaced(self, release, rng):
    """Another function."""
    return


@pytest.mark.parametrize(
    "where, name, value, named",
    [
        (moments.Debiased, "fit", replaced, "Debiased.fit"),
        (moments.Debiased, "fit", functools.cache(replaced), "Debiased.fit"),
        (moments.Debiased, "fit", moments.PlugIn.fit, "Debiased.fit"),
        (moments.Debiased, "lambda_scale", 2.0, "Debiased.lambda_scale"),
        (moments.Debiased, "by_replication", False, "Debiased.by_replication"),
        (moments.Debiased, "sent", 1, "Debiased.sent"),
        (moments, "ridge_of", lambda *given: 1.0, "ridge_of"),
        (moments, "minimise", replaced, "minimise"),
        (moments, "np", functools, "np"),
        (pairwise_newton, "WORST_CONDITION", 1.0, "WORST_CONDITION"),
    ],
)
def test_whatever_is_put_in_its_place_is_noticed(where, name, value, named, monkeypatch):
    module = pairwise_newton.__name__ if where is pairwise_newton else MODULE
    before = fingerprint(moments.Debiased)
    monkeypatch.setattr(where, name, value, raising=name != "sent")
    assert {*patches(module)} == {named}
    assert (
        fingerprint(moments.Debiased) == before
    )  # no other code than the program's and the tests' ran
    monkeypatch.setattr(fingerprints, "others_ran", lambda: True)
    assert fingerprint(moments.Debiased) != before
    assert f"{module}.{named}" in fingerprints.modules([moments.Debiased])
    monkeypatch.undo()
    monkeypatch.setattr(fingerprints, "others_ran", lambda: True)
    assert fingerprint(moments.Debiased) == before and patches(module) == {}


def test_defaults_and_what_closures_hold_count(monkeypatch):
    monkeypatch.setattr(moments.ridge_of, "__defaults__", (np.ones(2),))
    assert {*patches(MODULE)} == {"ridge_of"}
    monkeypatch.undo()
    assert patches(MODULE) == {}


def test_code_that_is_not_the_programs_is_known(monkeypatch, tmp_path):
    """A script, a notebook, or a package with a problem of its own may have changed what the program does."""
    main = sys.modules["__main__"]
    assert not fingerprints.others_ran()
    for file, other in (
        (str(tmp_path / "script.py"), True),
        (f"{sys.prefix}/bin/pipeline", False),
        (None, True),
    ):
        monkeypatch.setattr(main, "__file__", file, raising=False)
        assert fingerprints.others_ran() == other
    monkeypatch.undo()
    monkeypatch.setattr(fingerprints, "has_others", lambda: True)
    assert fingerprints.others_ran()


def test_at_one_moment_each_module_is_looked_at_once(monkeypatch):
    """Parts of a study share most modules; what is put in a place later shows at the next moment."""
    monkeypatch.setattr(fingerprints, "others_ran", lambda: True)
    before = fingerprint(moments.Debiased)
    with at_one_moment():
        assert fingerprint(moments.Debiased) == before
        monkeypatch.setattr(moments, "ridge_of", replaced)
        assert patches(MODULE) == {} and fingerprint(moments.Debiased) == before
    assert {*patches(MODULE)} == {"ridge_of"} and fingerprint(moments.Debiased) != before
