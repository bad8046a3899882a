"""Control variates of the private Bradley–Terry–Luce model: metrics of mean 0 in every cell.

A study that names them in its metrics gets means with less Monte Carlo
error, see `analysis.control_variates`. NaN where the mean is not known: for
other releases than randomized response's, and where users compared only
some pairs.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from pipeline.problems.common.recovery import TopK
from pipeline.study.arrays import Floats
from pipeline.study.frozen import read_only
from pipeline.study.metric import metric
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMetric

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import FlippedWins, ReleasedWins
from ..theory.linearised import SquaredError, squared_error
from ..theory.score_order import wrong_order
from .last import Last

_last = Last[SquaredError]()


def _is_known(release: ReleasedWins) -> bool:
    return isinstance(release, FlippedWins) and release.compared is None


@metric("squared error to first order, less its mean", units="logits", expected=0.0)
def noise_control(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """(Q − E Q)/√E Q given θ*, Q the squared error of the estimator to first order; O(reps · m³).

    A control of ‖θ̂ − θ*‖₂/√m.
    """
    if not _is_known(release):
        return np.full(len(truth.theta), np.nan)
    square = _linearised(truth, release, estimate)
    control: Floats = (square.value - square.mean) / np.sqrt(square.mean)
    return control


@metric(
    "squared error to first order, less its mean, squared, less its variance",
    units="logits",
    expected=0.0,
)
def noise_control_squared(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """((Q − E Q)² − Var Q)/(E Q)^{3/2} given θ*; O(reps · m³).

    It is a control of what `noise_control` leaves, as a root is no straight
    line.
    """
    if not _is_known(release):
        return np.full(len(truth.theta), np.nan)
    square = _linearised(truth, release, estimate)
    deviation = (square.value - square.mean) ** 2 - square.variance
    control: Floats = deviation / square.mean**1.5
    return control


def _linearised(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> SquaredError:
    """Q, its mean and its variance."""

    def make() -> SquaredError:
        return squared_error(
            truth.theta,
            release.debiased_mean(estimate.weights),
            release.epsilon,
            release.users,
            estimate.ridge,
            estimate.weights,
        )

    return _last(truth, release, estimate, make)


@dataclass(frozen=True)
class _OfTheta(BaseMetric, ABC):
    """A central sample moment of θ*, uniform on ±spread before it is centred, less its mean.

    0 if not redrawn.
    """

    m: int = parameter("items", unit="items", low=2)
    model: str = parameter("model, whose law of θ* is known", default="btl")
    spread: float = parameter(
        "half-width of the law of θ*, before it is centred",
        unit="logits",
        default=2.0,
        low=0,
        high=50,
    )
    theta: str = parameter(
        "θ* anew in every replication, one for all, evenly spaced, or two groups at ±spread",
        default="redrawn",
        choices=("redrawn", "fixed", "spaced", "two_groups"),
    )

    expected: ClassVar[float | None] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model not in ("btl", "tilted"):
            raise InvalidInput("model", self.model, "the law of θ* is known of model=btl only")

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m)."""
        if self.theta != "redrawn":
            return np.zeros(len(truth.theta))
        return self._value(truth.theta)

    @abstractmethod
    def _value(self, theta: Floats) -> Floats:
        """(reps,): the control. theta: (reps, m)."""


@dataclass(frozen=True)
class SpreadControl(_OfTheta):
    """m⁻¹ Σ θ*_i² − (1 − 1/m) μ₂, μ₂ = spread²/3."""

    long_name: ClassVar[str] = "variance of θ*, less its mean"
    units: ClassVar[str] = "logits²"

    def _value(self, theta: Floats) -> Floats:
        mean = (1 - 1 / self.m) * self.spread**2 / 3
        control: Floats = np.square(theta).mean(axis=1) - mean
        return control


@dataclass(frozen=True)
class SpreadControlFourth(_OfTheta):
    """m⁻¹ Σ θ*_i⁴ − ((m − 1)/m³)((m² − 3m + 3) μ₄ + 3(2m − 3) μ₂²), μ₄ = spread⁴/5.

    Source: Cramér, Mathematical Methods of Statistics (1946), §27.4.
    """

    long_name: ClassVar[str] = "fourth moment of θ*, less its mean"
    units: ClassVar[str] = "logits⁴"

    def _value(self, theta: Floats) -> Floats:
        m = self.m
        second = self.spread**2 / 3  # μ₂
        fourth = self.spread**4 / 5  # μ₄
        mean = (m - 1) / m**3 * ((m * m - 3 * m + 3) * fourth + 3 * (2 * m - 3) * second**2)
        control: Floats = (theta**4).mean(axis=1) - mean
        return control


class _Inversions(NamedTuple):
    """is_wrong: (reps, m, m), whether the score of rank a is below that of rank b, ½ for a tie.

    chance: (m, m), how likely that is.
    """

    is_wrong: Floats
    chance: Floats


def _inversions(truth: Preferences, release: ReleasedWins) -> _Inversions | None:
    """Which ranks the released scores exchange; None where the chance of that is not known.

    That is with several budgets, or if θ* differs between replications by
    more than an order.
    """
    order = np.argsort(-truth.theta, axis=1, kind="stable")
    ranked = np.take_along_axis(truth.theta, order, axis=1)
    has_one_theta = np.allclose(ranked, ranked[:1], rtol=0, atol=1e-9)
    if not _is_known(release) or len(release.users) > 1 or not has_one_theta:
        return None
    reps, m = ranked.shape
    first, second = np.triu_indices(m, 1)
    wins = np.zeros((reps, m, m), np.int64)
    wins[:, first, second] = release.wins[:, 0]
    wins[:, second, first] = release.users[0] - release.wins[:, 0]
    score = np.take_along_axis(wins.sum(axis=2), order, axis=1)
    difference = score[:, :, None] - score[:, None]
    is_wrong = (1 - np.sign(difference)) / 2
    theta = tuple(ranked[0].tolist())
    chance = _wrong_order(theta, float(release.epsilon[0]), int(release.users[0]))
    return _Inversions(is_wrong, chance)


@lru_cache(maxsize=16)
@read_only
def _wrong_order(theta: tuple[float, ...], epsilon: float, users: int) -> Floats:
    return wrong_order(np.array(theta), epsilon, users)


@metric("Kendall distance of the scores, less its mean", units="share of pairs", expected=0.0)
def kendall_control(truth: Preferences, release: ReleasedWins) -> Floats:
    """Kendall distance of the released scores, less its mean.

    Known where all replications have one θ* up to its order. Estimates
    order items as scores do, so that nothing is left of the error of
    `kendall`: its mean is known. O(reps · m²).
    """
    inversions = _inversions(truth, release)
    if inversions is None:
        return np.full(len(truth.theta), np.nan)
    first, second = np.triu_indices(truth.theta.shape[1], 1)
    distance = inversions.is_wrong[:, first, second].mean(axis=1)
    control: Floats = distance - inversions.chance[first, second].mean()
    return control


@dataclass(frozen=True)
class TopKControl(TopK):
    """Pairs of a top K item and another with scores in the wrong order, over K, less their mean."""

    long_name: ClassVar[str] = "wrong pairs across the edge of the top K, less their mean"
    units: ClassVar[str] = "pairs over K"
    expected: ClassVar[float | None] = 0.0

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m²)."""
        inversions = _inversions(truth, release)
        if inversions is None:
            return np.full(len(truth.theta), np.nan)
        across = inversions.is_wrong[:, : self.top, self.top :].sum(axis=(1, 2))
        mean = inversions.chance[: self.top, self.top :].sum(axis=(0, 1))
        control: Floats = (across - mean) / self.top
        return control
