"""k-means: of numbers on a line, the exact optimum; of points, the best of several starts."""

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Floats, Integers

_k_means = function(
    __file__,
    "k_means",
    """
    items: size; items >= 1
    dims: size
    count: size; 1 <= count <= items
    starts: size
    steps: size
    more: size
    points: f8[items, dims]
    firsts: i8[starts] below items
    places: f8[starts, count - 1]
    clusters: out i8[items]
    used: out i8[1]
""",
)

RESTARTS = 10  # of k-means from k-means++ seeds
STEPS = 5  # of each
MORE = 30  # of the best


def split_line(values: Floats, count: int) -> Integers:
    """(reps, N): clusters of values (reps, N) of least sum of squares within, lowest first.

    count: of the clusters, at most N. The optimum is contiguous, so it is
    computed by dynamic programming over sorted values: the best c parts of
    the first j have the largest Σ (sum of part)²/(size of part). O(N log N)
    for two clusters, O((count − 2) N²) more for others.
    """
    reps, items = values.shape
    order = np.argsort(values, axis=1, kind="stable")
    starts = _starts_of_last_parts(np.take_along_axis(values, order, axis=1), count)
    rank = np.zeros((reps, items), int)
    end = np.full(reps, items)
    for start in reversed(starts):
        end = start[np.arange(reps), end]
        rank += np.arange(items) >= end[:, None]
    clusters = np.empty((reps, items), int)
    np.put_along_axis(clusters, order, rank, axis=1)
    return clusters


def _starts_of_last_parts(ordered: Floats, count: int) -> list[Integers]:
    """For 2, …, count parts, where the last part of the best split of the first j values begins.

    (reps, N + 1) each. ordered: (reps, N), sorted values. For `count` parts
    only the split of all N values is computed.
    """
    reps, items = ordered.shape
    sums = np.zeros((reps, items + 1))
    np.cumsum(ordered - ordered.mean(axis=1, keepdims=True), axis=1, out=sums[:, 1:])
    index = np.arange(items + 1)
    gain = np.square(sums) / np.maximum(index, 1)
    starts = []
    for parts in range(2, count + 1):
        first_end = items if parts == count else parts
        start = np.zeros((reps, items + 1), int)
        better = np.full((reps, items + 1), -np.inf)
        for end in range(first_end, items + 1):
            before = slice(parts - 1, end)
            of_last = np.square(sums[:, end, None] - sums[:, before]) / (end - index[before])
            total = gain[:, before] + of_last
            start[:, end] = total.argmax(axis=1) + parts - 1
            better[:, end] = total.max(axis=1)
        gain = better
        starts.append(start)
    return starts


def split_points(points: Floats, count: int, rng: np.random.Generator) -> tuple[Integers, bool]:
    """Clusters of points (items, dimensions) by k-means, (items,), and whether there are `count`.

    Compiled; the clusters of SciPy's kmeans2 with the same random numbers,
    for up to four dimensions. O(items · dimensions · count) a step.
    """
    clusters = np.zeros(len(points), np.int64)
    used = np.zeros(1, np.int64)
    if not _has_distinct(points, count):
        return clusters, False
    firsts = np.empty(RESTARTS, np.int64)
    places = np.empty((RESTARTS, count - 1))
    for start in range(RESTARTS):
        firsts[start] = rng.integers(len(points))
        places[start] = rng.random(count - 1)
    _k_means(
        *points.shape,
        count,
        RESTARTS,
        STEPS,
        MORE,
        np.ascontiguousarray(points),
        firsts,
        places,
        clusters,
        used,
    )
    return clusters, bool(used[0] == count)


def _has_distinct(points: Floats, count: int) -> bool:
    """Whether at least `count` of the points (items, dimensions) differ."""
    for _ in range(count):
        if not len(points):
            return False
        points = points[(points != points[0]).any(axis=1)]
    return True
