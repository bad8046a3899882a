"""A crowd's recorded answers to tasks of known truth, as the data of a study."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from pipeline.problems.common.some_answers import places_of_each
from pipeline.study.arrays import Integers
from pipeline.study.parameters import DataFile, InvalidInput, parameter
from pipeline.study.parts import BaseModel

from ..design import QUESTIONS
from ..model import Answers, CrowdTruth
from ..releases import ReleasedAnswers
from .files import BOTH, Crowd, load


@dataclass(frozen=True)
class RecordedCrowdTruth(CrowdTruth):
    """Truth of recorded answers: labels from the file, abilities the shares of right answers.

    crowd: all that the file says. chosen: (reps, n),
    numbers of the workers drawn.
    """

    crowd: Crowd
    chosen: Annotated[Integers, "reps", "n"]

    def recorded_answers(self) -> ReleasedAnswers:
        """The chosen workers' answers as they gave them, (reps, n, m).

        (1, n, m) if all replications have the same workers.
        """
        chosen = self.chosen
        if (chosen == chosen[0]).all():
            chosen = chosen[:1]
        return Answers(self.crowd.answers[chosen]).release_plainly()


@dataclass(frozen=True)
class RecordedCrowd(BaseModel):
    """All answers of n of a file's workers, drawn without replacement in every
    replication, to its m tasks.

    p*: a worker's share of right answers among all that he
    gave. Where n is less than all workers, a task may have
    no answer left; it is kept. `derive: {n: crowd_workers,
    m: crowd_tasks}` takes both from the file. Files: see
    `files`; without one, a synthetic stand-in. Which tasks
    a worker answered is public. With fewer questions than
    the worker who gave most answers has, so many of each
    worker are drawn at random, anew in every replication: a
    survey that asks each for no more.
    Source: Wang and Xu, §2.2; they have no data.
    """

    n: int = parameter("workers drawn from the file", unit="workers", low=1, high=10**7)
    m: int = parameter("tasks, all of the file", unit="tasks", low=1, high=10**8)
    data_path: "DataFile | None" = parameter(
        "answers of a crowd, task,worker,label; null is a stand-in", default=None
    )
    data_truth: "DataFile | None" = parameter("true labels of the tasks, task,truth", default=None)
    without_truth: bool = parameter("go on where true labels are not given", default=False)
    questions: int | None = QUESTIONS

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Answers

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data_path is not None and self.data_truth is None and not self.without_truth:
            raise InvalidInput("data_truth", None, f"is needed with data.path: {BOTH}")
        workers, tasks = self._crowd.answers.shape
        if self.n > workers:
            raise InvalidInput(
                "n", self.n, f"there are {workers:,} workers; give n={workers} or less"
            )
        if self.m != tasks:
            raise InvalidInput("m", self.m, f"there are {tasks:,} tasks; give m={tasks}")

    @property
    def _crowd(self) -> Crowd:
        return load(self.data_path, self.data_truth)

    @property
    def source(self) -> str:
        """One sentence for the report: what data, how many, and their hash, or "synthetic"."""
        return self._crowd.source

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> RecordedCrowdTruth:
        """y* (reps, m), the same in every replication, and p* (reps, n) of the workers drawn."""
        crowd = self._crowd
        chosen = np.tile(np.arange(len(crowd.workers)), (reps, 1))
        if self.n < len(crowd.workers):
            chosen = np.sort(rng.permuted(chosen, axis=1)[:, : self.n], axis=1)
        return RecordedCrowdTruth(
            crowd.abilities[chosen], np.broadcast_to(crowd.labels, (reps, self.m)), crowd, chosen
        )

    def simulate(self, truth: RecordedCrowdTruth, rng: np.random.Generator) -> Answers:
        """The answers of the workers of the truth, or some of each; O(reps · n · m) bytes."""
        answers = truth.crowd.answers[truth.chosen]
        if self._asks_for_all:
            return Answers(answers)
        for of_replication in answers:
            _keep_some(rng, of_replication, self.questions or 0)
        return Answers(answers)

    @property
    def by_replication(self) -> bool:  # type: ignore[override]  # of an object: questions decide
        """Whether all replications are drawn at once."""
        return self._asks_for_all

    @property
    def in_order(self) -> bool:  # type: ignore[override]  # of an object: questions decide
        """Whether some answers of each worker are drawn, one replication after the other."""
        return not self._asks_for_all

    @property
    def _asks_for_all(self) -> bool:
        if self.questions is None:
            return True
        return self.questions >= int(np.count_nonzero(self._crowd.answers, axis=1).max())

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 25 * len(self._crowd.workers) + 0.2 * self.n * self.m

    def memory(self) -> float:
        """Bytes of one replication: answers, and the same as they are released."""
        return 3 * self.n * self.m


def _keep_some(rng: np.random.Generator, answers: NDArray[np.int8], questions: int) -> None:
    """Set to 0, in place, all but so many answers of each worker, at random. answers: (n, m)."""
    worker, task = np.nonzero(answers)
    start = np.searchsorted(worker, np.arange(len(answers) + 1))
    places = places_of_each(rng, np.diff(start), questions)
    rows = (start[:-1, None] + places)[places >= 0]
    drawn = (worker[rows], task[rows])
    labels = answers[drawn]
    answers[...] = 0
    answers[drawn] = labels
