"""Prints where the package is, and of every kernel a digest of what it computes, for tests."""

import hashlib
from pathlib import Path

import numpy as np

import pipeline


def newton():
    """Fits of both layouts: near and far minimisers, without a ridge, of more and fewer replications than lanes."""
    from pipeline.problems.ranking.estimators.newton import minimise, scores

    rng = np.random.default_rng(1)
    for m, reps in ((2, 5), (7, 9), (40, 6), (170, 2)):
        for spread in (0.3, 3.0, 300.0):
            for ridge in (0.0, 1e-6, 0.1):
                s = (m - 1) / 2 + spread * rng.standard_normal((reps, m))
                yield from minimise(s, ridge)
        yield scores(rng.random((reps, m * (m - 1) // 2)), m)


def risk():
    """Sandwich and Cramér–Rao risk, and variances of scores, one of them out of reach."""
    from pipeline.problems.ranking.theory.risk import complete_variances, risks

    for m in (2, 9, 30):
        theta = np.random.default_rng(m).standard_normal((6, m))
        theta[3, 0] = 90
        theta -= theta.mean(axis=1, keepdims=True)
        yield risks(theta, [0.5, 2.0], [10, 20], 0.01)
        yield from complete_variances(theta, 0.1, 0.02, 0.01)


def ordering():
    """Excess risks of small, usual and huge errors."""
    from pipeline.problems.ranking.theory.ordering import excess_risk

    for m in (2, 9, 30):
        rng = np.random.default_rng(m)
        theta, error = rng.standard_normal((2, 7, m))
        yield from (excess_risk(theta + size * error, theta) for size in (1e-6, 0.01, 1, 100))


def stationary():
    """Laws of chains, one whose states do not communicate, and all states eliminated alone or several at a time."""
    from pipeline.problems.common.stationary import stationary as law

    for m in (2, 5, 38, 101):
        rates = np.exp(3 * np.random.default_rng(m).standard_normal((3, m, m)))
        rates[0, :, 0] = 0
        yield law(rates)


def pair_counts():
    """Counts of complete and incomplete answers of fewer and more persons than a word has bits."""
    from pipeline.problems.response.sampling.pair_counts import differences_of, pairs_of

    for n, m in ((3, 2), (130, 9), (2100, 6), (70, 1030)):
        answers, observed = np.random.default_rng(n).random((2, 2, n, m)) < 0.6
        yield from (
            differences_of(answers, None),
            differences_of(answers, observed),
            pairs_of(answers, observed),
        )


def answers():
    """Answers of few and of many persons and items, usual and extreme, and the generator's next number."""
    from pipeline.problems.response.sampling.answers import draw_answers

    for n, m in ((1, 2), (90, 7), (30, 40), (3, 600)):
        rng, drawn = np.random.default_rng(n), np.empty((2, n, m), bool)
        difficulty = np.exp(rng.normal(0, 3, (2, m)))
        difficulty[:, 0], difficulty[:, 1] = np.inf, 1e-40
        draw_answers(np.exp(rng.normal(0, 3, (2, n))), difficulty, rng, drawn)
        yield from (drawn, rng.random(1))


def surveys():
    """Items of few and of many persons, by both designs, of those that they could answer, and the next number."""
    from pipeline.problems.response.sampling.surveys import Survey, thinned

    for k, m in ((1, 2), (2, 7), (5, 6), (30, 40)):
        rng = np.random.default_rng(k)
        for design in ("balanced", "random"):
            yield Survey(k, design).items(rng, 3, 50, m)
        yield thinned(rng, rng.random((20, m)) < 0.7, k)
        yield rng.random(1)


def deals():
    """Sets of few and of many questions, by both designs, dealt, left out and counted, and the next number."""
    from pipeline.problems.common.assigned import assigned as gets
    from pipeline.problems.common.deals import counted_sets

    for k, kinds in ((1, 2), (2, 7), (30, 61), (5, 6), (9, 3000)):
        rng = np.random.default_rng(k)
        for design in ("balanced", "random"):
            yield gets(design, 23, k, kinds, 3, rng)
        yield counted_sets(rng, np.array([0, 1, 90]), k, kinds)
        yield rng.random(1)


def noise_risk():
    """Expected counts of few and of many persons and items."""
    from pipeline.problems.response.theory.noise_risk import expected_counts

    for n, m in ((1, 2), (300, 7), (700, 70)):
        rng = np.random.default_rng(n)
        yield expected_counts(2 * rng.standard_normal((2, m)), rng.standard_normal((2, n)))


def fitted_abilities():
    """Laws of abilities and what pairs share, of fewer and more replications than lanes."""
    from pipeline.problems.response.theory.fitted_abilities import (
        PairShares,
        fitted_abilities,
        shared_covariance,
    )

    for reps, m in ((1, 2), (5, 3), (9, 8)):
        rng = np.random.default_rng(m)
        theta = rng.standard_normal((reps, m))
        counts = rng.poisson(50, (reps, m, m)).astype(float)
        law = fitted_abilities(theta, PairShares(counts, 300.0, np.full(reps, 20.0), None))
        yield law.points
        yield shared_covariance(theta, rng.random((reps, m, m)), law, None)


def person_scores():
    """Sums over few and many persons, all of whose answers are known or not."""
    from pipeline.problems.response.theory.person_scores import score_covariance

    for n, m in ((1, 2), (7, 5), (301, 9)):
        rng = np.random.default_rng(n)
        answers, observed = rng.random((2, 3, n, m)) < 0.6
        weight = rng.random((3, m, m))
        yield score_covariance(answers, None, weight, 0.2)
        yield score_covariance(answers, observed, weight, 0.0)


def person_influences():
    """Sums over few and many persons, of few and many items, all of whose answers are known or not."""
    from pipeline.problems.response.theory.person_influences import influence_variances

    for n, m in ((1, 2), (40, 5), (7, 9), (301, 13), (20, 18)):
        rng = np.random.default_rng(n)
        answers, observed = rng.random((2, 3, n, m)) < 0.6
        weight = rng.random((3, m))
        inverse = rng.random((3, m, m))
        yield influence_variances(answers, None, weight, inverse, 0.2)
        yield influence_variances(answers, observed, weight, inverse, 0.0)


def cramer_rao():
    """Bounds from few and from many items, near and far."""
    from pipeline.problems.response.theory.cramer_rao import _sums

    for n, r in ((1, 2), (7, 5), (90, 29)):
        rng = np.random.default_rng(n)
        yield _sums(
            3 * rng.standard_normal((2, r)),
            rng.random((2, r + 1, r)),
            3 * rng.standard_normal((2, n)),
        )[2]


def signed_sums():
    """Votes and steps from complete and incomplete answers, of one group of workers and of several sets of groups."""
    from pipeline.problems.crowd.estimators.signed_sums import (
        agreement,
        em_steps,
        mean_vote,
        weighted_votes,
    )

    for n, m in ((1, 1), (9, 40), (70, 300), (130, 1100)):
        rng = np.random.default_rng(n)
        for kinds in ((-1, 1), (-1, 0, 1)):
            answers = rng.choice(np.array(kinds, np.int8), (2, n, m))
            yield from (
                mean_vote(answers),
                agreement(answers, rng.standard_normal((2, m))),
                weighted_votes(answers, rng.standard_normal((2, n))),
            )
            yield from em_steps(answers, None, 0.998, 20, 1e-8)


def rates():
    """Chances of few and of many items, near and far."""
    from pipeline.problems.ranking.theory.rates import win_probability

    for m in (2, 5, 30):
        yield win_probability(
            np.random.default_rng(m).standard_normal((7, m)) * 10.0 ** np.arange(-3, 4)[:, None]
        )


def binomial():
    """Counts of small, usual and huge numbers, by inversion and by rejection, in rows of any length."""
    from pipeline.problems.ranking.sampling.binomial import binomial as counts

    for most, width in ((10, 3), (100, 45), (2000, 300), (10**9, 7)):
        rng = np.random.default_rng(width)
        yield counts(rng, rng.integers(0, most, (40, width)), rng.random((40, width)) ** 3)


def k_means():
    """Clusters of few and of many points, in two dimensions and others."""
    from pipeline.problems.clustering.estimators.k_means import split_points

    for items, dims, count in ((5, 1, 2), (40, 2, 2), (300, 3, 3), (300, 6, 4)):
        rng = np.random.default_rng(items)
        yield split_points(
            rng.standard_normal((items, dims)) + 2 * rng.integers(0, count, (items, 1)), count, rng
        )[0]


def pair_throws():
    """Few and many balls in one box and in many, and pairs of two clusters and of one."""
    from pipeline.problems.clustering.sampling.pair_throws import put_pairs, throw

    matrix = np.zeros((9, 9), np.int64)
    for boxes in (1, 3, 1000):
        yield from (
            throw(np.random.default_rng(boxes), balls * boxes, boxes) for balls in (2, 5, 500)
        )
    put_pairs(matrix, np.arange(4), np.arange(4, 9), np.arange(20))
    put_pairs(matrix, np.arange(4), None, np.arange(6))
    yield matrix


def records():
    """Bits about sets and about pairs of few users, of all designs, and sums over their records."""
    from pipeline.problems.clustering.model import BlockModel
    from pipeline.problems.clustering.sampling.records import (
        READINGS,
        PairQuestions,
        bits_of_pairs,
        bits_of_sets,
        co_occurrences,
    )

    rng = np.random.default_rng(1)
    model = BlockModel(U=40, N=9, w=5, alpha="0.3, 0.7", b="0.9, 0.2; 0.1, 0.7")
    users = model.simulate(model.truth(rng, 3, rng), rng)
    yield bits_of_sets(rng, users, 0.4, 3, 0.8)
    for reading in READINGS:
        for is_dealt, of_rated in ((False, False), (True, False), (False, True)):
            asked = PairQuestions(4, reading, is_dealt, of_rated, 0.8)
            yield bits_of_pairs(rng, users, asked)
    yield co_occurrences(rng, users, 0)


def user_counts():
    """Splits of few and of many users by narrow and by wide laws, and sums of one and of two subsets of theirs."""
    from pipeline.problems.common.subset_sums import SubsetCounts, subset_sums
    from pipeline.problems.common.user_counts import (
        UserCounts,
        binomial,
        hypergeometric,
    )

    for most, width, rows in ((2, 5, 300), (60, 9, 300), (3000, 200, 300), (10**9, 40_000, 10)):
        rng = np.random.default_rng(width)
        users, (good, bad) = (
            UserCounts({}, rng.integers(0, most, rows)),
            rng.integers(0, width, (2, rows)),
        )
        users = binomial(rng, users, "first", good, rng.random(rows) ** 3)
        good, bad = rng.integers(0, width, (2, users.count.size))
        users = hypergeometric(rng, users, "second", good, bad, rng.integers(0, good + bad + 1))
        yield from (*users.columns.values(), users.count, users.merged("second").count)
    held = tuple(rng.integers(0, 30, (2, 50)))
    for sizes in (held, held[:1]):
        some = SubsetCounts(rng.integers(0, 3, 50), 0, sizes, rng.integers(0, 10**6, 50))
        yield subset_sums(rng, np.zeros((3, 70), np.int64), 1, [some])


def digest(arrays):
    whole = hashlib.blake2b(digest_size=16)
    for array in arrays:
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()


def main():
    print(pipeline.__file__)
    for source in sorted(Path(pipeline.__file__).parent.rglob("*.c")):
        print(source.stem, digest(globals()[source.stem]()))


main()
