"""How many items a person answers, and within which budget: parameters that parts share."""

import math

from pipeline.problems.common.person import SAME
from pipeline.problems.common.questions import DESIGNS, check_charged, check_questions
from pipeline.problems.common.words import Words
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.untyped import AnyField

from .sampling.surveys import Survey

WORDS = Words("person", "response", "item", "answers", "answered", "others to the same items")
QUESTIONS: AnyField = parameter(
    "items that each person answers; null is every item", unit="items", default=None, low=1
)
DESIGN: AnyField = parameter(
    "who answers what: every item equally often, or each person's own random items",
    default="balanced",
    choices=DESIGNS,
)

EPSILON_USER: AnyField = parameter(
    "privacy budget of all responses of a person; null is person",
    unit="nats",
    default=None,
    above=0,
    instead="person",
)
PERSON: AnyField = parameter(
    "privacy budget of all responses of a person, by the name that all problems have; null is "
    "epsilon_user",
    unit="nats",
    default=None,
    above=0,
)


def budget_of_person(epsilon_user: float | None, person: float | None) -> float:
    """Budget of all responses of a person, which has two names; raises InvalidInput.

    One of both must be there, or both must be the same.
    """
    if epsilon_user is None and person is None:
        allowed = "is needed (privacy budget of all responses of a person, a number > 0), or person"
        raise InvalidInput("epsilon_user", None, allowed)
    if epsilon_user is None:
        return float(person or 0)
    if person is not None and not math.isclose(epsilon_user, person, rel_tol=SAME):
        allowed = f"is what person={person:g} is, and differs; leave out one of both"
        raise InvalidInput("epsilon_user", epsilon_user, allowed)
    return epsilon_user


def check_charge(questions: int | None, charged: int, items_asked: int) -> None:
    """Raise InvalidInput where persons were asked more items than are charged."""
    check_charged(
        questions, charged, items_asked, "each person of these data was asked {most} items"
    )


def items_of_person(questions: int | None, m: int) -> int:
    """Items that each person answers, of m; None is all of them. Raises InvalidInput."""
    return check_questions("questions", questions, m, f"items (m={m:,})")


def survey_of(questions: int | None, design: str, m: int) -> Survey | None:
    """Who answers what; None where all persons answer all items. Raises InvalidInput."""
    items = items_of_person(questions, m)
    if items == m:
        return None
    return Survey(items, design)


def check_pairs(questions: int | None, m: int, who: str) -> int:
    """Items that each person answers, at least two. who: needs them, for the message.

    Raises InvalidInput for one, as nobody then answers both items
    of a pair.
    """
    items = items_of_person(questions, m)
    if items > 1:
        return items
    allowed = f"{who} needs both answers of a person to a pair of items: must be 2 to {m:,}"
    raise InvalidInput("questions", questions, f"{allowed}, or use estimator=item_shares")
