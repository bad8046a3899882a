"""Mechanisms that are known to be wrong are found, and their right forms are not."""

import dataclasses

import numpy as np
import pytest

import pipeline as pl
from pipeline.auditing.audit import Case, Options, audit
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair
from pipeline.auditing.subject import Subject
from tests.helpers.audited import EPSILON, KNOWN, randomized_response

FEW = 30_000  # samples that a right form gets here; benchmarks/audits.py gives it a million


@pytest.mark.parametrize(
    "known", KNOWN, ids=lambda known: f"{known.mechanism.__name__}-{dict(known.promise)}"
)
def test_wrong_ones_are_found_and_right_ones_are_not(known):
    samples = FEW if known.right else known.samples
    audited = pl.audit(
        known.mechanism, known.pair, samples=samples, repeats=0, **dict(known.promise)
    )
    print(audited)
    assert audited.violates != known.right
    assert audited.exact or audited.confidence == 0.999


def test_false_alarms_are_as_rare_as_the_confidence_says():
    """40 audits of a mechanism that spends all of its budget, each at 99 %, by samples alone.

    In this process, as a process for each costs more than its audit.
    """

    def sampled(bits, samples):
        return randomized_response(bits, samples, np.random.default_rng())

    def alarms(epsilon):
        case = Case(Subject.of(sampled), Promise(epsilon), [Pair("one bit", [0], [1])])
        few = Options(samples=1_000, repeats=0, confidence=0.99)
        audits = [audit(case, dataclasses.replace(few, seed=seed)) for seed in range(40)]
        assert all(audited.level == "samples" for audited in audits)
        return sum(audited.violates for audited in audits)

    false_alarms = alarms(EPSILON)
    print(f"n=40 false alarms={false_alarms} bound=7, P(more) < 1e-6 at 1 %")
    assert false_alarms <= 7
    assert alarms(0.4 * EPSILON) > 7  # the control
