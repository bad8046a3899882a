"""Claims on responses at one promise per person: how many items to ask, and whom to trust."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    confidence_for,
    measure_every_cell,
    normal,
)
from pipeline.analysis.selection import NotTested, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost
from pipeline.problems.common.spending import best_questions, worth

from . import controls
from .common import DIRECTION

EXPERIMENT = "person/response"
PERSONS = (1.0, 4.0, 10.0)  # nats of a person
MANY = 20_000  # people, so that answers of the best surveys are few logits off
FEW = 2_000  # people with a shuffler or a curator
TIMES = 3  # people with nobody trusted for each of these
_LOCAL = "randomized_response"
_SHUFFLER = "shuffled_response"
_CURATOR = "noisy_differences"
_MODEL = "Rasch model, m = 10 items, δ = 10⁻⁶, balanced surveys"
_SHARES = "difficulties from shares of right answers"


@dataclass(frozen=True)
class _Risk:
    """Mean of ‖β̂ − β*‖₂²/m, and its standard error."""

    mean: float
    error: float


def _risks(
    results: xr.Dataset, mechanism: str, person: float, people: int, least: int
) -> dict[int, _Risk]:
    """By the number of items that each person is asked, at least so many numbers."""
    at: dict[str, str | float] = {"mechanism": mechanism, "person": person, "n": people}
    at["estimator"] = "spectral" if mechanism == _CURATOR else "item_shares"
    data = select(results, "error_l2", at=at, min_levels=dict(questions=least))
    data["square"] = data["error_l2"] ** 2
    cells = summarise(data[["square", "status"]])
    risks: dict[int, _Risk] = {}
    for questions in cells["questions"].values.tolist():
        cell = cells.sel(questions=questions)
        mean = float(cell["square"])
        if math.isfinite(mean):
            risks[int(questions)] = _Risk(mean, float(cell["square_mcse"]))
    return risks


def _ratio(over: _Risk, under: _Risk, confidence: float) -> Estimate:
    ratio = over.mean / under.mean
    error = ratio * math.hypot(over.error / over.mean, under.error / under.mean)
    return normal(ratio, error, confidence)


@measure_every_cell(
    "mean squared error if a person's items are further than one from max(1, E/2.177), over that "
    "with the best number in the grid"
)
def _further(results: xr.Dataset) -> Cells:
    pairs: dict[str, tuple[_Risk, _Risk]] = {}
    for person in PERSONS:
        risks = _risks(results, _LOCAL, person, MANY, 3)
        best = max(risks, key=lambda questions: worth(questions, person))
        for questions, risk in risks.items():
            if abs(questions - best_questions(person)) > 1:
                pairs[f"E={person:g}, {questions} items"] = (risk, risks[best])
    return _ratios(pairs)


def _ratios(pairs: Mapping[str, tuple[_Risk, _Risk]]) -> Cells:
    if not pairs:
        raise NotTested("needs several numbers of questions")
    confidence = confidence_for(len(pairs))
    return {name: _ratio(over, under, confidence) for name, (over, under) in pairs.items()}


def _next_over(mechanisms: Sequence[str], people: int) -> Measure:
    """Mean squared error at each number of items over that at the next smaller one."""

    @measure_every_cell("mean squared error over that with the next smaller number of items")
    def ratios(results: xr.Dataset) -> Cells:
        pairs: dict[str, tuple[_Risk, _Risk]] = {}
        for mechanism in mechanisms:
            risks = _risks(results, mechanism, 1.0, people, 3)
            numbers = sorted(risks)
            for fewer, more in zip(numbers, numbers[1:], strict=False):
                pairs[f"{mechanism}, {fewer} to {more} items"] = (risks[more], risks[fewer])
        return _ratios(pairs)

    return ratios


@measure_every_cell(
    f"mean squared error where all items are asked, over that of {TIMES} times the people who are "
    "asked one and trust nobody"
)
def _trusted_over_nobody(results: xr.Dataset) -> Cells:
    nobody = _risks(results, _LOCAL, 1.0, TIMES * FEW, 1)
    pairs: dict[str, tuple[_Risk, _Risk]] = {}
    for mechanism in (_SHUFFLER, _CURATOR):
        trusted = _risks(results, mechanism, 1.0, FEW, 1)
        if 1 in nobody and trusted:
            pairs[mechanism] = (trusted[max(trusted)], nobody[1])
    return _ratios(pairs)


def _times_of_trusted(results: xr.Dataset) -> xr.DataArray:
    is_trusted = results["mechanism"] != _LOCAL
    return 1 + 9 * is_trusted


_SOURCE = "k·tanh²(E/2k) for k answers of a person, E nats together; not in the paper"

CLAIMS = (
    Claim(
        id="nguyen.persons.best",
        headline=True,
        statement="Where nobody is trusted, a budget of E nats a person is best spent on "
        "max(1, E/2.177) items, within one.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_further,
        tolerance=AtLeast(1),
        why=f"{DIRECTION} Numbers of items and of people were set by theory, and tried on another "
        "seed. Next to the best the curve is flat: 3 items at E = 10 need 4 % more people than 5, "
        "and are not asked. Each number is compared with the best alone: of two that are both far "
        "from it, errors of a logit have too long tails.",
        conditions=f"{_MODEL}, {_SHARES}, n = 20,000, E = 1, 4 and 10, 1 to 10 items.",
        control=NegativeControl(
            "errors over the number of items",
            scaled("error_l2", lambda data: 1 / data["questions"]),
        ),
        simulated=controls.WHOLE_EACH,
    ),
    Claim(
        id="nguyen.persons.more",
        statement="With a shuffler or a curator difficulties are the better the more items each "
        "person is asked, up to all.",
        source="noise is hidden by all messages on an item, or made for k²/2 counts of a person "
        "who adds to k(k − 1)/2; not in the paper",
        experiment=EXPERIMENT,
        measure=_next_over((_SHUFFLER, _CURATOR), FEW),
        tolerance=AtMost(1),
        why=DIRECTION,
        conditions=f"{_MODEL}, n = 2,000, 2, 5 and 10 items; {_SHARES} with a shuffler, the "
        "spectral algorithm with a curator.",
        control=NegativeControl(
            "errors times the number of items", scaled("error_l2", lambda data: data["questions"])
        ),
        simulated=controls.BUDGET_DIVIDED,
    ),
    Claim(
        id="nguyen.persons.trust",
        headline=True,
        statement="With a shuffler or a curator a third of the people is enough for a smaller "
        "error, at one nat a person.",
        source="advice for m = 10 and Kendall's distance 0.1: 260 people with a shuffler, 616 with "
        "a curator, 3,018 with nobody trusted; not in the paper",
        experiment=EXPERIMENT,
        measure=_trusted_over_nobody,
        tolerance=AtMost(1),
        why=DIRECTION,
        conditions=f"{_MODEL}; 2,000 people who are asked all items, 6,000 who are asked one and "
        "trust nobody.",
        control=NegativeControl(
            "errors ten times as large with a shuffler or a curator",
            scaled("error_l2", _times_of_trusted),
        ),
        simulated=controls.BUDGET_DIVIDED,
    ),
)
