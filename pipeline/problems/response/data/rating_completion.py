"""Right and wrong answers made of ratings, by completing them to a matrix of low rank."""

import numpy as np

from pipeline.problems.common.rating_files import Ratings
from pipeline.study.arrays import Booleans, Floats

FILMS = 200  # the most rated ones, ties by name
# λ: of 6, 8, 10, 12, 14 that of least error on ratings held out of ml-latest-small
# (0.80 stars).
SHRINKAGE = 8.0
TOLERANCE = 1e-9  # stars, largest change in the last step
ITERATIONS = 5000  # under a hundred are usual


def binarise(ratings: Ratings) -> tuple[Booleans, tuple[str, ...], int]:
    """Answers, right where a completed score is below the person's mean.

    Returns (persons, films), the names of the films, and the rank. The 200
    most-rated films and all who rated one of them. Scores: the overall mean plus
    the low-rank completion (`complete`) of the ratings' deviations from it. A
    person's mean is over the scores of all these films. Deviations from each film's
    own mean would predict held-out ratings a little better (0.797 stars against
    0.800), but then nearly everybody agrees on some films, and a film that all have
    right has no finite difficulty. Every answer depends on everybody's ratings, so
    privacy of a row of answers is not privacy of a person's ratings.
    Source: Nguyen and Zhang, §5 (MovieLens), who state neither the completion nor
    its rank.
    """
    chosen = np.sort(np.argsort(-ratings.popularity, kind="stable")[:FILMS])
    column = np.full(len(ratings.names), -1)
    column[chosen] = np.arange(len(chosen))
    is_chosen = column[ratings.item] >= 0
    stars = np.zeros((ratings.users, len(chosen)))  # 0: not rated
    films = column[ratings.item[is_chosen]]
    stars[ratings.user[is_chosen], films] = ratings.stars[is_chosen]
    stars = stars[stars.any(axis=1)]
    rated = stars > 0
    scores, rank = complete(stars - stars[rated].mean(), rated, SHRINKAGE)
    is_right = scores < scores.mean(axis=1, keepdims=True)
    return is_right, tuple(ratings.names[k] for k in chosen), rank


def complete(values: Floats, known: Booleans, shrinkage: float) -> tuple[Floats, int]:
    """Z that minimises ½ Σ_known (x − z)² + λ‖Z‖_* (nuclear norm), and its rank.

    values, known: (rows, columns). Convex, so where the search starts does
    not matter. Soft-impute with momentum: unknown values are filled in from
    Z, and singular values are lowered by λ. O(rows · columns²) a step; 0.4
    s for 610 × 200 ratings. Raises ArithmeticError if it does not converge
    to 1e-9. Source: Mazumder, Hastie and Tibshirani (2010); Beck and
    Teboulle (2009).
    """
    now = np.zeros(values.shape)
    ahead = now
    momentum = 1.0
    for _ in range(ITERATIONS):
        filled = np.where(known, values, ahead)
        squares, vectors = np.linalg.eigh(filled.T @ filled)
        remains = squares > shrinkage**2
        vectors = vectors[:, remains]
        lowered = 1 - shrinkage / np.sqrt(squares[remains])
        following = (filled @ vectors) * lowered @ vectors.T
        change = following - now
        if np.abs(change).max() <= TOLERANCE:
            return following, int(remains.sum())
        if np.vdot(ahead - following, change) > 0:  # the momentum points uphill: restart it
            momentum = 1.0
        longer = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        now = following
        ahead = following + (momentum - 1) / longer * change
        momentum = longer
    raise ArithmeticError(f"the completion of ratings did not converge in {ITERATIONS} steps")
