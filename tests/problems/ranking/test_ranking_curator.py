"""Rankings from sums with a curator's noise: sensitivities by enumeration, laws, errors."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import pipeline as pl
from pipeline.privacy.published_counts import bounded_counts, count_sensitivity
from pipeline.problems.ranking.mechanisms.sums import scores_of as item_scores
from pipeline.problems.ranking.model import CountedComparisons
from pipeline.problems.ranking.releases import NoisyWins
from pipeline.problems.ranking.theory.risk import sandwich_risk
from pipeline.problems.ranking.theory.score_sensitivity import (
    listed_score_sensitivity,
    score_sensitivity,
)
from pipeline.study.parameters import InvalidInput


def scores_of(m, questions):
    """Scores, wins minus losses, of every answer to every set of k pairs; (answers, m)."""
    pairs = list(itertools.combinations(range(m), 2))
    found = set()
    for asked in itertools.combinations(pairs, questions):
        for signs in itertools.product((1, -1), repeat=questions):
            score = [0] * m
            for (i, j), sign in zip(asked, signs, strict=True):
                score[i] += sign
                score[j] -= sign
            found.add(tuple(score))
    return np.array(sorted(found))


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_no_neighbours_differ_by_more_than_is_charged(m):
    pairs = m * (m - 1) // 2
    for questions in range(1, pairs + 1):
        if m == 5 and 4 < questions < 10:
            continue  # 10⁵ sets of answers each; the bound there is that of m ≤ 4
        scores = scores_of(m, questions)
        change = scores[:, None] - scores[None]
        squared = (change**2).sum(axis=2).max()
        absolute = np.abs(change).sum(axis=2).max()
        charged = score_sensitivity(m, questions)
        assert absolute == charged.absolute
        assert squared <= charged.squared
        if questions < m or questions == pairs:
            assert squared == charged.squared  # attained: half of it would be too little
    assert score_sensitivity(m, pairs).squared == 4 * m * (m * m - 1) // 3


def scores_of_rows(rows, m, most):
    """Scores of a list of comparisons (name, winner, loser), bounded as a release bounds them."""
    pairs = list(itertools.combinations(range(m), 2))
    names = [name for name, _, _ in rows]
    group = np.array([pairs.index((min(i, j), max(i, j))) for _, i, j in rows])
    side = np.array([int(i > j) for _, i, j in rows])
    counts = bounded_counts(names, group, side, np.ones(len(rows), int), len(pairs), most)
    return item_scores(counts[:, 0] - counts[:, 1])


@pytest.mark.parametrize("m, most", [(2, 1), (3, 1), (3, 2)])
def test_one_row_of_a_list_changes_scores_by_no_more_than_is_charged(m, most):
    """All lists of two people, four rows long at m = 2; drawn ones at m = 3."""
    choices = [(name, i, j) for name in "AB" for i, j in itertools.permutations(range(m), 2)]
    lists = itertools.product(choices, repeat=4)
    if m > 2:
        rng = np.random.default_rng(7)
        lists = [[choices[k] for k in rng.integers(0, len(choices), 4)] for _ in range(150)]
    charged = listed_score_sensitivity(m, most, True, "replace_one")
    fewer = listed_score_sensitivity(m, most, True, "add_remove")
    largest = 0
    for rows in lists:
        before = scores_of_rows(rows, m, most)
        without = scores_of_rows(rows[1:], m, most) - before
        assert np.abs(without).sum() <= fewer.absolute
        assert (without**2).sum() <= fewer.squared
        for other in choices:
            change = scores_of_rows([other, *rows[1:]], m, most) - before
            assert np.abs(change).sum() <= charged.absolute
            assert (change**2).sum() <= charged.squared
            largest = max(largest, int((change**2).sum()))
    assert largest > score_sensitivity(m, most).squared or m == 3  # a person's would be too little
    assert largest == charged.squared or m == 3


def test_counts_are_charged_as_a_release_charges_them():
    for questions in (1, 2, 7, 45):
        for relation in ("replace_one", "add_remove"):
            mechanism = pl.ranking.NoisyCounts(
                m=10, L=50, person=1.0, questions=questions, neighbours_are=relation
            )
            assert mechanism.sensitivity == count_sensitivity(questions, True, relation)
    public = pl.ranking.NoisyCounts(m=10, L=50, person=1.0, compared_are="public")
    assert public.sensitivity == (45, 45)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("questions", [None, 3])
@pytest.mark.parametrize(
    "kind, changes",
    [
        (pl.ranking.NoisyCounts, {}),
        (pl.ranking.NoisyCounts, {"compared_are": "public"}),
        (pl.ranking.NoisyScores, {}),
    ],
)
def test_errors_are_those_of_the_stated_noise(kind, changes, questions, delta):
    """Unbiased scores of each item, and errors by the sandwich at the equivalent budget."""
    m, L, reps = 6, 3000, 1200
    model = pl.ranking.BTL(m=m, L=L, questions=questions)
    people = pl.simulate_data(model, seed=1, replications=reps)
    budget = {"person": 1.0, "person_delta": delta, "questions": questions}
    release = pl.simulate_release(kind(m=m, L=L, **budget, **changes), people, seed=2)
    plain = people.data.release_plainly()
    noise = by_item(release.wins[:, 0] - plain.wins[:, 0], m)
    expected = (m - 1) * release.variance
    spread = noise.var() / expected
    bound = 5 * np.sqrt(6 / noise.size)  # of a variance, with tails as heavy as Laplace's
    print(f"n={noise.size}, variance ratio {spread:.3f}, bound 1 ± {bound:.3f}, α=6e-7")
    assert abs(spread - 1) < bound
    assert abs(noise.var() / (4 * expected) - 1) > bound  # the control: twice the sensitivity
    assert abs(noise.mean()) < 5 * np.sqrt(expected / noise.size)
    estimate = pl.ranking.Debiased(m=m, lambda_scale=0.0).fit(release)
    errors = ((estimate.theta - people.truth.theta) ** 2).mean(axis=1)
    users = L if questions is None else L * questions / 15
    epsilon = float(release.equivalent_epsilon[0])
    ratio = errors.mean() / sandwich_risk(people.truth.theta, epsilon, users).mean()
    allowed = 0.15 + 5 * errors.std() / errors.mean() / np.sqrt(reps)
    print(f"n={reps}, risk ratio {ratio:.3f}, bound 1 ± {allowed:.3f}")
    assert abs(ratio - 1) < allowed


def by_item(pairs, m):
    """Sums over the pairs of an item, signed; (reps, m)."""
    first, second = np.triu_indices(m, 1)
    sums = [
        pairs[:, first == item].sum(axis=1) - pairs[:, second == item].sum(axis=1)
        for item in range(m)
    ]
    return np.stack(sums, axis=1)


def test_with_a_curator_more_questions_help():
    """The opposite of what holds where nobody is trusted."""
    errors = []
    for questions in (1, 5, 15):
        people = pl.simulate_data(
            pl.ranking.BTL(m=6, L=400, questions=questions), seed=1, replications=400
        )
        mechanism = pl.ranking.NoisyScores(
            m=6, L=400, person=1.0, person_delta=1e-6, questions=questions
        )
        release = pl.simulate_release(mechanism, people, seed=2)
        theta = pl.ranking.Debiased(m=6).fit(release).theta
        errors.append(((theta - people.truth.theta) ** 2).mean())
    print(errors)
    assert errors[0] > errors[1] > errors[2]


def test_budgets_that_cannot_be_and_answers_not_charged():
    with pytest.raises(InvalidInput, match="wider than"):
        pl.ranking.NoisyCounts(m=10, L=5, person=1e-12)
    with pytest.raises(InvalidInput, match="must be 1 to 45"):
        pl.ranking.NoisyCounts(m=10, L=5, person=1.0, questions=46)
    people = pl.simulate_data(pl.ranking.BTL(m=4, L=50), seed=1)
    with pytest.raises(InvalidInput, match="made 6 comparisons"):
        pl.simulate_release(pl.ranking.NoisyScores(m=4, L=50, person=1.0, questions=2), people)


def along_a_path(reps):
    """Comparisons of 3 items in which nobody compared the first with the last."""
    trials = np.repeat([[2000, 0, 2000]], reps, axis=0)
    wins = np.repeat([[1200, 0, 1500]], reps, axis=0)
    return CountedComparisons(wins, trials, 3)


def test_scores_are_enough_where_some_pairs_are_not_compared():
    """Without noise the estimate is that of the counts."""
    part = pl.ranking.Debiased(m=3, lambda_scale=0.0)
    rng = np.random.default_rng(1)
    fits = []
    for kind in (pl.ranking.NoisyCounts, pl.ranking.NoisyScores):
        release = kind(m=3, L=2000, person=1e3).release(along_a_path(1), rng)
        fits.append(part.fit(release, rng))
    np.testing.assert_allclose(fits[1].theta, fits[0].theta, rtol=1e-6)
    gaps = -np.diff(fits[1].theta[0])
    np.testing.assert_allclose(gaps, np.log([1200 / 800, 1500 / 500]), rtol=1e-6)


def test_errors_of_scores_where_some_pairs_are_not_compared():
    """Of noise alone; n = 4,000, α = 1e-6. Noise of compared pairs alone is another one."""
    rng = np.random.default_rng(2)
    reps = 4000
    mechanism = pl.ranking.NoisyScores(m=3, L=2000, person=0.5)
    release = mechanism.release(along_a_path(reps), rng)
    part = pl.ranking.Debiased(m=3, lambda_scale=0.0)
    spread = part.fit(release, rng).theta.var(axis=0)
    single = replace(release, wins=release.wins[:1], compared=release.compared[:1])
    variances = {}
    for law in (type(single), NoisyWins):
        both = part.fit(law(**vars(single)), rng).errors[0] ** 2
        alone = part.fit(law(**vars(replace(single, variance=0.0))), rng).errors[0] ** 2
        variances[law] = both - alone
    ratio = spread / variances[type(single)]
    control = spread / variances[NoisyWins]
    bound = 5 * np.sqrt(6 / reps)
    print(f"n={reps}: ratios {ratio}, bound 1 ± {bound:.3f}; of pairs alone {control}")
    assert np.abs(ratio - 1).max() < bound
    assert np.abs(control - 1).max() > bound


@pytest.mark.parametrize("trials", [[2, 2, 2], [3, 0, 3]])
def test_one_design_may_stand_for_all_replications(trials):
    """As in audits, where the same comparisons are released again and again."""
    wins = np.ones((50, 3), int) * (np.array(trials) > 0)
    shared = CountedComparisons(wins, np.array([trials]), 3)
    apart = CountedComparisons(wins, np.repeat([trials], 50, axis=0), 3)
    mechanism = pl.ranking.NoisyScores(m=3, L=4, person=1.0)
    releases = [mechanism.release(data, np.random.default_rng(1)) for data in (shared, apart)]
    np.testing.assert_array_equal(releases[0].wins, releases[1].wins)
