"""Who answers what: users, their groups and budgets; the base of mechanisms."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from pipeline.privacy.budget_groups import groups_of
from pipeline.privacy.composition import answer_budget
from pipeline.problems.common.answer_budgets import AnswerBudgets
from pipeline.problems.common.person import PERSON, PERSON_DELTA, ROUNDS
from pipeline.problems.common.questions import check_charged, check_questions
from pipeline.problems.common.rounding import largest_remainder
from pipeline.problems.common.words import Words
from pipeline.study.arrays import Floats, Integers
from pipeline.study.frozen import read_only
from pipeline.study.guarantee import NOBODY, ONE_ANSWER, Guarantee
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.untyped import AnyField

COMPARISON = Guarantee(
    trust=NOBODY,
    unit=ONE_ANSWER,
    protects="one comparison of one user",
    neighbours="that comparison replaced by its opposite",
    public="which pairs a user compared",
    budget="pure ε-LDP per comparison",
    composition="kε for the k comparisons of a user, or exactly composed at δ = person_delta",
)
WORDS = Words("user", "comparison", "pair", "compares", "compared", "others of the same pairs")
QUESTIONS: AnyField = parameter(
    "pairs that each user compares; null is every pair", unit="pairs", default=None, low=1
)


@dataclass(frozen=True)
class Budgets(AnswerBudgets):
    """L users who compare pairs of m items, their groups and the budgets of these.

    What one comparison may spend is said by `epsilon`, as in the paper, or follows
    from `person`: what all comparisons of a user together may spend. profile: groups
    of users as "share:multiple, …"; a group's budget is multiple · epsilon, or
    multiple · person, its size share · L rounded so that sizes add up. "1:1" is one
    budget for all. questions: pairs that each user compares. given: comparisons of
    the user who made most, in data that were recorded. rounds: releases, each of other
    comparisons, that share the budget of `person`.
    """

    m: int = parameter("items", unit="items", low=2)
    L: int = parameter("users", unit="users", low=1)
    epsilon: float | None = parameter(
        "privacy budget of one comparison; null follows from person; mechanism=none is for no "
        "privacy",
        unit="nats",
        default=None,
        above=0,
        instead="person",
    )
    profile: str = parameter("groups of users, share:multiple of the budget", default="1:1")
    given: int | None = parameter(
        "comparisons of the user who made most; null is every pair that is asked for once",
        unit="comparisons",
        default=None,
        low=1,
    )
    questions: int | None = QUESTIONS
    person: float | None = PERSON
    person_delta: float = PERSON_DELTA
    rounds: int = ROUNDS

    words = WORDS
    guarantee: ClassVar[Guarantee] = COMPARISON

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.users  # raises InvalidInput

    @cached_property
    def users(self) -> Integers:
        """(groups,): users in each group, by largest remainder."""
        return _shared_sizes(self.profile, self.L)

    @cached_property
    def budgets(self) -> Floats:
        """(groups,): budget of one comparison in each group."""
        multiples = multiples_of(self.profile)
        if self.person is None:
            return self.answer_epsilon * multiples
        answers = self.composed_answers
        of_persons = (self.person * multiples).tolist()
        return np.array(
            [answer_budget(person, answers, self.person_delta) for person in of_persons]
        )

    @property
    def largest_budget(self) -> float:
        """Of all groups."""
        return float(self.budgets.max())

    @property
    def answers_wanted(self) -> int:
        """Comparisons that each user is to make; raises InvalidInput."""
        return asked_of_person("questions", self.questions, self.m)

    @property
    def payer(self) -> str:
        """Each user, or the one who made most."""
        return "a user" if self.given is None else "the user who made most"

    def check_charge(self, most_answers: int | None) -> None:
        """Raise InvalidInput where a user of the data made more comparisons than are charged."""
        if self.questions is not None:
            check_charge(self.questions, self.answers, most_answers)

    def memory(self) -> float:
        """Bytes of one replication: raw and released wins of all groups, and their sources."""
        return 16 * self.m**2 * len(self.users)


def check_charge(questions: int | None, charged: int, most_answers: int | None) -> None:
    """Raise InvalidInput where a user made more comparisons than are charged."""
    comparisons = "each user of these data made {most} comparisons"
    check_charged(questions, charged, most_answers, comparisons)


def asked_of_person(key: str, questions: int | None, m: int) -> int:
    """Pairs that each user compares, of m items; None is all of them. Raises InvalidInput."""
    return check_questions(key, questions, m * (m - 1) // 2, f"pairs of m={m:,} items")


def group_sizes(profile: str, L: int) -> Integers:
    """(groups,): how many of L users are in each group of a profile, by largest remainder.

    Raises `InvalidInput` for a bad profile, and where a group has no user.
    """
    shares = np.array([share for share, _ in groups_of(profile)])
    # Shares may miss 1 by rounding, sizes may not miss L.
    sizes = largest_remainder(shares / shares.sum() * L, L)
    if (sizes == 0).any():
        raise InvalidInput("profile", profile, f"a group has no user at L={L}; raise its share")
    return sizes


def multiples_of(profile: str) -> Floats:
    """(groups,): the multiple of ε that is the budget of each group of a profile."""
    return np.array([multiple for _, multiple in groups_of(profile)])


@lru_cache(maxsize=4096)
@read_only
def _shared_sizes(profile: str, L: int) -> Integers:
    return group_sizes(profile, L)
