"""Yardsticks of studies in persons: errors to first order in any survey, and what
nobody can beat.
"""

from functools import lru_cache

import numpy as np

from pipeline.problems.common.person import PERSON_DELTA
from pipeline.study.arrays import Floats
from pipeline.study.metric import metric
from pipeline.study.parameters import parameter
from pipeline.study.untyped import AnyField

from ..design import QUESTIONS, asked_of_person
from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import ReleasedWins
from ..theory import central_bounds, risk

ITEMS: AnyField = parameter("items", unit="items", low=2)
USERS: AnyField = parameter("users", unit="users", low=1)
BUDGET: AnyField = parameter(("privacy budget of all comparisons of a user"), unit="nats", above=0)
SPREAD: AnyField = parameter(
    ("half-width of the law of θ*"), unit="logits", default=2.0, low=0, high=50
)


@metric(("predicted squared error, first order, of any survey"), units="logits²", least=0.0)
def first_order_risk(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """`sandwich_risk` with the mean number n of comparisons of a pair in place of
    users.

    All pairs must be compared nearly equally often, as a balanced survey has it. λ
    of eq. (3) belongs to the mean over users, of whom a share n/L compared a pair.
    One budget for all users. O(reps · m³).
    """
    reports = float(np.mean(release.trials))
    epsilon = release.equivalent_epsilon[:1]
    ridge = estimate.ridge * float(release.users.sum()) / reports
    return risk.sandwich_risk(truth.theta, epsilon, reports, ridge)


@lru_cache(maxsize=4096)
def _bound(
    spread: float, person: float, person_delta: float, questions: int, m: int, users: int
) -> float:
    return central_bounds.least_squared_error(spread, person, person_delta, questions, m, users)


@metric("least squared error of any private release", units="logits²")
def central_bound(
    *,
    m: int = ITEMS,
    L: int = USERS,
    person: float = BUDGET,
    person_delta: float = PERSON_DELTA,
    questions: int | None = QUESTIONS,
    spread: float = SPREAD,
) -> float:
    """Least mean of ‖θ̂ − θ*‖₂²/m for two groups of items at ±spread, whoever is
    trusted.

    Source: `theory.central_bounds`.
    """
    answers = asked_of_person("questions", questions, m)
    return _bound(spread, person, person_delta, answers, m, L)
