"""Claims on how sure scores of rankings are: intervals, ranks, and intervals that ignore flips."""

from pipeline.analysis.claims import SimulatedControl
from pipeline.problems.common.changes import replaced_part
from pipeline.problems.common.claims.inference import (
    REVERSED,
    Setting,
    honest,
    ignorant,
    ranks_hold,
)

from ..estimators.moments import Debiased, PlugIn

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
_CARELESS = SimulatedControl(
    "an estimator that ignores the flips", replaced_part("estimator", lambda part: PlugIn(m=part.m))
)
_CAREFUL = SimulatedControl(
    "an estimator that knows of the flips",
    replaced_part("estimator", lambda part: Debiased(m=part.m)),
)

CLAIMS = (
    honest("ranking", "scores", _ABOVE, dict(estimator="debiased"), _CARELESS),
    ranks_hold("ranking", "items", _ALL, dict(estimator="debiased"), REVERSED),
    ignorant("ranking", "scores", _ALL, dict(estimator="plug_in"), _CAREFUL),
    honest("bootstrap.ranking", "rank centrality's scores", _DRAWN_AGAIN, {}, REVERSED),
)
