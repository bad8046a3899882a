"""Clusterings by people with a budget of all their answers: exact laws by enumeration, sensitivities,
what a curator adds.
"""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats

import pipeline as pl
from pipeline.privacy.composition import answer_budget, composed_delta, person_budget
from pipeline.problems.clustering.claims.persons import STEPS, TIMES
from pipeline.problems.clustering.model import BlockModel, BlockTruth
from pipeline.problems.clustering.sampling.records import (
    PairQuestions,
    bits_of_pairs,
    co_occurrences,
)
from pipeline.problems.clustering.theory.co_occurrence_sensitivity import (
    co_occurrence_sensitivity,
)
from pipeline.problems.clustering.theory.spectral_threshold import (
    both_rated,
    threshold_of_bits,
    threshold_of_curator,
)
from pipeline.study.parameters import InvalidInput

LIKES = ((0.9, 0.2), (0.3, 0.6))
ALPHA = 1e-6
REPS = 12_000
EPSILON = float(np.log(9))
KEEP = 0.9


# ---------------------------------------------------------------- laws by enumeration
#
# A law maps a tuple of counts to its chance.


def mixed(laws):
    """The law of one of several laws. laws: (chance, law)."""
    mixture = defaultdict(float)
    for chance, law in laws:
        for counts, part in law.items():
            mixture[counts] += chance * part
    return mixture


def added(*laws):
    """The law of a sum of independent counts."""
    total = {(0,) * len(next(iter(laws[0]))): 1.0}
    for law in laws:
        sums = defaultdict(float)
        for first, chance in total.items():
            for second, part in law.items():
                sums[tuple(map(sum, zip(first, second, strict=True)))] += chance * part
        total = sums
    return total


def records(clusters, likes, w):
    """(chance, record) of one user; a record maps an item to whether it is liked."""
    rated_sets = list(itertools.combinations(range(len(clusters)), w))
    for rated in rated_sets:
        for liked in itertools.product((0, 1), repeat=w):
            chance = 1 / len(rated_sets)
            for item, is_liked in zip(rated, liked, strict=True):
                like = likes[clusters[item]]
                chance *= like if is_liked else 1 - like
            yield chance, dict(zip(rated, liked, strict=True))


def counted(bit, places, size):
    """Counts (2, size), flat: 1 at these places of the row of a bit."""
    counts = [0] * (2 * size)
    for place in places:
        counts[bit * size + place] += 1
    return tuple(counts)


def released(sketch, places, size, keep):
    """The law of the counts of one bit."""
    as_it_is = {counted(sketch, places, size): 1.0}
    flipped = {counted(1 - sketch, places, size): 1.0}
    return mixed([(keep, as_it_is), (1 - keep, flipped)])


def law_of_a_set(record, items, chance, keep):
    laws = []
    for inside in itertools.product((0, 1), repeat=items):
        members = [item for item in range(items) if inside[item]]
        probability = chance ** len(members) * (1 - chance) ** (items - len(members))
        sketch = int(any(record.get(item, 0) for item in members))
        laws.append((probability, released(sketch, members, items, keep)))
    return mixed(laws)


def sketch_of(record, pair, reading):
    first, second = (record.get(item) for item in pair)
    if reading == "equal":
        return int((first or 0) == (second or 0))
    if first is None or second is None:
        return 0
    return int(first == second and (reading == "agree" or first == 1))


def law_of_pairs(record, asked, pairs, reading, keep):
    laws = [
        released(sketch_of(record, pair, reading), [pairs.index(pair)], len(pairs), keep)
        for pair in asked
    ]
    return added(*laws)


def law_of_users(of_user, classes=(0, 1)):
    """One user of each class, independent of each other."""
    return added(*(of_user(LIKES[k]) for k in classes))


def users(clusters, w, U=2, reps=REPS):
    model = BlockModel(
        U=U,
        N=len(clusters),
        w=w,
        alpha="0.5, 0.5",
        b="; ".join(", ".join(map(str, row)) for row in LIKES),
    )
    truth = BlockTruth(np.tile(clusters, (reps, 1)), 2)
    return model.simulate(truth, np.random.default_rng(7))


def deviation(counts, law):
    """χ² of simulated counts, (reps, …), against a law, and its bound at α."""
    seen = defaultdict(int)
    for row in counts.reshape(len(counts), -1).tolist():
        seen[tuple(row)] += 1
    assert sum(law.values()) == pytest.approx(1)
    expected = np.array([len(counts) * law[outcome] for outcome in law])
    observed = np.array([seen[outcome] for outcome in law])
    rare = expected < 8
    expected = np.append(expected[~rare], expected[rare].sum())
    observed = np.append(observed[~rare], observed[rare].sum())
    usual = expected > 0
    statistic = ((observed - expected)[usual] ** 2 / expected[usual]).sum()
    bound = stats.chi2.isf(ALPHA, usual.sum() - 1)
    if not set(seen) <= set(law):
        statistic = np.inf
    print(
        f"n={len(counts)}, χ²={statistic:.0f} of {usual.sum()} cells, bound {bound:.0f}, α={ALPHA}"
    )
    return statistic, bound


def of_scores(release):
    return np.stack([release.sensed - release.scores, release.scores], axis=1)


def of_pairs(release):
    first, second = np.triu_indices(release.probes.shape[1], 1)
    ones = release.agreements[:, first, second]
    return np.stack([release.probes[:, first, second] - ones, ones], axis=1)


def test_two_sets_of_one_user_have_the_enumerated_law():
    """The control: as many bits about records of their own, of one question each."""
    clusters = (0, 0, 1)

    def law(questions, classes):
        def of_user(likes):
            by_record = [
                (chance, added(*[law_of_a_set(record, 3, 0.6, KEEP)] * questions))
                for chance, record in records(clusters, likes, 2)
            ]
            return mixed(by_record)

        return law_of_users(of_user, classes)

    shared = {"N": 3, "w": 2, "theta": 1.2, "epsilon": EPSILON}
    two_bits = pl.clustering.MaxSense(Q=2, **shared)
    counts = of_scores(two_bits.release(users(clusters, 2), np.random.default_rng(1)))
    statistic, bound = deviation(counts, law(2, (0, 1)))
    assert statistic < bound
    one_bit = pl.clustering.MaxSense(**shared)
    others = of_scores(one_bit.release(users(clusters, 2, U=4), np.random.default_rng(1)))
    assert deviation(others, law(1, (0, 0, 1, 1)))[0] < bound
    statistic, bound = deviation(others, law(2, (0, 1)))
    assert statistic > bound


@pytest.mark.parametrize(
    "reading, w, design, rated_set",
    [
        ("agree", 3, "random", "private"),
        ("positive", 3, "random", "private"),
        ("equal", 2, "balanced", "private"),
        ("agree", 3, "random", "public"),
    ],
)
def test_two_pairs_of_one_user_have_the_enumerated_law(reading, w, design, rated_set):
    """The control: the pairs of two users with one question each."""
    clusters = (0, 0, 1, 1) if reading == "agree" else (0, 0, 1)
    items = range(len(clusters))
    pairs = list(itertools.combinations(items, 2))

    def of_user(asked_of):
        def law(likes):
            by_record = []
            for chance, record in records(clusters, likes, w):
                choices = asked_of(record)
                by_record += [
                    (chance / len(choices), law_of_pairs(record, asked, pairs, reading, KEEP))
                    for asked in choices
                ]
            return mixed(by_record)

        return law

    def random_pairs(record):
        among = itertools.combinations(sorted(record), 2) if rated_set == "public" else pairs
        return list(itertools.combinations(among, 2))

    if design == "random":
        law = law_of_users(of_user(random_pairs))
    else:
        parts = []
        orders = list(itertools.permutations(pairs))
        for order in orders:
            for classes in ((0, 1), (1, 0)):
                dealt = ([order[:2]], [(order[2], order[0])])
                laws = [
                    of_user(lambda record, asked=asked: asked)(LIKES[k])
                    for asked, k in zip(dealt, classes, strict=True)
                ]
                parts.append((1 / (2 * len(orders)), added(*laws)))
        law = mixed(parts)
    mechanism = pl.clustering.PairwisePreference(
        N=len(clusters),
        Q=2,
        epsilon=EPSILON,
        reading=reading,
        design=design,
        rated_set=rated_set,
    )
    release = mechanism.release(users(clusters, w), np.random.default_rng(2))
    statistic, bound = deviation(of_pairs(release), law)
    assert statistic < bound
    single = PairQuestions(1, reading, False, rated_set == "public", KEEP)
    others = bits_of_pairs(np.random.default_rng(2), users(clusters, w, U=4), single)
    is_possible = others.sum(axis=1).max(axis=1) < 3
    statistic, bound = deviation(others[is_possible], law)
    assert statistic > bound


def test_a_curators_sums_have_the_enumerated_law():
    clusters = (0, 0, 1)
    pairs = list(itertools.combinations(range(3), 2))

    def of_user(likes):
        laws = []
        for chance, record in records(clusters, likes, 2):
            ((first, second),) = itertools.combinations(sorted(record), 2)
            alike = int(record[first] == record[second])
            laws.append((chance, {counted(alike, [pairs.index((first, second))], 3): 1.0}))
        return mixed(laws)

    rng = np.random.default_rng(3)
    data = users(clusters, 2)
    counts = np.array([co_occurrences(rng, data, r) for r in range(REPS)])
    statistic, bound = deviation(counts, law_of_users(of_user))
    assert statistic < bound
    assert deviation(counts, law_of_users(of_user, (0, 0)))[0] > bound  # all of one class


# ---------------------------------------------------------------------- sensitivities


def entries(N, w, reading):
    """What every record of up to w ratings adds to all pairs, (records, pairs)."""
    first, second = np.triu_indices(N, 1)
    signs = np.array(list(itertools.product((-1, 0, 1), repeat=N)))
    signs = signs[(signs != 0).sum(axis=1) <= w]
    products = signs[:, first] * signs[:, second]
    return products if reading == "signed" else np.maximum(products, 0)


@pytest.mark.parametrize("reading", ["signed", "agree"])
def test_no_records_differ_by_more_than_is_charged_and_some_do(reading):
    for N in range(2, 6):
        for w in range(2, N + 1):
            adds = entries(N, w, reading)
            change = adds[:, None] - adds[None]
            charged = co_occurrence_sensitivity(N, w, reading, "replace_one")
            assert np.abs(change).sum(axis=2).max() == charged.absolute
            assert (change**2).sum(axis=2).max() == charged.squared
            there_or_not = co_occurrence_sensitivity(N, w, reading, "add_remove")
            assert np.abs(adds).sum(axis=1).max() == there_or_not.absolute == there_or_not.squared


# -------------------------------------------------------------------- a curator's noise


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_is_as_wide_as_the_charge_and_records_are_learned(delta):
    """The control: noise for twice the sensitivity."""
    mechanism = pl.clustering.NoisyCoOccurrences(N=20, w=6, U=2000, person=1.0, person_delta=delta)
    first, second = np.triu_indices(20, 1)
    one_user = pl.clustering.BlockModel(U=1, N=20, w=6, b="0.9, 0.1")
    record = pl.simulate_data(one_user, seed=1, replications=100).data
    alone = mechanism.release(record, np.random.default_rng(4))
    noise = alone.agreements[:, first, second]  # and ±1 of one record
    spread = noise.var() / alone.variance
    bound = 5 * np.sqrt(6 / noise.size)  # of a variance, with tails as heavy as Laplace's
    print(f"n={noise.size}, variance ratio {spread:.3f}, bound 1 ± {bound:.3f}, α=6e-7")
    assert abs(spread - 1) < bound
    wider = mechanism.noise.variance(mechanism.noise.width(2 * mechanism.charge))
    assert abs(noise.var() / wider - 1) > bound
    model = pl.clustering.BlockModel(U=2000, N=20, w=6, b="0.9, 0.1")
    people = pl.simulate_data(model, seed=1, replications=100)
    release = mechanism.release(people.data, np.random.default_rng(4))
    estimate = pl.clustering.SpectralClustering(N=20).fit(release, np.random.default_rng(5))
    is_same = estimate.clusters == people.truth.clusters
    missed = np.minimum(is_same.mean(axis=1), 1 - is_same.mean(axis=1)).mean()
    assert missed < 0.01
    assert mechanism.spent() == {"a user's record": 1.0}


def test_records_longer_than_charged_are_refused():
    model = pl.clustering.BlockModel(U=20, N=6, w=4, b="0.9, 0.1")
    people = pl.simulate_data(model, seed=1)
    mechanism = pl.clustering.NoisyCoOccurrences(N=6, w=3, person=1.0)
    assert mechanism.promise().answers == 3
    with pytest.raises(InvalidInput, match="has rated 4 items, all of which cost budget"):
        mechanism.release(people.data, np.random.default_rng(0))


# ---------------------------------------------------------------------------- budgets


def test_the_budget_of_a_bit_follows_from_the_persons():
    single = pl.clustering.MaxSense(N=20, w=5, person=2.0)
    assert single.spent() == {"a user's record": 2.0}
    several = pl.clustering.PairwisePreference(N=20, Q=4, person=2.0)
    assert several.spent() == {"a user's record": 2.0, "one bit": 0.5}
    assert several.attacks()["person"].epsilon == 2.0
    at_delta = pl.clustering.MaxSense(N=20, w=5, Q=4, person=2.0, person_delta=1e-6)
    assert at_delta.answer_epsilon == answer_budget(2.0, 4, 1e-6) > 0.5
    assert composed_delta(2.0, at_delta.answer_epsilon, 4) <= 1e-6
    by_bit = pl.clustering.MaxSense(N=20, w=5, Q=4, epsilon=0.5)
    assert by_bit.spent() == {"a user's record": person_budget(0.5, 4), "one bit": 0.5}
    assert by_bit.keep == several.keep


def test_a_record_changes_few_of_many_disjoint_sets():
    """Two ratings change four bits at most, which is what composes; the paper's ε/Q stays."""
    shared = {"N": 20, "w": 2, "theta": 0.1, "Q": 10}
    mechanism = pl.clustering.MultiMaxSense(person=1.0, **shared)
    assert mechanism.answer_epsilon == 0.25
    assert mechanism.attacks()["person"].epsilon == 1.0
    assert pl.clustering.MultiMaxSense(epsilon=1.0, **shared).answer_epsilon == 0.1
    with pytest.raises(InvalidInput, match="budgets of the same record"):
        pl.clustering.MultiMaxSense(person=1.0, epsilon=2.0, **shared)


@pytest.mark.parametrize(
    "make, key, text",
    [
        (lambda: pl.clustering.MaxSense(N=20, w=5), "epsilon", "or person"),
        (
            lambda: pl.clustering.MaxSense(N=20, w=5, Q=2, person=1.0, epsilon=1.0),
            "epsilon",
            "makes it 0.5; leave out one of both",
        ),
        (
            lambda: pl.clustering.PairwisePreference(N=3, Q=4, person=1.0),
            "Q",
            "there are 3 pairs of N=3 items",
        ),
        (
            lambda: pl.clustering.PairwisePreference(N=9, w=3, Q=4, person=1.0, rated_set="public"),
            "Q",
            "there are 3 pairs of the w=3 items that a user has rated",
        ),
        (
            lambda: pl.clustering.PairwisePreference(
                N=9, person=1.0, rated_set="public", design="balanced"
            ),
            "design",
            "must be random",
        ),
        (lambda: pl.clustering.NoisyCoOccurrences(N=9, w=1, person=1.0), "w", "2 or more"),
        (lambda: pl.clustering.NoisyCoOccurrences(N=9, w=10, person=1.0), "w", "no more items"),
        (lambda: pl.clustering.NoisyCoOccurrences(N=9, w=9, person=1e-12), "person", "wider than"),
    ],
)
def test_what_cannot_be_is_one_line(make, key, text):
    with pytest.raises(InvalidInput, match=text) as error:
        make()
    assert error.value.key == key and "\n" not in str(error.value)


def test_users_of_the_claims_lie_around_the_spectral_threshold():
    # What the claims on persons compare: one survey as far above as the other is below.
    for fewer, more, users in STEPS:
        thresholds = []
        for questions in (fewer, more):
            each = answer_budget(1.0, questions, 1e-6)
            thresholds.append(threshold_of_bits(20, 8, 0.18, questions, each))
        assert abs(users / np.sqrt(np.prod(thresholds)) - 1) < 0.05
    curator = pl.clustering.NoisyCoOccurrences(N=20, w=8, person=1.0, person_delta=1e-6)
    with_noise = threshold_of_curator(20, 8, 0.18, curator.noise.variance(curator.width))
    alone = threshold_of_bits(20, 8, 0.18, 1, 1.0)
    assert with_noise < 400 < 500 and TIMES * 500 < alone


def test_noise_of_the_edge_is_the_norm_of_the_matrix():
    # The threshold's ratio from a matrix of the same signal and noise, by its eigenvalues.
    rng = np.random.default_rng(8)
    items, users, variance = 400, 311, 1314.0
    clusters = np.repeat([1, -1], items // 2)
    both = both_rated(20, 8)
    signal = 2 * users * 0.18 * both * np.outer(clusters, clusters)
    noise = rng.normal(0, np.sqrt(variance + users * both), (items, items))
    edge = np.linalg.norm((noise + noise.T) / np.sqrt(2), 2)
    ratio = np.linalg.norm(signal, 2) / edge * np.sqrt(20 / items)
    print(f"ratio {ratio:.3f} of {items} items at the threshold of 20, expected 1")
    assert abs(ratio - 1) < 0.03
