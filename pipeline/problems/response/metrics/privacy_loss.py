"""What a cell's mechanism really spends, compared with what it declares: exact, the same in every replication.

Shares are of the declared budget: at 1 it is spent in full, at 2 twice what is declared is spent. NaN where a metric
does not apply. No metric declares a range: it would widen intervals for values not seen, but these numbers are exact.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from pipeline.privacy import accounting, gaussian_account
from pipeline.study.arrays import Floats
from pipeline.study.parameters import Checked, parameter

from ..mechanisms.noisy_differences import CONVERSIONS
from ..model import ItemParameters
from ..theory import privacy_loss


def _constant(truth: ItemParameters, value: float) -> Floats:
    """One value for all replications, (reps,)."""
    return np.full(len(truth.theta), value, float)


@dataclass(frozen=True)
class _Audit(Checked):
    m: int = parameter("items", unit="items", low=2)
    mechanism: str = parameter("mechanism, whose declaration is audited")
    epsilon_user: float = parameter(
        "privacy budget of all responses of a person", unit="nats", above=0
    )
    delta: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)

    units: ClassVar[str] = "1"
    exact: ClassVar[bool] = True

    @property
    def gaussian(self) -> bool:
        """Whether ρ-zCDP is declared, by the tight conversion of (ε, δ); other mechanisms declare pure ε-DP."""
        return self.mechanism == "discrete_gaussian"

    @property
    def rho(self) -> float:
        """ρ of (ε, δ) by the tight conversion."""
        return float(accounting.zcdp_rho(self.epsilon_user, self.delta))


@dataclass(frozen=True)
class PersonSpent(_Audit):
    """Share of the declared budget that the worst replacement of a person's row spends, from the noise released.

    Gaussian: of ρ-zCDP, largest D_α/(αρ), ρ by the mechanism's conversion; of δ at ε where that is exact. Laplace: of
    ε. The entries that change are counted over all pairs of rows. NaN for other mechanisms.
    Source: Nguyen and Zhang, Lemma 4.1, and Lemma 4.2 of the supplement, composed.
    """

    conversion: str = parameter(
        "how ε at δ becomes zCDP", default="tight", choices=tuple(CONVERSIONS)
    )

    long_name: ClassVar[str] = "share of a person's declared budget that is spent"

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The share or ratio, (reps,)."""
        if self.mechanism not in ("discrete_gaussian", "discrete_laplace"):
            return _constant(truth, np.nan)
        entries = privacy_loss.changed_entries(self.m)
        spent = {
            variance: self._spent(entries, variance)
            for variance in np.unique(release.variance).tolist()
        }
        return np.array([spent[variance] for variance in np.asarray(release.variance).tolist()])

    def _spent(self, entries: int, variance: float) -> float:
        if self.gaussian and self.conversion == "exact":
            return (
                gaussian_account.discrete_gaussians_delta(self.epsilon_user, entries, variance)
                / self.delta
            )
        if self.gaussian:
            rho = float(CONVERSIONS[self.conversion](self.epsilon_user, self.delta))
            return privacy_loss.gaussian_spent(entries, variance, rho)
        return (
            entries * 2 * math.asinh(1 / math.sqrt(2 * variance)) / self.epsilon_user
        )  # 1/t, from Var = 1/(2 sinh²)


@dataclass(frozen=True)
class PersonSpentPrinted(_Audit):
    """`PersonSpent` of the variance √(m(m−1))/ε*² that is printed; NaN but for the Gaussian.

    Source: Nguyen and Zhang, Lemma 4.1.
    """

    long_name: ClassVar[str] = (
        "share of a person's declared budget that the printed variance spends"
    )

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The share or ratio, (reps,)."""
        return _constant(
            truth, privacy_loss.printed_spent(self.m, self.rho) if self.gaussian else np.nan
        )


@dataclass(frozen=True)
class CountSpent(_Audit):
    """Share of ε that noise on one count spends: of all right answers, which one person changes by up to m.

    Gaussian: N_Z(0, m²/ε²), share of ½ε²-zCDP; Laplace: scale m/ε, share of ε. Computed from the whole laws.
    Source: Nguyen and Zhang, supplement, Lemmas 3.2 and 4.2.
    """

    long_name: ClassVar[str] = "share of the budget that the noise on one count spends"

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The share or ratio, (reps,)."""
        share = (
            privacy_loss.gaussian_count_spent if self.gaussian else privacy_loss.laplace_count_spent
        )
        return _constant(truth, share(self.m, self.epsilon_user))


@dataclass(frozen=True)
class ShortcutEpsilonCited(_Audit):
    """ε at δ that ρ = ε²/(4 log(1/δ)) spends by the lemma that the paper cites, ρ + √(4ρ log(1/δ)), over the nominal ε.

    Source: Nguyen and Zhang, supplement, Lemma 4.3 and below it.
    """

    long_name: ClassVar[str] = "ε of the shortcut by Bun and Steinke, over the nominal ε"

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The share or ratio, (reps,)."""
        rho = accounting.paper_rho(self.epsilon_user, self.delta)
        return _constant(
            truth, float(accounting.bun_steinke_epsilon(rho, self.delta)) / self.epsilon_user
        )


@dataclass(frozen=True)
class ShortcutDeltaExact(_Audit):
    """Exact δ at the nominal ε, over the nominal δ, of Gaussian noise with ρ = ε²/(4 log(1/δ))."""

    long_name: ClassVar[str] = "exact δ of the shortcut, over the nominal δ"

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The share or ratio, (reps,)."""
        rho = float(accounting.paper_rho(self.epsilon_user, self.delta))
        return _constant(truth, privacy_loss.gaussian_delta(self.epsilon_user, rho) / self.delta)


@dataclass(frozen=True)
class _Shuffled(Checked, ABC):
    n: int = parameter("persons", unit="persons", low=1)
    epsilon_user: float = parameter(
        "privacy budget of all responses of a person", unit="nats", above=0, high=500
    )
    delta: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)

    units: ClassVar[str] = "nats"
    exact: ClassVar[bool] = True

    @property
    def local(self) -> float:
        """ε0 of a person's report."""
        return float(accounting.local_budget(self.epsilon_user, self.n, self.delta)[0])

    def __call__(self, truth: ItemParameters, release: Any, estimate: Any) -> Floats:
        """The metric's `value` in every replication, (reps,)."""
        return _constant(truth, _value(self))

    @abstractmethod
    def value(self) -> float:
        """The number that the metric gives, nats."""


@lru_cache(maxsize=1024)  # it takes long, and every block needs it
def _value(metric: _Shuffled) -> float:
    return metric.value()


@dataclass(frozen=True)
class LocalBudget(_Shuffled):
    """ε0 of a person's report that is known to give (ε, δ)-DP after shuffling; ε where shuffling does not help."""

    long_name: ClassVar[str] = "local budget ε0 of a person's report"

    def value(self) -> float:
        """ε0, nats."""
        return self.local


@dataclass(frozen=True)
class LocalBudgetPublished(_Shuffled):
    """ε0 that the published search finds. Source: Nguyen and Zhang, supplement, `find_effective_epsilon0_rr`."""

    long_name: ClassVar[str] = "local budget ε0 that the published search finds"

    def value(self) -> float:
        """ε0, nats."""
        return privacy_loss.published_local_epsilon(self.epsilon_user, self.n, self.delta)


@dataclass(frozen=True)
class ShuffledEpsilonExact(_Shuffled):
    """Exact ε at δ of shuffled reports of budget ε0 that are one binary answer each."""

    long_name: ClassVar[str] = "exact ε at δ of shuffled binary answers"

    def value(self) -> float:
        """ε, nats."""
        return privacy_loss.shuffled_exact_epsilon(self.local, self.n, self.delta)
