"""Exact tails of two items, Hoeffding's exponent for any number, and the lemmas of the proofs, each done again."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from pipeline.problems.ranking.estimators.moments import Debiased, PreferenceEstimate
from pipeline.problems.ranking.mechanisms import RandomizedResponse
from pipeline.problems.ranking.metrics import proof_lemmas
from pipeline.problems.ranking.model import BTL
from pipeline.problems.ranking.theory import tails
from pipeline.study.parameters import InvalidInput


def debiased(answer, epsilon):
    """Eq. (1), literally."""
    return ((math.exp(epsilon) + 1) * answer - 1) / (math.exp(epsilon) - 1)


def released(gap, epsilon):
    """P(ỹ = 1) of randomized response on a comparison with P(y = 1) = σ(gap)."""
    flip = 1 / (1 + math.exp(epsilon))
    return expit(gap) * (1 - flip) + (1 - expit(gap)) * flip


@pytest.mark.parametrize("users", [(7,), (4, 3), (6, 1)])
@pytest.mark.parametrize("gap, level", [(0.4, 0.5), (1.5, 0.1), (-0.3, 1.2), (0.2, -9.0), (0.2, 9.0)])
def test_the_law_of_the_mean_by_enumeration(users, gap, level):
    budgets = [epsilon for n, epsilon in zip(users, (0.7, 2.0), strict=False) for _ in range(n)]
    total = 0.0
    for answers in itertools.product((0, 1), repeat=len(budgets)):
        chances = [released(gap, e) if y else 1 - released(gap, e) for y, e in zip(answers, budgets, strict=True)]
        mean = np.mean([debiased(y, e) for y, e in zip(answers, budgets, strict=True)])
        total += math.prod(chances) * (mean <= level + 1e-12)
    found = tails.surprisal_below(level, gap, np.array((0.7, 2.0))[: len(users)], np.array(users))
    assert math.exp(-found) == pytest.approx(total, rel=1e-9, abs=1e-300)


def test_three_groups_are_refused():
    with pytest.raises(InvalidInput, match="two"):
        tails.surprisal_below(0.5, 0.1, np.ones(3), np.ones(3, int))


def test_tails_are_those_of_the_estimator():
    """Simulated errors, excess risks and inversions of two items; with larger budgets they are others."""
    from pipeline.problems.ranking.theory.ordering import excess_risk

    n, L, epsilon, gap = 40_000, 120, 0.8, 0.6
    model = BTL(m=2, L=L, theta="spaced", spacing=gap)
    mechanism = RandomizedResponse(m=2, L=L, epsilon=epsilon, profile="0.5:1,0.5:3", draw="marginal")
    truth = model.truth(np.random.default_rng(1), n, np.random.default_rng(0))
    release = mechanism.release(model.simulate(truth, np.random.default_rng(2)), np.random.default_rng(3))
    estimate = Debiased(m=2).fit(release, np.random.default_rng(4))
    error = np.abs(estimate.theta - truth.theta).max(axis=1)
    events = {
        "inversion": (((estimate.theta * truth.theta)[:, 0] <= 1e-12), tails.inversion_surprisal, ()),
        "error": (error >= 0.3, tails.error_surprisal, (0.3,)),
        "excess": (excess_risk(estimate.theta, truth.theta) >= 0.02, tails.excess_surprisal, (0.02,))}
    for name, (happened, surprisal, first) in events.items():
        ridge = () if name == "inversion" else (estimate.ridge,)
        right, wrong = (math.exp(-surprisal(*first, gap, *ridge, scale * release.epsilon, release.users))
                        for scale in (1, 1.15))
        pvalue, other = (stats.binomtest(int(happened.sum()), n, chance).pvalue for chance in (right, wrong))
        print(f"{name}: n={n} statistic={happened.mean():.4f} bound={right:.4f} p={pvalue:.2g} alpha=1e-06")
        assert pvalue > 1e-6 > other


def test_hoeffdings_exponent_bounds_every_pair():
    """Two to four items, by enumeration of all releases; five times the exponent is too much."""
    worst = 0.0
    cases = [(2, 1.5, (8.0,) * 10), *itertools.product((3, 4), (0.3, 1.5), ((0.5, 3.0), (8.0, 8.0)))]
    for m, spacing, budgets in cases:
        theta = -spacing * np.arange(m)
        pairs = list(itertools.combinations(range(m), 2))
        laws = []
        for i, j in pairs:  # law of the sum over users of one pair
            values = np.zeros(1), np.ones(1)
            for e in budgets:
                p = released(theta[i] - theta[j], e)
                values = (np.add.outer(values[0], [debiased(1, e), debiased(0, e)]).ravel(),
                          np.multiply.outer(values[1], [p, 1 - p]).ravel())
            laws.append(values)
        gain = np.mean([1 / math.tanh(e / 2) ** 2 for e in budgets])
        kappa = math.exp(spacing * (m - 1))
        for i in range(m - 1):
            difference, chance = np.zeros(1), np.ones(1)
            for (a, b), (z, p) in zip(pairs, laws, strict=True):
                weight = ((a == i) - (b == i)) - ((a == i + 1) - (b == i + 1))
                if weight:
                    difference = np.add.outer(difference, weight * z).ravel()
                    chance = np.multiply.outer(chance, p).ravel()
            constant = sum(len(budgets) * ((b == i + 1) - (b == i)) for _, b in pairs)  # second: 1 − z
            inverted = chance[difference - constant <= 1e-9].sum()
            exponent = tails.ordering_exponent(m * len(budgets) * spacing**2 / gain, kappa)
            assert inverted <= math.exp(-exponent)
            worst = max(worst, inverted * math.exp(5 * exponent))
    assert worst > 1  # negative control


def trial(m=4, L=50, seed=1, reps=3):
    model = BTL(m=m, L=L)
    truth = model.truth(np.random.default_rng(seed), reps, np.random.default_rng(0))
    mechanism = RandomizedResponse(m=m, L=L, epsilon=0.6, profile="0.5:1,0.5:4", draw="marginal")
    release = mechanism.release(model.simulate(truth, np.random.default_rng(seed + 1)), np.random.default_rng(seed + 2))
    return truth, release, Debiased(m=m).fit(release, np.random.default_rng(0))


def test_lemma_s5_by_its_sum_of_projections():
    truth, release, estimate = trial()
    found = proof_lemmas.HessianRatio()(truth, release, estimate)
    for theta, ratio in zip(estimate.theta, found, strict=True):
        hessian, rows = 2 * estimate.ridge * np.eye(4), np.zeros(4)
        for i, j in itertools.combinations(range(4), 2):
            step = np.eye(4)[i] - np.eye(4)[j]
            weight = np.exp(theta[i] + theta[j]) / (np.exp(theta[i]) + np.exp(theta[j])) ** 2
            hessian += weight * np.outer(step, step)
            rows[[i, j]] += weight
        own = np.linalg.eigvalsh(hessian)
        assert ratio == pytest.approx(max(2 * estimate.ridge / own[0], own[-1] / (2 * (estimate.ridge + rows.max()))))


def test_lemma_s6_by_enumeration():
    """Mean and variance of the loss over both releases of a comparison, for every pair and budget."""
    truth, release, estimate = trial()
    found = proof_lemmas.VarianceRatio()(truth, release, estimate)
    for theta, fit, ratio in zip(truth.theta, estimate.theta, found, strict=True):
        worst = 0.0
        for (i, j), e in itertools.product(itertools.combinations(range(4), 2), release.epsilon):
            p, loss = released(theta[i] - theta[j], e), []
            for answer in (1, 0):
                z = debiased(answer, e)
                one, other = (z * (x[j] - x[i]) + math.log1p(math.exp(x[i] - x[j])) for x in (fit, theta))
                loss.append(one - other)
            mean = p * loss[0] + (1 - p) * loss[1]
            variance = p * (1 - p) * (loss[0] - loss[1]) ** 2
            worst = max(worst, variance / (8 * (1 + math.exp(np.ptp(theta))) * mean / math.tanh(e / 2) ** 2))
        assert ratio == pytest.approx(worst, rel=1e-6)


def test_lemma_s6_fails_far_outside_the_range_of_the_truth():
    """Equal items and an estimate 40 logits apart: the divergence grows like the gap, the variance like its square."""
    truth, release, _ = trial(m=2, reps=1)
    truth = type(truth)(np.zeros((1, 2)))
    for gap, holds in ((20.0, True), (40.0, False)):
        far = PreferenceEstimate(np.array([[gap / 2, -gap / 2]]), np.ones(1, bool), 1.0)
        assert (proof_lemmas.VarianceRatio()(truth, release, far)[0] <= 1) == holds


def test_lemma_s7s_bound_is_above_the_process_on_the_whole_shell():
    from pipeline.problems.ranking.theory.ordering import excess_risk

    truth, release, estimate = trial(reps=1)
    delta = proof_lemmas._excess(truth, release)[0]
    found = proof_lemmas.SupremumRatio()(truth, release, estimate)[0] * delta / 2
    noise = release.debiased_mean()[0] - expit([truth.theta[0, i] - truth.theta[0, j]
                                                for i, j in itertools.combinations(range(4), 2)])
    rng, highest = np.random.default_rng(0), 0.0
    for point in truth.theta[0] + rng.normal(0, 1.5, (20_000, 4)):
        point = point - point.mean()
        inside = np.ptp(point) <= np.ptp(truth.theta[0])
        if inside and delta <= excess_risk(point[None], truth.theta)[0] <= 2 * delta:
            away = [(point[i] - point[j]) - (truth.theta[0, i] - truth.theta[0, j])
                    for i, j in itertools.combinations(range(4), 2)]
            highest = max(highest, float(noise @ away) / 16)
    assert 0 <= highest <= found
