"""Released answers against the truth: which are wrong, and what they tell.

One value per replication.
"""

import numpy as np

from pipeline.study.arrays import Booleans, Floats
from pipeline.study.metric import metric, share

from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from ..theory.wisdom import private_ability


@share("share of released answers that are wrong")
def answers_wrong(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """Share of the released answers that are wrong.

    Where all workers are perfect, this is the share that
    was flipped.
    """
    return _share(_wrong(truth, release), release.answers != 0)


@share("share of released answers that are wrong, by eq. (22)")
def answers_wrong_expected(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """n⁻¹ Σ_i (1 − p̂_i), the expected share of wrong released answers where all workers answer.

    Source: Wang and Xu, eq. (22).
    """
    flip = release.flip
    epsilon = np.log((1 - flip) / flip) if flip else np.inf
    expected: Floats = 1 - private_ability(truth.abilities, epsilon).mean(axis=1)
    return expected


@share("share of released answers to tasks of label 1 that are wrong")
def ones_wrong(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """Share of the released answers to tasks of label 1 that are wrong. O(reps · n · m).

    The 1s that were flipped, if workers are perfect. NaN
    where no task has label 1.
    """
    return _share_among_tasks(truth, release, 1)


@share("share of released answers to tasks of label 0 that are wrong")
def zeros_wrong(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """Share of the released answers to tasks of label 0 that are wrong. O(reps · n · m).

    The 0s that were flipped, if workers are perfect. NaN
    where no task has label 0.
    """
    return _share_among_tasks(truth, release, 0)


@share("share of neighbouring released answers that are both wrong")
def wrong_together(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """Share of the pairs of neighbouring released answers that are both wrong. O(reps · n · m).

    Neighbours are the answers of a worker to two successive
    tasks, and those of two successive workers to a task. If
    workers are perfect and flips independent, it is the
    square of the share of flipped answers.
    """
    both_wrong = _pairs(_wrong(truth, release))
    both_answered = _pairs(release.answers != 0)
    together: Floats = both_wrong / np.maximum(both_answered, 1)
    return together


@share("mean ability")
def ability_mean(truth: CrowdTruth) -> Floats:
    """n⁻¹ Σ_i p*_i, the mean ability of the workers. O(reps · n)."""
    mean: Floats = truth.abilities.mean(axis=1)
    return mean


@metric("variance of the abilities", least=0.0, most=0.25)
def ability_variance(truth: CrowdTruth) -> Floats:
    """n⁻¹ Σ_i (p*_i − p̄)², p̄ the mean ability. O(reps · n)."""
    variance: Floats = truth.abilities.var(axis=1)
    return variance


@metric("covariance of abilities and shares of right released answers", least=-0.25, most=0.25)
def right_by_ability(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """n⁻¹ Σ_i (p*_i − p̄) r_i, r_i the share of a worker's released answers that are right.

    Its mean given the abilities is tanh(ε/2) times
    `ability_variance`. O(reps · n · m).
    Source: Wang and Xu, eq. (22).
    """
    answered = (release.answers != 0).sum(axis=2)
    wrong = _wrong(truth, release).sum(axis=2)
    right = (answered - wrong) / np.maximum(answered, 1)
    centred = truth.abilities - truth.abilities.mean(axis=1, keepdims=True)
    covariance: Floats = (centred * right).mean(axis=1)
    return covariance


@metric("collective wisdom of the released answers", least=-1.0, most=1.0)
def wisdom_released(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """v̂ as the released answers show it: n⁻¹ Σ_i (k c_i² − 1)/(k − 1), k answers of each worker.

    c_i is the mean of +1 for a right and −1 for a wrong
    answer of worker i. E c_i² = a² + (1 − a²)/k with a =
    2p̂_i − 1, so that the mean is v̂, whatever k. It reads
    neither ε nor the abilities. NaN where a worker has
    fewer than two answers. O(reps · n · m).
    Source: Wang and Xu, eq. (13).
    """
    signs = 2 * truth.labels[:, None] - 1
    leads = (release.answers * signs).sum(axis=2, dtype=np.int64)
    answered = (release.answers != 0).sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):  # a worker of one answer
        squares = (leads**2 / answered - 1) / (answered - 1)
    wisdom: Floats = squares.mean(axis=1)
    return wisdom


def _wrong(truth: CrowdTruth, release: ReleasedAnswers) -> Booleans:
    """(reps, n, m): whether there is an answer and it is wrong."""
    opposite = 1 - 2 * truth.labels[:, None]
    wrong: Booleans = release.answers == opposite
    return wrong


def _share(wrong: Booleans, answered: Booleans) -> Floats:
    """(reps,): share of the answers, (reps, n, m), that are wrong; 0 where there is no answer."""
    wrong_answers = wrong.sum(axis=(1, 2))
    all_answers = answered.sum(axis=(1, 2))
    wrong_share: Floats = wrong_answers / np.maximum(all_answers, 1)
    return wrong_share


def _share_among_tasks(truth: CrowdTruth, release: ReleasedAnswers, label: int) -> Floats:
    """(reps,): share of the answers to tasks of a label that are wrong; NaN without such tasks."""
    tasks = truth.labels[:, None] == label
    wrong = _wrong(truth, release) & tasks
    answered = (release.answers != 0) & tasks
    return np.where(tasks.any(axis=(1, 2)), _share(wrong, answered), np.nan)


def _pairs(flags: Booleans) -> Floats:
    """(reps,): pairs of neighbours along tasks or workers that both have a flag (reps, n, m)."""
    of_worker = (flags[:, :, 1:] & flags[:, :, :-1]).sum(axis=(1, 2))
    of_task = (flags[:, 1:] & flags[:, :-1]).sum(axis=(1, 2))
    pairs: Floats = of_worker + of_task
    return pairs
