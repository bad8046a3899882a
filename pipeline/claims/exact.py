"""Laws that hold exactly, tested as exact: a mean equals its prediction in every cell."""

from statistics import NormalDist

import xarray as xr

from pipeline.claims.claim import CONTRADICTED, Check, equivalence, throughout
from pipeline.claims.evidence import ratios, share
from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import REPLICATION

FALSE_ALARM = 1e-6  # over all cells: a law that is true shall not be denied once in a hundred seeds


def exactly(data: xr.Dataset, metric: str, predicted: str, power: float, tolerance: float, *by: str) -> Check:
    """Whether the mean of metric^power is that of `predicted`, the two paired in every replication.

    Contradicts when the interval of any cell, simultaneous over cells at FALSE_ALARM, leaves the prediction out.
    Supports only when, besides, the cells of every level of the axes `by` together fix measured/predicted to
    1 ± tolerance: a few replications agree with anything.
    """
    used = int((data["status"] > 0).any(REPLICATION).sum())
    cells = risk_ratio(data, metric, predicted, power, 1 - FALSE_ALARM / used)
    alone = throughout(ratios(cells), lambda ratio, cell: equivalence(
        ratio, 1, 0, f"measured/predicted at {cell}:"), 1)
    if alone.verdict == CONTRADICTED:
        return alone
    together = _pooled(cells, [dim for dim in cells["ratio"].dims if dim not in by])
    return throughout(ratios(together), lambda ratio, cell: equivalence(
        ratio, 1, tolerance, f"measured/predicted, all cells {'at ' * bool(cell)}{cell}:".replace(" :", ":")), 1)


def _pooled(cells, over):
    """Ratio of all cells along some dimensions together, with weights 1/mcse²."""
    total = (1 / cells["mcse"] ** 2).sum(over)
    ratio, error = (cells["ratio"] / cells["mcse"] ** 2).sum(over) / total, total**-0.5
    half = NormalDist().inv_cdf(1 - (1 - share(1)) / total.size / 2) * error
    return xr.Dataset(dict(ratio=ratio, low=ratio - half, high=ratio + half, mcse=error))
