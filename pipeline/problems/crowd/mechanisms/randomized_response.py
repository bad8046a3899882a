"""Randomized response on the answers of a crowd."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.privacy.attacks import FlippedBits
from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.common.sampling import bernoulli, whole_words
from pipeline.study.disclosure import Attack

from ..design import Budgets, check_charge
from ..model import Answers
from ..releases import ReleasedAnswers


@dataclass(frozen=True)
class RandomizedResponse(Budgets):
    """Every answer is flipped with probability 1/(1 + e^ε) before it leaves its worker.

    Missing ones stay missing.

    ε-LADP is local attribute differential privacy, of one
    answer. The k answers of a worker compose to kε-LDP, k ≤
    m, and no less: the bound is attained; or exactly at δ =
    `person_delta`. Estimators debias abilities: that is
    post-processing and costs no budget. The initial vector,
    if any, is lent by the simulation, which made it from
    the truth and from released answers, so that no answer
    as it was given is in it.
    Source: Wang and Xu, eq. (9) and Theorem 1; Warner
    (1965).
    """

    # The name of its streams. With another one all numbers would be other draws.
    stream_label: ClassVar[str] = "randomized_answers"
    accepts: ClassVar[type] = Answers
    releases: ClassVar[type] = ReleasedAnswers
    by_replication: ClassVar[bool] = True

    def release(self, data: Answers, rng: np.random.Generator) -> ReleasedAnswers:
        """Released answers of a block, (reps, n, m) int8. O(reps · n · m).

        Raises InvalidInput where a worker gave more answers
        than are charged.
        """
        if self.answers < data.answers.shape[2]:
            check_charge(self.questions, self.answers, data.most_answers())
        flip = float(flip_probability(self.answer_epsilon))
        flipped = bernoulli(flip, data.answers.shape, rng).view(np.int8)
        answers = data.answers * (1 - 2 * flipped)
        return ReleasedAnswers(answers, flip, data.start_among(answers))

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one answer, and on all of the worker who gives most."""
        return {
            "answer": FlippedBits(self.answer_epsilon, 1),
            "person": FlippedBits(self.answer_epsilon, self.composed_answers),
        }

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 0.8 * self.n * self.m

    def memory(self) -> float:
        """Bytes of one replication: random bytes, and which answers are flipped."""
        return 2 * self.n * self.m

    def together(self) -> int:
        """Replications whose answers take whole random words."""
        return whole_words(self.n * self.m)
