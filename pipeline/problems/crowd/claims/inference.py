"""Claims on how sure abilities of workers are."""

from dataclasses import replace

from pipeline.analysis.claims import SimulatedControl
from pipeline.problems.common.changes import changed_estimate
from pipeline.problems.common.claims.inference import (
    Setting,
    Threshold,
    always,
    attenuation,
    begins,
    honest,
    ranks_hold,
)

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
_AROUND = Setting(
    "inference/crowd_threshold",
    dict(m=4, epsilon=4),
    "n = 10 workers, abilities uniform on [0.6, 0.9], randomized response, m = 400 to 4,000 tasks; "
    "coverage of 90 %, located with `refine`.",
    "abilities are learned from pairs of workers who agree: tanh²(ε/2) against 1/√m; not in the "
    "paper",
)
_BEGINS = Threshold("coverage", 0.9, "epsilon", "m", attenuation(1))
_OTHERS = SimulatedControl(
    "workers who are estimated under each other's names",
    changed_estimate(lambda estimate: replace(estimate, abilities=estimate.abilities[:, ::-1])),
)

CLAIMS = (
    honest("crowd", "abilities", _ABOVE, {}, controls.FLIP_NOT_TOLD),
    ranks_hold("crowd", "workers", _ABOVE, {}, _OTHERS),
    begins(
        "crowd",
        "Intervals of abilities begin to hold at a budget at which tanh(ε/2) falls with the fourth "
        "root of the number of tasks.",
        _AROUND,
        _BEGINS,
        always("m", 1250, "tasks"),
        exponent=-0.25,
        why="to first order where all workers together hardly know a label, n tanh²(ε/2) ≪ 1; they "
        "know a little here, which makes the exponent some -0.27",
    ),
)
