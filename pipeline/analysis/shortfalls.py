"""What did not converge or is not finite, in words that name the parts: nothing where nothing
happened.
"""

from collections.abc import Iterator, Mapping

import xarray as xr

from pipeline.study.arrays import Integers

ESTIMATOR = "estimator"
MOST = 4  # kinds of shortfalls that are named


def of_moments(moments: xr.Dataset, estimator: str) -> str:
    """Shortfalls of `summary.zarr`, (grid axes…, statistic): one line, empty if there are none.

    estimator: its name, where it is no axis of the grid.

    >>> cells = {"m": [3, 5, 9], "count": ["run", "failed", "not_converged"], "statistic": ["n"]}
    >>> status = ("m", "count"), [[100, 0, 0], [100, 0, 7], [100, 0, 0]]
    >>> moments = xr.Dataset({"status": status, "error": (("m", "statistic"), [[100], [93], [100]])}, cells)
    >>> of_moments(moments, "mine")
    'estimator mine: 7 of 300 replications not converged in 1 of 3 cells; metric error not finite in 7'
    """
    counts = {
        name: moments["status"].sel(count=name, drop=True)
        for name in ("run", "failed", "not_converged")
    }
    values = {
        str(name): metric.sel(statistic="n", drop=True)
        for name, metric in moments.data_vars.items()
        if "statistic" in metric.dims
    }
    return _line(counts, values, estimator)


def of_summary(summary: xr.Dataset, estimator: str) -> str:
    """The same of what `pipeline.analysis.summary.summarise` gives."""
    counts = {name: summary[f"n_{name}"] for name in ("run", "failed", "not_converged")}
    values = {
        str(name): summary[f"{name}_n"] for name in summary.data_vars if f"{name}_mcse" in summary
    }
    return _line(counts, values, estimator)


def _line(
    counts: Mapping[str, xr.DataArray], values: Mapping[str, xr.DataArray], estimator: str
) -> str:
    kinds = [*_not_converged(counts, estimator), *_not_finite(counts, values)]
    more = f"; and {len(kinds) - MOST} more" if len(kinds) > MOST else ""
    return "; ".join(kinds[:MOST]) + more


def _not_converged(counts: Mapping[str, xr.DataArray], estimator: str) -> Iterator[str]:
    """Of each estimator: how many of its replications did not converge, in how many of its cells."""
    run = counts["run"]
    lost = counts["not_converged"]
    if ESTIMATOR not in run.dims:
        yield from _of_one(estimator, run.values, lost.values)
        return
    for name in run[ESTIMATOR].values.tolist():
        yield from _of_one(
            name, run.sel({ESTIMATOR: name}).values, lost.sel({ESTIMATOR: name}).values
        )


def _of_one(estimator: str, run: Integers, lost: Integers) -> Iterator[str]:
    if lost.any():
        cells = int((lost > 0).sum())
        every = int((run > 0).sum())
        yield (
            f"estimator {estimator}: {int(lost.sum()):,} of {int(run.sum()):,} replications not "
            f"converged in {cells:,} of {every:,} cells"
        )


def _not_finite(
    counts: Mapping[str, xr.DataArray], values: Mapping[str, xr.DataArray]
) -> Iterator[str]:
    """Of each metric: in how many replications that did not fail it is not finite.

    Those of equal number together, with the estimators with which it is not, where these are some
    of several.
    """
    ended = counts["run"] - counts["failed"]
    alike: dict[tuple[int, str], list[str]] = {}
    for name, finite in sorted(values.items()):
        lost = ended - finite
        number = int(lost.sum())
        if number:
            alike.setdefault((number, _estimators_with(lost)), []).append(name)
    for (number, estimators), names in alike.items():
        several = f"metrics {', '.join(names[:MOST])}" if len(names) > 1 else f"metric {names[0]}"
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        yield f"{several}{more} not finite in {number:,}{estimators}"


def _estimators_with(lost: xr.DataArray) -> str:
    """With which estimators values are lost, in words; empty where with all, or where there is one."""
    if ESTIMATOR not in lost.dims:
        return ""
    each = lost.sum([axis for axis in lost.dims if axis != ESTIMATOR])
    names = [str(name) for name in each[ESTIMATOR].values[each.values > 0]]
    if len(names) == each.size:
        return ""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f" with estimator {', '.join(names[:MOST])}{more}"
