"""Users who fall on pairs alike: the balls that NumPy throws, the law of their counts, and each pair at its place."""

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.clustering.sampling.pair_throws import put_pairs, throw
from tests.helpers.checks import counts_agree, mean_agrees


def rng(seed):
    return np.random.Generator(np.random.Philox(seed))


@pytest.mark.parametrize("balls", [50, 61, 3200, 3201, 10_000_000])
def test_balls_are_thrown_uniformly(balls):
    counts = sum(throw(rng(s), balls, 20) for s in range(20))
    assert counts.sum() == 20 * balls and counts_agree(counts, np.full(20, 1 / 20), "boxes")
    assert not counts_agree(
        counts + 5 * balls * (np.arange(20) == 3), np.full(20, 1 / 20), "control"
    )


def test_the_joint_law_is_multinomial():
    """12 balls in 3 boxes, four a box: all 91 outcomes. The negative control has one box a little larger."""
    draw, outcomes = rng(1), [(a, b) for a in range(13) for b in range(13 - a)]
    found = np.array([throw(draw, 12, 3) for _ in range(100_000)])
    assert (found.sum(axis=1) == 12).all()
    seen = [((found[:, 0] == a) & (found[:, 1] == b)).sum() for a, b in outcomes]
    laws = [
        stats.multinomial.pmf([(a, b, 12 - a - b) for a, b in outcomes], 12, p)
        for p in ([1 / 3] * 3, [0.34, 0.33, 0.33])
    ]
    assert counts_agree(seen, laws[0], "counts") and not counts_agree(seen, laws[1], "control")


@pytest.mark.parametrize("boxes, balls", [(20, 90), (20, 3200), (200, 100_000)])
def test_counts_of_many_balls_scatter_as_they_should(boxes, balls):
    """Mean and variance of Pearson's statistic; independent Poisson numbers, the control, have `boxes` as its mean."""
    draw, mean = rng(balls), balls / boxes
    found = np.array([throw(draw, balls, boxes) for _ in range(200_000 // boxes * 4)])
    statistic = ((found - mean) ** 2 / mean).sum(axis=1)
    assert mean_agrees(statistic, boxes - 1, "mean")
    variance = 2 * (boxes - 1) * (1 - 1 / balls)
    assert mean_agrees((statistic - boxes + 1) ** 2, variance, "variance")
    assert boxes > 20 or not mean_agrees(statistic, boxes, "control")


@pytest.mark.parametrize("bits", [np.random.Philox, np.random.PCG64, np.random.MT19937])
@pytest.mark.parametrize(
    "boxes", [1, 2, 3, 20, 2**22 + 1, 3 * 2**22 + 1]
)  # of many, one in 1,000 is drawn again
def test_balls_are_those_of_numpy(bits, boxes):
    """Up to three balls a box; also where half a word of random bits is left from before."""
    for seed in range(20):
        balls = min(seed * boxes // 7, 20_000)
        ours, numpys = (np.random.Generator(bits(seed)) for _ in range(2))
        if seed % 2:
            ours.integers(10), numpys.integers(10)
        assert (
            throw(ours, balls, boxes)
            == np.bincount(numpys.integers(0, boxes, balls), minlength=boxes)
        ).all()
        assert repr(ours.bit_generator.state) == repr(numpys.bit_generator.state)


def test_no_boxes_and_no_balls():
    assert throw(rng(1), 0, 0).shape == (0,) and not throw(rng(1), 0, 5).any()


def test_pairs_get_to_their_places():
    """Against indices written out, for clusters of several sizes, also of one item; other places stay as they are."""
    for seed in range(20):
        clusters = np.random.default_rng(seed).integers(0, 4, 12)
        items = [np.flatnonzero(clusters == c) for c in range(4)]
        found, literal, number = np.zeros((12, 12), np.int64), np.zeros((12, 12), np.int64), 0
        for c in range(4):
            for d in range(c, 3):  # none of pairs in cluster 3
                places = [(i, j) for i in items[c] for j in items[d] if c != d or i < j]
                counts = np.arange(number, number + len(places)) + 1
                number += len(places)
                put_pairs(found, items[c], None if c == d else items[d], counts)
                for (i, j), count in zip(places, counts, strict=True):
                    literal[i, j] = literal[j, i] = count
        assert (found == literal).all() and not np.diag(found).any()
