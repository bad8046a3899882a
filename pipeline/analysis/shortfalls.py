"""What did not converge or is not finite, in words that name the parts.

Nothing is said where nothing happened.
"""

from collections.abc import Iterator, Mapping, Sequence

import xarray as xr

from pipeline.study.arrays import Integers

ESTIMATOR = "estimator"
KINDS = ("run", "failed", "not_converged")  # of counts of the status
MOST = 4  # kinds of shortfalls that are named


def of_moments(moments: xr.Dataset, estimator: str) -> str:
    """Shortfalls of `summary.zarr`, (grid axes…, statistic): one line.

    Empty if there are none. estimator: its name, where it is no axis of the grid.

    >>> cells = {"m": [3, 5, 9], "count": [*KINDS], "statistic": ["n"]}
    >>> status = ("m", "count"), [[100, 0, 0], [100, 0, 7], [100, 0, 0]]
    >>> values = ("m", "statistic"), [[100], [93], [100]]
    >>> moments = xr.Dataset({"status": status, "l2": values}, cells)
    >>> of_moments(moments, "ml")
    'estimator ml: 7 of 300 replications not converged in 1 of 3 cells; metric l2 not finite in 7'
    """
    status = moments["status"]
    counts = {kind: status.sel(count=kind, drop=True) for kind in KINDS}
    values = {}
    for name, metric in moments.data_vars.items():
        if "statistic" in metric.dims:
            values[str(name)] = metric.sel(statistic="n", drop=True)
    return _line(counts, values, estimator)


def of_summary(summary: xr.Dataset, estimator: str) -> str:
    """The same of what `pipeline.analysis.summary.summarise` gives."""
    counts = {kind: summary[f"n_{kind}"] for kind in KINDS}
    values = {}
    for name in summary.data_vars:
        if f"{name}_mcse" in summary:
            values[str(name)] = summary[f"{name}_n"]
    return _line(counts, values, estimator)


def _line(
    counts: Mapping[str, xr.DataArray],
    values: Mapping[str, xr.DataArray],
    estimator: str,
) -> str:
    kinds = [*_not_converged(counts, estimator), *_not_finite(counts, values)]
    line = "; ".join(kinds[:MOST])
    if len(kinds) > MOST:
        line += f"; and {len(kinds) - MOST} more"
    return line


def _not_converged(counts: Mapping[str, xr.DataArray], estimator: str) -> Iterator[str]:
    """Of each estimator: how many replications did not converge, in how many cells."""
    run = counts["run"]
    lost = counts["not_converged"]
    if ESTIMATOR not in run.dims:
        yield from _of_estimator(estimator, run.values, lost.values)
        return
    for name in run[ESTIMATOR].values.tolist():
        its_run = run.sel({ESTIMATOR: name})
        its_lost = lost.sel({ESTIMATOR: name})
        yield from _of_estimator(name, its_run.values, its_lost.values)


def _of_estimator(estimator: str, run: Integers, lost: Integers) -> Iterator[str]:
    """Of one estimator, from the counts of its cells."""
    if not lost.any():
        return
    cells = int((lost > 0).sum())
    every = int((run > 0).sum())
    yield (
        f"estimator {estimator}: {int(lost.sum()):,} of {int(run.sum()):,} replications "
        f"not converged in {cells:,} of {every:,} cells"
    )


def _not_finite(
    counts: Mapping[str, xr.DataArray], values: Mapping[str, xr.DataArray]
) -> Iterator[str]:
    """Of each metric: in how many replications that did not fail it is not finite.

    Those of equal number together, with the estimators with which it is not, where
    these are some of several.
    """
    ended = counts["run"] - counts["failed"]
    alike: dict[tuple[int, str], list[str]] = {}
    for name, finite in sorted(values.items()):
        lost = ended - finite
        number = int(lost.sum())
        if number:
            alike.setdefault((number, _estimators_with(lost)), []).append(name)
    for (number, estimators), names in alike.items():
        metrics = "metric"
        if len(names) > 1:
            metrics = "metrics"
        yield f"{metrics} {_listed(names)} not finite in {number:,}{estimators}"


def _estimators_with(lost: xr.DataArray) -> str:
    """With which estimators values are lost, in words.

    Empty where with all, or where there is one.
    """
    if ESTIMATOR not in lost.dims:
        return ""
    each = lost.sum([axis for axis in lost.dims if axis != ESTIMATOR])
    names = [str(name) for name in each[ESTIMATOR].values[each.values > 0]]
    if len(names) == each.size:
        return ""
    return f" with estimator {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    listed = ", ".join(names[:MOST])
    if len(names) > MOST:
        listed += f" and {len(names) - MOST} more"
    return listed
