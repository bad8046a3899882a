"""Claims on how sure abilities of workers are."""

from dataclasses import replace

from pipeline.analysis.claims import SimulatedControl
from pipeline.problems.common.changes import changed_estimate
from pipeline.problems.common.claims.inference import Setting, honest, ranks_hold

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
_OTHERS = SimulatedControl(
    "workers who are estimated under each other's names",
    changed_estimate(lambda estimate: replace(estimate, abilities=estimate.abilities[:, ::-1])),
)

CLAIMS = (
    honest("crowd", "abilities", _ABOVE, {}, controls.FLIP_NOT_TOLD),
    ranks_hold("crowd", "workers", _ABOVE, {}, _OTHERS),
)
