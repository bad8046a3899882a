"""Claims on surveys of crowds at one promise per worker: who is trusted
decides how many tasks each should label.
"""

from collections.abc import Iterator

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, SimulatedControl
from pipeline.analysis.controls import exchanged
from pipeline.analysis.measures import Cells, Measure, measure_every_cell, paired_cells
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtLeast, AtMost

from . import controls
from .common import DIRECTION

_WHY = (
    f"{DIRECTION} Numbers of workers were set on another seed, on which 100 workers left a "
    "shuffler undecided: among few messages it hides nothing."
)

EXPERIMENT = "person/crowd_surveys"
STEPS = ((1, 4), (4, 20))  # numbers of tasks of a worker that are compared
_LOCAL = "randomized_response"
_CURATOR = "noisy_votes"
_SHUFFLER = "shuffled_response"
_CONDITIONS = (
    "n = 200 and 400 workers, m = 20 tasks, 1 nat a worker at δ = 10⁻⁶, majority vote, abilities "
    "uniform on [½, 1], balanced surveys of 1, 4 and 20 tasks a worker."
)
_NOBODY_FOR_CURATOR = NegativeControl(
    "randomized response and noisy votes under each other's name",
    exchanged("mechanism", _LOCAL, _CURATOR),
)
_NOBODY_FOR_SHUFFLER = NegativeControl(
    "randomized response with and without a shuffler under each other's name",
    exchanged("mechanism", _LOCAL, _SHUFFLER),
)


def _steps(mechanism: str) -> Measure:
    """Wrong labels where workers label more tasks, less those where they label fewer."""

    @measure_every_cell(
        "mean share of wrong labels where each worker labels more tasks, less that of the same "
        "workers with fewer"
    )
    def steps(results: xr.Dataset) -> Cells:
        data = select(
            results,
            "label_error",
            at=dict(mechanism=mechanism),
            min_levels=dict(questions=3, n=1),
        )
        cells = {}
        for fewer, more in STEPS:
            step = paired_cells(data, "label_error", "questions", more, fewer, 1 / len(STEPS))
            for where, estimate in step.items():
                cells[f"{fewer} to {more} tasks, {where}"] = estimate
        return cells

    return steps


def _more_tasks_help(
    name: str, trust: str, mechanism: str, control: NegativeControl, simulated: SimulatedControl
) -> Claim:
    return Claim(
        id=f"wang.surveys.{name}",
        statement=f"With {trust}, labels are better the more tasks each worker labels, up to all.",
        source="votes are as many more as noise is wider in squares; not in the paper",
        experiment=EXPERIMENT,
        measure=_steps(mechanism),
        tolerance=AtMost(0),
        why=_WHY,
        conditions=_CONDITIONS,
        control=control,
        simulated=simulated,
    )


def _claims() -> Iterator[Claim]:
    yield Claim(
        id="wang.surveys.nobody",
        statement="Where nobody is trusted, labels are worse the more tasks each worker labels.",
        source="k·tanh²(ε₀/2) falls with k, ε₀ being the budget of one of k answers; not in the "
        "paper",
        experiment=EXPERIMENT,
        measure=_steps(_LOCAL),
        tolerance=AtLeast(0),
        why=_WHY,
        conditions=_CONDITIONS,
        control=_NOBODY_FOR_CURATOR,
        simulated=controls.ANSWERS_FOR_NOTHING,
    )
    yield _more_tasks_help(
        "shuffler", "a shuffler", _SHUFFLER, _NOBODY_FOR_SHUFFLER, controls.NOT_SHUFFLED
    )
    yield _more_tasks_help(
        "curator", "a curator", _CURATOR, _NOBODY_FOR_CURATOR, controls.BUDGET_DIVIDED
    )


CLAIMS = tuple(_claims())
