"""Parameters of studies in persons: questions of a survey, budgets of answers,
people, boundaries.
"""

import math
from typing import Annotated

from pipeline.privacy.accounting import zcdp_rho
from pipeline.privacy.composition import answer_budget
from pipeline.study.parameters import InvalidInput, nearest

from .design import asked_of_person
from .mechanisms.sums import ProtectedCounts, ProtectedScores
from .theory import central_bounds, person

Questions = Annotated[int | None, "pairs that each user compares"]
Person = Annotated[float, "privacy budget of all comparisons of a user", "nats"]
PersonDelta = Annotated[float, "δ of a person's budget"]
Error = Annotated[float, "root of the mean squared error ‖θ̂ − θ*‖₂²/m", "logits"]
_ALL = "all"
_USUAL_DELTA = 1e-6


def questions_of_survey(survey: Annotated[str, ("questions of a person, or all")], m: int) -> int:
    """Questions of a person: a whole number as a text, or `all`, which is every
    pair.

    Raises InvalidInput for anything else, and for more questions than there are
    pairs.
    """
    if survey == _ALL:
        return person.pairs_of(m)
    try:
        questions = int(survey)
    except ValueError:
        allowed = f"must be {_ALL}, or a whole number of questions"
        raise InvalidInput("survey", survey, allowed) from None
    return asked_of_person("survey", questions, m)


def answer_epsilon(
    person: Person, person_delta: PersonDelta, questions: Questions, m: int
) -> Annotated[float, "budget of one comparison", "nats"]:
    """Budget ε of one comparison of a user, who answers k questions with a budget
    of `person`.

    Exact composition: see `pipeline.privacy.composition.answer_budget`.
    """
    answers = asked_of_person("questions", questions, m)
    return answer_budget(person, answers, person_delta)


def users_for_error(error: Error, m: int, questions: int, person: Person) -> int:
    """Users L at which the error is that of `error`, to first order.

    Nobody is trusted.

    2(m−1)²/(m · error² · k·tanh²(E/(2k))), rounded. Source: `theory.person`.
    """
    return round(_users_for_error(error, m, questions, person))


def _users_for_error(error: float, m: int, questions: int, budget: float) -> float:
    return 2 * (m - 1) ** 2 / (m * error**2 * person.worth(questions, budget))


def person_from_x(
    x: Annotated[float, "budget in units of that at which learning ends"],
    error: Error,
    m: int,
    L: int,
    questions: int,
    mechanism: str,
    person_delta: PersonDelta,
) -> float:
    """Budget of a person at x times the boundary at which the error is `error`, to
    first order.

    x multiplies E where budgets are pure, and √ρ where they hold at δ > 0. Raises
    InvalidInput for another mechanism, and where the answers themselves are too
    few. Source: `theory.person`.
    """
    noise = person.wins_noise(error, m, L, questions)
    if mechanism == "randomized_response":
        return x * person.local_person(noise, L, m, questions)
    if mechanism == "shuffled_response":
        rho = person.shuffled_rho(noise, questions)
        return person.gaussian_epsilon(x**2 * rho, person_delta)
    known = {
        "noisy_counts": (ProtectedCounts(1.0), 2 * noise),
        "noisy_scores": (ProtectedScores(1.0), 4 * m * noise),
    }
    if mechanism not in known:
        others = ("randomized_response", "shuffled_response", *known)
        raise InvalidInput("mechanism", mechanism, nearest(mechanism, others))
    protected, variance = known[mechanism]
    sensitivity = protected.sensitivity(m, questions)
    if person_delta == 0:
        return x * person.laplace_person(variance, sensitivity)
    rho = person.gaussian_rho(variance, sensitivity)
    return person.concentrated_epsilon(x**2 * rho, person_delta)


def delta_by_trust(mechanism: str) -> PersonDelta:
    """δ of a person's budget: 0 where nobody is trusted, else 10⁻⁶.

    >>> delta_by_trust("randomized_response"), delta_by_trust("noisy_counts")
    (0.0, 1e-06)
    """
    if mechanism == "randomized_response":
        return 0.0
    return _USUAL_DELTA


def person_from_root(
    x: Annotated[float, "budget in units of √(m/L)"],
    m: int,
    L: int,
) -> float:
    """Budget E = x·√(m/L) of a person, at which so little noise is x times what
    answers have.
    """
    return x * math.sqrt(m / L)


def root_rho(
    person: Person, person_delta: PersonDelta
) -> Annotated[float, "√ρ of zero-concentrated privacy", "1"]:
    """√ρ of a person's (ε, δ), by the sharp conversion; NaN for a pure budget."""
    if person_delta == 0:
        return math.nan
    return math.sqrt(float(zcdp_rho(person, person_delta)))


def local_boundary(
    error: Error, m: int, L: int
) -> Annotated[
    float, ("budget of a person who is asked one question, if nobody is trusted"), "nats"
]:
    """Budget at which one question each has the error `error` with nobody trusted,
    first order.
    """
    noise = person.wins_noise(error, m, L, 1)
    return person.local_person(noise, L, m, 1)


def worst_spread(
    person: Person, person_delta: PersonDelta, questions: Questions, m: int, L: int
) -> float:
    """Half-width of the two groups of items that are hardest to tell apart under a
    curator.

    Source: `theory.central_bounds`.
    """
    answers = asked_of_person("questions", questions, m)
    return central_bounds.worst_spread(person, person_delta, answers, m, L)
