"""What claims share: one mechanism's mean error over another's."""

import xarray as xr

from pipeline.analysis.controls import Make, exchanged
from pipeline.analysis.measures import Cells, normal_cells
from pipeline.analysis.summary import summarise

WANG = "Wang, Blocki, Li and Jha (2017)"
YE = "Ye and Barg (2018)"


def mechanism_ratio(
    data: xr.Dataset,
    metric: str,
    first: str,
    second: str,
    error_share: float = 1.0,
    over: xr.DataArray | float = 1.0,
) -> Cells:
    """Mean error with one mechanism over that with another, over a predicted ratio.

    Their noise is independent.
    """
    cells = summarise(data[[metric, "status"]])
    one, two = (cells.sel(mechanism=name, drop=True) for name in (first, second))
    ratio = one[metric] / two[metric]
    error = ratio * xr.ufuncs.hypot(
        one[f"{metric}_mcse"] / one[metric], two[f"{metric}_mcse"] / two[metric]
    )
    return normal_cells(
        data.sel(mechanism=first, drop=True), ratio / over, error / over, error_share
    )


def swapped(first: str, second: str) -> Make:
    """A negative control: two mechanisms under each other's name."""
    return exchanged("mechanism", first, second)
