"""Data on which what is claimed of intervals holds to the letter."""

from functools import cache

import numpy as np
import xarray as xr

REPLICATIONS = 2500
NOISE = 0.02


def dataset(axes, coverage, seed=0):
    """Coverage by cell, of intervals and of ranks, with noise in every replication."""
    rng = np.random.default_rng(seed)
    cells = xr.Dataset(coords=axes)
    mean = xr.DataArray(np.ones([len(v) for v in axes.values()]), dims=list(axes), coords=axes)
    mean = (mean * coverage(cells)).transpose(*axes)
    shape = (*mean.shape, REPLICATIONS)
    noise = NOISE * rng.standard_normal(shape)
    data = {
        "coverage": ((*axes, "replication"), mean.values[..., None] + noise),
        "rank_coverage": ((*axes, "replication"), 0.99 + noise / 10),
        "status": ((*axes, "replication"), np.ones(shape, "int8")),
    }
    return xr.Dataset(data, axes)


def by_name(cells, axis, **values):
    names = cells[axis].values.tolist()
    return xr.DataArray([values[name] for name in names], dims=axis, coords={axis: cells[axis]})


def ranking():
    axes = dict(estimator=["debiased", "plug_in"], m=[5, 15], L=[400, 6400], x=[1, 4, 8, 16])
    return dataset(axes, lambda c: by_name(c, "estimator", debiased=0.95, plug_in=0.1))


def honesty():
    """What is left of coverage falls with the bias 2/(e^ε + 1) over errors of order 1/√L."""
    axes = dict(
        estimator=["debiased", "plug_in"],
        L=[100, 400, 1600, 6400],
        epsilon=np.arange(2.0, 6.05, 0.1).round(1).tolist(),  # as `refine` leaves them
    )

    def coverage(cells):
        ratio = cells["L"] ** 0.5 / (np.exp(cells["epsilon"]) + 1)
        ignoring = 0.95 / (1 + (11 * ratio / 8) ** 2)
        is_debiased = by_name(cells, "estimator", debiased=1, plug_in=0)
        return 0.95 * is_debiased + ignoring * (1 - is_debiased)

    return dataset(axes, coverage)


def response_counts():
    axes = dict(
        estimator=["spectral", "pairwise_likelihood"],
        questions=[2, 3, 5],
        n=[2000, 8000],
        person=[0.3, 1.0, 4.0],
    )
    return dataset(axes, lambda c: 0.951)


def response_flips():
    axes = dict(estimator=["spectral_debiased", "spectral"], n=[1000, 4000], person=[5, 10, 20])
    return dataset(axes, lambda c: by_name(c, "estimator", spectral_debiased=0.95, spectral=0.2))


def crowd():
    axes = dict(n=[10, 20], m=[500, 2000], epsilon=[0.25, 0.5, 1.0, 2.0])
    return dataset(axes, lambda c: 0.95 - 0.15 * (c["epsilon"] < 1))


def clustering():
    axes = dict(
        mechanism=["max_sense", "multi_max_sense"],
        epsilon=[0.5, 1.0, 2.0],
        U=[1e5, 1e6, 1e7],
    )
    return dataset(axes, lambda c: 0.95 - 0.2 * (c["U"] * np.tanh(c["epsilon"] / 2) ** 2 < 2e5))


def threshold(axes, metric, answers, middle, low=0.0):
    """A metric that rises with the budget, the second axis, from `low` to 1, half-way where
    tanh(ε/2) of one of the answers that share it is middle(size)."""
    size, budget = axes

    def rising(c):
        ratio = np.tanh(c[budget] / (2 * answers)) / middle(c[size])
        return low + (1 - low) / (1 + ratio**-4.0)

    data = dataset(axes, rising)
    data[metric] = data["coverage"]
    return data


def budgets(most):
    """As many as `refine` leaves."""
    return np.geomspace(most / 100, most, 30).round(3).tolist()


def crowd_threshold():
    """Coverage, from 80 % on; 90 % is its middle."""
    axes = dict(m=[400, 700, 1250, 2200, 4000], epsilon=budgets(4))
    return threshold(axes, "coverage", 1, lambda m: 1.65 * m**-0.25, low=0.8)


def response_threshold():
    """Share of difficulties that have an interval."""
    axes = dict(n=[125, 250, 500, 1000, 2000], person=budgets(16))
    return threshold(axes, "intervals_known", 5, lambda n: 0.85 * n**-0.25)


def clustering_threshold():
    """Share of chances that have an interval."""
    axes = dict(U=[3e5, 1e6, 3e6, 1e7, 3e7], epsilon=budgets(2))
    return threshold(axes, "intervals_known", 1, lambda users: 170 * users**-0.5)


def bootstrap_ranking():
    axes = dict(m=[5, 15], L=[400, 6400], x=[8.0, 16.0, 32.0, 64.0])
    return dataset(axes, lambda c: 0.95 - 0.05 * (c["x"] < 32))


def bootstrap_response():
    axes = dict(estimator=["joint_likelihood", "pairwise_likelihood"], n=[1000, 4000, 8000])
    names = dict(joint_likelihood=0.3, pairwise_likelihood=0.95)
    return dataset(axes, lambda c: by_name(c, "estimator", **names))


MAKERS = (
    ranking,
    honesty,
    response_counts,
    response_flips,
    crowd,
    crowd_threshold,
    response_threshold,
    clustering,
    clustering_threshold,
    bootstrap_ranking,
    bootstrap_response,
)
IDEAL = {f"inference/{make.__name__}": cache(make) for make in MAKERS}
