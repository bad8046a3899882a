"""Control variates of the private Bradley–Terry–Luce model: metrics whose mean is 0 exactly, in every cell.

A study that names them in its metrics gets means with less Monte Carlo error, see `analysis.control_variates`. NaN
where the mean is not known: for other releases than randomized response's, and where users compared only some pairs.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pipeline.problems.common.controls import Control
from pipeline.problems.common.recovery import TopK
from pipeline.study.arrays import Floats
from pipeline.study.frozen import read_only
from pipeline.study.parameters import Checked, InvalidInput, parameter

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import FlippedWins, ReleasedWins
from ..theory.linearised import SquaredError, squared_error
from ..theory.score_order import wrong_order
from .last import Last


def _known(release: ReleasedWins) -> bool:
    return isinstance(release, FlippedWins) and release.compared is None


_last = Last[SquaredError]()


def _linearised(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> SquaredError:
    return _last(
        truth,
        release,
        estimate,
        lambda: squared_error(
            truth.theta,
            release.debiased_mean(estimate.weights),
            release.epsilon,
            release.users,
            estimate.ridge,
            estimate.weights,
        ),
    )


class _OfNoise(Control, ABC):
    """A control made of the squared error of the estimator to first order, Q, given θ*."""

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m³)."""
        if not _known(release):
            return np.full(len(truth.theta), np.nan)
        return self._value(*_linearised(truth, release, estimate))

    @abstractmethod
    def _value(self, value: Floats, mean: Floats, variance: Floats) -> Floats:
        """(reps,): the control. value, mean, variance: of Q, (reps,)."""


@dataclass(frozen=True)
class NoiseControl(_OfNoise):
    """(Q − E Q)/√E Q given θ*, Q the squared error of the estimator to first order: a control of ‖θ̂ − θ*‖₂/√m."""

    long_name: ClassVar[str] = "squared error to first order, less its mean"
    units: ClassVar[str] = "logits"

    def _value(self, value: Floats, mean: Floats, variance: Floats) -> Floats:
        control: Floats = (value - mean) / np.sqrt(mean)
        return control


@dataclass(frozen=True)
class NoiseControlSquared(_OfNoise):
    """((Q − E Q)² − Var Q)/(E Q)^{3/2} given θ*: what `noise_control` leaves, as a root is no straight line."""

    long_name: ClassVar[str] = (
        "squared error to first order, less its mean, squared, less its variance"
    )
    units: ClassVar[str] = "logits"

    def _value(self, value: Floats, mean: Floats, variance: Floats) -> Floats:
        control: Floats = ((value - mean) ** 2 - variance) / mean**1.5
        return control


@dataclass(frozen=True)
class _OfTheta(Control, Checked, ABC):
    """A central sample moment of θ*, uniform on ±spread before it is centred, less its mean; 0 if not redrawn."""

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model not in ("btl", "tilted"):
            raise InvalidInput("model", self.model, "the law of θ* is known of model=btl only")

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m)."""
        return self._value(truth.theta) if self.theta == "redrawn" else np.zeros(len(truth.theta))

    @abstractmethod
    def _value(self, theta: Floats) -> Floats:
        """(reps,): the control. theta: (reps, m)."""


@dataclass(frozen=True)
class SpreadControl(_OfTheta):
    """m⁻¹ Σ θ*_i² − (1 − 1/m) μ₂, μ₂ = spread²/3."""

    long_name: ClassVar[str] = "variance of θ*, less its mean"
    units: ClassVar[str] = "logits²"

    def _value(self, theta: Floats) -> Floats:
        values: Floats = np.square(theta).mean(axis=1) - (1 - 1 / self.m) * self.spread**2 / 3
        return values


@dataclass(frozen=True)
class SpreadControlFourth(_OfTheta):
    """m⁻¹ Σ θ*_i⁴ − ((m − 1)/m³)((m² − 3m + 3) μ₄ + 3(2m − 3) μ₂²), μ₄ = spread⁴/5.

    Source: Cramér, Mathematical Methods of Statistics (1946), §27.4.
    """

    long_name: ClassVar[str] = "fourth moment of θ*, less its mean"
    units: ClassVar[str] = "logits⁴"

    def _value(self, theta: Floats) -> Floats:
        m, second, fourth = self.m, self.spread**2 / 3, self.spread**4 / 5
        mean = (m - 1) / m**3 * ((m * m - 3 * m + 3) * fourth + 3 * (2 * m - 3) * second**2)
        values: Floats = (theta**4).mean(axis=1) - mean
        return values


def _inversions(truth: Preferences, release: ReleasedWins) -> tuple[Floats, Floats] | None:
    """(reps, m, m) whether the score of rank a is below that of rank b, ½ for a tie, and how likely that is, (m, m).

    None where that is not known: with several budgets, or if θ* differs between replications by more than an order.
    """
    order = np.argsort(-truth.theta, axis=1, kind="stable")
    ranked = np.take_along_axis(truth.theta, order, axis=1)
    if (
        not _known(release)
        or len(release.users) > 1
        or not np.allclose(ranked, ranked[:1], rtol=0, atol=1e-9)
    ):
        return None
    reps, m = ranked.shape
    first, second = np.triu_indices(m, 1)
    wins = np.zeros((reps, m, m), np.int64)
    wins[:, first, second], wins[:, second, first] = (
        release.wins[:, 0],
        release.users[0] - release.wins[:, 0],
    )
    score = np.take_along_axis(wins.sum(axis=2), order, axis=1)
    difference = score[:, :, None] - score[:, None]
    return (1 - np.sign(difference)) / 2, _wrong_order(
        tuple(ranked[0].tolist()), float(release.epsilon[0]), int(release.users[0])
    )


@lru_cache(maxsize=16)
@read_only
def _wrong_order(theta: tuple[float, ...], epsilon: float, users: int) -> Floats:
    return wrong_order(np.array(theta), epsilon, users)


class _OfScores(Control, ABC):
    """A control made of the order of the released scores."""

    def __call__(
        self, truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · m²)."""
        found = _inversions(truth, release)
        return np.full(len(truth.theta), np.nan) if found is None else self._value(*found)

    @abstractmethod
    def _value(self, wrong: Floats, expected: Floats) -> Floats:
        """(reps,): the control. wrong, expected: what `_inversions` gives."""


@dataclass(frozen=True)
class KendallControl(_OfScores):
    """Kendall distance of the released scores, less its mean, where all replications have one θ* up to its order.

    Estimates order items as scores do, so that nothing is left of the error of `kendall`: its mean is known.
    """

    long_name: ClassVar[str] = "Kendall distance of the scores, less its mean"
    units: ClassVar[str] = "share of pairs"

    def _value(self, wrong: Floats, expected: Floats) -> Floats:
        first, second = np.triu_indices(wrong.shape[-1], 1)
        control: Floats = wrong[:, first, second].mean(axis=1) - expected[first, second].mean()
        return control


@dataclass(frozen=True)
class TopKControl(_OfScores, TopK):
    """Pairs of a top K item and another whose scores are in the wrong order, over K, less their mean."""

    long_name: ClassVar[str] = "wrong pairs across the edge of the top K, less their mean"
    units: ClassVar[str] = "pairs over K"

    def _value(self, wrong: Floats, expected: Floats) -> Floats:
        across, mean = (
            one[..., : self.top, self.top :].sum(axis=(-2, -1)) for one in (wrong, expected)
        )
        control: Floats = (across - mean) / self.top
        return control
