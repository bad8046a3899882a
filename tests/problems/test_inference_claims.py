"""Claims on intervals: ideal data, negative controls, too little data, and a small simulation."""

import pytest

from pipeline.analysis.claims import CONTRADICTED, INCONCLUSIVE, NOT_TESTED, SUPPORTED, judge
from pipeline.cli import compose
from pipeline.identity.registry import problems
from tests.helpers.ideal_inference import IDEAL
from tests.helpers.ideal_ranking import CUTS, cut_down, real

ALL = [claim for problem in problems().values() for claim in problem.load(problem.claims)]
CLAIMS = [claim for claim in ALL if claim.id.startswith("inference.")]
NAMES = [claim.id for claim in CLAIMS]


def test_the_suite_decides_every_claim():
    suite = {raw["name"] for raw in compose.compose(["suite=inference"])}
    assert {claim.experiment for claim in CLAIMS} == suite == {*IDEAL}
    for claim in CLAIMS:
        texts = (claim.statement, claim.source, claim.why, claim.conditions, claim.estimand)
        assert all(text.strip() for text in texts), claim.id


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_ideal_data_support_and_the_negative_control_is_rejected(claim):
    judgement = judge(claim, IDEAL[claim.experiment]())
    print(judgement.check.text, "| control:", judgement.control.text)
    assert judgement.check.verdict == SUPPORTED, judgement.check.text
    assert judgement.control.verdict == CONTRADICTED, judgement.control.text


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
@pytest.mark.parametrize("cut", CUTS)
def test_too_little_data_decide_nothing(claim, cut):
    judgement = judge(claim, cut_down(IDEAL[claim.experiment](), cut))
    verdict = NOT_TESTED if cut == "no metric" else INCONCLUSIVE
    assert judgement.check.verdict == judgement.control.verdict == verdict


@pytest.mark.parametrize(
    "name", ["inference.ranking.ignoring", "inference.response.flips.ignoring"]
)
def test_a_small_simulation_supports(name):
    """Those that ignore the mechanism are so wrong that few replications show it."""
    claim = next(claim for claim in CLAIMS if claim.id == name)
    judgement = judge(claim, real(claim.experiment, 100))
    assert judgement.check.verdict == SUPPORTED, judgement.check.text
