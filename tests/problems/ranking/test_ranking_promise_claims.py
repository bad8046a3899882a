"""Claims on a person's budget: ideal data, negative controls, wrong worlds, too little data."""

import pytest

from pipeline.analysis.claims import (
    CONTRADICTED,
    INCONCLUSIVE,
    NOT_TESTED,
    SUPPORTED,
    SimulatedControl,
    judge,
)
from pipeline.cli import compose
from pipeline.library.controls import judge_control
from pipeline.problems.ranking.claims import CLAIMS
from tests.helpers.ideal_person import IDEAL
from tests.helpers.ideal_ranking import CUTS, cut_down, real

PROMISES = [claim for claim in CLAIMS if claim.id.startswith(("person.", "central."))]
NAMES = [claim.id for claim in PROMISES]
# What is simulated here, in a second or two each: what is nobody else's.
WORLDS = ("person.ranking.best", "central.ranking.bound.zcdp", "central.ranking.protected.pure")
SIMULATED = (
    "person.ranking.boundary.all",
    "central.ranking.more",
    "central.ranking.fewer",
    "central.ranking.bound.pure",
    "central.ranking.bound.order",
)


def by_name(name):
    return next(claim for claim in PROMISES if claim.id == name)


def test_the_suite_decides_every_claim():
    suite = {raw["name"] for raw in compose.compose(["suite=person"])}
    assert {claim.experiment for claim in PROMISES} == {*IDEAL}
    assert {*IDEAL} <= suite


@pytest.mark.parametrize("claim", PROMISES, ids=NAMES)
def test_ideal_data_support_and_the_negative_control_is_rejected(claim):
    judgement = judge(claim, IDEAL[claim.experiment](claim.experiment))
    print(judgement.check.text, "| control:", judgement.control.text)
    assert judgement.check.verdict == claim.best, judgement.check.text
    assert judgement.control.verdict == CONTRADICTED, judgement.control.text


@pytest.mark.parametrize("claim", PROMISES, ids=NAMES)
@pytest.mark.parametrize("cut", CUTS)
def test_too_little_data_decide_nothing(claim, cut):
    judgement = judge(claim, cut_down(IDEAL[claim.experiment](claim.experiment), cut))
    verdict = NOT_TESTED if cut == "no metric" else INCONCLUSIVE
    assert judgement.check.verdict == judgement.control.verdict == verdict
    assert judgement.check.text


@pytest.mark.parametrize("name", SIMULATED)
def test_a_small_simulation_supports(name):
    claim = by_name(name)
    reps = 1000 if claim.experiment == "central/ranking_surveys" else 150
    judgement = judge(claim, real(claim.experiment, reps))
    print(judgement.check.text)
    assert judgement.check.verdict == SUPPORTED, judgement.check.text
    assert judgement.control.verdict == CONTRADICTED, judgement.control.text


@pytest.mark.parametrize("name", WORLDS)
def test_a_claim_is_contradicted_in_its_wrong_world(name):
    claim = by_name(name)
    assert isinstance(claim.simulated, SimulatedControl)
    check = judge_control(claim, size="quick", replications=300, block=300, seed=11)
    print(f"{claim.simulated.description}: {check.text}")
    assert check.verdict == CONTRADICTED
