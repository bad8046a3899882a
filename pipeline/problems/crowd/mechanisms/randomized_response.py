"""Randomized response on the answers of a crowd."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pipeline.privacy.attacks import Attack, FlippedBits
from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.common.sampling import bernoulli, whole_words
from pipeline.study.guarantee import NOBODY, ONE_ANSWER, Guarantee
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseMechanism

from ..model import Answers
from ..releases import ReleasedAnswers


@dataclass(frozen=True)
class RandomizedResponse(BaseMechanism):
    """Every answer is flipped with probability 1/(1 + e^ε) before it leaves its worker.

    Missing ones stay missing.

    ε-LADP is local attribute differential privacy, of one answer. The k answers of a
    worker compose to kε-LDP, k ≤ m, and no less: the bound is attained. Estimators
    debias abilities: that is post-processing and costs no budget. The initial vector,
    if any, is lent by the simulation, which made it from the truth and from released
    answers, so that no answer as it was given is in it. Source: Wang and Xu, eq. (9)
    and Theorem 1; Warner (1965).
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    epsilon: float = parameter(
        "privacy budget of one answer; mechanism=none is for no privacy", unit="nats", above=0
    )
    given: int | None = parameter(
        "answers of the worker who gave most; null is one to every task",
        unit="answers",
        default=None,
        low=1,
    )

    # The name of its streams. With another one all numbers would be other draws.
    stream_label: ClassVar[str] = "randomized_answers"
    guarantee: ClassVar[Guarantee] = Guarantee(
        trust=NOBODY,
        unit=ONE_ANSWER,
        protects="one answer of one worker",
        neighbours="that answer replaced by its opposite",
        public="which tasks a worker answered",
        budget="pure ε-LADP per answer",
        composition="kε-LDP for the k ≤ m answers of a worker",
    )
    accepts: ClassVar[type] = Answers
    releases: ClassVar[type] = ReleasedAnswers
    by_replication: ClassVar[bool] = True

    def release(self, data: Answers, rng: np.random.Generator) -> ReleasedAnswers:
        """Released answers of a block, (reps, n, m) int8. O(reps · n · m)."""
        flip = float(flip_probability(self.epsilon))
        flipped = bernoulli(flip, data.answers.shape, rng).view(np.int8)
        answers = data.answers * (1 - 2 * flipped)
        return ReleasedAnswers(answers, flip, data.start_among(answers))

    def spent(self) -> dict[str, float]:
        """Budgets, in nats: of one answer, and of all answers of one worker.

        That is the worker who gave most answers, or one who answers all m tasks.
        """
        if self.given is not None:
            whose = "all answers of the worker who gave most"
        else:
            whose = "all answers of a worker who answers every task"
        return {"one answer": self.epsilon, whose: self._most_answers() * self.epsilon}

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one answer, and on all of the worker who gives most."""
        return {
            "answer": FlippedBits(self.epsilon, 1),
            "person": FlippedBits(self.epsilon, self._most_answers()),
        }

    def promise(self) -> Guarantee:
        """The guarantee in numbers, of the worker who gives most answers."""
        return replace(super().promise(), answers=self._most_answers())

    def _most_answers(self) -> int:
        """Answers of the worker who gives most."""
        return self.m if self.given is None else self.given

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 0.8 * self.n * self.m

    def memory(self) -> float:
        """Bytes of one replication: random bytes, and which answers are flipped."""
        return 2 * self.n * self.m

    def together(self) -> int:
        """Replications whose answers take whole random words."""
        return whole_words(self.n * self.m)
