"""Parts of one's own for tests: what ships, changed in one thing, in files and in the process of a test."""

import textwrap

import pytest

from pipeline.execution import trials
from pipeline.identity import registry

PRELUDE = """
from dataclasses import dataclass, replace
from typing import ClassVar
import numpy as np
import pipeline as pl
from pipeline.study.arrays import Floats
Preferences = pl.ranking.data.Preferences
"""
CONFIG = dict(
    name="wrong",
    problem="ranking",
    seed=1,
    replications=20,
    block=10,
    grid={"epsilon": [1.0]},
    parameters=dict(model="btl", mechanism="laplace", estimator="debiased", m=6, L=20),
    metrics=["error_l2"],
)

METHODS = {  # kind -> base class, arguments of the method that is replaced
    "model": ("pl.ranking.BTL", "truth(self, rng, reps, population)"),
    "mechanism": ("pl.ranking.Laplace", "release(self, data, rng)"),
    "estimator": ("pl.ranking.Debiased", "fit(self, release, rng)"),
    "metric": ("pl.ranking.metrics.error_l2", "__call__(self, truth, release, estimate)"),
}


def method(kind, body, signature=None, fields=""):
    """A part that does one thing otherwise than what ships."""
    base, usual = METHODS[kind]
    text = textwrap.indent(
        f"{fields}\ndef {signature or usual}:\n{textwrap.indent(body, '    ')}", "    "
    )
    return f"@dataclass(frozen=True)\nclass Mine({base}):\n{text}\n"


def changed(kind, fields):
    """A part with other attributes than what ships."""
    return f"@dataclass(frozen=True)\nclass Mine({METHODS[kind][0]}):\n{textwrap.indent(fields, '    ')}\n"


def fits(expression):
    """An estimator whose estimate is changed: `made` is what it would be."""
    return method("estimator", f"made = super().fit(release, rng)\nreturn {expression}")


def truths(expression):
    return method("model", f"made = super().truth(rng, reps, population)\nreturn {expression}")


def releases(expression):
    return method("mechanism", f"made = super().release(data, rng)\nreturn {expression}")


def values(expression, fields=""):
    return method(
        "metric",
        f"made = super().__call__(truth, release, estimate)\nreturn {expression}",
        fields=fields,
    )


REGISTER = 'pl.register("ranking", {kind}s={{"mine": Mine}})\n'


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Nothing that a test registers stays; a second process, tried elsewhere, would see nothing else here."""
    monkeypatch.setattr(trials, "_elsewhere", lambda trial: [])
    with registry.registered(alone=True):
        yield
