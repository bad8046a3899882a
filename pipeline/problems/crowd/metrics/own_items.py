"""What privacy does to the label of each task of a person's own data: of one task, by
its name, or of all.
"""

import numpy as np

from pipeline.study.arrays import Array, Floats
from pipeline.study.metric import share
from pipeline.study.parameters import DataFile, parameter

from ..data.files import UNKNOWN
from ..data.own_items import ALL, plain_fit, task_index
from ..data.recorded import RecordedCrowdTruth
from ..estimators.estimate import CrowdEstimate

UNIT = "probability"
TASK = parameter("tasks, the least certain without privacy first", default=ALL)
ANSWERS = parameter("answers of a crowd; null is a stand-in", default=None)
TRUE_LABELS = parameter("true labels of the tasks", default=None)
PROJECTION = parameter(
    "λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0, below=0.5
)


@share("task keeps its label", UNIT)
def label_kept(
    estimate: CrowdEstimate,
    *,
    task: str = TASK,
    data_path: "DataFile | None" = ANSWERS,
    data_truth: "DataFile | None" = TRUE_LABELS,
    projection: float = PROJECTION,
) -> Floats:
    """1 where the task has the label of Dawid and Skene's fit without privacy, else 0.

    The mean says how often. O(reps · m).
    """
    without_privacy = plain_fit(data_path, data_truth, projection)
    same = estimate.labels == without_privacy.labels
    return _of_task(same, task, data_path, data_truth)


@share("task has its true label", UNIT)
def label_right(
    truth: RecordedCrowdTruth,
    estimate: CrowdEstimate,
    *,
    task: str = TASK,
    data_path: "DataFile | None" = ANSWERS,
    data_truth: "DataFile | None" = TRUE_LABELS,
    projection: float = PROJECTION,
) -> Floats:
    """1 where the task has its true label, else 0; NaN where true labels are not known.

    O(reps · m).
    """
    unknown = truth.labels == UNKNOWN
    right = np.where(unknown, np.nan, estimate.labels == truth.labels)
    return _of_task(right, task, data_path, data_truth)


@share("distance of the posterior from that without privacy", UNIT)
def posterior_moved(
    estimate: CrowdEstimate,
    *,
    task: str = TASK,
    data_path: "DataFile | None" = ANSWERS,
    data_truth: "DataFile | None" = TRUE_LABELS,
    projection: float = PROJECTION,
) -> Floats:
    """Distance of the posterior probability of label 1 from that without privacy. O(reps · m)."""
    without_privacy = plain_fit(data_path, data_truth, projection)
    distance = np.abs(estimate.posterior - without_privacy.posterior)
    return _of_task(distance, task, data_path, data_truth)


def _of_task(
    values: Array, task: str, path: "DataFile | None", truth_file: "DataFile | None"
) -> Floats:
    """(reps,): values (reps, m) of a task, or the mean over all tasks."""
    if task == ALL:
        mean: Floats = values.mean(axis=1)
        return mean
    of_one_task: Floats = values[:, task_index(task, path, truth_file)].astype(float)
    return of_one_task
