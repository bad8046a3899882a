"""Base of mechanisms whose users release private bits about their records."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from scipy.special import expit

from pipeline.privacy.attacks import FlippedBits
from pipeline.privacy.composition import answer_budget, person_budget
from pipeline.problems.common.person import (
    PERSON,
    PERSON_DELTA,
    ROUNDS,
    check_agreement,
    over_answers,
)
from pipeline.study.disclosure import Attack
from pipeline.study.guarantee import NOBODY, ONE_PERSON, Guarantee
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMechanism
from pipeline.study.untyped import AnyField

from ..model import Users

RECORD = Guarantee(
    trust=NOBODY,
    unit=ONE_PERSON,
    protects="all of a user's record: which items are rated, and how",
    neighbours="one user's record replaced by any other",
    public="what each user is asked, which is drawn without her record",
    budget="pure ε-LDP for a user's record",
    composition="a user gives one bit only",
)
QUESTIONS: AnyField = parameter(
    "questions to a user, each about a set or a pair of items, one private bit each",
    default=1,
    low=1,
    high=10**4,
)


@dataclass(frozen=True)
class OneBit(BaseMechanism):
    """Mechanisms whose users release bits, each flipped with probability 1/(1 + e^ε).

    One bit a user, unless a mechanism has `Q`, the number of questions to
    a user. What one bit may spend is said by `epsilon`, as in the paper,
    or follows from `person`: what all bits of a user together may spend.
    At ε = ∞ no bit is flipped.
    Source: Banerjee, Hegde and Massoulié, Proposition 4.
    """

    N: int = parameter("items", unit="items", low=2)
    epsilon: float | None = parameter(
        "privacy budget of one bit about a user's record; null follows from person; infinite is "
        "no privacy",
        unit="nats",
        default=None,
        above=0,
        infinite=True,
        instead="person",
    )
    person: float | None = PERSON
    person_delta: float = PERSON_DELTA

    guarantee: ClassVar[Guarantee] = RECORD
    accepts: ClassVar[type] = Users

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.answer_epsilon  # raises InvalidInput
        self.check_budgets()

    def check_budgets(self) -> None:
        """Raise InvalidInput where epsilon and person are said, and one does not follow."""
        check_agreement(self.epsilon, self.person, self.composed_answers, self.person_delta)

    @property
    def answers(self) -> int:
        """Bits that each user releases."""
        return 1

    @property
    def sharing(self) -> int:
        """Releases that share a user's budget."""
        return 1

    @property
    def changeable(self) -> int:
        """Bits of one release that another record can change."""
        return self.answers

    @property
    def composed_answers(self) -> int:
        """Such bits in all rounds, whose budgets compose."""
        return self.changeable * self.sharing

    @property
    def answer_epsilon(self) -> float:
        """Budget of one bit, in nats."""
        if self.person is not None:
            return answer_budget(self.person, self.composed_answers, self.person_delta)
        return self.given_epsilon

    @property
    def given_epsilon(self) -> float:
        """`epsilon`; InvalidInput where neither it nor `person` is said."""
        if self.epsilon is None:
            allowed = (
                f"is needed by {type(self).__name__} (privacy budget of one bit about a user's "
                "record, a number > 0), or person (that of all bits of a user)"
            )
            raise InvalidInput("epsilon", None, allowed)
        return self.epsilon

    @property
    def keep(self) -> float:
        """e^ε/(1 + e^ε), the probability that a bit is released as it is."""
        return float(expit(self.answer_epsilon))

    def stated(self) -> Guarantee:
        """The guarantee with this object's kind of budget, and how its bits compose, in all
        rounds.
        """
        return over_answers(self.of_one_release(), self.sharing)

    def of_one_release(self) -> Guarantee:
        """The same of one release."""
        budget = self.guarantee.budget
        if self.person_delta > 0:
            budget = "(ε, δ)-LDP for a user's record"
        composition = self.guarantee.composition
        if self.answers > 1:
            composition = "kε for the k bits of a user, or exactly composed at δ = person_delta"
        return replace(self.guarantee, budget=budget, composition=composition)

    def promise(self) -> Guarantee:
        """The guarantee in numbers."""
        return replace(
            self.stated(),
            epsilon=self.composed(self.composed_answers),
            delta=self.person_delta,
            answer_epsilon=self.answer_epsilon,
            answers=self.answers,
        )

    def composed(self, bits: int) -> float:
        """Budget at δ = person_delta of so many bits of a user, exactly composed."""
        each = self.answer_epsilon
        if math.isinf(each):
            return each
        return person_budget(each, bits, self.person_delta)

    def spent(self) -> dict[str, float]:
        """Budget of a user, in nats, and of one of several bits; exactly composed."""
        if self.composed_answers == 1 and self.person_delta == 0:
            return {"a user's record": self.answer_epsilon}
        record = self.composed(self.composed_answers)
        return {"a user's record": record, "one bit": self.answer_epsilon}

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one bit, and on a record about which all bits may differ."""
        each = self.answer_epsilon
        return {"answer": FlippedBits(each, 1), "person": FlippedBits(each, self.composed_answers)}


@dataclass(frozen=True, kw_only=True)
class RepeatedBits(OneBit):
    """Base of those whose users may be asked again, in rounds that share a user's budget."""

    rounds: int = ROUNDS

    @property
    def sharing(self) -> int:
        """Releases that share a user's budget."""
        return self.rounds
