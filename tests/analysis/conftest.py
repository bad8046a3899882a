"""Sealed datasets and the coverage of intervals, for the tests of the reductions."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats


@pytest.fixture(scope="session")
def covered():
    """Function that tells whether intervals cover as often as they claim, no less and no more
    (binomial bounds).

    most: nominal coverage of intervals that are wider on purpose; 1 is no upper bound.
    """

    def covered(hits, nominal=0.95, what="coverage", alpha=1e-6, most=None):
        hits = np.asarray(hits).ravel()
        least, greatest = (
            stats.binom.ppf(alpha / 2, hits.size, nominal),
            stats.binom.isf(alpha / 2, hits.size, nominal if most is None else most),
        )
        print(
            f"{what}: n={hits.size} statistic={hits.sum()} bounds={least:g} to {greatest:g} "
            f"alpha={alpha:g}"
        )
        return least <= hits.sum() <= greatest

    return covered


@pytest.fixture(scope="session")
def sealed():
    """Function that makes a sealed dataset from arrays over (grid axes…, replication)."""

    def sealed(axes, status=None, **metrics):
        dims = [*axes, "replication"]
        shape = next(iter(metrics.values())).shape
        status = np.ones(shape) if status is None else np.broadcast_to(status, shape)
        data = {
            name: (dims, np.asarray(values, float), {"units": "1", "long_name": name})
            for name, values in metrics.items()
        }
        return xr.Dataset(data | {"status": (dims, status.astype("int8"))}, axes)

    return sealed
