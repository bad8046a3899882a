"""What Lemmas 1 and 3 of Wang and Xu's appendix say of one data set; one value per replication."""

import numpy as np
from scipy.special import logit

from pipeline.study.arrays import Booleans, Floats
from pipeline.study.metric import metric, share
from pipeline.study.parameters import parameter

from ..estimators.estimate import CrowdEstimate
from ..estimators.signed_sums import em_steps
from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from .labels import distance_from_labels

PROJECTION = parameter(
    "λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0, below=0.5
)
STEPS = 5  # of EM


@share("events E₁ and E₂ of Lemma 1 occur")
def lemma_1_holds(
    truth: CrowdTruth, release: ReleasedAnswers, *, projection: float = PROJECTION
) -> Floats:
    """1 where no worker, and no task, is far from its mean.

    E₁: max_i |m⁻¹ Σ_j (T_ij − p̂_i)| ≤ √(log m/m). E₂: max_j |Σ_i (T_ij − p̂_i) logit p̂_λ,i| ≤
    2 log(1/λ) √(n log m). T: right released answers, of all workers to all tasks. O(reps · n · m).
    Source: Wang and Xu, Lemma 1.
    """
    right, chance = _right(truth, release)
    _, n, m = right.shape
    less_mean = right - chance[:, :, None]
    projected = np.clip(chance, projection, 1 - projection)
    of_tasks = (less_mean * logit(projected)[:, :, None]).sum(axis=1)
    most = 2 * np.log(1 / projection) * np.sqrt(n * np.log(m))
    holds: Booleans = _first_event(less_mean) & (np.abs(of_tasks).max(axis=1) <= most)
    return holds.astype(float)


@metric("largest distance of log-odds over Lemma 3's bound", least=0.0)
def lemma_3_share(
    truth: CrowdTruth,
    release: ReleasedAnswers,
    estimate: CrowdEstimate,
    *,
    projection: float = PROJECTION,
) -> Floats:
    """max_t max_i |logit p_i⁽ᵗ⁾ − logit p̂_λ,i| over (2/λ)(√(log m/m) + r⁽ᵗ⁻¹⁾), 5 steps of EM.

    0 where E₁ does not occur, of which the lemma says nothing. From the initial vector of the
    estimate. O(reps · n · m). Source: Wang and Xu, Lemma 3.
    """
    right, chance = _right(truth, release)
    m = right.shape[2]
    target = logit(np.clip(chance, projection, 1 - projection))
    start = 2 * estimate.start - 1
    before = estimate.start
    largest = np.zeros(len(right))
    for steps in range(1, STEPS + 1):
        fit = em_steps(release.answers, start, 1 - 2 * projection, steps, 0.0)
        wrong = distance_from_labels(truth, before)
        bound = 2 / projection * (np.sqrt(np.log(m) / m) + wrong)
        distance = np.abs(logit((1 + fit.abilities) / 2) - target).max(axis=1)
        largest = np.maximum(largest, distance / bound)
        before = (1 + fit.labels) / 2
    occurs = _first_event(right - chance[:, :, None])
    return np.where(occurs, largest, 0.0)


def _right(truth: CrowdTruth, release: ReleasedAnswers) -> tuple[Floats, Floats]:
    """T, (reps, n, m), and p̂, (reps, n)."""
    signs = 2 * truth.labels[:, None] - 1
    right = (1 + release.answers * signs) / 2
    chance = 0.5 + (1 - 2 * release.flip) * (truth.abilities - 0.5)
    return right, chance


def _first_event(less_mean: Floats) -> Booleans:
    """(reps,): E₁ of T − p̂, (reps, n, m)."""
    m = less_mean.shape[2]
    of_workers = np.abs(less_mean.mean(axis=2)).max(axis=1)
    occurs: Booleans = of_workers <= np.sqrt(np.log(m) / m)
    return occurs
