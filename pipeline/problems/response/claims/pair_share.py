"""Claims of Nguyen and Zhang on the share p0 of pairs that are released: supplement, Figure 1."""

from collections.abc import Iterator, Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, PositiveControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Measure, mean_over_cells, measure
from pipeline.analysis.selection import at_levels, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost

from .common import DIRECTION, FEW, errors_exchanged
from .controls import LOUD_DENSE_SUPPORTS, LOUD_SPARSE, QUIET_SPARSE

OWN = 0.07  # p0: the paper's log₂(m)/m at m = 100
FIFTH = 0.2
ALL = 1.0
_PERSONS = {"n = 200": 200, "n = 1,000": 1000}
_SHARES = {
    "own": (OWN, "the paper's own share log₂(m)/m of the pairs"),
    "fifth": (FIFTH, "a fifth of the pairs"),
}
_CALIBRATIONS = {
    "paper": "the paper's calibration",
    "tight": "the tight calibration, on all pairs half the noise",
}


def _less_all_pairs(calibration: str, epsilon: float, p0: float) -> Measure:
    @measure(f"difference of the mean ‖β̂ − β*‖₂/√m, p0 = {p0:g} less all pairs")
    def apart(results: xr.Dataset) -> Mapping[str, Estimate]:
        data = select(
            results,
            "error_l2",
            at=dict(calibration=calibration),
            min_levels=dict(n=2, p0=3, epsilon_user=2),
            least=FEW,
        )
        errors = summarise(data)[["error_l2", "error_l2_mcse"]]
        cells = at_levels(errors, dict(epsilon_user=epsilon))
        sparse = at_levels(cells, dict(p0=p0))
        dense = at_levels(cells, dict(p0=ALL))
        less = sparse - dense
        less["error_l2_mcse"] = xr.ufuncs.hypot(sparse["error_l2_mcse"], dense["error_l2_mcse"])
        means: dict[str, Estimate] = {}
        for name, n in _PERSONS.items():
            cell = at_levels(less, dict(n=n))
            share = 1 / len(_PERSONS)
            means[name] = mean_over_cells(cell["error_l2"], cell["error_l2_mcse"], share)
        return means

    return apart


def _halved(p0: float) -> PositiveControl:
    return PositiveControl(
        "errors at this p0 half as large",
        scaled("error_l2", lambda results: 1 - 0.5 * (results["p0"] == p0)),
    )


def _exchanged(p0: float) -> NegativeControl:
    return NegativeControl(
        "errors at this p0 and with all pairs, exchanged",
        errors_exchanged(dict(p0=p0), dict(p0=ALL)),
    )


def _claims(calibration: str, charged: str) -> Iterator[Claim]:
    source = "Nguyen and Zhang, supplement, Figure 1"
    conditions = f"m = 100, n = 200 and 1,000; {charged}."
    yield Claim(
        id=f"nguyen.figure_p0.high.{calibration}",
        statement="In the high-privacy regime releasing all pairs is better than "
        f"the paper's own share log₂(m)/m, with {charged}.",
        source=source,
        experiment="nguyen/figure_p0",
        measure=_less_all_pairs(calibration, 0.1, OWN),
        tolerance=dict.fromkeys(_PERSONS, AtLeast(0)),
        why=DIRECTION,
        conditions=f"ε = 0.1, {conditions} From p0 = 0.2 or so to all pairs the "
        "error hardly changes.",
        control=_exchanged(OWN),
        simulated=QUIET_SPARSE,
    )
    for name, (p0, pairs) in _SHARES.items():
        yield Claim(
            id=f"nguyen.figure_p0.low.{name}.{calibration}",
            row="N10",
            statement=f"In the low-privacy regime releasing {pairs} is better "
            f"than releasing all, with {charged}.",
            source=source,
            experiment="nguyen/figure_p0",
            measure=_less_all_pairs(calibration, 7.5, p0),
            tolerance=dict.fromkeys(_PERSONS, AtMost(0)),
            why=DIRECTION,
            conditions=f"ε = 7.5, {conditions} The paper leaves n and m open; "
            "with few persons the gain is larger. With many there is one at a "
            "fifth of the pairs and the paper's calibration only.",
            control=_exchanged(p0),
            positive=_halved(p0),
            simulated=LOUD_SPARSE if calibration == "paper" else LOUD_DENSE_SUPPORTS,
        )


CLAIMS = (
    *_claims("paper", _CALIBRATIONS["paper"]),
    *_claims("tight", _CALIBRATIONS["tight"]),
)
