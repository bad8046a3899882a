"""What mechanisms release of a crowd's answers: the answers, or votes on each task."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, NoReturn

import numpy as np
from numpy.typing import NDArray

from pipeline.problems.common.bootstrap import AnyEstimate, RedrawnRelease
from pipeline.problems.common.sampling import bernoulli
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Array, Floats
from pipeline.study.parameters import InvalidInput

from .estimators import signed_sums


class CrowdRelease(Abstract):
    """A release that tells how a crowd voted on each task.

    Estimators that need no more than votes take any such
    release. flip: probability that an answer was flipped.
    start: an initial vector that the model supplies, or
    None.
    """

    flip: float
    start: Floats | None

    @abstractmethod
    def mean_vote(self) -> Floats:
        """(reps, m): mean sign of the released answers to a task, as far as it is known."""

    @abstractmethod
    def agreement(self, leaning: Floats) -> Floats:
        """(reps, n): mean agreement of a worker's released answers with the signs of `leaning`.

        leaning: (reps, m). Where answers are not released,
        it is that of all together.
        """

    @abstractmethod
    def votes_of_tasks(self) -> "ReleasedVotes":
        """Sums of the released answers to each task, how many there are, and how noisy they are."""


@dataclass(frozen=True)
class ReleasedAnswers(CrowdRelease, RedrawnRelease):
    """What the public sees: answers after randomized response, or as they are.

    answers: (reps, n, m) int8, +1 says label 1, −1 says
    label 0, 0 is no answer; which tasks a worker answered
    is public. flip: probability that an answer was flipped,
    1/(1 + e^ε), 0 without privacy. start: (reps, m) in [0,
    1], the initial vector that the model supplies, or None;
    see `Answers`.
    """

    answers: Annotated[NDArray[np.int8], "reps", "n", "m"]
    flip: float
    start: Annotated[Floats | None, "reps", "m"] = None

    def drawn_again(
        self, estimate: AnyEstimate, row: int, times: int, rng: np.random.Generator
    ) -> "ReleasedAnswers":
        """Answers of workers of the estimated abilities on tasks with the estimated labels.

        They answer the same tasks; abilities beyond 0 and 1 count as these.
        """
        able = np.clip(estimate.abilities[row], 0, 1)
        right = 0.5 + (1 - 2 * self.flip) * (able - 0.5)
        present = np.abs(self.answers[row])
        is_wrong = bernoulli(1 - right[:, None], (times, *present.shape), rng)
        truth = 2 * estimate.labels[row].astype(np.int8) - 1
        answers = np.where(is_wrong, -truth, truth).astype(np.int8) * present
        start = None
        if self.start is not None:
            start = np.broadcast_to(self.start[row], (times, len(truth)))
        return ReleasedAnswers(answers, self.flip, start)

    def mean_vote(self) -> Floats:
        """(reps, m): mean sign of each task's answers, 0 without any. O(reps · n · m)."""
        return signed_sums.mean_vote(self.answers)

    def agreement(self, leaning: Floats) -> Floats:
        """(reps, n): mean agreement of a worker's answers, 0 without any. O(reps · n · m)."""
        return signed_sums.agreement(self.answers, leaning)

    def votes_of_tasks(self) -> "ReleasedVotes":
        """Sums of the answers. O(reps · n · m)."""
        votes = self.answers.sum(axis=1, dtype=np.int64)
        answered = np.count_nonzero(self.answers, axis=1)
        return ReleasedVotes(votes, answered, 0.0, self.answers.shape[1], self.flip)


@dataclass(frozen=True)
class ReleasedVotes(CrowdRelease):
    """What the public sees where a curator, or a shuffler, releases votes and no answers.

    votes: (reps, m), answers for label 1 less those for
    label 0 of each task, with noise. answered: (reps, m),
    numbers of answers to each task, or what is known of
    them. variance: of the noise. workers: n. flip:
    probability that an answer was flipped before it was
    counted.
    """

    votes: Annotated[Array, "reps", "m"]
    answered: Annotated[Array, "reps", "m"]
    variance: float
    workers: int
    flip: float = 0.0
    start: Annotated[Floats | None, "reps", "m"] = None

    def __getattr__(self, name: str) -> NoReturn:
        """There are no answers. Raises InvalidInput for them, in place of an AttributeError."""
        if name != "answers":
            raise AttributeError(name)
        allowed = (
            "releases votes on tasks and no answers, which this estimator or metric reads; give "
            "mechanism=randomized_response, or estimator=majority_vote or vote_mixture and "
            "metrics of labels"
        )
        raise InvalidInput("mechanism", "a curator's or a shuffler's", allowed)

    def mean_vote(self) -> Floats:
        """(reps, m): votes over numbers of answers; noise may take it beyond ±1."""
        mean: Floats = self.votes / np.maximum(self.answered, 1)
        return mean

    def agreement(self, leaning: Floats) -> Floats:
        """(reps, n): of all workers together, so the same for each."""
        signs = np.where(leaning >= 0, 1, -1)
        together = (signs * self.votes).sum(axis=1) / np.maximum(self.answered.sum(axis=1), 1)
        return np.broadcast_to(together[:, None], (len(together), self.workers))

    def votes_of_tasks(self) -> "ReleasedVotes":
        """These votes."""
        return self
