"""Common to several modules of claims on crowds: the vote compared with the method,
and bounds on every data set.
"""

from collections.abc import Callable, Mapping

import xarray as xr

from pipeline.analysis.claims import NegativeControl
from pipeline.analysis.controls import exchanged
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    measure,
    measure_every_cell,
    paired_cells,
    share_above,
)
from pipeline.analysis.selection import LEAST, Condition, select

FEW = 20  # replications with 20,000,000 answers each
LABELS = dict(n=1, wanted_wisdom=3)  # levels of wang/labels
TAIL = "The theorem's probability is 1 − C'/m, C' unknown."
STRENGTH = "strength a v̂ √(nm), a: share of answers given"
OPEN = "the open problem in the conclusion of Wang and Xu"
DIRECTION = "The statement is one of direction."
EXCHANGED = NegativeControl(
    "the two estimators under each other's name",
    exchanged("estimator", "dawid_skene", "majority_vote"),
)


def method_less_vote(
    *used: str,
    min_levels: Mapping[str, int],
    within: Condition | None = None,
    at: Mapping[str, str] | None = None,
) -> Measure:
    """Wrong labels of Dawid and Skene's method less those of majority vote.

    `used`: variables that `within` reads.
    """

    @measure_every_cell(
        "mean share of wrong labels, Dawid and Skene's method less majority vote on the same "
        "release"
    )
    def apart(results: xr.Dataset) -> Cells:
        data = select(
            results,
            "label_error",
            *used,
            at=at,
            min_levels=dict(estimator=2, **min_levels),
            within=within,
        )
        return paired_cells(data, "label_error", "estimator", "dawid_skene", "majority_vote")

    return apart


def above_bound(
    metric: str,
    bound: Callable[[xr.Dataset], xr.DataArray],
    *used: str,
    min_levels: Mapping[str, int],
    within: Condition | None = None,
    at: Mapping[str, str] | None = None,
    least: int = LEAST,
) -> Measure:
    """Share of data sets with a metric above its bound; `used`: variables that `bound` reads."""

    @measure("share of data sets above the bound")
    def share(results: xr.Dataset) -> Estimate:
        data = select(
            results, metric, *used, at=at, min_levels=min_levels, within=within, least=least
        )
        return share_above(data, metric, bound(data))

    return share


def label_error_bound(data: xr.Dataset) -> xr.DataArray:
    """Bound of Theorem 2 on the share of wrong labels, which the experiments record."""
    return data["label_error_bound"]
