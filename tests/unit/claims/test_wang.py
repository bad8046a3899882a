"""Claims of Wang and Xu on ideal data, wrong twins, too little data and real simulations."""

import pytest
from ideal_wang import IDEAL
from ideal_wang import real as recorded
from ideal_xu import CUTS, cut_down, real

from pipeline import compose
from pipeline.claims.claim import CONTRADICTED, INCONCLUSIVE, SUPPORTED, judge
from pipeline.claims.wang import CLAIMS
from pipeline.claims.wang_real import BLUEBIRD

NAMES = [claim.id for claim in CLAIMS]
ON_DATA = "wang/real"
LARGE = "wang/theorem_2"  # 20,000,000 answers a replication


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_ideal_data_support_and_the_twin_is_contradicted(claim):
    verdict = judge(claim, recorded(BLUEBIRD) if "bluebird" in claim.id else IDEAL[claim.experiment]())
    print(verdict.check.text, "| twin:", verdict.twin.text)
    assert verdict.check.verdict == SUPPORTED, verdict.check.text
    assert verdict.twin.verdict == CONTRADICTED, verdict.twin.text


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
@pytest.mark.parametrize("cut", CUTS)
def test_too_little_data_are_inconclusive(claim, cut):
    verdict = judge(claim, cut_down(IDEAL[claim.experiment](), cut))
    assert (verdict.check.verdict, verdict.twin.verdict) == (INCONCLUSIVE, INCONCLUSIVE) and verdict.check.text


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.experiment != LARGE],
                         ids=[claim.id for claim in CLAIMS if claim.experiment != LARGE])
def test_real_simulations_never_decide_against_the_claims(claim):
    verdict = judge(claim, real(claim.experiment, 100))
    print(verdict.check.text, "| twin:", verdict.twin.text)
    if claim.experiment == ON_DATA:
        assert verdict.check.verdict == INCONCLUSIVE and "data.path" in verdict.check.text
        return
    assert verdict.check.verdict in (SUPPORTED, INCONCLUSIVE), verdict.check.text
    assert verdict.twin.verdict in (CONTRADICTED, INCONCLUSIVE), verdict.twin.text


def test_claims_are_complete():
    assert len(set(NAMES)) == len(NAMES)
    suite = {raw["name"] for raw in compose.compose(["suite=wang"])}
    assert {claim.experiment for claim in CLAIMS} <= suite == {
        name for name in compose.options("experiment") if name.startswith("wang/")}
    for claim in CLAIMS:
        texts = [getattr(claim, f) for f in claim.__dataclass_fields__ if f not in ("check", "twin_data")]
        assert all(isinstance(text, str) and text.strip() for text in texts), claim.id
    for theorem in range(1, 5):
        assert any(name.startswith(f"wang.theorem_{theorem}") for name in NAMES)
