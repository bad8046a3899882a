"""What a user who knows the clusters of the items can foretell of her own ratings, at home.

She has rated w of N items, drawn uniformly, and expects of another item what most of her
ratings in its cluster say; a coin decides ties, and clusters in which she has rated nothing.
Her ratings leave her nowhere. Source: Banerjee, Hegde and Massoulié, §1, where the system makes
the clustering public, "allowing users to obtain their own recommendations".
"""

from functools import lru_cache

import numpy as np
import scipy

from pipeline.study.arrays import Array, Floats, Integers

Key = tuple[tuple[int, ...], tuple[float, ...], int, int]


def foretold_rightly(table: Integers, w: int, alpha: Array, b: Array) -> float:
    """Chance that a user's guess of an item that she has not rated is right, exact.

    Averaged over items, users' ratings and classes. table: (Lc, clusters), items of each true
    cluster in each public one. alpha: (K,), b: (K, Lc), as in the model. w: rated items, below
    N. O(K Lc w² N) where clusters are new, and at once where they were met before.

    >>> round(foretold_rightly(np.diag([20, 20]), 16, np.ones(1), np.array([[0.9, 0.1]])), 3)
    0.897
    """
    items = int(table.sum())
    likes = np.asarray(b, float)
    right = 0.0
    for group in np.transpose(table):
        for cluster in np.flatnonzero(group):
            others = np.array(group)
            others[cluster] -= 1
            for share, row in zip(np.asarray(alpha, float), likes, strict=True):
                key = (tuple(others.tolist()), tuple(row.tolist()), w, items - 1)
                positive = _guesses_positive(key)
                liked = row[cluster]
                if_this = liked * positive + (1 - liked) * (1 - positive)
                right += share * group[cluster] / items * if_this
    return float(right)


@lru_cache(65536)
def _guesses_positive(key: Key) -> float:
    """Chance that a user expects to like an item, by her ratings of the others in its cluster.

    key: items of each true cluster among these, her chances to like them, w, and all others.
    The r items that she has rated of them are a uniform subset of theirs.
    """
    sizes, row, w, others = key
    most = min(w, sum(sizes))
    law = np.zeros((most + 1, most + 1))  # by rated items and likes: subsets that have them
    law[0, 0] = 1
    for size, liked in zip(sizes, row, strict=True):
        rated = np.arange(min(size, most) + 1)
        likes = scipy.stats.binom.pmf(rated, rated[:, None], liked)
        subsets = scipy.special.comb(size, rated)[:, None] * likes
        law = scipy.signal.convolve2d(law, subsets)[: most + 1, : most + 1]
    rated = np.arange(most + 1)
    of_rated = scipy.stats.hypergeom.pmf(rated, others, sum(sizes), w)
    likes_less_dislikes = 2 * rated - rated[:, None]
    expects = (np.sign(likes_less_dislikes) + 1) / 2
    totals = law.sum(axis=1)
    given_rated: Floats = (law * expects).sum(axis=1) / np.where(totals > 0, totals, 1)
    return float(of_rated @ given_rated)
