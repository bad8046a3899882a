"""Claims on rank centrality of noisy counts, which Nguyen and Zhang propose in their last section."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, SimulatedControl
from pipeline.analysis.controls import exchanged, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.exact import exact_law, law_ratios
from pipeline.analysis.measures import Cells, exponent, measure, measure_every_cell, ratio_cells
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtLeast, Within
from pipeline.problems.common.changes import with_parameters

from . import promise

EXPERIMENT = "central/rank_centrality"
CENTRALITY = "rank_centrality"
FIT = "debiased"
CLOSE = 0.25  # half-width of the law of θ*, of items that hardly differ
APART = 2
_LEVELS = dict(m=1, L=2)
_SOURCE = (
    "Nguyen and Zhang, last section: rank centrality with the Gaussian mechanism; balance "
    "equations of Negahban, Oh and Shah by the delta method"
)
_CONDITIONS = (
    "m = 10 and 20, L = 8,000 to 128,000 people who compare all pairs, 0.05 nats a person at δ = 10⁻⁶; "
    "θ* uniform on (−s, s), s = ¼ and 2."
)


def _cells(results: xr.Dataset, estimator: str, spread: float) -> xr.Dataset:
    at: dict[str, str | float] = {"estimator": estimator, "spread": spread}
    return select(results, "error_l2", "law_risk", at=at, min_levels=_LEVELS)


@measure("exponent of the mean ‖θ̂ − θ*‖₂/√m of rank centrality in L, at fixed m")
def _in_users(results: xr.Dataset) -> Estimate:
    data = _cells(results, CENTRALITY, CLOSE)
    return exponent(data, "error_l2", ("m",), L=data["L"])


@measure("mean ‖θ̂ − θ*‖₂²/m of rank centrality over that of the first order")
def _over_law(results: xr.Dataset) -> Mapping[str, Cells]:
    data = _cells(results, CENTRALITY, CLOSE)
    return law_ratios(data, "error_l2", "law_risk", 2)


def _over_fit(results: xr.Dataset, spread: float) -> Cells:
    data = _cells(results, CENTRALITY, spread)
    data["chain"] = data["error_l2"] ** 2
    data["fit"] = _cells(results, FIT, spread)["error_l2"] ** 2
    return ratio_cells(data, "chain", "fit", 1)


_OVER = (
    "mean ‖θ̂ − θ*‖₂²/m of rank centrality over that of the likelihood's fit, on the same release"
)


@measure_every_cell(f"{_OVER}, items that hardly differ")
def _price_if_close(results: xr.Dataset) -> Cells:
    return _over_fit(results, CLOSE)


@measure_every_cell(f"{_OVER}, items far apart")
def _price_if_apart(results: xr.Dataset) -> Cells:
    return _over_fit(results, APART)


_EXCHANGED = NegativeControl(
    "errors a fifth larger with rank centrality",
    scaled("error_l2", lambda results: 1 + 0.2 * (results["estimator"] == CENTRALITY)),
)

_FAR_APART = SimulatedControl(
    "items eight times as far apart", with_parameters("model", spread=lambda spread: 8 * spread)
)
_ALL_CLOSE = SimulatedControl(
    "items an eighth as far apart", with_parameters("model", spread=lambda spread: spread / 8)
)

CLAIMS = (
    Claim(
        id="central.centrality.rate",
        headline=True,
        statement="Under a curator with Gaussian noise on counts the error of rank centrality "
        "falls as 1/L, the rate of perturbed likelihood.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_in_users,
        tolerance=Within(-1, 0.05),
        why="Where privacy's noise is nearly all, the error is √m/(√ρ L). The next plausible "
        "order, 1/√L, is ten times as far away.",
        conditions=_CONDITIONS + " s = ¼.",
        control=promise.LARGER_BY_USERS,
        simulated=promise.BY_USERS,
    ),
    Claim(
        id="central.centrality.law",
        statement="Its squared error is that of the balance equations to first order.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_over_law,
        tolerance=exact_law(0.05),
        why="The formula is exact to first order; the next is a few per cent at an error of 0.1.",
        conditions=_CONDITIONS + " s = ¼.",
        control=promise.A_FIFTH_LARGER,
        simulated=promise.HALF,
    ),
    Claim(
        id="central.centrality.close",
        statement="Where items hardly differ rank centrality has the constant of the likelihood's "
        "fit, too.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_price_if_close,
        tolerance=Within(1, 0.1),
        why="At equal items both weigh all comparisons alike.",
        conditions=_CONDITIONS + " s = ¼.",
        control=_EXCHANGED,
        simulated=_FAR_APART,
    ),
    Claim(
        id="central.centrality.apart",
        statement="Where items are far apart it costs more: the chain listens most to pairs of "
        "good items, and the noise is the same in all pairs.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_price_if_apart,
        tolerance=AtLeast(1.2),
        why="A fifth is the least that would decide between two estimators.",
        conditions=_CONDITIONS + " s = 2.",
        control=NegativeControl(
            "the two estimators under each other's name",
            exchanged("estimator", CENTRALITY, FIT),
        ),
        simulated=_ALL_CLOSE,
    ),
)
