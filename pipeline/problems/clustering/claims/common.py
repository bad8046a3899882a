"""Common to claims on clusterings: the boundary, at which half of all replications are right.

A replication is right if every item is.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from pipeline.analysis.boundaries import INSIDE, boundary_exponent, crossing
from pipeline.analysis.claims import NegativeControl
from pipeline.analysis.controls import Make
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    confidence_for,
    exact_cells,
    labelled,
    measure_every_cell,
    normal,
)
from pipeline.analysis.selection import Condition, InsufficientEvidence, Level, select
from pipeline.analysis.summary import REPLICATION, summarise

HALF = 0.5
DRAWS = 200  # for a standard error
ESTIMATOR_OF = dict(
    max_sense="score_clustering",
    pairwise_preference="spectral_clustering",
    none="seen_clustering",
    adaptive="seen_clustering",
    average_one_bit="seen_clustering",
    one_bit="score_clustering",
    adaptive_one_bit="seen_clustering",
)
COUNTS_OF_USERS = ("U", "users_over_log", "over_predicted")
ROUNDING = 1e-9  # of enumerated numbers
EXACT = "A number, no estimate: informations are enumerated."
ALL_INFORMATIONS = (
    "w = 1 with N = 2, 4, 8, … 256; w = N; (N, w) = (3, 2), (4, 2); N = 1,000 with w = 2 to 300; "
    "ε = 0.1 to 4."
)
TRIED = (
    "Tried are MaxSense, a majority question and Pairwise-Preference; the best bit where "
    "all questions can be; and answers that name a set of records, of up to 24."
)


# ---------------------------------------------------------------------------- boundaries


def boundary(
    results: xr.Dataset,
    along: str,
    *,
    min_levels: Mapping[str, int],
    at: Mapping[str, Level] | None = None,
    metric: str = "recovered",
    unit: str = "U",
) -> xr.Dataset:
    """Where the mean of `metric` crosses ½ along an axis, in the coordinate `unit`.

    along: that axis, of at least three levels. at, min_levels: as in
    `select`. Returns the columns of `crossing` over the axes of
    `min_levels`. Raises `NotTested` as `select` does, and
    `InsufficientEvidence` where a curve that was run does not cross inside
    its cells.
    """
    data = select(results, metric, at=at, min_levels={along: 3, **min_levels})
    means = summarise(data)
    users = crossing(means[metric], means[f"{metric}_mcse"], along, HALF, data[unit], DRAWS)
    ran = (data["status"] > 0).any([REPLICATION, along])
    if bool((ran & (users["side"] != INSIDE)).any()):
        raise InsufficientEvidence("some curve crosses ½ outside the grid: add levels")
    return users.drop_vars("crossed")


def boundary_over(
    users: xr.Dataset, number: xr.DataArray | float = 1.0, error_share: float = 1.0
) -> xr.Dataset:
    """Boundaries over a number, with log-normal intervals that hold in all cells at once.

    For `labelled`. error_share: of the claim's error, for all of them
    together. What the grid does not resolve counts as a uniform law, but
    never as more than the bracket in which the crossing is: no confidence
    makes that longer, and no replications shorter. How much that is depends
    on the curve, which is known up to its errors: `finest` has the least it
    may be.
    """
    ratio = users["value"] / number
    error = users["standard_error"].where(np.isfinite(ratio))
    count = max(int(np.isfinite(ratio).sum()), 1)
    quantile = normal(0, 1, confidence_for(error_share=error_share / count)).high
    uniform = quantile * np.sqrt(np.maximum(error**2 - users["redrawn"] ** 2, 0))
    grid = np.minimum(uniform, users["unresolved"])
    least_uniform = quantile / math.sqrt(12) * users["least_bracket"]
    least_grid = np.minimum(least_uniform, users["least_unresolved"])
    half = xr.ufuncs.hypot(quantile * users["redrawn"], grid)
    ends = dict(low=-half, high=half, finest_low=-least_grid, finest_high=least_grid)
    columns = {name: ratio * xr.ufuncs.exp(end) for name, end in ends.items()}
    return xr.Dataset(dict(value=ratio, error=ratio * error, **columns)).reset_coords(drop=True)


def cells_over(
    mechanism: str, users: xr.Dataset, number: xr.DataArray, error_share: float
) -> dict[str, Estimate]:
    """`boundary_over` of a mechanism in every cell, labelled with its name."""
    ratios = labelled(boundary_over(users, number, error_share))
    return {f"{mechanism}, {cell}": ratio for cell, ratio in ratios.items()}


def boundary_ratio(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    """First boundary over the second in every cell, taken as independent; see `boundary_over`."""
    both = first.copy()
    for name in ("standard_error", "redrawn"):
        both[name] = xr.ufuncs.hypot(first[name], second[name])
    for name in ("unresolved", "least_unresolved", "least_bracket"):
        both[name] = first[name] + second[name]
    return boundary_over(both, second["value"])


def exponents(
    users: xr.Dataset,
    groups: tuple[str, ...] = (),
    error_share: float = 1.0,
    **predictors: xr.DataArray,
) -> Mapping[str, Estimate]:
    """Exponents "in N" and so on of the boundary, simultaneously.

    Each level of the groups has a constant of its own. error_share: of the
    claim's error, for all of them together.

    t intervals on the remaining degrees of freedom, as in `fit_rate`.
    Normal intervals would rely on a scatter about the law that a few
    boundaries cannot show: at 99 % they covered in only 84 % of all cases
    with one degree of freedom. Raises `InsufficientEvidence` where there
    are no more boundaries than parameters.
    """
    confidence = confidence_for(error_share=error_share / len(predictors))
    rate = boundary_exponent(users, groups, confidence, **predictors)
    if not rate.dof:
        raise InsufficientEvidence(
            f"{rate.n} boundaries do not determine {len(predictors)} exponents: add levels"
        )
    return {f"in {name}": fitted for name, fitted in rate.exponents.items()}


def above_zero(results: xr.Dataset, axis: str) -> xr.Dataset:
    """Results at the positive levels of an axis, if they have it."""
    if axis not in results.dims:
        return results
    return results.sel({axis: results[axis] > 0})


def epsilon_hat(epsilon: xr.DataArray) -> xr.DataArray:
    """ε̂ = 2 tanh(ε/2)."""
    hat: xr.DataArray = 2 * xr.ufuncs.tanh(epsilon / 2)
    return hat


def users_times(factor: Callable[[xr.Dataset], xr.DataArray | float]) -> Make:
    """Data of a negative control: users, and the coordinates made of them, times a factor."""

    def control(results: xr.Dataset) -> xr.Dataset:
        names = [name for name in COUNTS_OF_USERS if name in results.coords]
        return results.assign_coords({name: results[name] * factor(results) for name in names})

    return control


# Wrong even for a lower bound on all schemes, which those simulated are far above.
HARDLY_ANY_USERS = NegativeControl(
    "a hundred-thousandth of the users", users_times(lambda results: 1e-5)
)


# -------------------------------------------------------------------------- informations


def exact_ratio(
    estimand: str,
    *variables: str,
    ratio: Callable[[xr.Dataset], xr.DataArray],
    within: Condition | None = None,
) -> Measure:
    """A function of enumerated informations, without Monte Carlo error, in every cell.

    variables: those that `ratio` reads, in any unit. within: as in
    `select`.
    """

    @measure_every_cell(estimand)
    def compute(results: xr.Dataset) -> Cells:
        data = select(results, *variables, min_levels=dict(N=3, w=2, epsilon=3), within=within)
        return exact_cells(ratio(data).where(data["status"] > 0))

    return compute
