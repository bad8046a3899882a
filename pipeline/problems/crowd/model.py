"""One-coin crowds (Dawid and Skene): workers label tasks, rightly or wrongly."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from pipeline.problems.common.assigned import assigned
from pipeline.problems.common.questions import DESIGNS
from pipeline.problems.common.sampling import bernoulli, whole_words
from pipeline.study.arrays import Array, Floats, Integers
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseModel

from .design import QUESTIONS, asked_of_worker
from .releases import ReleasedAnswers
from .theory.wisdom import experts


@dataclass(frozen=True)
class CrowdTruth:
    """Truth of the model.

    abilities: p*, (reps, n) in [0, 1]. labels: y*, (reps,
    m) int8, 0 or 1.
    """

    abilities: Annotated[Floats, "reps", "n"]
    labels: Annotated[NDArray[np.int8], "reps", "m"]


@dataclass(frozen=True)
class WorstStart:
    """The true labels, but for some: an initial vector that takes most from the sum
    of leads, Σ_i |c_i|, c = S u/m.

    These are the tasks that most released answers are right
    about, those of workers who lie counted as their
    opposite.
    """

    truth: CrowdTruth
    flips: int

    def among(self, answers: NDArray[np.int8]) -> Floats:
        """The vector, (reps, m), for released answers (reps, n, m); it takes full knowledge.

        O(reps · n · m).
        """
        honest = np.sign(self.truth.abilities - 0.5).astype(np.int8)
        right = (2 * self.truth.labels - 1) * (honest[:, :, None] * answers).sum(
            axis=1, dtype=np.int32
        )
        chosen = np.argsort(-right, axis=1, kind="stable")[:, : self.flips]
        start = self.truth.labels.astype(float)
        np.put_along_axis(start, chosen, 1 - np.take_along_axis(start, chosen, axis=1), axis=1)
        return start


@dataclass(frozen=True)
class Answers:
    """Answers of a block, as the workers gave them.

    answers: (reps, n, m) int8, +1 says label 1, −1 says
    label 0, 0 is no answer. start: (reps, m) in [0, 1], an
    initial vector y⁽⁰⁾ that the simulation lends to
    estimators, or what makes it, or None: made from the
    truth, so never data.
    """

    answers: Annotated[NDArray[np.int8], "reps", "n", "m"]
    start: Annotated[Floats | WorstStart | None, "reps", "m"] = None

    plain_release: ClassVar[type] = ReleasedAnswers

    @classmethod
    def from_array(cls, answers: Array) -> "Answers":
        """One data set. answers: (workers, tasks), +1 for label 1, −1 for label 0, 0 for none.

        Raises InvalidInput.
        """
        if answers.ndim != 2 or not np.isin(answers, (-1, 0, 1)).all():
            raise InvalidInput(
                "data",
                f"array of shape {answers.shape}",
                "must be (workers, tasks): 1 for label 1, −1 for label 0, 0 where there is no "
                "answer",
            )
        return cls(answers.astype(np.int8)[None])

    def most_answers(self) -> int:
        """Answers of the worker who gave most, in any replication. O(reps · n · m)."""
        return int(np.count_nonzero(self.answers, axis=2).max(initial=0))

    def release_plainly(self) -> ReleasedAnswers:
        """The answers as they are, without privacy."""
        return ReleasedAnswers(self.answers, 0.0, self.start_among(self.answers))

    def start_among(self, released: NDArray[np.int8]) -> Floats | None:
        """The initial vector, (reps, m), for answers as they are released, (reps, n, m)."""
        if isinstance(self.start, WorstStart):
            return self.start.among(released)
        return self.start


@dataclass(frozen=True)
class DawidSkene(BaseModel):
    """P(worker i is right on task j) = p*_i, independently: n workers, m tasks, labels 0 and 1.

    Workers are asked for all tasks, or for `questions` of
    them, by a design that is public. Every answer that is
    asked for is given with probability `answered`, whatever
    the label. A worker or a task may then have no answer at
    all: its row or column is 0, and it is kept, so
    estimators must cope. Symmetric in the labels: from
    answers alone (p*, y*) and (1 − p*, 1 − y*) are the
    same; a mean ability above ½ distinguishes them. Source:
    Wang and Xu, §2.2; experts and spammers: their §4.
    Missing answers are not in the paper.
    """

    n: int = parameter("workers", unit="workers", low=1, high=10**7)
    m: int = parameter("tasks", unit="tasks", low=1, high=10**8)
    ability_law: str = parameter(
        "law of the abilities p*, anew in every replication",
        default="uniform",
        choices=("uniform", "beta", "experts", "ends"),
    )
    ability_low: float = parameter("least ability, if uniform or ends", default=0.5, low=0, high=1)
    ability_high: float = parameter(
        "greatest ability, if uniform or ends", default=1.0, low=0, high=1
    )
    ability_a: float = parameter(
        "first shape, if beta: mean a/(a + b)", default=4.0, above=0, high=1e6
    )
    ability_b: float = parameter("second shape, if beta", default=2.0, above=0, high=1e6)
    expert_exponent: float = parameter(
        "⌈n^x⌉ workers are experts, the others spammers of ability ½", default=0.4, low=0, high=1
    )
    expert_ability: float = parameter("ability of an expert", default=1.0, low=0, high=1)
    label_prior: float = parameter("probability that a label is 1", default=0.5, low=0, high=1)
    answered: float = parameter(
        "probability that a worker answers a task", default=1.0, above=0, high=1
    )
    initial_error: float | None = parameter(
        "share of the true labels that are flipped in the initial vector lent to "
        "estimators; null lends none",
        default=None,
        low=0,
        high=1,
    )
    initial_flips: str = parameter(
        "which labels are flipped: any, or first those that most released answers agree on",
        default="random",
        choices=("random", "agreed"),
    )
    questions: int | None = QUESTIONS
    design: str = parameter(
        "who labels what: every task equally often, or each worker's own random tasks",
        default="balanced",
        choices=DESIGNS,
    )

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Answers
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ability_low > self.ability_high:
            raise InvalidInput(
                "ability_low",
                self.ability_low,
                f"must be at most ability_high={self.ability_high:g}",
            )
        asked_of_worker("questions", self.questions, self.m)

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> CrowdTruth:
        """p* (reps, n) and y* (reps, m) of a block of replications; experts come first."""
        shape = reps, self.n
        if self.ability_law == "uniform":
            abilities = rng.uniform(self.ability_low, self.ability_high, shape)
        elif self.ability_law == "ends":  # each with chance ½
            abilities = np.where(bernoulli(0.5, shape, rng), self.ability_low, self.ability_high)
        elif self.ability_law == "beta":
            abilities = rng.beta(self.ability_a, self.ability_b, shape)
        else:
            expert = np.arange(self.n) < experts(self.n, self.expert_exponent)
            abilities = np.tile(np.where(expert, self.expert_ability, 0.5), (reps, 1))
        return CrowdTruth(
            abilities, (rng.random((reps, self.m)) < self.label_prior).astype(np.int8)
        )

    def simulate(self, truth: CrowdTruth, rng: np.random.Generator) -> Answers:
        """Answers of n workers to m tasks, and an initial vector if one is lent.

        O(reps · n · m) bytes and steps.

        round(m · initial_error) labels are flipped in it,
        at random; it is drawn last, and a larger error
        flips more of the same labels, so cells paired
        across initial_error share answers and have nested
        initial vectors. Or those of `WorstStart` are
        flipped.
        """
        shape = (*truth.abilities.shape, truth.labels.shape[1])
        wrong = bernoulli(1 - self._right(truth), shape, rng)
        answers: NDArray[np.int8] = 2 * (wrong ^ (truth.labels[:, None] == 1)).view(np.int8) - 1
        if self.answered < 1:
            answers *= bernoulli(self.answered, shape, rng)
        reps, workers, tasks = shape
        questions = asked_of_worker("questions", self.questions, tasks)
        if questions < tasks:
            are_asked = assigned(self.design, workers, questions, tasks, reps, rng)
            answers *= are_asked.view(np.int8)
        if self.initial_error is None:
            return Answers(answers)
        flips = round(self.m * self.initial_error)
        if self.initial_flips == "random":
            return Answers(answers, _with_flips(truth.labels, flips, rng))
        return Answers(answers, WorstStart(truth, flips))

    def _right(self, truth: CrowdTruth) -> Floats:
        """Chance that a worker is right on a task, (reps, n, m) or (reps, n, 1)."""
        return truth.abilities[:, :, None]

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        draws = 1 if self.answered == 1 else 2
        answers = self.n * self.m * draws + 10 * self.m
        if self.questions is None:
            return answers
        return answers + self.n * (self.m / 2 + 4 * self.questions)

    def memory(self) -> float:
        """Bytes of one replication: answers, the same as they are released, and who gets what."""
        if self.questions is None:
            return 3 * self.n * self.m
        return 4 * self.n * self.m

    def together(self) -> int:
        """Replications whose answers take whole random words."""
        return whole_words(self.n * self.m)


def _with_flips(labels: NDArray[np.int8], flips: int, rng: np.random.Generator) -> Floats:
    """Labels (reps, m), of which an exact number are flipped in every replication, at random."""
    order: Integers = rng.permuted(
        np.broadcast_to(np.arange(labels.shape[1]), labels.shape), axis=1
    )
    return np.where(order < flips, 1.0 - labels, labels)
