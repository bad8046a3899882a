"""Claims on how sure abilities of workers are, and where intervals no longer say so."""

from dataclasses import replace

from pipeline.analysis.claims import Claim, NegativeControl, SimulatedControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.tolerances import AtMost
from pipeline.problems.common.changes import changed_estimate
from pipeline.problems.common.claims.inference import Setting, covered, honest, ranks_hold

from . import controls

EXPERIMENT = "inference/crowd"
_WHERE = "n = 10 and 20 workers, abilities uniform on [0.6, 0.9], randomized response"
_SOURCE = "observed information (Louis 1982), `crowd.theory.inference`; not in the paper"
_ABOVE = Setting(
    EXPERIMENT,
    dict(n=2, m=1, epsilon=1),
    f"{_WHERE}, m = 2,000 tasks, ε = 1 and 2.",
    _SOURCE,
    lambda cells: (cells["epsilon"] >= 1) & (cells["m"] >= 2000),
)
_BELOW = Setting(
    EXPERIMENT,
    dict(n=2, m=2, epsilon=1),
    f"{_WHERE}, m = 500 and 2,000 tasks, ε = ¼.",
    _SOURCE,
    lambda cells: cells["epsilon"] <= 0.25,
)
_OTHERS = SimulatedControl(
    "workers who are estimated under each other's names",
    changed_estimate(lambda estimate: replace(estimate, abilities=estimate.abilities[:, ::-1])),
)

CLAIMS = (
    honest("crowd", "abilities", _ABOVE, {}, controls.FLIP_NOT_TOLD),
    ranks_hold("crowd", "workers", _ABOVE, {}, _OTHERS),
    Claim(
        id="inference.crowd.below",
        statement="Where answers say too little to tell labels, 95 % intervals cover less than 90 %.",
        source="near c = 0 the likelihood of a crowd has no quadratic limit; not in the paper",
        experiment=EXPERIMENT,
        measure=covered(_BELOW, "coverage", {}),
        tolerance=AtMost(0.9),
        why="a wrong promise that a reader would notice; set after a pilot on seed 20261129",
        conditions=_BELOW.conditions,
        control=NegativeControl("coverage that is a fifth larger", scaled("coverage", 1.2)),
        simulated=controls.UNFLIPPED,
    ),
)
