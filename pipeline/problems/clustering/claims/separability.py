"""Claims of Banerjee, Hegde and Massoulié on clusters that are liked almost equally often."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Cells, mean_cells, measure, measure_every_cell
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtLeast, AtMost, Within

from . import controls
from .common import ESTIMATOR_OF, above_zero, boundary, exponents

_OPPOSITE = (
    "N = 100, w = 50, ε = 1; two classes of users, one likes what the other does not, "
    "0.9 against 0.1."
)
_MAXSENSE = "MaxSense with at least 10⁶ users"
_PAIRS = "Pairwise-Preference with at least 3·10⁵ users"


def _success(results: xr.Dataset, mechanism: str, least_users: float) -> Cells:
    """Shares of success with classes of equal size, half of the claim's error."""
    data = select(
        results,
        "recovered",
        at=dict(lean=0, mechanism=mechanism, estimator=ESTIMATOR_OF[mechanism]),
        min_levels=dict(U=1),
        within=lambda d: d["U"] >= least_users,
    )
    return mean_cells(data, "recovered", error_share=0.5)


@measure_every_cell(
    "share of replications with every item right, two classes of opposite tastes and equal size"
)
def _equal_classes(results: xr.Dataset) -> dict[str, Cells]:
    return {
        _MAXSENSE: _success(results, "max_sense", 1e6),
        _PAIRS: _success(results, "pairwise_preference", 3e5),
    }


@measure("exponent in the lean α₁ − α₂, to which δ is proportional, of the users at the boundary")
def _in_lean(results: xr.Dataset) -> Estimate:
    users = boundary(
        above_zero(results, "lean"),
        "U",
        min_levels=dict(lean=3),
        at=dict(mechanism="max_sense", estimator=ESTIMATOR_OF["max_sense"]),
    )
    return exponents(users, lean=users["lean"])["in lean"]


CLAIMS = (
    Claim(
        id="banerjee.theorem_15.separability",
        statement="Where δ_min = 0 MaxSense fails with up to 10⁸ users, though "
        "Pairwise-Preference succeeds.",
        source="condition of Theorem 15 of Banerjee, Hegde and Massoulié",
        experiment="banerjee/separability",
        simulated=controls.UNEQUAL_CLASSES,
        measure=_equal_classes,
        tolerance={_MAXSENSE: AtMost(0.1), _PAIRS: AtLeast(0.9)},
        why="Averaged over classes both clusters are liked equally often: all scores "
        "have one mean. A score does not contain which items are liked by the same "
        "users.",
        conditions=_OPPOSITE + " For any number of users by the law of scores.",
        control=NegativeControl(
            "success and failure exchanged", lambda r: r.assign(recovered=1 - r["recovered"])
        ),
    ),
    Claim(
        id="banerjee.theorem_15.delta",
        statement="As the classes become equally large, MaxSense needs users of order 1/δ_min².",
        source="Banerjee, Hegde and Massoulié, Theorem 15",
        experiment="banerjee/separability",
        simulated=controls.ROOT_OF_LEAN,
        measure=_in_lean,
        tolerance=Within(-2, 0.6),
        why="Levels of U are a factor of 3 apart.",
        conditions="Leans from 0.05 to 0.4. " + _OPPOSITE,
        control=NegativeControl(
            "the squares of the leans", lambda r: r.assign_coords(lean=r["lean"] ** 2)
        ),
    ),
)
