"""Claims on results that do not fit in memory are decided as those on the same results that do."""

import os

import pytest

from pipeline.analysis.claims import judge
from pipeline.identity.registry import problems
from pipeline.storage.results import in_chunks
from tests.helpers.ideal_clustering import ideal as blocks
from tests.helpers.ideal_crowd import IDEAL as CROWD
from tests.helpers.ideal_inference import IDEAL as INFERENCE
from tests.helpers.ideal_person import IDEAL as PERSON
from tests.helpers.ideal_ranking import ideal as ranking
from tests.helpers.ideal_response import IDEAL as RESPONSE

CLAIMS = {claim.id: claim for one in problems().values() for claim in one.load(one.claims)}
# Each way of measuring, and of making a control, once; all others with SIMULATIONS=full.
SOME = (
    "xu.lemma_1",
    "xu.lemma_3",
    "xu.theorem_1.tail",
    "xu.figure_4.kendall",
    "xu.same_ranking",
    "wang.basin.collapse",
    "nguyen.shuffling",
    "nguyen.price",
    "banerjee.theorem_7",
    "banerjee.coupons",
)
MORE = {"xu.theorem_1.tail": dict(reps=4000), "xu.same_ranking": dict(same_ranking=True)}
DATA = {
    "xu": lambda claim: ranking(claim.experiment, 0, **MORE.get(claim.id, {})),
    "banerjee": lambda claim: blocks(claim.experiment),
    "nguyen": lambda claim: RESPONSE[claim.experiment](),
    "wang": lambda claim: CROWD[claim.experiment](),
    "inference": lambda claim: INFERENCE[claim.experiment](),
    "person": lambda claim: PERSON[claim.experiment](claim.experiment),
    "central": lambda claim: PERSON[claim.experiment](claim.experiment),
}


def numbers(check):
    return (check.estimate.value, check.estimate.low, check.estimate.high) if check.estimate else ()


@pytest.mark.parametrize("name", [*CLAIMS] if os.environ.get("SIMULATIONS") == "full" else SOME)
def test_data_in_parts_decide_alike(name):
    """Crossings may jump where a curve meets its level exactly: those of ideal data do."""
    claim = CLAIMS[name]
    results = DATA[name.partition(".")[0]](claim)
    (first, levels), *_, (last, replications) = results["status"].sizes.items()
    parts = in_chunks(
        results, {**results.sizes, first: -(-levels // 2), last: -(-replications // 3)}
    )
    whole, apart = judge(claim, results), judge(claim, parts)
    assert parts.chunks and not results.chunks
    assert (whole.check.verdict, whole.control.verdict) == (
        apart.check.verdict,
        apart.control.verdict,
    )
    assert numbers(whole.check) == pytest.approx(numbers(apart.check), rel=0.01, abs=1e-9)
