"""Exact tails of two items, Hoeffding's exponent for any number, and the lemmas of the proofs, each done again."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, logsumexp

from pipeline.problems.common.recovery import kendall
from pipeline.problems.ranking.estimators.moments import (
    Debiased,
    PlugIn,
    PreferenceEstimate,
    Weighted,
)
from pipeline.problems.ranking.estimators.newton import minimise
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.metrics import proof_lemmas
from pipeline.problems.ranking.metrics import tails as tail_metrics
from pipeline.problems.ranking.metrics.ordering import kendall_predicted
from pipeline.problems.ranking.model import BTL, Preferences
from pipeline.problems.ranking.releases import FlippedWins
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
@pytest.mark.parametrize(
    "gap, level", [(0.4, 0.5), (1.5, 0.1), (-0.3, 1.2), (0.2, -9.0), (0.2, 9.0)]
)
def test_the_law_of_the_mean_by_enumeration(users, gap, level):
    budgets = [epsilon for n, epsilon in zip(users, (0.7, 2.0), strict=False) for _ in range(n)]
    total = 0.0
    for answers in itertools.product((0, 1), repeat=len(budgets)):
        chances = [
            released(gap, e) if y else 1 - released(gap, e)
            for y, e in zip(answers, budgets, strict=True)
        ]
        mean = np.mean([debiased(y, e) for y, e in zip(answers, budgets, strict=True)])
        total += math.prod(chances) * (mean <= level + 1e-12)
    found = tails.surprisal_below(level, gap, np.array((0.7, 2.0))[: len(users)], np.array(users))
    assert math.exp(-found) == pytest.approx(total, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("users", [7, 10, 30, 41])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 1.7])
def test_a_level_that_is_reached_exactly_counts(users, epsilon):
    """Every value that the mean of one budget takes, as a level: the law of the number of wins, by SciPy."""
    for wins in range(users):
        level = 0.5 + (wins - users / 2) / users / math.tanh(epsilon / 2)
        found = tails.surprisal_below(level, 0.4, np.array([epsilon]), np.array([users]))
        assert found == pytest.approx(
            -stats.binom.logcdf(wins, users, released(0.4, epsilon)), rel=1e-9, abs=1e-12
        )


@pytest.mark.parametrize("budgets, users", [((1.0,), (10_000,)), ((10.42, 0.01042), (9_999, 1))])
def test_theorems_1_and_2_at_their_largest_ridge(budgets, users):
    """λ = mG log(mL)/(L‖θ*‖²), with the constants of xu.personal.tails; control: a hundred times that."""
    L, epsilon, users = sum(users), np.array(budgets), np.array(users)
    gain = float((users / np.tanh(epsilon / 2) ** 2).sum() / L)
    for gap in (0.02, 0.1, 0.3, 1.0, 3.0):
        kappa, log = math.exp(gap), math.log(2 * L)
        largest, least = 2 * gain * log / (L * gap**2 / 2), kappa * gain * log / (2 * L)
        promised = 4 * L * least / (4 * (1 + kappa) * max(gain, 1 / math.tanh(epsilon.min() / 2)))
        radius = 4 * kappa * math.sqrt(gain * log / (2 * L))
        assert tails.error_surprisal(radius, gap, largest, epsilon, users) >= math.log(L**2)
        assert tails.excess_surprisal(least, gap, largest, epsilon, users) >= promised
        if gap == 1:
            assert (
                tails.excess_surprisal(least, gap, 100 * largest, epsilon, users) < 0.01 * promised
            )


def test_three_groups_are_refused():
    with pytest.raises(InvalidInput, match="two"):
        tails.surprisal_below(0.5, 0.1, np.ones(3), np.ones(3, int))


def test_tails_are_those_of_the_estimator():
    """Simulated errors, excess risks and inversions of two items; with larger budgets they are others."""
    from pipeline.problems.ranking.theory.ordering import excess_risk

    n, L, epsilon, gap = 40_000, 120, 0.8, 0.6
    model = BTL(m=2, L=L, theta="spaced", spacing=gap)
    mechanism = RandomizedResponse(
        m=2, L=L, epsilon=epsilon, profile="0.5:1,0.5:3", draw="marginal"
    )
    truth = model.truth(np.random.default_rng(1), n, np.random.default_rng(0))
    release = mechanism.release(
        model.simulate(truth, np.random.default_rng(2)), np.random.default_rng(3)
    )
    estimate = Debiased(m=2).fit(release, np.random.default_rng(4))
    error = np.abs(estimate.theta - truth.theta).max(axis=1)
    events = {
        "inversion": (
            ((estimate.theta * truth.theta)[:, 0] <= 1e-12),
            tails.inversion_surprisal,
            (),
        ),
        "error": (error >= 0.3, tails.error_surprisal, (0.3,)),
        "excess": (
            excess_risk(estimate.theta, truth.theta) >= 0.02,
            tails.excess_surprisal,
            (0.02,),
        ),
    }
    for name, (happened, surprisal, first) in events.items():
        ridge = () if name == "inversion" else (estimate.ridge,)
        right, wrong = (
            math.exp(-surprisal(*first, gap, *ridge, scale * release.epsilon, release.users))
            for scale in (1, 1.15)
        )
        pvalue, other = (
            stats.binomtest(int(happened.sum()), n, chance).pvalue for chance in (right, wrong)
        )
        print(
            f"{name}: n={n} statistic={happened.mean():.4f} bound={right:.4f} p={pvalue:.2g} alpha=1e-06"
        )
        assert pvalue > 1e-6 > other


def test_hoeffdings_exponent_bounds_every_pair():
    """Two to four items, by enumeration of all releases; five times the exponent is too much."""
    worst = 0.0
    cases = [
        (2, 1.5, (8.0,) * 10),
        *itertools.product((3, 4), (0.3, 1.5), ((0.5, 3.0), (8.0, 8.0))),
    ]
    for m, spacing, budgets in cases:
        theta = -spacing * np.arange(m)
        pairs = list(itertools.combinations(range(m), 2))
        laws = []
        for i, j in pairs:  # law of the sum over users of one pair
            values = np.zeros(1), np.ones(1)
            for e in budgets:
                p = released(theta[i] - theta[j], e)
                values = (
                    np.add.outer(values[0], [debiased(1, e), debiased(0, e)]).ravel(),
                    np.multiply.outer(values[1], [p, 1 - p]).ravel(),
                )
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
            constant = sum(
                len(budgets) * ((b == i + 1) - (b == i)) for _, b in pairs
            )  # second: 1 − z
            inverted = chance[difference - constant <= 1e-9].sum()
            exponent = tails.ordering_exponent(m * len(budgets) * spacing**2 / gain, kappa)
            assert inverted <= math.exp(-exponent)
            worst = max(worst, inverted * math.exp(5 * exponent))
    assert worst > 1  # negative control


@pytest.mark.parametrize(
    "users, epsilon, gap",
    [
        ((60,), (1.0,), 0.5),
        ((400,), (3.0,), 1.2),
        ((50, 40), (0.6, 2.4), 0.7),
        ((12, 70), (0.05, 2.0), 0.4),
    ],
)
def test_what_the_metrics_of_tails_state_by_enumeration(users, epsilon, gap):
    """Every pair of win counts and the estimate that each leads to; radius, δ, ρ and C as Theorems 1 and 2 say."""
    n, ridge = sum(users), 1e-3
    slopes = [(math.exp(e) + 1) / (math.exp(e) - 1) for e in epsilon]
    counts = list(itertools.product(*(range(k + 1) for k in users)))
    logs = sum(
        stats.binom.logpmf([c[g] for c in counts], users[g], released(gap, epsilon[g]))
        for g in range(len(users))
    )
    means = [
        0.5 + sum(a * (w - k / 2) for a, w, k in zip(slopes, c, users, strict=True)) / n
        for c in counts
    ]
    estimates = {
        z: optimize.brentq(lambda x, z=z: expit(x) + ridge * x - z, -1e5, 1e5, xtol=1e-10)
        for z in set(means)
    }
    found = np.array([estimates[z] for z in means])

    def surprisal(event):
        return -logsumexp(logs, b=event)

    kappa, G, H = (
        math.exp(gap),
        sum(k * a**2 for k, a in zip(users, slopes, strict=True)) / n,
        max(slopes),
    )
    p = expit(gap)
    loss = (
        p * (np.logaddexp(0, -found) - np.logaddexp(0, -gap))
        + (1 - p) * (np.logaddexp(0, found) - np.logaddexp(0, gap))
    ) / 4
    release = FlippedWins(np.zeros((2, len(users), 1), int), np.array(users), np.array(epsilon), 2)
    estimate = PreferenceEstimate(np.zeros((2, 2)), np.ones(2, bool), ridge)
    truth = Preferences(np.array([[gap / 2, -gap / 2], [-gap / 2, gap / 2]]))

    def stated(metric):
        one, other = metric()(truth, release, estimate)
        assert one == other
        return one

    assert stated(tail_metrics.inversion_surprisal) == pytest.approx(
        surprisal(found <= 1e-9), rel=1e-9
    )
    radius = 4 * kappa * math.sqrt(G * math.log(2 * n) / (2 * n))
    assert stated(tail_metrics.large_error_surprisal) == pytest.approx(
        surprisal(np.abs(found - gap) / 2 >= radius), rel=1e-9
    )
    rho = (1 + kappa) * max(H, G)
    for metric, delta, power in (
        (tail_metrics.large_excess_surprisal, kappa * G * math.log(2 * n) / (2 * n), 1),
        (tail_metrics.deep_excess, n / (64 * G), -1),
    ):
        constant = surprisal(loss >= delta) * rho / (2**2 * n * delta)
        assert stated(metric) == pytest.approx(constant**power, rel=1e-9)
        assert 0 < constant < math.inf


def trial(m=4, L=50, seed=1, reps=3):
    model = BTL(m=m, L=L)
    truth = model.truth(np.random.default_rng(seed), reps, np.random.default_rng(0))
    mechanism = RandomizedResponse(m=m, L=L, epsilon=0.6, profile="0.5:1,0.5:4", draw="marginal")
    release = mechanism.release(
        model.simulate(truth, np.random.default_rng(seed + 1)), np.random.default_rng(seed + 2)
    )
    return truth, release, Debiased(m=m).fit(release, np.random.default_rng(0))


def test_lemma_s5_by_its_sum_of_projections():
    truth, release, estimate = trial()
    found = proof_lemmas.hessian_ratio()(truth, release, estimate)
    for theta, ratio in zip(estimate.theta, found, strict=True):
        hessian, rows = 2 * estimate.ridge * np.eye(4), np.zeros(4)
        for i, j in itertools.combinations(range(4), 2):
            step = np.eye(4)[i] - np.eye(4)[j]
            weight = np.exp(theta[i] + theta[j]) / (np.exp(theta[i]) + np.exp(theta[j])) ** 2
            hessian += weight * np.outer(step, step)
            rows[[i, j]] += weight
        own = np.linalg.eigvalsh(hessian)
        assert ratio == pytest.approx(
            max(2 * estimate.ridge / own[0], own[-1] / (2 * (estimate.ridge + rows.max())))
        )


def test_lemma_s6_by_enumeration():
    """Mean and variance of the loss over both releases of a comparison, for every pair and budget."""
    truth, release, estimate = trial()
    found = proof_lemmas.variance_ratio()(truth, release, estimate)
    for theta, fit, ratio in zip(truth.theta, estimate.theta, found, strict=True):
        worst = 0.0
        for (i, j), e in itertools.product(itertools.combinations(range(4), 2), release.epsilon):
            p, loss = released(theta[i] - theta[j], e), []
            for answer in (1, 0):
                z = debiased(answer, e)
                one, other = (
                    z * (x[j] - x[i]) + math.log1p(math.exp(x[i] - x[j])) for x in (fit, theta)
                )
                loss.append(one - other)
            mean = p * loss[0] + (1 - p) * loss[1]
            variance = p * (1 - p) * (loss[0] - loss[1]) ** 2
            worst = max(
                worst, variance / (8 * (1 + math.exp(np.ptp(theta))) * mean / math.tanh(e / 2) ** 2)
            )
        assert ratio == pytest.approx(worst, rel=1e-6)


def test_lemma_s6_fails_far_outside_the_range_of_the_truth():
    """Equal items and an estimate 40 logits apart: the divergence grows like the gap, the variance like its square."""
    truth, release, _ = trial(m=2, reps=1)
    truth = type(truth)(np.zeros((1, 2)))
    for gap, holds in ((20.0, True), (40.0, False)):
        far = PreferenceEstimate(np.array([[gap / 2, -gap / 2]]), np.ones(1, bool), 1.0)
        assert (proof_lemmas.variance_ratio()(truth, release, far)[0] <= 1) == holds


def test_lemma_s7s_bound_is_above_the_process_on_the_whole_shell():
    from pipeline.problems.ranking.theory.ordering import excess_risk

    truth, release, estimate = trial(reps=1)
    delta = proof_lemmas._excess(truth, release)[0]
    found = proof_lemmas.supremum_ratio()(truth, release, estimate)[0] * delta / 2
    noise = release.debiased_mean()[0] - expit(
        [truth.theta[0, i] - truth.theta[0, j] for i, j in itertools.combinations(range(4), 2)]
    )
    rng, highest = np.random.default_rng(0), 0.0
    for point in truth.theta[0] + rng.normal(0, 1.5, (20_000, 4)):
        point = point - point.mean()
        inside = np.ptp(point) <= np.ptp(truth.theta[0])
        if inside and delta <= excess_risk(point[None], truth.theta)[0] <= 2 * delta:
            away = [
                (point[i] - point[j]) - (truth.theta[0, i] - truth.theta[0, j])
                for i, j in itertools.combinations(range(4), 2)
            ]
            highest = max(highest, float(noise @ away) / 16)
    assert 0 <= highest <= found


@pytest.mark.parametrize("gap", [0.3, 2.0])
def test_lemma_s7s_bound_is_reached_by_two_items_of_very_many_users(gap):
    """The farthest θ of the shell within κ, by its excess risk: e_L = 2δ. Half of the bound would be too little."""
    truth, epsilon = Preferences(np.array([[gap / 2, -gap / 2]])), np.array([0.7])
    L = 10**9
    wins = round(L * (released(gap, 0.7) + 1e-5))
    release = FlippedWins(np.array([[[wins]]]), np.array([L]), epsilon, 2)
    G, kappa, p = 1 / math.tanh(0.35) ** 2, math.exp(gap), expit(gap)
    delta = 4 * kappa * G * math.log(2 * L) / (2 * L)

    def risk(x):  # of a gap smaller by x
        return (
            p * (np.logaddexp(0, x - gap) - np.logaddexp(0, -gap))
            + (1 - p) * (np.logaddexp(0, gap - x) - np.logaddexp(0, gap))
        ) / 4

    farthest = optimize.brentq(lambda x: risk(x) - 2 * delta, 1e-12, gap)
    noise = debiased(1, 0.7) * wins / L + debiased(0, 0.7) * (1 - wins / L) - p
    found = proof_lemmas.supremum_ratio()(truth, release, None)[0]
    assert found == pytest.approx(abs(noise) * farthest / 4 / (delta / 2), rel=0.02)


@pytest.mark.parametrize(
    "mechanism, estimator, told",
    [
        (RandomizedResponse, Debiased, True),
        (RandomizedResponse, Weighted, False),
        (RandomizedResponse, PlugIn, False),
        (Laplace, Debiased, False),
    ],
)
def test_tails_are_about_the_debiased_estimator_of_flipped_comparisons(mechanism, estimator, told):
    """With budgets that differ; and the yardstick of the plug-in is that of its own weights, t(ε) a user."""
    values = dict(m=2, L=200, epsilon=0.4, profile="0.5:1,0.5:5")
    rng, model = np.random.default_rng(1), BTL(m=2, L=200, theta="spaced", spacing=0.6)
    truth = model.truth(rng, 4000, rng)
    release = mechanism(**values).release(model.simulate(truth, rng), rng)
    estimate = estimator(m=2).fit(release, rng)
    assert np.isfinite(tail_metrics.inversion_surprisal()(truth, release, estimate)).all() == told
    share, predicted = (
        kendall()(truth, release, estimate).mean(),
        kendall_predicted()(truth, release, estimate)[0],
    )
    bound = (
        stats.norm.isf(5e-7) * math.sqrt(predicted * (1 - predicted) / 4000) + 0.1 * predicted
    )  # of a normal law
    print(f"n=4000 statistic={share - predicted:.4f} bound={bound:.4f} alpha=1e-06")
    assert abs(share - predicted) < bound


def largest_errors(theta, groups, ridge, reps, seed):
    """(reps,): ‖θ̂ − θ*‖∞ of simulated releases. groups: users and ε of each."""
    rng = np.random.default_rng(seed)
    m = len(theta)
    users = sum(number for number, _ in groups)
    i, j = np.triu_indices(m, 1)
    mean = np.zeros((reps, len(i)))
    for number, epsilon in groups:
        wins = rng.binomial(number, released(theta[i] - theta[j], epsilon), (reps, len(i)))
        mean += (number * debiased(0, epsilon) + wins / math.tanh(epsilon / 2)) / users
    z = np.zeros((reps, m, m))
    z[:, i, j] = mean
    z[:, j, i] = 1 - mean
    return np.abs(minimise(z.sum(axis=2), ridge).theta - theta).max(axis=1)


@pytest.mark.parametrize("groups", [((400, 1.0),), ((380, 2.0), (20, 0.3))])
@pytest.mark.parametrize("m", [3, 10])
def test_largest_error_is_within_its_radius_for_any_number_of_items(m, groups):
    theta = np.linspace(-0.3, 0.3, m)
    users = sum(number for number, _ in groups)
    gain = sum(number / math.tanh(epsilon / 2) ** 2 for number, epsilon in groups) / users
    reps, chance, ridge = 5_000, 0.2, 0.001
    radius = tails.largest_error_radius(
        chance, m, users, gain, math.exp(0.6), 2 * ridge * np.abs(theta).max()
    )
    errors = largest_errors(theta, groups, ridge, reps, 11)
    beyond = int((errors >= radius).sum())
    print(reps, beyond, radius, "α = 1e-6")
    assert stats.binom.sf(beyond - 1, reps, chance) > 1e-6
    halved = int((errors >= radius / 2).sum())  # control: no radius of half the size would do
    assert stats.binom.sf(halved - 1, reps, chance) < 1e-6


@pytest.mark.parametrize("epsilon, users, gap", [(1.0, 200, 0.3), (0.5, 1000, 0.0)])
def test_largest_error_of_two_items_exactly(epsilon, users, gap):
    gain = 1 / math.tanh(epsilon / 2) ** 2
    ridge = 0.001
    for chance in (0.1, 1e-3, 1e-6):
        radius = tails.largest_error_radius(chance, 2, users, gain, math.exp(gap), ridge * gap)
        groups = (np.array([epsilon]), np.array([users]))
        assert tails.error_surprisal(radius, gap, ridge, *groups) >= -math.log(chance)


@pytest.mark.parametrize("m, kappa", [(2, 1.0), (10, 3.0), (100, 20.0)])
def test_radius_of_equation_7_needs_one_power_of_kappa(m, kappa):
    users, gain = 10**8, 4.7
    radius = tails.largest_error_radius(2 / (m * users**2), m, users, gain, kappa)
    rate = kappa * math.sqrt(gain * math.log(m * users) / (m * users))
    assert radius <= 4 * rate
    beyond = tails.largest_error_radius(1e-9, m, 10, 100.0, kappa)
    assert beyond == math.inf  # too few users to say anything


def test_radius_ratio_of_replications():
    """The metric by its definition, of mixed budgets; 0 where no radius is known."""
    truth, release, estimate = trial(L=50_000)
    found = proof_lemmas.radius_ratio()(truth, release, estimate)
    gain = (math.tanh(0.3) ** -2 + math.tanh(1.2) ** -2) / 2
    for theta, fit, ratio in zip(truth.theta, estimate.theta, found, strict=True):
        kappa = math.exp(theta.max() - theta.min())
        pull = 2 * estimate.ridge * np.abs(theta).max()
        radius = tails.largest_error_radius(0.2, 4, 50_000, gain, kappa, pull)
        assert ratio == pytest.approx(np.abs(fit - theta).max() / radius)
    assert (proof_lemmas.radius_ratio()(*trial(L=5)) == 0).all() and (found > 0).all()
