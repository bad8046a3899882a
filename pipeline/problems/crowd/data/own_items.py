"""Names and the labels without privacy of the tasks in a person's own files: levels
and coordinates of studies.
"""

from functools import lru_cache
from typing import Annotated

import numpy as np

from pipeline.problems.common.own_items import leaving_budget
from pipeline.problems.common.spending import questions_of_survey
from pipeline.study.arrays import Floats
from pipeline.study.frozen import read_only
from pipeline.study.parameters import DataFile, InvalidInput

from ..estimators.estimate import CrowdEstimate
from ..estimators.without_privacy import fit_without_privacy
from ..model import Answers
from .files import load

ALL = "all tasks"

Path = Annotated[DataFile | None, "answers of a crowd; null is a stand-in"]
Truth = Annotated[DataFile | None, "true labels of the tasks"]
Projection = Annotated[float, "λ: abilities of released answers are kept in [λ, 1 − λ]"]
Most = Annotated[int, "tasks at most that are followed by name"]


@lru_cache(maxsize=4)
@read_only
def plain_fit(path: DataFile | None, truth: DataFile | None, projection: float) -> CrowdEstimate:
    """Dawid and Skene's fit to all answers without privacy; one replication."""
    return fit_without_privacy(
        Answers(load(path, truth).answers[None]).release_plainly(), projection
    )


def task_index(task: str, path: DataFile | None, truth: DataFile | None) -> int:
    """Number of a task by its name; InvalidInput if there is none."""
    tasks = _numbers(path, truth)
    if task not in tasks:
        raise InvalidInput(
            "task", task, "there is no such task in the data; names are case-sensitive"
        )
    return tasks[task]


@lru_cache(maxsize=4)
def _numbers(path: DataFile | None, truth: DataFile | None) -> dict[str, int]:
    return {name: k for k, name in enumerate(load(path, truth).tasks)}


def file_tasks(
    data_path: Path, data_truth: Truth, projection: Projection, most_tasks: Most
) -> tuple[str, ...]:
    """Levels of the axis `task`: all tasks, then those whose labels are the least
    certain without privacy.
    """
    tasks = load(data_path, data_truth).tasks
    if ALL in tasks:
        raise InvalidInput(
            "data_path", ALL, "is the name of a task, and of the mean of all here; rename the task"
        )
    certain: Floats = np.abs(plain_fit(data_path, data_truth, projection).posterior[0] - 0.5)
    return ALL, *(tasks[k] for k in np.argsort(certain, kind="stable")[: max(most_tasks, 0)])


def file_answers(
    data_path: Path, data_truth: Truth
) -> Annotated[int, "answers of the worker who gave most", "answers"]:
    """Largest number of answers of one worker."""
    return int((load(data_path, data_truth).answers != 0).sum(axis=1).max())


def file_questions(
    mechanism: str, person: float, data_path: Path, data_truth: Truth
) -> Annotated[int, "tasks of the file that each worker is asked to label", "tasks"]:
    """As many as the worker who gave most answers; fewer where nobody is trusted.

    Then so many as a person's budget is best spent on, drawn at random from
    those that the worker labelled.
    """
    most = file_answers(data_path, data_truth)
    if mechanism == "randomized_response":
        return questions_of_survey(person, most)
    return most


def posterior_plain(
    task: str, data_path: Path, data_truth: Truth, projection: Projection
) -> Annotated[float, "probability of label 1 without privacy", "probability"]:
    """Posterior probability of label 1 of a task; of all tasks their mean."""
    posterior = plain_fit(data_path, data_truth, projection).posterior[0]
    if task == ALL:
        return float(posterior.mean())
    return float(posterior[task_index(task, data_path, data_truth)])


def times_answered(
    task: str, data_path: Path, data_truth: Truth
) -> Annotated[float, "answers to the task", "1"]:
    """Answers to a task; of all tasks their mean."""
    answers = (load(data_path, data_truth).answers != 0).sum(axis=0)
    if task == ALL:
        return float(answers.mean())
    return float(answers[task_index(task, data_path, data_truth)])


def file_messages(
    data_path: Path, data_truth: Truth
) -> Annotated[int, "answers to the task that is labelled least", "answers"]:
    """Smallest number of answers to one task, of those labelled at all."""
    answered = (load(data_path, data_truth).answers != 0).sum(axis=0)
    return int(answered[answered > 0].min())


def leaving_epsilon(
    person: float, person_delta: float, questions: int, messages: int, mechanism: str
) -> Annotated[float, "budget of one answer as it leaves its worker", "nats"]:
    """ε₀ of one of the answers of a worker, at which all of them keep the promise.

    NaN with a curator, to whom answers are told as they are.
    """
    return leaving_budget(person, person_delta, questions, messages, mechanism)
