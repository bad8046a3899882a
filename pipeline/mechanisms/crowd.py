"""Randomized response on the answers of a crowd."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.models.crowd import Answers, bernoulli
from pipeline.models.crowd import ReleasedAnswers as ReleasedAnswers
from pipeline.parameters import parameter
from pipeline.theory.btl import flip_probability


@dataclass(frozen=True)
class RandomizedAnswers:
    """Every answer is flipped with probability 1/(1 + e^ε) before it leaves its worker; missing ones stay missing.

    unit: one answer of one worker. neighbours: that answer replaced by its opposite; which tasks a worker answered is
    public, and so never protected. budget: pure ε-LADP (local attribute differential privacy) per answer; the k
    answers of a worker compose to kε-LDP, k ≤ m, and no less: the bound is attained.
    Debiasing abilities is post-processing, done by estimators. The initial vector, if any, passes through: the
    simulation made it from the truth, nobody's answers are in it.
    Source: Wang and Xu, eq. (9) and Theorem 1; Warner (1965). Cost O(reps · n · m).
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    epsilon: float = parameter("privacy budget of one answer; mechanism=none is for no privacy", unit="nats", above=0)

    unit: ClassVar[str] = "one answer of one worker"
    neighbours: ClassVar[str] = "that answer replaced by its opposite; which tasks a worker answered is public"
    budget: ClassVar[str] = "pure ε-LADP per answer; kε-LDP for the k ≤ m answers of a worker"
    accepts: ClassVar[type] = Answers
    releases: ClassVar[type] = ReleasedAnswers

    def release(self, data: Answers, rng: np.random.Generator) -> ReleasedAnswers:
        """Released answers of a block, (reps, n, m) int8."""
        flip = float(flip_probability(self.epsilon))
        flipped = bernoulli(flip, data.answers.shape, rng).view(np.int8)
        answers = data.answers * (1 - 2 * flipped)
        return ReleasedAnswers(answers, flip, data.start)

    def spent(self) -> dict[str, float]:
        """Budgets, in nats: of one answer, and of a worker who answers all m tasks, the most that anybody spends."""
        return {"one answer": self.epsilon, "all answers of a worker who answers every task": self.m * self.epsilon}

    def work(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 0.8 * self.n * self.m
