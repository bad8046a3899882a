"""One-coin crowds (Dawid and Skene): workers label tasks, rightly or wrongly. And what mechanisms release of that."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.parameters import InvalidInput, parameter
from pipeline.theory.crowd import experts


@dataclass(frozen=True)
class CrowdTruth:
    """Truth of the model. abilities: (reps, n) in [0, 1], p*. labels: (reps, m) int8, 0 or 1, y*."""

    abilities: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class ReleasedAnswers:
    """What the public sees: answers after randomized response, or as they are.

    answers: (reps, n, m) int8, +1 says label 1, −1 says label 0, 0 is no answer; which tasks a worker answered is
    public. flip: probability that an answer was flipped, 1/(1 + e^ε), 0 without privacy. start: as in `Answers`.
    """

    answers: np.ndarray
    flip: float
    start: np.ndarray | None = None


@dataclass(frozen=True)
class Answers:
    """Answers of a block, as the workers gave them.

    answers: (reps, n, m) int8, +1 says label 1, −1 says label 0, 0 is no answer. start: (reps, m) in [0, 1], an
    initial vector y⁽⁰⁾ that the simulation lends to estimators, or None: made from the truth, so never data.
    """

    answers: np.ndarray
    start: np.ndarray | None = None

    opens: ClassVar[type] = ReleasedAnswers

    def opened(self) -> ReleasedAnswers:
        """The answers as they are, without privacy."""
        return ReleasedAnswers(self.answers, 0.0, self.start)


@dataclass(frozen=True)
class DawidSkene:
    """P(worker i is right on task j) = p*_i, independently: n workers, m tasks, labels 0 and 1.

    Every answer is given with probability `answered`, whatever the label. A worker or a task may then have no answer
    at all: its row or column is 0, and it is kept, so estimators must cope. Symmetric in the labels: from answers
    alone (p*, y*) and (1 − p*, 1 − y*) are the same; a mean ability above ½ tells them apart.
    Source: Wang and Xu, §2.2; experts and spammers: their §4. Missing answers are not in the paper.
    """

    n: int = parameter("workers", unit="workers", low=1, high=10**7)
    m: int = parameter("tasks", unit="tasks", low=1, high=10**8)
    ability_law: str = parameter("law of the abilities p*, anew in every replication", default="uniform",
                                 choices=("uniform", "beta", "experts"))
    ability_low: float = parameter("least ability, if uniform", default=0.5, low=0, high=1)
    ability_high: float = parameter("greatest ability, if uniform", default=1.0, low=0, high=1)
    ability_a: float = parameter("first shape, if beta: mean a/(a + b)", default=4.0, above=0, high=1e6)
    ability_b: float = parameter("second shape, if beta", default=2.0, above=0, high=1e6)
    expert_exponent: float = parameter("⌈n^x⌉ workers are experts, the others spammers of ability ½", default=0.4,
                                       low=0, high=1)
    expert_ability: float = parameter("ability of an expert", default=1.0, low=0, high=1)
    label_prior: float = parameter("probability that a label is 1", default=0.5, low=0, high=1)
    answered: float = parameter("probability that a worker answers a task", default=1.0, above=0, high=1)
    initial_error: float | None = parameter("share of the true labels that are flipped in the initial vector lent to "
                                            "estimators; null lends none", default=None, low=0, high=1)

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Answers

    def __post_init__(self):
        if self.ability_low > self.ability_high:
            raise InvalidInput("ability_low", self.ability_low, f"must be at most ability_high={self.ability_high:g}")

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> CrowdTruth:
        """p* (reps, n) and y* (reps, m) of a block of replications; experts come first."""
        shape = reps, self.n
        if self.ability_law == "uniform":
            abilities = rng.uniform(self.ability_low, self.ability_high, shape)
        elif self.ability_law == "beta":
            abilities = rng.beta(self.ability_a, self.ability_b, shape)
        else:
            expert = np.arange(self.n) < experts(self.n, self.expert_exponent)
            abilities = np.tile(np.where(expert, self.expert_ability, 0.5), (reps, 1))
        return CrowdTruth(abilities, (rng.random((reps, self.m)) < self.label_prior).astype(np.int8))

    def simulate(self, truth: CrowdTruth, rng: np.random.Generator) -> Answers:
        """Answers of n workers to m tasks, and an initial vector if one is lent. O(reps · n · m) bytes and steps.

        round(m · initial_error) labels are flipped in it, at random; it is drawn last, and a larger error flips more
        of the same labels, so cells paired across initial_error share answers and have nested initial vectors.
        """
        shape = (*truth.abilities.shape, truth.labels.shape[1])
        wrong = bernoulli(1 - truth.abilities[:, :, None], shape, rng)
        answers = 2 * (wrong ^ (truth.labels[:, None] == 1)).view(np.int8) - 1
        if self.answered < 1:
            answers *= bernoulli(self.answered, shape, rng)
        return Answers(answers, None if self.initial_error is None else self._start(truth.labels, rng))

    def _start(self, labels, rng):
        """(reps, m): labels of which an exact number are flipped."""
        place = rng.permuted(np.broadcast_to(np.arange(self.m), labels.shape), axis=1)
        return np.where(place < round(self.m * self.initial_error), 1.0 - labels, labels)

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return self.n * self.m * (1 if self.answered == 1 else 2) + 10 * self.m


def bernoulli(probability: np.ndarray | float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Bernoulli draws, bool of a shape that the probability broadcasts to; exact to 2⁻⁵².

    A random byte decides all but one in 256, a further uniform these.
    """
    bound = np.asarray(probability, float) * (256 - 2**-44)  # whole parts are bytes, also at probability 1
    whole = bound.astype(np.uint8)
    size = int(np.prod(shape))
    byte = rng.integers(0, 1 << 64, -(-size // 8), np.uint64).astype("<u8", copy=False).view(np.uint8)[:size]
    byte = byte.reshape(shape)
    drawn = byte < whole
    tie = np.flatnonzero(byte == whole)
    rest = np.broadcast_to(bound - whole, shape)[np.unravel_index(tie, shape)]
    drawn.reshape(-1)[tie] = rng.random(tie.size) < rest
    return drawn
