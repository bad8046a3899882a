"""Estimators of crowds: the paper's equations by the letter, invariants, missing answers, and the negative controls."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.problems.crowd.estimators import signed_sums
from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene, KnownFlip
from pipeline.problems.crowd.estimators.estimate import CrowdEstimate
from pipeline.problems.crowd.estimators.majority_vote import MajorityVote
from pipeline.problems.crowd.estimators.signed_sums import agreement, mean_vote, weighted_votes
from pipeline.problems.crowd.estimators.spectral import leading_vector, spectral_start
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.metrics.abilities import (
    ability_error_inf,
    ability_error_inf_plain,
    ability_error_l2,
)
from pipeline.problems.crowd.metrics.labels import label_error, soft_label_error, start_error
from pipeline.problems.crowd.metrics.yardsticks import (
    label_error_bound,
    majority_error_exact,
    oracle_error,
    theorem_2_holds,
    wisdom,
)
from pipeline.problems.crowd.model import CrowdTruth
from pipeline.problems.crowd.model import DawidSkene as Crowd
from pipeline.problems.crowd.releases import ReleasedAnswers
from pipeline.study.parameters import InvalidInput
from tests.helpers.checks import mean_agrees
from tests.helpers.reference import crowd_em

RNG = np.random.default_rng


def released(seed, reps=1, n=9, m=40, answered=1.0, epsilon=None, **law):
    rng = RNG(seed)
    crowd = Crowd(n=n, m=m, answered=answered, **law)
    truth = crowd.truth(rng, reps, rng)
    data = crowd.simulate(truth, rng)
    if epsilon is None:
        return truth, data.release_plainly()
    return truth, RandomizedResponse(n=n, m=m, epsilon=epsilon).release(data, rng)


def estimator(release, kind=DawidSkene, **options):
    return kind(n=release.answers.shape[1], m=release.answers.shape[2], **options)


def fit(release, kind=DawidSkene, **options):
    return estimator(release, kind, **options).fit(release, RNG(0))


def literal(answers, flip, steps, low, y=None, tolerance=0.0):
    """Algorithm 1 of one replication with the products of eqs. (7) and (8); answers (n, m) in {−1, 0, 1}."""
    n, m = answers.shape
    if y is None:
        y = [np.mean(one[one != 0] > 0) if one.any() else 0.5 for one in answers.T]
    p = [np.inf] * n
    for _ in range(steps):
        before, p = p, []
        for i in range(n):
            terms = [y[j] if answers[i, j] == 1 else 1 - y[j] for j in range(m) if answers[i, j]]
            p.append(min(max(np.mean(terms) if terms else 0.5, low), 1 - low))
        y = []
        for j in range(m):
            one = np.prod(
                [p[i] if answers[i, j] == 1 else 1 - p[i] for i in range(n) if answers[i, j]]
            )
            zero = np.prod(
                [1 - p[i] if answers[i, j] == 1 else p[i] for i in range(n) if answers[i, j]]
            )
            y.append(one / (one + zero))
        if max(abs(a - b) for a, b in zip(p, before, strict=True)) < tolerance:
            break
    a = 1 / (1 - 2 * flip)
    return np.array(y), np.array([a * (one - flip) for one in p])


@pytest.mark.parametrize("answered", [1.0, 0.3])
@pytest.mark.parametrize("epsilon", [None, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_some_steps_by_the_letter(steps, epsilon, answered):
    _, release = released(1, 6, answered=answered, epsilon=epsilon)
    found = fit(release, iterations=steps)
    for r, answers in enumerate(release.answers):
        y, p = literal(answers, release.flip, steps, 1e-3)
        assert (
            np.abs(found.posterior[r] - y).max() < 1e-11
            and np.abs(found.abilities[r] - p).max() < 1e-11
        )
        assert (found.labels[r] == (found.posterior[r] >= 0.5)).all()
    assert not found.converged.any() or steps > 1


@pytest.mark.parametrize("kind", [DawidSkene, KnownFlip])
@pytest.mark.parametrize("epsilon, answered", [(None, 1.0), (None, 0.4), (2.0, 1.0), (2.0, 0.7)])
def test_the_whole_algorithm_by_the_letter(kind, epsilon, answered):
    _, release = released(2, 12, n=15, m=60, answered=answered, epsilon=epsilon)
    found = fit(release, kind, projection=0.01, iterations=1000)
    assert found.converged.all() and (found.iterations > 2).all()
    low = max(0.01, release.flip) if kind is KnownFlip else 0.01
    for r, answers in enumerate(release.answers):
        y, p = literal(answers, release.flip, 3000, low, tolerance=1e-10)
        assert (
            np.abs(found.abilities[r] - p).max() < 5e-6
            and np.abs(found.posterior[r] - y).max() < 5e-6
        )


def test_a_given_start_is_where_steps_begin():
    _, release = released(3, 4, initial_error=0.2)
    found = fit(release, iterations=1, initialisation="given", initial_error=0.2)
    assert (found.start == release.start).all()
    for r, answers in enumerate(release.answers):
        y, p = literal(answers, 0.0, 1, 1e-3, y=list(release.start[r]))
        assert (
            np.abs(found.posterior[r] - y).max() < 1e-11
            and np.abs(found.abilities[r] - p).max() < 1e-11
        )


def test_a_start_that_nobody_gives_is_one_line():
    with pytest.raises(InvalidInput, match="needs parameters.initial_error"):
        DawidSkene(n=3, m=3, initialisation="given")
    _, release = released(4)
    with pytest.raises(InvalidInput, match="lends no initial vector"):
        fit(release, initialisation="given", initial_error=0.1)


def test_known_flip_keeps_abilities_in_range_and_is_the_likelihoods_maximum():
    """Eq. (2) with the known flip: no ability in [0, 1], moved alone, does better."""
    _, release = released(5, 3, n=8, m=80, epsilon=0.7)
    found = fit(release, KnownFlip, iterations=20_000)
    assert (
        found.converged.all()
        and found.abilities.min() >= -1e-12
        and found.abilities.max() <= 1 + 1e-12
    )
    free = fit(release, iterations=20_000)
    assert free.abilities.max() > 1.01  # the negative control: not known, and so not cut

    def log_likelihood(answers, p):
        right = release.flip + (1 - 2 * release.flip) * p[:, None]
        one = np.where(answers == 1, right, 1 - right).prod(axis=0)
        return np.log((one + np.where(answers == 1, 1 - right, right).prod(axis=0)) / 2).sum()

    for answers, p in zip(release.answers, found.abilities, strict=True):
        best = log_likelihood(answers, p)
        for i in range(len(p)):
            for other in np.clip(p[i] + np.array([-1e-3, 1e-3]), 0, 1):
                assert (
                    log_likelihood(answers, np.where(np.arange(len(p)) == i, other, p))
                    <= best + 1e-9
                )


OPTIONS = [
    (DawidSkene, {}),
    (DawidSkene, {"initialisation": "spectral"}),
    (KnownFlip, {}),
    (MajorityVote, {}),
]


@pytest.mark.parametrize("kind, options", OPTIONS)
def test_a_replication_does_not_depend_on_the_others(kind, options):
    """The negative control shares an estimate; here every bit must be the same alone, in any block, in any company."""
    _, release = released(6, 23, n=13, m=57, answered=0.8, epsilon=1.5)
    whole = fit(release, kind, **options)
    for length in (1, 5, 23):
        parts = [
            fit(
                ReleasedAnswers(release.answers[::-1][k : k + length], release.flip),
                kind,
                **options,
            )
            for k in range(0, 23, length)
        ]
        # The law of abilities shows in their standard errors.
        fields = {field.name for field in dataclasses.fields(CrowdEstimate)} - {"law", "drawn"}
        for name in (*fields, "errors"):
            found = np.concatenate([getattr(part, name) for part in parts])
            assert np.array_equal(found[::-1], getattr(whole, name), equal_nan=True), name
    assert len(np.unique(whole.iterations)) > 3 or kind is MajorityVote


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(OPTIONS), st.sampled_from([0.3, 1.0]))
def test_invariants(seed, option, answered):
    """Order of workers and tasks; opposite answers; workers and tasks without answers."""
    kind, options = option
    _, release = released(seed, 3, n=9, m=41, answered=answered, epsilon=2.0)
    x, flip, rng = release.answers, release.flip, RNG(seed)
    options = (
        options if kind is MajorityVote else {**options, "iterations": 5}
    )  # before it forgets where it began
    found = fit(release, kind, **options)

    def same(other, posterior, abilities):
        assert (
            np.abs(other.posterior - posterior).max() < 1e-3
            and np.abs(other.abilities - abilities).max() < 1e-3
        )

    workers, tasks = rng.permutation(9), rng.permutation(41)
    same(
        fit(
            ReleasedAnswers(np.ascontiguousarray(x[:, workers][:, :, tasks]), flip), kind, **options
        ),
        found.posterior[:, tasks],
        found.abilities[:, workers],
    )
    sign = rng.choice(np.array([-1, 1], np.int8), 41)
    if kind is not MajorityVote:  # which labels ties 1
        same(fit(ReleasedAnswers(-x, flip), kind, **options), 1 - found.posterior, found.abilities)
        same(
            fit(ReleasedAnswers(x * sign, flip), kind, **options),
            np.where(sign < 0, 1 - found.posterior, found.posterior),
            found.abilities,
        )
    more = np.zeros((3, 11, 43), np.int8)
    more[:, :9, :41] = x
    wider = fit(ReleasedAnswers(more, flip), kind, **options)
    assert (wider.posterior[:, 41:] == 0.5).all() and (wider.labels[:, 41:] == 1).all()
    assert (wider.abilities[:, 9:] == 0.5).all()
    same(
        CrowdEstimate(
            wider.labels[:, :41], wider.posterior[:, :41], wider.abilities[:, :9], None, None, None
        ),
        found.posterior,
        found.abilities,
    )


@pytest.mark.parametrize("kind, options", OPTIONS)
def test_nobody_answers(kind, options):
    found = fit(ReleasedAnswers(np.zeros((2, 3, 4), np.int8), 0.2), kind, **options)
    assert (
        (found.abilities == 0.5).all()
        and (found.posterior == 0.5).all()
        and (found.labels == 1).all()
    )
    assert found.converged.all()


@pytest.mark.parametrize("n, m", [(1, 1), (2, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("kind, options", OPTIONS)
def test_the_smallest_crowds(n, m, kind, options):
    found = fit(released(7, 20, n=n, m=m, epsilon=1.0)[1], kind, **options)
    assert np.isfinite(found.posterior).all() and np.isfinite(found.abilities).all()


def test_steps_that_are_all_that_is_asked_are_enough():
    """The same numbers; only the status differs, and only where T steps were taken."""
    _, release = released(3, reps=20, n=20, m=30, epsilon=1.0)
    few, asked = fit(release, iterations=3), fit(release, iterations=3, until="iterations")
    assert (few.posterior == asked.posterior).all() and (few.abilities == asked.abilities).all()
    assert asked.converged.all() and not few.converged.any()
    many, asked = (
        fit(release, iterations=10**4, until=end) for end in ("convergence", "iterations")
    )
    assert (many.converged == asked.converged).all()


def test_no_convergence_is_a_status():
    _, release = released(8, 50, n=10, m=100, epsilon=0.3)
    found, longer = fit(release), fit(release, iterations=10**5)
    assert 0 < found.converged.mean() < 1 and (found.iterations[~found.converged] == 100).all()
    assert longer.converged.all() and np.isfinite(found.abilities).all()


@pytest.mark.parametrize(
    "n, m, low, given", [(8, 40, 1e-9, True), (20, 200, 1e-6, True), (4, 100, 1e-3, False)]
)
def test_what_has_converged_is_a_fixed_point(n, m, low, given):
    """Also where labels that were certain to float32's precision are given up again, and after thousands of steps."""
    x = released(14, 18, n=n, m=m, ability_low=0.2)[1].answers
    release = ReleasedAnswers(
        x, 0.0, (x[:, 0] + 1) / 2
    )  # given: as one worker says, who is trusted wholly at first
    options = dict(initialisation="given", initial_error=0.1) if given else {}
    found = fit(release, projection=low, iterations=20_000, **options)
    assert found.converged.sum() > 12
    limit, signs, u = 1 - 2 * low, x.astype(float), 2 * found.posterior - 1
    once_more = 0.5 + np.clip(np.matvec(signs, u) / m, -limit, limit) / 2
    assert np.abs(once_more - found.abilities)[found.converged].max() < 5e-8
    alone = [
        fit(
            ReleasedAnswers(x[[r]], 0.0, release.start[[r]]),
            projection=low,
            iterations=20_000,
            **options,
        )
        for r in range(0, 18, 5)
    ]
    assert all((one.posterior[0] == found.posterior[5 * k]).all() for k, one in enumerate(alone))


def test_majority_vote_by_hand():
    x = np.array([[[1, 1, -1, 0], [1, -1, -1, 0], [-1, 0, 1, 0]]], np.int8)
    found = fit(ReleasedAnswers(x, 0.25), MajorityVote)
    assert found.labels.tolist() == [[1, 1, 0, 1]]  # a tie and no answer: 1
    assert np.allclose(found.posterior, [[2 / 3, 1 / 2, 1 / 3, 1 / 2]])
    assert np.allclose(found.abilities, 0.5 + (np.array([[3, 1, -2]]) / [3, 3, 2]) / 2 / 0.5)


def kinds_of_answers(seed):
    """Crowds on either side of all sizes at which codes of answers change: (reps, n, m), complete or not."""
    rng = RNG(seed)
    for n, m in (
        (1, 1),
        (3, 2),
        (7, 5),
        (8, 600),
        (9, 17),
        (41, 300),
        (64, 256),
        (65, 255),
        (130, 1025),
    ):
        for kinds in ([-1, 1], [-1, 0, 1], [0]):
            yield rng.choice(np.array(kinds, np.int8), (3, n, m))


def test_sums_are_those_of_matrices():
    for x in kinds_of_answers(9):
        signs, (reps, n, m) = x.astype(float), x.shape
        votes = signs.sum(axis=1) / np.maximum((x != 0).sum(axis=1), 1)
        assert (mean_vote(x) == votes).all()
        share = np.matvec(signs, np.where(votes >= 0, 1.0, -1.0)) / np.maximum(
            (x != 0).sum(axis=2), 1
        )
        assert np.abs(agreement(x, votes) - share).max() < 1e-15
        weights = RNG(n).normal(size=(reps, n)) * 10.0 ** RNG(m).integers(-6, 3, (reps, n))
        size = np.abs(weights).sum(axis=1, keepdims=True)
        assert (np.abs(weighted_votes(x, weights) - np.vecmat(weights, signs)) / size).max() < 1e-14
    exact = [
        [np.longdouble(w) * s for w, s in zip(weights[0], column, strict=True)] for column in x[0].T
    ]
    assert (
        np.abs(weighted_votes(x, weights)[0] - [float(sum(terms)) for terms in exact]).max()
        < 1e-16 * size[0, 0]
    )


@pytest.mark.parametrize("missing", [0, 3])
@pytest.mark.parametrize("n", [126, 127, 128, 200, 255, 300])
def test_a_vote_of_many_workers_who_agree_is_one(n, missing):
    """Sums on either side of all that a byte holds; tasks of one answer only, and one of the other."""
    answers = np.ones((1, n, 5), np.int8)
    answers[0, :, 1] = -1
    answers[0, :missing] = 0
    assert mean_vote(answers).tolist() == [[1, -1, 1, 1, 1]]


@pytest.mark.parametrize("limit, steps", [(0.998, 1), (0.998, 30), (0.4, 7), (1 - 1e-12, 12)])
def test_steps_are_those_of_numpy(limit, steps):
    """To 1e-12, as many steps, and the numbers of answers; the control moves a limit by 1e-9."""
    for x in kinds_of_answers(10):
        start = mean_vote(x)
        found, expected = (
            one.em_steps(x, start, limit, steps, 2e-8) for one in (signed_sums, crowd_em)
        )
        for name in ("labels", "abilities", "answered", "unsure"):
            assert np.abs(getattr(found, name) - expected[name]).max() < 1e-12 * (
                x.shape[2] if name == "unsure" else 1
            )
        assert (found.taken == expected["taken"]).all() and (
            np.isinf(found.change) == (found.taken == 1)
        ).all()
        voted = signed_sums.em_steps(x, None, limit, steps, 2e-8)
        assert all((one == other).all() for one, other in zip(voted, found, strict=True))
    moved = crowd_em.em_steps(
        np.ones((1, 9, 4), np.int8), np.ones((1, 4)), limit - 1e-9, steps, 2e-8
    )
    kept = signed_sums.em_steps(np.ones((1, 9, 4), np.int8), np.ones((1, 4)), limit, steps, 2e-8)
    assert np.abs(moved["abilities"] - kept.abilities).max() > 1e-10


def test_order_does_not_change_the_last_bit():
    """Of workers, of tasks, and of signs: ties of symmetric answers stay ties."""
    x, rng = released(15, 4, n=70, m=300, epsilon=1.0)[1].answers, RNG(3)
    workers, tasks, sign = (
        rng.permutation(70),
        rng.permutation(300),
        rng.choice(np.array([-1, 1], np.int8), 300),
    )
    found = signed_sums.em_steps(x, None, 0.998, 9, 0.0)
    again = signed_sums.em_steps((x * sign)[:, workers][:, :, tasks], None, 0.998, 9, 0.0)
    assert (again.abilities == found.abilities[:, workers]).all()
    assert (again.labels == (found.labels * sign)[:, tasks]).all()


def test_power_iteration_finds_the_leading_vector():
    _, release = released(10, 8, n=20, m=400)
    agreement = np.matmul(release.answers, release.answers.swapaxes(1, 2), dtype=float) / 400
    found, wanted = leading_vector(agreement), np.linalg.eigh(agreement)[1][:, :, -1]
    assert np.abs(np.abs(np.vecdot(found, wanted)) - 1).max() < 1e-6
    signs = release.answers.astype(np.float32)
    u = spectral_start(release.answers, 0.998)
    left = np.linalg.svd(signs, full_matrices=False)[0][:, :, 0]
    left *= np.sign(left.sum(axis=1, keepdims=True))
    value = np.linalg.eigvalsh(agreement)[:, -1]
    c = np.clip(np.sqrt(value - 1)[:, None] * left, -0.998, 0.998)
    assert np.abs(u - np.tanh(np.vecmat(np.arctanh(c), signs))).max() < 1e-3


def test_the_spectral_start_is_better_than_the_vote():
    truth, release = released(11, 40, n=40, m=300, ability_law="experts", epsilon=3.0)
    spectral, vote = fit(release, initialisation="spectral"), fit(release)
    assert (
        np.abs(spectral.start - truth.labels).mean()
        < 0.5 * np.abs(vote.start - truth.labels).mean()
    )


def test_abilities_are_unbiased_and_the_twins_are_not():
    """Where labels are plain. Controls: abilities of released answers as they are; randomized response not undone."""
    truth, release = released(12, 400, n=60, m=400, ability_low=0.8, ability_high=0.9, epsilon=2.0)
    found = fit(release)
    assert (found.labels == truth.labels).mean() > 0.99999
    error = (found.abilities - truth.abilities).mean(axis=1)
    assert mean_agrees(error, 0, "debiased abilities")
    raw = (found.abilities - 0.5) * (1 - 2 * release.flip) + 0.5
    assert not mean_agrees((raw - truth.abilities).mean(axis=1), 0, "control: not debiased")
    unaware = fit(ReleasedAnswers(release.answers, 0.0))
    assert not mean_agrees(
        (unaware.abilities - truth.abilities).mean(axis=1), 0, "control: flip taken to be 0"
    )


def test_projection_frees_what_is_trapped():
    """A start that one worker dictates makes him infallible, for ever unless abilities are projected."""
    truth = CrowdTruth(np.full((1, 7), 0.8), np.tile([1, 0], 100)[None].astype(np.int8))
    rng = RNG(13)
    wrong = rng.random((1, 7, 200)) < 0.2
    x = np.where((truth.labels[:, None] == 1) ^ wrong, 1, -1).astype(np.int8)
    y = np.where(x[:, 0] == 1, 1.0, 0.0)  # as worker 0 says
    release = ReleasedAnswers(x, 0.0, y)
    free = fit(release, initialisation="given", initial_error=0.2, iterations=1000)
    trapped = fit(
        release, initialisation="given", initial_error=0.2, iterations=1000, projection=1e-300
    )
    assert free.converged.all() and (free.labels != truth.labels).mean() < 0.08
    assert (
        trapped.abilities[0, 0] > 1 - 1e-9 and (trapped.labels == y).all()
    )  # the negative control


@pytest.mark.parametrize("estimator", [DawidSkene, KnownFlip, MajorityVote])
def test_a_flip_that_rounds_to_one_half_never_converges(estimator):
    """At ε = 1e-18 released answers are coins: abilities are NaN, and no replication counts as converged."""
    crowd, rng = Crowd(n=6, m=20), np.random.default_rng(3)
    data = crowd.simulate(crowd.truth(rng, 3, rng), rng)
    for epsilon, defined in ((1e-18, False), (1e-12, True)):
        release = RandomizedResponse(6, 20, epsilon).release(data, rng)
        fit = estimator(6, 20).fit(release, rng)
        assert np.isfinite(fit.abilities).all() == defined
        assert not fit.converged.any() or defined


DISAGREE = [[1, 1], [-1, -1]]  # two workers who disagree on every task
CYCLE = [
    [1, 1, -1],
    [-1, 1, 1],
    [1, -1, 1],
]  # each of three workers is the only one who is wrong on one task
CAMPS = [
    [1, 1, 1, 1],
    [1, 1, 1, 1],
    [1, 1, -1, -1],
    [1, 1, -1, -1],
]  # two camps, who disagree on half of the tasks
ALL_ONES = [
    [1, 1, 1, 1],
    [1, 1, -1, -1],
    [-1, -1, 1, 1],
]  # two opposites; the third leaves no task undecided
LEANING = [
    [1, -1, 1, -1, 1, -1],
    [1, -1, -1, 1, -1, -1],
    [1, -1, -1, -1, -1, 1],
    [1, -1, -1, -1, -1, 1],
    [1, -1, -1, 1, -1, -1],
    [1, 1, 1, 1, 1, 1],
]  # |u| is 0.7 and more everywhere


@pytest.mark.parametrize("answers", [DISAGREE, CYCLE, CAMPS, ALL_ONES, LEANING])
def test_a_saddle_point_is_not_convergence(answers):
    """Exact symmetry of the answers holds EM at a point where the likelihood still rises in some direction."""
    release = ReleasedAnswers(np.array([answers], np.int8), 0.0)
    _, n, m = release.answers.shape
    fit = DawidSkene(n, m, iterations=10_000).fit(release, None)
    assert not fit.converged[0]
    for steps in (1, 2, 3, 100):  # nor where T steps are all that is asked for, and lead there
        asked = DawidSkene(n, m, iterations=steps, until="iterations").fit(release, None)
        again = DawidSkene(n, m, iterations=steps + 2).fit(release, None)
        assert asked.converged[0] != (np.abs(again.abilities - asked.abilities).max() < 1e-9)
    nudged = np.clip(
        (1 + np.random.default_rng(0).normal(0, 1e-3, m) + 2 * (fit.start[0] - 0.5)) / 2, 0, 1
    )
    moved = DawidSkene(n, m, iterations=10_000, initialisation="given", initial_error=0.0).fit(
        ReleasedAnswers(release.answers, 0.0, nudged[None]), None
    )
    assert moved.converged[0]
    assert (
        log_likelihood(answers, moved.abilities[0])
        > log_likelihood(answers, fit.abilities[0]) + 0.1
    )


@pytest.mark.parametrize("n, m", [(3, 4), (4, 3), (4, 4)])
def test_what_has_converged_cannot_be_improved_by_a_nudge(n, m):
    """All tables of answers but for swaps of equal columns and workers, and signs of the first, with a control."""
    rows = np.array(list(itertools.product((1, -1), repeat=m)), np.int8)
    tables = np.array(list(itertools.combinations_with_replacement(rows, n)))
    tables = tables[(tables[:, 0] == 1).all(axis=1)]
    fit = DawidSkene(n, m, iterations=1000).fit(ReleasedAnswers(tables, 0.0), RNG(0))
    nudge = np.random.default_rng(1).normal(0, 1e-3, fit.posterior.shape)
    moved = DawidSkene(n, m, iterations=1000, initialisation="given", initial_error=0.0).fit(
        ReleasedAnswers(tables, 0.0, np.clip(fit.posterior + nudge, 0, 1)), None
    )
    gain = np.array(
        [
            log_likelihood(a, after) - log_likelihood(a, before)
            for a, after, before in zip(tables, moved.abilities, fit.abilities, strict=True)
        ]
    )
    still = fit.iterations < 1000
    print(
        len(tables), fit.converged.sum(), (still & ~fit.converged).sum(), gain[fit.converged].max()
    )
    assert gain[fit.converged].max() < 1e-4
    assert (gain[still & ~fit.converged] > 1e-3).all() and (still & ~fit.converged).any()


@pytest.mark.parametrize("estimator", [DawidSkene, KnownFlip, MajorityVote])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-18, 1e-12, 1e-3, 30.0, 1e6])
def test_what_has_converged_is_a_number(estimator, epsilon):
    """Every metric of every converged replication, blanks, lone workers and lone tasks included."""
    for n, m, answered in ((1, 1, 1.0), (2, 3, 0.3), (5, 4, 0.7), (6, 20, 1.0)):
        crowd, rng = Crowd(n=n, m=m, answered=answered), np.random.default_rng(n)
        truth = crowd.truth(rng, 40, rng)
        release = RandomizedResponse(n, m, epsilon).release(crowd.simulate(truth, rng), rng)
        fit = estimator(n, m).fit(release, rng)
        for metric in (
            label_error,
            soft_label_error,
            start_error,
            ability_error_inf,
            ability_error_l2,
            ability_error_inf_plain,
            wisdom,
            label_error_bound,
            theorem_2_holds,
            majority_error_exact,
            oracle_error,
        ):
            assert np.isfinite(metric()(truth, release, fit)[fit.converged]).all(), metric


def log_likelihood(answers, abilities):
    """Of answers (n, m) without blanks, labels alike likely, abilities kept in [λ, 1 − λ]."""
    p = np.clip(abilities, 1e-3, 1 - 1e-3)[:, None]
    by_label = [np.prod(np.where(np.array(answers) == sign, p, 1 - p), axis=0) for sign in (1, -1)]
    return np.log(np.mean(by_label, axis=0)).sum()


def test_ties_without_a_saddle_converge():
    """Two workers who agree on most tasks: a tie stays a tie, and no direction is better."""
    release = ReleasedAnswers(np.array([[[1, 1, 1, 1, 1], [1, 1, 1, 1, -1]]], np.int8), 0.0)
    fit = DawidSkene(2, 5, iterations=100_000).fit(release, None)
    assert fit.converged[0] and fit.posterior[0, 4] == 0.5
    blank = ReleasedAnswers(
        np.array([[[1, 1, 0], [1, 1, 0], [1, 1, 0]]], np.int8), 0.0
    )  # the third task has no answer
    assert DawidSkene(3, 3).fit(blank, None).converged[0]
