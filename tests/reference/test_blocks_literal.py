"""Samplers of the block model against the paper's figures, word for word: joint laws by enumeration, and their privacy.

A joint law is of everything that is released of a replication. Negative controls are laws
that the samplers must not follow.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.clustering.mechanisms import multi_max_sense
from pipeline.problems.clustering.mechanisms.adaptive import Adaptive
from pipeline.problems.clustering.mechanisms.max_sense import MaxSense
from pipeline.problems.clustering.mechanisms.multi_max_sense import MultiMaxSense
from pipeline.problems.clustering.mechanisms.one_bit_sketch import OneBitSketch
from pipeline.problems.clustering.mechanisms.pairwise_preference import PairwisePreference
from pipeline.problems.clustering.model import BlockTruth, Users
from tests.helpers.checks import ALPHA, counts_agree, mean_agrees
from tests.helpers.reference import blocks_literal as literal

B = np.array([[0.9, 0.2], [0.35, 1.0]])


def rng(seed=1):
    return np.random.Generator(np.random.Philox(seed))


def users(clusters, classes, w, reps, b=B, seed=5):
    clusters = np.asarray(clusters)
    truth = BlockTruth(np.tile(clusters, (reps, 1)), int(clusters.max()) + 1)
    return Users(truth, np.asarray(classes), w, b[: len(classes)], rng(seed))


def follows(found, law, what):
    """Chi-square of (reps, …) tuples of vectors against an enumerated law; what has no mass must not occur."""
    law = {key: p for key, p in law.items() if p > 1e-14}
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-9)
    rows, counts = np.unique(np.stack(found, axis=1), axis=0, return_counts=True)
    seen = {
        tuple(map(tuple, row)): n for row, n in zip(rows.tolist(), counts.tolist(), strict=True)
    }
    if set(seen) - set(law):
        print(f"{what}: impossible {next(iter(set(seen) - set(law)))}")
        return False
    return counts_agree([seen.get(key, 0) for key in law], list(law.values()), what)


def of_classes(one, classes):
    """Law of the sum over users; one: law of a user of class k."""
    return literal.together(*(one(k) for k, n in enumerate(classes) for _ in range(n)))


# MaxSense

CLUSTERS = [0, 1, 1, 0]


def max_sense_law(w, keep, p, classes=(2, 1), clusters=CLUSTERS):
    questions = [((s,), chance) for s, chance in literal.subsets(len(clusters), p)]
    return of_classes(lambda k: literal.law_of_scores(w, B[k, clusters], keep, questions), classes)


law_of_records = literal.law_of_records


def with_replacement(w, likes):
    """A negative control: w items drawn with replacement, an item's rating being its first."""
    law = Counter()
    for drawn in itertools.product(range(len(likes)), repeat=w):
        for record in law_of_records(len(set(drawn)), likes):
            if {i for i, r in enumerate(record) if r >= 0} == set(drawn):
                law[record] += literal.chance(record, likes) / len(likes) ** w
    return law


@pytest.mark.parametrize(
    "w, theta, epsilon, classes",
    [(2, 1.0, 1.0, (2, 1)), (4, 2.0, np.inf, (1, 1)), (3, 3.0, 0.3, (1, 1)), (1, 0.5, 4.0, (1, 1))],
)
def test_joint_law_of_max_sense(w, theta, epsilon, classes):
    """Scores and counts of all items, two or three users of two classes."""
    mechanism = MaxSense(N=4, w=w, epsilon=epsilon, theta=theta)
    release = mechanism.release(users(CLUSTERS, classes, w, 60_000), rng())
    keep = 1 / (1 + math.exp(-epsilon))
    assert release.keep == pytest.approx(keep, rel=1e-12)
    assert follows(
        (release.scores, release.sensed), max_sense_law(w, keep, theta / w, classes), "law"
    )


def test_wrong_laws_of_max_sense_are_rejected(monkeypatch):
    release = MaxSense(N=4, w=2, epsilon=1.0).release(users(CLUSTERS, [1, 1], 2, 100_000), rng())
    found, keep, own = (release.scores, release.sensed), release.keep, (1, 1)
    assert follows(found, max_sense_law(2, keep, 0.5, own), "law")
    for what, law in {
        "w + 1": max_sense_law(3, keep, 0.5, own),
        "w − 1": max_sense_law(1, keep, 0.5, own),
        "as it is": max_sense_law(2, 1.0, 0.5, own),
        "keep": max_sense_law(2, keep + 0.08, 0.5, own),
        "sensing": max_sense_law(2, keep, 0.45, own),
        "clusters": max_sense_law(2, keep, 0.5, own, [1, 1, 1, 1]),
    }.items():
        assert not follows(found, law, f"control: {what}")
    monkeypatch.setattr(literal, "law_of_records", with_replacement)
    assert not follows(found, max_sense_law(2, keep, 0.5, own), "control: with replacement")


def no_hit(sensed, sizes, w, p, likes):
    """P(no sensed item is liked), given that one item of each cluster in `sensed` is; by sums over rated numbers."""
    if sensed:
        c, rest = sensed[0], sensed[1:]
        share, fewer = w / sum(sizes), [n - (k == c) for k, n in enumerate(sizes)]
        rated = share * (1 - likes[c]) * no_hit(rest, fewer, w - 1, p, likes) if w else 0
        return rated + (1 - share) * no_hit(rest, fewer, w, p, likes)
    j = np.arange(w + 1)
    return (
        stats.hypergeom.pmf(j, sum(sizes), sizes[0], w)
        * (1 - p * likes[0]) ** j
        * (1 - p * likes[1]) ** (w - j)
    ).sum()


def test_means_and_covariances_of_max_sense_with_many_users():
    """Per user E[S H_i], E[S H_i H_j] in closed form; what many users are drawn by is not what few are."""
    sizes, w, theta, epsilon, classes, reps = [22, 18], 7, 1.5, 1.0, [30_000, 20_000], 1000
    clusters = np.repeat([0, 1], sizes)
    p, keep = theta / w, 1 / (1 + math.exp(-epsilon))
    release = MaxSense(N=40, w=w, epsilon=epsilon, theta=theta).release(
        users(clusters, classes, w, reps), rng(3)
    )

    def one(sensed, k):
        return p ** len(sensed) * (keep - (2 * keep - 1) * no_hit(sensed, sizes, w, p, B[k]))

    mean = [sum(n * one([c], k) for k, n in enumerate(classes)) for c in (0, 1)]
    for i in (0, 5, 21, 22, 39):
        assert mean_agrees(release.scores[:, i], mean[clusters[i]], f"mean of item {i}")
        assert mean_agrees(release.sensed[:, i], sum(classes) * p, f"sensed, item {i}")
        assert not mean_agrees(
            release.scores[:, i], mean[1 - clusters[i]], "control: of the other cluster"
        )
    for i, j in [(0, 1), (0, 21), (0, 22), (22, 39), (0, 0), (39, 39)]:
        c, d = clusters[[i, j]]
        both = [p * one([c], k) / p if i == j else one([c, d], k) for k in (0, 1)]
        covariance = sum(n * (both[k] - one([c], k) * one([d], k)) for k, n in enumerate(classes))
        product = (release.scores[:, i] - mean[c]) * (release.scores[:, j] - mean[d])
        assert mean_agrees(product, covariance, f"covariance {i}, {j}")
        if i == j:
            assert not mean_agrees(product, sum(classes) * p, "control: Poisson")
        cross = sum(
            n * (one([c], k) * (1 - p) if i == j else p * (one([c, d], k) / p - one([c], k)))
            for k, n in enumerate(classes)
        )
        product = (release.scores[:, i] - mean[c]) * (release.sensed[:, j] - sum(classes) * p)
        assert mean_agrees(product, cross, f"covariance of score {i} and sensed {j}")
    total = release.sensed.sum(axis=1)
    assert mean_agrees(
        (total - total.mean()) ** 2,
        40 * sum(classes) * p * (1 - p),
        "variance of all that is sensed",
    )


def test_samplers_are_the_figures_with_more_clusters_and_users():
    """First and second moments, two samples: the transcription's and ours; three clusters, two classes."""
    b = np.array([[0.9, 0.5, 0.1], [0.2, 0.6, 0.7]])
    clusters, classes, w, reps = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2]), [25, 15], 4, 400
    draw = rng(11)

    def all_moments(scores, sensed):
        both = np.concatenate([scores, sensed], axis=1).astype(float) - np.concatenate(
            [scores, sensed], 1
        ).mean(axis=0)
        i, j = np.triu_indices(both.shape[1])
        return np.concatenate([scores, sensed, both[:, i] * both[:, j]], axis=1).astype(float)

    def transcribed(figure, **given):
        parts = [
            [figure(n, w, b[k, clusters], rng=draw, **given) for _ in range(reps)]
            for k, n in enumerate(classes)
        ]
        return [np.array([[one[i] for one in part] for part in parts]).sum(axis=0) for i in (0, 1)]

    def apart(first, second):
        """Largest standardised difference of moments, and its bound."""
        x, y = all_moments(*first), all_moments(*second)
        z = np.abs(x.mean(axis=0) - y.mean(axis=0)) / np.sqrt(
            x.var(axis=0) / len(x) + y.var(axis=0) / len(y) + 1e-300
        )
        bound = stats.t.isf(ALPHA / 2 / x.shape[1], min(len(x), len(y)) - 1)
        print(
            f"n={len(x)} moments={x.shape[1]} statistic={z.max():.3g} bound={bound:.3g} alpha={ALPHA:g}"
        )
        return z.max() > bound

    data = users(clusters, classes, w, 8 * reps, b)
    for epsilon in (3.0,):
        single = MaxSense(N=9, w=w, epsilon=epsilon).release(data, rng(1))
        several = MultiMaxSense(N=9, w=w, epsilon=epsilon, Q=3).release(data, rng(1))
        single, several = (single.scores, single.sensed), (several.scores, several.sensed)
        figure_2 = transcribed(literal.max_sense, epsilon=epsilon, theta=1.0)
        figure_3 = transcribed(literal.multi_max_sense, epsilon=epsilon, Q=3, size=2)
        assert not apart(figure_2, single) and not apart(figure_3, several)
        assert apart(figure_2, several) and apart(figure_3, single)  # controls
        richer = users(clusters, classes, w + 2, 8 * reps, b)
        wrong = MaxSense(N=9, w=w + 2, theta=(w + 2) / w, epsilon=epsilon).release(richer, rng(1))
        assert apart(figure_2, (wrong.scores, wrong.sensed))  # sensed as often, but more is rated


# Multi-MaxSense


def multi_law(N, w, Q, size, keep, clusters, classes=(1, 1)):
    sets = literal.partitions(N, Q, size)
    questions = [(s, 1 / len(sets)) for s in sets]
    return of_classes(lambda k: literal.law_of_scores(w, B[k, clusters], keep, questions), classes)


@pytest.mark.parametrize("N, w, Q, size, few", [(5, 3, 2, 2, 3), (4, 2, 3, 1, 3), (4, 2, 3, 1, 0)])
def test_joint_law_of_multi_max_sense(N, w, Q, size, few, monkeypatch):
    """By counts of users, and entry by entry as where there are many clusters."""
    monkeypatch.setattr(multi_max_sense, "FEW", few)
    clusters = np.array([0, 1, 1, 0, 1])[:N]
    mechanism = MultiMaxSense(N=N, w=w, epsilon=Q - 0.2, theta=size * w / N)
    assert (mechanism.answers, mechanism.size) == (Q, size)
    release = mechanism.release(users(clusters, [1, 1], w, 6000), rng())
    found, keep = (release.scores, release.sensed), 1 / (1 + math.exp(-(Q - 0.2) / Q))
    assert follows(found, multi_law(N, w, Q, size, keep, clusters), "law")
    assert not follows(
        found,
        multi_law(N, w, Q, size, 1 / (1 + math.exp(-(Q - 0.2))), clusters),
        "control: ε a bit",
    )
    assert not follows(found, multi_law(N, w, Q, size, 1 - keep, clusters), "control: turned over")


def test_multi_max_sense_by_counts_is_that_by_entries(monkeypatch):
    """Three clusters, two classes, more users than can be enumerated: sums and spreads of scores, by cluster."""
    clusters, classes, w, reps = np.repeat([0, 1, 2], [9, 12, 7]), [40, 30], 8, 900
    b = np.array([[0.9, 0.2, 0.5], [0.3, 1.0, 0.6]])
    mechanism = MultiMaxSense(N=28, w=w, theta=8 / 7, epsilon=4.0, Q=3)

    def drawn(few, seed):
        monkeypatch.setattr(multi_max_sense, "FEW", few)
        release = mechanism.release(users(clusters, classes, w, reps, b), rng(seed))
        return release.scores, release.sensed

    def told(scores, sensed):
        parts = [
            (one[:, clusters == c], what)
            for c in range(3)
            for one in (scores, sensed, 2 * scores - sensed)
            for what in (np.sum, np.var)
        ]
        parts += [
            (
                scores[:, clusters == c] * sensed[:, clusters == d].mean(axis=1, keepdims=True),
                np.sum,
            )
            for c, d in ((0, 1), (1, 2), (2, 0))
        ]
        return [what(one, axis=1) for one, what in parts]

    def alike(first, second, what):
        both = [*zip(told(*first), told(*second), strict=True)]
        statistic, bound = (
            max(stats.ks_2samp(x, y).statistic for x, y in both),
            math.sqrt(math.log(2 * len(both) / ALPHA) / reps),
        )  # 2 exp(−n D²), Wei and Dudley 2012
        print(
            f"{what}: n={reps} of each, statistic={statistic:.4f} bound={bound:.4f} alpha={ALPHA:g}"
        )
        return statistic <= bound

    entries = drawn(0, 11)
    assert alike(drawn(3, 3), entries, "law")
    whole = multi_max_sense.subset_sums
    monkeypatch.setattr(
        multi_max_sense,
        "subset_sums",
        lambda rng, where, count, some: np.concatenate(
            [
                whole(rng, where, count, [one._replace(sizes=one.sizes[k : k + 1]) for one in some])
                for k in range(2)
            ]
        ),
    )
    assert not alike(drawn(3, 3), entries, "control: sets that may overlap")


# Pairwise-Preference


def pairs_law(N, w, keep, clusters, reading, classes, public=False):
    """Upper triangles of (ones, asked)."""
    pairs = list(itertools.combinations(range(N), 2))

    def one(k):
        law = Counter()
        for record, probability in literal.law_of_records(w, B[k, clusters]).items():
            rated = [
                pair for pair in pairs if not public or min(record[pair[0]], record[pair[1]]) >= 0
            ]
            for pair in rated:
                asked = tuple(int(pair == other) for other in pairs)
                sketch = literal.sketch_of_pair(record, pair, reading)
                for bit in (0, 1):
                    law[tuple(bit * a for a in asked), asked] += (
                        probability / len(rated) * (keep if bit == sketch else 1 - keep)
                    )
        return law

    return of_classes(one, classes)


@pytest.mark.parametrize("reading", ["agree", "positive", "equal"])
@pytest.mark.parametrize("rated_set", ["private", "public"])
def test_joint_law_of_pairwise_preference(reading, rated_set):
    N, w, classes = 4, 3, (1, 1)
    mechanism = PairwisePreference(N=N, epsilon=1.2, reading=reading, rated_set=rated_set)
    release = mechanism.release(users(CLUSTERS, classes, w, 8000), rng())
    upper = (slice(None), *np.triu_indices(N, 1))
    for whole in (release.agreements, release.probes):
        assert (whole == whole.swapaxes(1, 2)).all() and not whole[:, range(N), range(N)].any()
    found, public = (release.agreements[upper], release.probes[upper]), rated_set == "public"
    assert follows(found, pairs_law(N, w, release.keep, CLUSTERS, reading, classes, public), "law")
    for what, law in {
        "another reading": pairs_law(
            N,
            w,
            release.keep,
            CLUSTERS,
            "agree" if reading == "positive" else "positive",
            classes,
            public,
        ),
        "as it is": pairs_law(N, w, 1.0, CLUSTERS, reading, classes, public),
        "the other rated set": pairs_law(
            N, w, release.keep, CLUSTERS, reading, classes, not public
        ),
        "other clusters": pairs_law(N, w, release.keep, [0, 0, 1, 1], reading, classes, public),
    }.items():
        assert not follows(found, law, f"control: {what}")


def test_pairwise_preference_with_many_users():
    """Counts of pairs are independent binomials, given the numbers asked; chi-square over all pairs of two clusters."""
    clusters = np.repeat([0, 1], [20, 30])
    release = PairwisePreference(N=50, epsilon=2.0).release(
        users(clusters, [200_000], 20, 3), rng()
    )
    i, j = np.triu_indices(50, 1)
    asked, ones = release.probes[:, i, j], release.agreements[:, i, j]
    assert (asked.sum(axis=1) == 200_000).all()
    assert counts_agree(asked[0], np.full(i.size, 1 / i.size), "pairs")
    both, b = 20 * 19 / (50 * 49), B[0]
    chance = both * (b[clusters[i]] * b[clusters[j]] + (1 - b[clusters[i]]) * (1 - b[clusters[j]]))
    chance = release.keep * chance + (1 - release.keep) * (1 - chance)
    for kind in (0, 1, 2):
        rows = clusters[i] + clusters[j] == kind
        yes, total, share = ones[:, rows].sum(), asked[:, rows].sum(), chance[rows][0]
        assert counts_agree([yes, total - yes], [share, 1 - share], f"pairs of kind {kind}")
        assert not counts_agree(
            [yes, total - yes], [1.05 * share, 1 - 1.05 * share], "control: 5 % more"
        )
    statistic = ((ones - asked * chance) ** 2 / (asked * chance * (1 - chance))).sum()
    low, high = stats.chi2.isf([1 - ALPHA / 2, ALPHA / 2], ones.size)
    print(
        f"dispersion: n={ones.size} statistic={statistic:.6g} bounds={low:.6g}, {high:.6g} alpha={ALPHA:g}"
    )
    assert low <= statistic <= high
    figures = [literal.pairwise_preference(400, 20, b[clusters], 2.0, rng(s)) for s in range(10)]
    total, yes = (sum(f[k].sum() for f in figures) / 2 for k in (1, 0))
    assert total == 4000 and counts_agree(
        [yes, total - yes], [chance.mean(), 1 - chance.mean()], "transcribed"
    )


# Sketches without privacy


@pytest.mark.parametrize("w", [1, 2])
def test_joint_law_of_the_one_bit_sketch(w):
    """One rating is used, however many there are."""
    release = OneBitSketch(N=3).release(users([0, 1, 1], [2, 1], w, 60_000), rng())

    def law(own):
        def one(k):
            found = Counter()
            for i, guess in itertools.product(range(3), itertools.product((0, 1), repeat=3)):
                right = B[k, [0, 1, 1][i]] if guess[i] else 1 - B[k, [0, 1, 1][i]]
                for bit in (0, 1):
                    found[tuple(bit * g for g in guess), guess] += (
                        (right if bit else 1 - right) / 3 * 0.5**3
                    )
            return found

        return of_classes(one, own)

    assert follows((release.scores, release.sensed), law((2, 1)), "law")
    assert not follows((release.scores, release.sensed), law((1, 2)), "control: classes")


@pytest.mark.parametrize("w", [1, 2, 4])
def test_joint_law_of_all_ratings(w):
    """The coupon collector's: what items were rated by whom, and how, of three users."""
    release = users(CLUSTERS, [2, 1], w, 60_000).release_plainly()

    def law(w):
        def one(k):
            found = Counter()
            for record, p in literal.law_of_records(w, B[k, CLUSTERS]).items():
                found[tuple(int(r == 1) for r in record), tuple(int(r >= 0) for r in record)] += p
            return found

        return of_classes(one, (2, 1))

    assert (release.users_asked == 3).all() and release.users == 3
    assert follows((release.positive, release.seen), law(w), "law")
    assert not follows((release.positive, release.seen), law(w % 4 + 1), "control: another w")


@pytest.mark.parametrize("answers", [1, 2])
def test_joint_law_of_the_adaptive_scheme(answers):
    """User by user: who comes is a draw without replacement; the question depends on the answers before."""
    clusters, classes, w = np.array([0, 1]), (3, 2), 2

    def law(chance):
        whole = Counter()
        orders = set(itertools.permutations([k for k, n in enumerate(classes) for _ in range(n)]))
        for order in orders:
            states = Counter({((0, 0), (0, 0)): 1 / len(orders)})
            for k in order:
                grown = Counter()
                for (positive, seen), p in states.items():
                    item = next((i for i in (0, 1) if seen[i] < answers), None)
                    if item is None:
                        grown[positive, seen] += p
                        continue
                    grown[positive, seen] += p * (1 - chance)
                    for rating, share in ((1, B[k, clusters[item]]), (0, 1 - B[k, clusters[item]])):
                        step = tuple(int(i == item) for i in (0, 1))
                        new = (
                            tuple(np.add(positive, rating * np.array(step)).tolist()),
                            tuple(np.add(seen, step).tolist()),
                        )
                        grown[new] += p * chance * share
                states = grown
            whole.update(states)
        return whole

    release = Adaptive(N=2, answers=answers).release(users(clusters, classes, w, 60_000), rng())
    assert follows((release.positive, release.seen), law(w / 4), "law")
    assert not follows(
        (release.positive, release.seen), law(w / 4 - 0.02), "control: fewer say yes"
    )


# Privacy, of every pair of records and every question


def worst(chances):
    """Largest log ratio of chances (record, question, outcome) over all pairs of records."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(chances)
        return np.nanmax(logs.max(axis=0) - logs.min(axis=0))


def kept(sketches, keep):
    """(record, question, outcome) from sketches (record, question) or (record, question, bit), and the keep chance."""
    sketches = np.asarray(sketches).reshape(*np.shape(sketches)[:2], -1)
    outcomes = np.array(list(itertools.product((0, 1), repeat=sketches.shape[2])))
    return np.where(sketches[:, :, None] == outcomes, keep, 1 - keep).prod(axis=3)


@pytest.mark.parametrize("N, w", [(4, 1), (4, 2), (4, 4), (5, 3)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_max_sense_loses_exactly_epsilon(N, w, epsilon):
    keep = MaxSense(N=N, w=w, epsilon=epsilon).keep
    records = list(literal.records(N, w))
    sketches = [[literal.sketch_of_set(r, s) for s, _ in literal.subsets(N, 0.5)] for r in records]
    assert worst(kept(sketches, keep)) == pytest.approx(epsilon, rel=1e-12)
    assert worst(kept(sketches, 1.0)) == np.inf  # a negative control without bit release
    assert worst(kept(sketches, MaxSense(N=N, w=w, epsilon=1.01 * epsilon).keep)) > epsilon


@pytest.mark.parametrize("N, w", [(4, 1), (4, 2), (4, 4)])
@pytest.mark.parametrize("reading", ["agree", "positive", "equal"])
def test_pairwise_preference_loses_exactly_epsilon(N, w, reading):
    """But for those who rated one item only and are asked whether both are rated: their sketch is always 0."""
    keep, pairs = (
        PairwisePreference(N=N, epsilon=0.7).keep,
        list(itertools.combinations(range(N), 2)),
    )
    sketches = [
        [literal.sketch_of_pair(r, pair, reading) for pair in pairs] for r in literal.records(N, w)
    ]
    assert worst(kept(sketches, keep)) == pytest.approx(
        0 if w == 1 and reading != "equal" else 0.7, abs=1e-12
    )
    if w > 1:  # a public rated set: records of the same items, asked about these
        same = [r for r in literal.records(N, w) if all(x >= 0 for x in r[:w])]
        asked = list(itertools.combinations(range(w), 2))
        sketches = [[literal.sketch_of_pair(r, pair, reading) for pair in asked] for r in same]
        assert worst(kept(sketches, keep)) == pytest.approx(0.7, rel=1e-12)


@pytest.mark.parametrize(
    "N, w, Q, size", [(4, 1, 2, 2), (4, 1, 4, 1), (5, 2, 5, 1), (6, 1, 3, 2), (5, 3, 2, 2)]
)
def test_multi_max_sense_loses_what_it_says(N, w, Q, size):
    """ε where records can differ in all bits; two records of w ratings each differ in 2w bits at most."""
    mechanism = MultiMaxSense(N=N, w=w, epsilon=2.5, theta=size * w / N, Q=Q)
    sets = literal.partitions(N, Q, size)
    sketches = [
        [[literal.sketch_of_set(r, s) for s in one] for one in sets] for r in literal.records(N, w)
    ]
    lost = worst(kept(sketches, mechanism.keep))
    assert lost == pytest.approx(mechanism.spent()["a user's record"], rel=1e-12)
    assert lost == pytest.approx(2.5 * min(1, 2 * w / Q), rel=1e-12)
    assert (
        worst(kept(sketches, 1 / (1 + math.exp(-2.5)))) > 2.5
    )  # a negative control that spends ε on every bit
