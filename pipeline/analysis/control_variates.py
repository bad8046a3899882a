"""Means with less Monte Carlo error from control variates.

These are metrics of the same replications whose mean is known.

A metric whose class says `expected` has that mean exactly, whatever the cell. Means of
the other metrics y are then also estimated by the mean of y − β·(c − E c). The
replications are dealt into ten folds; in each, β is the least squares coefficient of
all other folds, or 0 where these do not show that it helps. So β is independent of what
it multiplies, and the estimate is unbiased as the plain mean is. Source: Glasserman,
Monte Carlo Methods in Financial Engineering (2003), §4.1; Avramidis and Wilson,
Operations Research 41 (1993), on splitting.
"""

from collections.abc import Hashable, Mapping

import numpy as np
import xarray as xr

from pipeline.analysis.intervals import rule_of_three
from pipeline.analysis.summary import REPLICATION, standard_error, summarise, t_interval
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.status import FAILED

FOLDS = 10
SUFFIXES = ("", "_mcse", "_low", "_high", "_least", "_most", "_n")  # of a metric's columns
NOTHING = 1e-6  # share of the standard error that is rounding
# Share of the variance that must be left at most, coefficients' own error included.
HELPS = 0.95


def controls_of(results: xr.Dataset) -> list[Hashable]:
    """Names of the metrics whose mean is known."""
    return [name for name, values in results.data_vars.items() if "expected" in values.attrs]


def controlled(results: xr.Dataset, confidence: float = 0.95) -> xr.Dataset:
    """Means of all metrics with the help of those whose mean is known.

    Empty where there are none. results: a sealed dataset. For each other metric v, over
    the grid axes: `v_controlled`, `v_controlled_mcse`, `_low` and `_high` (t interval),
    `_least`, `_most` and `_n` as in `summarise`. Equal to the plain mean where controls
    do not help, or some value of a control is missing. Where controls leave nothing of
    the variance, another replication may yet differ: the interval is then as wide as in
    `summarise` where all values agree, over the range that was seen. Data that are read
    on demand are read a fold at a time.
    """
    controls = controls_of(results)
    names = [
        name
        for name, values in results.data_vars.items()
        if values.dtype.kind == "f" and REPLICATION in values.dims and name not in controls
    ]
    if not controls or not names:
        return xr.Dataset()
    usable = ~results["status"].isin([0, FAILED])
    known = [(results[name] - results[name].attrs["expected"]).where(usable) for name in controls]
    plain = summarise(results[[*names, "status"]], confidence)
    columns = {}
    for name in names:
        described = results[name].attrs
        attributes = {
            "units": described.get("units", "1"),
            "long_name": f"{described.get('long_name', name)}, with controls",
        }
        values = results[name].where(usable)
        of_metric = {suffix: plain[f"{name}{suffix}"] for suffix in SUFFIXES}
        for suffix, column in _of_metric(values, known, of_metric, confidence).items():
            columns[f"{name}_controlled{suffix}"] = column.assign_attrs(attributes)
    return xr.Dataset(columns)


def _of_metric(
    values: xr.DataArray,
    known: list[xr.DataArray],
    plain: Mapping[str, xr.DataArray],
    confidence: float,
) -> dict[str, xr.DataArray]:
    """The columns of `controlled` for one metric, by their suffix.

    values: (grid…, replication), NaN where not usable. known: the controls less their
    expectation. plain: the columns of `summarise`.
    """
    plain_mean = plain[""]
    n = plain["_n"]
    grams = _grams(values, known, plain_mean)
    parts = with_controls(grams.values)
    mean, mcse, helped = (plain_mean.copy(data=part) for part in parts)
    mean = mean + plain_mean
    # no control is missing
    whole = grams.isel(row=0, column=0).sum("fold") == n
    mean = mean.where(whole, plain_mean)
    mcse = mcse.where(whole, plain["_mcse"])
    low, high = t_interval(mean, mcse, n, confidence)
    low = low.where(whole & helped, plain["_low"])
    high = high.where(whole & helped, plain["_high"])
    seen = values.max(REPLICATION) - values.min(REPLICATION)
    unseen = rule_of_three(np.maximum(n, 1), confidence) * seen
    # but for rounding y is linear in the controls
    alike = whole & (mcse <= NOTHING * plain["_mcse"])
    return {
        "": mean,
        "_mcse": mcse,
        "_low": low.where(~alike, mean - unseen),
        "_high": high.where(~alike, mean + unseen),
        "_n": n,
        "_least": mean + plain["_least"] - plain_mean,
        "_most": mean + plain["_most"] - plain_mean,
    }


def _grams(
    values: xr.DataArray,
    known: list[xr.DataArray],
    centre: xr.DataArray,
) -> xr.DataArray:
    """(cells…, fold, row, column): sums of products, of each fold.

    Rows and columns are 1, y less its mean, and the controls.
    """
    parts = xr.broadcast(xr.ones_like(values), values - centre, *known)
    finite = np.isfinite(sum(parts[1:], parts[0]))
    used = [part.where(finite, 0.0) for part in parts]
    rows = xr.concat(used, "row", coords="minimal", compat="override")
    folds = []
    for fold in range(FOLDS):
        part = rows.isel({REPLICATION: slice(fold, None, FOLDS)})
        products = xr.dot(part, part.rename(row="column"), dim=REPLICATION)
        folds.append(products.compute())
    grams: xr.DataArray = xr.concat(folds, "fold", coords="minimal", compat="override")
    return grams.transpose(*centre.dims, "fold", "row", "column")


def with_controls(grams: Floats) -> tuple[Floats, Floats, Booleans]:
    """Mean of y − β c over all folds, its standard error, and whether any β is not 0.

    (…,) each. grams: (…, folds, 2 + q, 2 + q), sums of products of 1, y and q controls
    with mean 0, of each fold. A fold's β is from all others. Infinite standard error
    for one replication, NaN for none. O(q³) a fold.
    """
    others = grams.sum(axis=-3, keepdims=True) - grams
    coefficients = _coefficients(others)
    of_y = np.ones_like(coefficients[..., :1])
    weights = np.concatenate([np.zeros_like(of_y), of_y, -coefficients], axis=-1)
    image = np.matvec(grams, weights)
    n = grams[..., 0, 0].sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = image[..., 0].sum(axis=-1) / n
        squares = np.maximum(np.vecdot(image, weights).sum(axis=-1) - n * mean**2, 0)
    helped = np.any(coefficients, axis=(-2, -1))
    return mean, standard_error(squares, n), helped


def _coefficients(grams: Floats) -> Floats:
    """(…, q): least squares coefficients of y on the controls.

    0 where they leave more than `HELPS` of its variance.
    """
    n = grams[..., 0, 0]
    sums = grams[..., 0, 1:]
    q = grams.shape[-1] - 2
    at_least_1 = np.maximum(n, 1)
    squares = sums[..., :, None] * sums[..., None, :]
    centred = grams[..., 1:, 1:] - squares / at_least_1[..., None, None]
    of_controls = centred[..., 1:, 1:]
    of_y = centred[..., 0, 0]
    spread = np.sqrt(np.maximum(np.einsum("...ii->...i", of_controls), 0))
    scale = np.where(spread > 0, spread, 1)
    scaled = of_controls / (scale[..., :, None] * scale[..., None, :])
    inverse = np.linalg.pinv(scaled, 1e-9, hermitian=True)
    together = centred[..., 1:, 0] / scale
    coefficients = np.matvec(inverse, together)
    left = of_y - np.vecdot(coefficients, together)
    freedom = n - 1 - q
    left_with_error = left * (n - 1) * (1 + (q + 1) / at_least_1)
    limit = HELPS * of_y * np.maximum(freedom, 1)
    helps = (freedom > 0) & (left_with_error <= limit)
    return np.where(helps[..., None], coefficients / scale, 0.0)
