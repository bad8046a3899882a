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

OWN, FIFTH, ALL = 0.07, 0.2, 1.0  # p0; the first is the paper's log₂(m)/m at m = 100
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
        cells = at_levels(
            summarise(data)[["error_l2", "error_l2_mcse"]], dict(epsilon_user=epsilon)
        )
        some, every_pair = at_levels(cells, dict(p0=p0)), at_levels(cells, dict(p0=ALL))
        apart = some - every_pair
        apart["error_l2_mcse"] = xr.ufuncs.hypot(some["error_l2_mcse"], every_pair["error_l2_mcse"])
        sizes = {name: at_levels(apart, dict(n=n)) for name, n in _PERSONS.items()}
        return {
            name: mean_over_cells(
                cell["error_l2"], cell["error_l2_mcse"], error_share=1 / len(sizes)
            )
            for name, cell in sizes.items()
        }

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
    source, conditions = (
        "Nguyen and Zhang, supplement, Figure 1",
        f"m = 100, n = 200 and 1,000; {charged}.",
    )
    yield Claim(
        id=f"nguyen.figure_p0.high.{calibration}",
        statement="In the high-privacy regime releasing all pairs is better than the paper's own share log₂(m)/m, with "
        f"{charged}.",
        source=source,
        experiment="nguyen/figure_p0",
        measure=_less_all_pairs(calibration, 0.1, OWN),
        tolerance=dict.fromkeys(_PERSONS, AtLeast(0)),
        why=DIRECTION,
        conditions=f"ε = 0.1, {conditions} From p0 = 0.2 or so to all pairs the error hardly changes.",
        control=_exchanged(OWN),
        simulated=QUIET_SPARSE,
    )
    for name, (p0, pairs) in _SHARES.items():
        yield Claim(
            id=f"nguyen.figure_p0.low.{name}.{calibration}",
            row="N10",
            statement=f"In the low-privacy regime releasing {pairs} is better than releasing all, with {charged}.",
            source=source,
            experiment="nguyen/figure_p0",
            measure=_less_all_pairs(calibration, 7.5, p0),
            tolerance=dict.fromkeys(_PERSONS, AtMost(0)),
            why=DIRECTION,
            conditions=f"ε = 7.5, {conditions} The paper leaves n and m open; with few persons the gain is larger. "
            "With many there is one at a fifth of the pairs and the paper's calibration only.",
            control=_exchanged(p0),
            positive=_halved(p0),
            simulated=LOUD_SPARSE if calibration == "paper" else LOUD_DENSE_SUPPORTS,
        )


CLAIMS = tuple(claim for calibration in _CALIBRATIONS.items() for claim in _claims(*calibration))
