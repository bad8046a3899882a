"""Claims of Nguyen and Zhang on Figure 1, with either calibration.

Randomized response is debiased or not.
"""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import exchanged, reversed_along
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Cells, Measure, mean_over_cells, measure, measure_every_cell
from pipeline.analysis.selection import at_levels, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost

from .common import (
    DIRECTION,
    FEW,
    GRAPHS_EXCHANGED,
    HIGHEST_PRIVACY,
    LOW_PRIVACY,
    Levels,
    errors_exchanged,
)
from .controls import LOUD_SPARSE, LOUD_TIGHT, NO_FLIPS, QUIET_LAPLACE, QUIET_NOISE, SECRET_NO_FLIPS

MODERATE = 0.5  # least ε of the paper's low to moderate privacy
_TIGHT = dict(calibration="tight")
GAUSSIAN = dict(mechanism="discrete_gaussian", graph="dense", estimator="spectral")
SPARSE = GAUSSIAN | dict(graph="sparse")
LAPLACE = dict(mechanism="discrete_laplace", graph="dense", estimator="spectral")
RANDOMIZED = dict(mechanism="randomized_response", graph="dense", estimator="spectral")
DEBIASED = RANDOMIZED | dict(estimator="spectral_debiased")
_INACCURATE = {
    "Gaussian noise": GAUSSIAN,
    "Laplace noise": LAPLACE,
    "randomized response as in the paper": RANDOMIZED,
    "debiased randomized response": DEBIASED,
}
_SPARSE_LESS_DENSE = "sparse less dense graph"
_MANY_ITEMS = "most items, fewest persons"
_FEW_ITEMS = "fewest items, most persons"


def _errors(results: xr.Dataset, at: Levels) -> xr.Dataset:
    """Mean errors over (n, m, ε) of a way to release and estimate, and their errors `mcse`."""
    data = select(results, "error_l2", at=at, min_levels=dict(n=2, m=2, epsilon_user=3), least=FEW)
    cells = summarise(data)
    return xr.Dataset(dict(mean=cells["error_l2"], mcse=cells["error_l2_mcse"]))


def _difference(results: xr.Dataset, first: Levels, second: Levels) -> xr.Dataset:
    """Mean error of a way to release and estimate less that of another, over (n, m, ε).

    And its standard error.
    """
    of_first = _errors(results, first)
    of_second = _errors(results, second)
    error = xr.ufuncs.hypot(of_first["mcse"], of_second["mcse"])
    return xr.Dataset({"mean": of_first["mean"] - of_second["mean"], "mcse": error})


def _from(least: float, cells: xr.Dataset) -> xr.Dataset:
    return cells.sel(epsilon_user=cells["epsilon_user"] >= least)


def _average(cells: xr.Dataset, error_share: float = 1.0) -> Estimate:
    return mean_over_cells(cells["mean"], cells["mcse"], error_share)


def _over_budgets(text: str, first: Levels, second: Levels) -> Measure:
    @measure_every_cell(
        f"mean over ε of the difference of mean ‖β̂ − β*‖₂/√m, {text}, for each n and m"
    )
    def apart(results: xr.Dataset) -> Cells:
        cells = _from(MODERATE, _difference(results, first, second))
        error_share = 1 / (cells.sizes["n"] * cells.sizes["m"])
        means: dict[str, Estimate] = {}
        for n in cells["n"].values.tolist():
            for m in cells["m"].values.tolist():
                means[f"n={n}, m={m}"] = _average(cells.sel(n=n, m=m), error_share)
        return means

    return apart


@measure(
    "mean over cells of the difference of mean ‖β̂ − β*‖₂/√m, debiased "
    "randomized response less not debiased"
)
def _debiasing(results: xr.Dataset) -> Estimate:
    return _average(_from(MODERATE, _difference(results, DEBIASED | _TIGHT, RANDOMIZED | _TIGHT)))


@measure(f"mean ‖β̂ − β*‖₂/√m at ε = {HIGHEST_PRIVACY:g}, mean over cells")
def _at_highest_privacy(results: xr.Dataset) -> Mapping[str, Estimate]:
    level = dict(epsilon_user=HIGHEST_PRIVACY)
    errors = {
        name: _average(at_levels(_errors(results, way | _TIGHT), level), error_share=0.2)
        for name, way in _INACCURATE.items()
    }
    apart = at_levels(_difference(results, SPARSE | _TIGHT, GAUSSIAN | _TIGHT), level)
    return errors | {_SPARSE_LESS_DENSE: _average(apart, error_share=0.2)}


@measure("mean over ε of the difference of mean ‖β̂ − β*‖₂/√m, sparse less dense graph")
def _sparse_at_corners(results: xr.Dataset) -> Mapping[str, Estimate]:
    cells = _from(LOW_PRIVACY, _difference(results, SPARSE | _TIGHT, GAUSSIAN | _TIGHT))
    return {
        _MANY_ITEMS: _average(cells.isel(n=0, m=-1), error_share=0.5),
        _FEW_ITEMS: _average(cells.isel(n=-1, m=0), error_share=0.5),
    }


_SOURCE = "Nguyen and Zhang, §5.1, Figure 1"
_RANGE = f"ε ≥ {MODERATE:g}, δ = 1e-4, β, θ ~ N(0, 1), all responses observed"


def _laplace_claim(calibration: str, also: str) -> Claim:
    levels = dict(calibration=calibration)
    return Claim(
        id=f"nguyen.figure_1.laplace.{calibration}",
        statement="At low to moderate privacy, on average over ε, discrete "
        f"Gaussian noise gives smaller errors than discrete Laplace noise{also}.",
        source=_SOURCE,
        experiment="nguyen/figure_1",
        measure=_over_budgets("Gaussian less Laplace noise", GAUSSIAN | levels, LAPLACE | levels),
        tolerance=AtMost(0),
        why=DIRECTION
        + " Laplace noise grows with the number of entries, Gaussian noise with its root.",
        conditions=f"{_RANGE}. Laplace noise is pure ε-DP, the Gaussian (ε, δ).",
        control=NegativeControl(
            "the two mechanisms under each other's name",
            exchanged("mechanism", "discrete_gaussian", "discrete_laplace"),
        ),
        simulated=QUIET_LAPLACE,
    )


CLAIMS = (
    _laplace_claim("paper", ""),
    _laplace_claim("tight", ", also where both are charged what a row really costs"),
    Claim(
        id="nguyen.figure_1.tight",
        statement="Charging what a row really costs makes the Gaussian mechanism "
        "more accurate, on average over ε.",
        source=_SOURCE,
        experiment="nguyen/figure_1",
        measure=_over_budgets(
            "tight less paper calibration", GAUSSIAN | _TIGHT, GAUSSIAN | dict(calibration="paper")
        ),
        tolerance=AtMost(0),
        why=DIRECTION
        + " It halves the variance of the noise, but the paper's conversion to ρ is looser.",
        conditions=f"{_RANGE}.",
        control=NegativeControl(
            "the two calibrations under each other's name",
            exchanged("calibration", "paper", "tight"),
        ),
        simulated=LOUD_TIGHT,
    ),
    Claim(
        id="nguyen.figure_1.randomized",
        headline=True,
        statement="Randomized response is less accurate than the Gaussian "
        "mechanism, even when it is debiased, on average over ε.",
        source=_SOURCE,
        experiment="nguyen/figure_1",
        measure=_over_budgets(
            "Gaussian noise less debiased randomized response", GAUSSIAN | _TIGHT, DEBIASED | _TIGHT
        ),
        tolerance=AtMost(0),
        why=DIRECTION + " The paper does not debias it; the claim holds even if one does.",
        conditions=f"{_RANGE}. Shuffling is charged where it is known to help.",
        control=NegativeControl(
            "the errors of the two mechanisms under each other's name",
            errors_exchanged(GAUSSIAN | _TIGHT, DEBIASED | _TIGHT),
        ),
        simulated=NO_FLIPS,
    ),
    Claim(
        id="nguyen.figure_1.debiasing",
        statement="Randomized response is more accurate debiased than as the "
        "paper uses it, on average over cells.",
        source=_SOURCE,
        experiment="nguyen/figure_1",
        measure=_debiasing,
        tolerance=AtMost(0),
        why=DIRECTION,
        conditions=f"{_RANGE}; all n and m together. The gain is where ε/m is "
        "largest: many persons, few items; from m = 100 on there is none.",
        control=NegativeControl(
            "the two estimators under each other's name",
            exchanged("estimator", "spectral", "spectral_debiased"),
        ),
        simulated=SECRET_NO_FLIPS,
    ),
    Claim(
        id="nguyen.figure_1.high_privacy",
        statement="At ε = 0.01 all mechanisms are very inaccurate, a sparse "
        "graph more than all pairs.",
        source=_SOURCE,
        experiment="nguyen/figure_1",
        measure=_at_highest_privacy,
        tolerance=dict.fromkeys(_INACCURATE, AtLeast(0.8)) | {_SPARSE_LESS_DENSE: AtLeast(0)},
        why="The estimate 0 for all items has error 1, the standard deviation of β*.",
        conditions="All n and m together; tight calibration.",
        control=NegativeControl(
            "errors in the opposite order of ε", reversed_along("error_l2", "epsilon_user")
        ),
        simulated=QUIET_NOISE,
    ),
    Claim(
        id="nguyen.figure_1.sparse",
        statement="At low privacy a sparse graph helps with many items and few "
        "persons, and hurts with few items and many persons.",
        source=_SOURCE,
        experiment="nguyen/figure_1",
        measure=_sparse_at_corners,
        tolerance={_MANY_ITEMS: AtMost(0), _FEW_ITEMS: AtLeast(0)},
        why=DIRECTION,
        conditions=f"ε ≥ {LOW_PRIVACY:g}; the two corners of the grid. Tight "
        "calibration, which gains less on a graph than on all pairs; the graph "
        "is drawn until it is connected. At smaller ε it hurts in both.",
        control=GRAPHS_EXCHANGED,
        simulated=LOUD_SPARSE,
    ),
)
