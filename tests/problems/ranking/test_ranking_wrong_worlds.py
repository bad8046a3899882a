"""Wrong worlds of rankings: each does what it says, and a claim that reads it sees it."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from pipeline.analysis.claims import CONTRADICTED, NotSimulated, SimulatedControl
from pipeline.library.controls import judge_control
from pipeline.problems.ranking.claims import CLAIMS, controls
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.study.wrong_worlds import unchanged
from tests.helpers.checks import mean_agrees

BY_NAME = {claim.id: claim for claim in CLAIMS}
SMALL = dict(size="quick", replications=200, block=200, seed=11)
ONE_EACH = [  # of every world, but for films
    "xu.lemma_1",
    "xu.lemma_2.variance",
    "xu.lemma_3",
    "xu.table_1.log.l2",
    "xu.table_1.critical.l2",
    "xu.table_1.inverse_log.l2",
    "xu.theorem_3.rate",
    "xu.theorem_4",
    "xu.same_ranking",
    "xu.figure_6.laplace.l2",
    "xu.personal.gap",
    "xu.personal.theorem_6",
    "xu.personal.tails.ranking",
    "xu.personal.lemma_s6",
]


@pytest.mark.parametrize("name", ONE_EACH)
def test_a_claim_is_contradicted_in_its_wrong_world(name):
    claim = BY_NAME[name]
    found = judge_control(claim, **SMALL)
    print(f"{claim.simulated.description}: {found.text}")
    assert found.verdict == CONTRADICTED


@pytest.mark.parametrize("name", ["xu.lemma_1", "xu.theorem_4"])
def test_a_claim_is_not_contradicted_where_nothing_is_wrong(name):
    claim = dataclasses.replace(BY_NAME[name], simulated=SimulatedControl("nothing", unchanged))
    found = judge_control(claim, **SMALL)
    print(found.text)
    assert found.verdict != CONTRADICTED


def test_debiasing_helps_rankings_where_few_pairs_are_compared():
    claim = BY_NAME["xu.figure_6.classic.kendall"]
    found = judge_control(claim, size="quick", seed=11)
    print(found.text)
    assert found.verdict == claim.simulated.verdict == "supported"


@pytest.mark.parametrize("of_paper, most, most_reasons", [(True, 25, 8), (False, 13, 2)])
def test_worlds_are_shared(of_paper, most, most_reasons):
    """By the claims of the paper, and by those on promises to persons."""
    claims = [claim for claim in CLAIMS if not claim.id.startswith("inference.")]
    worlds = [claim.simulated for claim in claims if claim.id.startswith("xu.") == of_paper]
    simulated = {world for world in worlds if isinstance(world, SimulatedControl)}
    reasons = [world.reason for world in worlds if isinstance(world, NotSimulated)]
    assert worlds and all(worlds)
    assert len(simulated) <= most and len(reasons) <= most_reasons and all(reasons)


def wins(reps=4000, users=(300, 100), seed=3):
    """Wins of two groups over one pair, by their law, and chance of each."""
    chance = np.array([0.6, 0.7])
    drawn = np.random.default_rng(seed).binomial(users, chance, (reps, 2))[:, :, None]
    return FlippedWins(drawn, np.array(users), np.array([1.0, 2.0]), 2), chance[:, None]


@pytest.mark.parametrize("times", [2, 4])
def test_users_who_repeat_each_other_leave_means_and_multiply_variances(times):
    release, chance = wins()
    some = controls.counted(release, np.array([1 / times]), np.random.default_rng(4))
    size = release.users[:, None]
    variance = ((some.wins - size * chance) ** 2 / (size * chance * (1 - chance))).mean(axis=(1, 2))
    alone = ((release.wins - size * chance) ** 2 / (size * chance * (1 - chance))).mean(axis=(1, 2))
    assert mean_agrees(some.wins[:, 0, 0], 300 * 0.6, "wins")
    assert mean_agrees(variance, times, "variance, repeated")
    assert not mean_agrees(alone, times, "control: nobody repeats another")


def test_sizes_of_crowds_have_the_tail_that_is_said(monkeypatch):
    release, _ = wins(users=(100_000, 100_000))
    shares = []
    monkeypatch.setattr(controls, "counted", lambda release, share, rng: shares.append(share))
    controls._crowds(release, np.random.default_rng(5))
    size = 1 / shares[0]
    n, k = len(size), int((size >= 10).sum())
    expected = 10**-controls.TAIL
    bounds = stats.binom.ppf([5e-7, 1 - 5e-7], n, expected)
    print(
        f"crowds of 10 or more: n={n} statistic={k} bounds={bounds} alpha=1e-06; control: the cube's {n * 1e-3:g}"
    )
    assert bounds[0] <= k <= bounds[1] and n * 1e-3 < bounds[0]


def test_a_release_that_is_shrunk_has_no_noise():
    release, _ = wins()
    shrunk = controls._shrunk(release, np.random.default_rng(0))
    lean = release.wins - release.users[:, None] / 2
    assert np.allclose(
        shrunk.wins - release.users[:, None] / 2, lean * np.tanh(release.epsilon / 2)[:, None]
    )


def test_no_vector_exceeds_the_first_term_of_lemma_s8():
    """Where κ + 2 + 1/κ ≥ 2√(m − 1) no vector of sum 0 has an entry above it; a smaller κ is the control."""
    for m, kappa in ((5, 1.0), (20, 6.6), (20, 5.0)):
        worst = np.full(m, -1.0 / (m - 1))
        worst[0] = 1.0
        first_term = (kappa + 2 + 1 / kappa) / (2 * np.sqrt(m)) * np.linalg.norm(worst)
        assert (first_term >= 1 - 1e-12) == (kappa != 5.0)
