"""Claims on how sure scores of rankings are: intervals, ranks, and intervals that ignore flips."""

from dataclasses import replace

import numpy as np
import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, SimulatedControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import measure
from pipeline.analysis.selection import select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import Within
from pipeline.problems.common.bootstrap import BootstrapScores
from pipeline.problems.common.changes import changed_estimate, replaced_part
from pipeline.problems.common.claims.inference import (
    REVERSED,
    Setting,
    Threshold,
    honest,
    ignorant,
    ranks_hold,
)
from pipeline.study.arrays import Floats

from ..estimators.moments import Debiased, PlugIn, PreferenceEstimate

EXPERIMENT = "inference/ranking"
LEAST_BUDGET = 8  # of ε√(mL): where scores have begun to be learned
_AXES = dict(m=2, L=2, x=2)
_WHERE = "m = 5 and 15, L = 400 and 6,400, randomized response, θ* uniform on (−1, 1)"
_SOURCE = "sandwich with one step of Newton's method, `ranking.theory.inference`; not in the paper"
_ALL = Setting(EXPERIMENT, _AXES, f"{_WHERE}, ε√(mL) = 1 to 32.", _SOURCE)
_ABOVE = Setting(
    EXPERIMENT,
    _AXES | dict(x=1),
    f"{_WHERE}, ε√(mL) = {LEAST_BUDGET} to 32.",
    _SOURCE,
    lambda cells: cells["x"] >= LEAST_BUDGET,
)
_DRAWN_AGAIN = Setting(
    "inference/bootstrap_ranking",
    dict(m=2, L=2, x=1),
    f"rank centrality, {_WHERE}, ε√(mL) = 64, 200 releases drawn again.",
    "parametric bootstrap through the mechanism, `problems.common.bootstrap`; not in the paper",
    lambda cells: cells["x"] >= 64,
)
_HONESTY = "inference/honesty"
_BOTH_SIDES = Setting(
    _HONESTY,
    dict(L=2, epsilon=2),
    "m = 5, L = 100 to 6,400, ε = ½ to 8, randomized response, θ* uniform on (−1, 1).",
    _SOURCE,
)
_LEAVES = 0.4  # coverage that ignoring the flips leaves at the boundary
_CARELESS = SimulatedControl(
    "an estimator that ignores the flips", replaced_part("estimator", lambda part: PlugIn(m=part.m))
)
_CAREFUL = SimulatedControl(
    "an estimator that knows of the flips",
    replaced_part("estimator", lambda part: Debiased(m=part.m)),
)


def _of_one_error(estimate: PreferenceEstimate) -> PreferenceEstimate:
    """The same scores with one standard error, whatever there is to learn from."""
    reps, m = estimate.theta.shape
    errors = np.full((reps, m), 0.1)
    covariance = np.broadcast_to(0.01 * np.eye(m), (reps, m, m))
    return replace(estimate, drawn=BootstrapScores(estimate.theta, errors, covariance))


def _odds(budgets: Floats) -> Floats:
    """e^ε + 1: twice its inverse is the share by which a score is shrunk."""
    return np.asarray(np.exp(budgets) + 1)


_END_OF_HONESTY = Threshold("coverage", _LEAVES, "epsilon", "L", _odds)


@measure("exponent in L of the e^ε + 1 at which intervals that ignore the flips cover 40 %")
def _boundary_of_honesty(results: xr.Dataset) -> Estimate:
    data = select(
        results, "coverage", at=dict(estimator="plug_in"), min_levels=dict(L=3, epsilon=3)
    )
    return _END_OF_HONESTY.exponent(summarise(data))


_HONEST_TO_IGNORE = Claim(
    id="inference.ranking.boundary",
    headline=True,
    statement="To ignore the flips is honest above a budget that grows like ½ log L: e^ε + 1 ∝ √L "
    "where such intervals cover 40 %.",
    source="the bias 2/(e^ε + 1) of a shrunk score, relative to it, against standard errors of "
    "order 1/√L; not in the paper",
    experiment=_HONESTY,
    measure=_boundary_of_honesty,
    tolerance=Within(0.5, 0.05),
    why="to first order in 2/(e^ε + 1), which is 0.46 at the boundary of the fewest people and 0.05 "
    "at that of the most",
    conditions=_BOTH_SIDES.conditions,
    control=NegativeControl(
        "numbers of people of which square roots are written",
        lambda results: results.assign_coords(L=results["L"].values ** 0.5),
    ),
    simulated=SimulatedControl(
        "standard errors of 0.1, however many people there are", changed_estimate(_of_one_error)
    ),
)

CLAIMS = (
    honest("ranking.both_sides", "scores", _BOTH_SIDES, dict(estimator="debiased"), _CARELESS),
    _HONEST_TO_IGNORE,
    honest("ranking", "scores", _ABOVE, dict(estimator="debiased"), _CARELESS),
    ranks_hold("ranking", "items", _ALL, dict(estimator="debiased"), REVERSED),
    ignorant("ranking", "scores", _ALL, dict(estimator="plug_in"), _CAREFUL),
    honest("bootstrap.ranking", "rank centrality's scores", _DRAWN_AGAIN, {}, REVERSED),
)
