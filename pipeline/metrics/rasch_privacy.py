"""Audits of what a cell's mechanism spends, beside what it declares: exact numbers, the same in every replication.

No range is declared, for an interval of what was not seen would be out of place.
Shares are of the declared budget: 1 is spent in full, 2 twice what is declared. NaN where a metric does not apply.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from pipeline.parameters import parameter
from pipeline.theory import accounting, rasch_audit


def _all(truth, value):
    """(reps,): one value for all replications."""
    return np.full(len(truth.theta), value, float)


@dataclass(frozen=True)
class _Audit:
    m: int = parameter("items", unit="items", low=2)
    mechanism: str = parameter("mechanism, whose declaration is audited")
    epsilon_user: float = parameter("privacy budget of all responses of a person", unit="nats", above=0)
    delta: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)

    units: ClassVar[str] = "1"

    @property
    def gaussian(self) -> bool:
        """Whether what is declared is ρ-zCDP, by the tight conversion of (ε, δ); else it is pure ε-DP."""
        return self.mechanism == "discrete_gaussian"

    @property
    def rho(self) -> float:
        """ρ of (ε, δ)."""
        return float(accounting.zcdp_rho(self.epsilon_user, self.delta))


@dataclass(frozen=True)
class PersonSpent(_Audit):
    """Share of the declared budget that the worst replacement of a person's row spends, from the noise released.

    Gaussian: of ρ-zCDP, largest D_α/(αρ); Laplace: of ε. The entries that change are counted over all pairs of rows.
    NaN for other mechanisms. Source: Nguyen and Zhang, Lemma 4.1, and Lemma 4.2 of the supplement, composed.
    """

    long_name: ClassVar[str] = "share of a person's declared budget that is spent"

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,)"""
        if self.mechanism not in ("discrete_gaussian", "discrete_laplace"):
            return _all(truth, np.nan)
        entries = rasch_audit.changed_entries(self.m)
        spent = {variance: self._spent(entries, variance) for variance in np.unique(release.variance).tolist()}
        return np.array([spent[variance] for variance in np.asarray(release.variance).tolist()])

    def _spent(self, entries, variance):
        if self.gaussian:
            return rasch_audit.gaussian_spent(entries, variance, self.rho)
        return entries * 2 * math.asinh(1 / math.sqrt(2 * variance)) / self.epsilon_user  # 1/t, from Var = 1/(2 sinh²)


@dataclass(frozen=True)
class PersonSpentPrinted(_Audit):
    """The same of the variance √(m(m−1))/ε*² that Lemma 4.1 of Nguyen and Zhang prints; NaN but for the Gaussian."""

    long_name: ClassVar[str] = "share of a person's declared budget that the printed variance spends"

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,)"""
        return _all(truth, rasch_audit.printed_spent(self.m, self.rho) if self.gaussian else np.nan)


@dataclass(frozen=True)
class CountSpent(_Audit):
    """Share of ε that noise on one count spends: of all right answers, which one person changes by up to m.

    Gaussian: N_Z(0, m²/ε²), of ½ε²-zCDP; Laplace: scale m/ε, of ε. From the whole laws.
    Source: Nguyen and Zhang, supplement, Lemmas 3.2 and 4.2.
    """

    long_name: ClassVar[str] = "share of the budget that the noise on one count spends"

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,)"""
        audit = rasch_audit.gaussian_count_spent if self.gaussian else rasch_audit.laplace_count_spent
        return _all(truth, audit(self.m, self.epsilon_user))


@dataclass(frozen=True)
class ShortcutEpsilonCited(_Audit):
    """ε at δ, over the nominal one, of ρ = ε²/(4 log(1/δ)) by the lemma that the paper cites, ρ + √(4ρ log(1/δ)).

    Source: Nguyen and Zhang, supplement, Lemma 4.3 and below it.
    """

    long_name: ClassVar[str] = "ε of the shortcut by Bun and Steinke, over the nominal ε"

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,)"""
        rho = accounting.paper_rho(self.epsilon_user, self.delta)
        return _all(truth, accounting.bun_steinke_epsilon(rho, self.delta) / self.epsilon_user)


@dataclass(frozen=True)
class ShortcutDeltaExact(_Audit):
    """Exact δ at the nominal ε, over the nominal δ, of Gaussian noise with ρ = ε²/(4 log(1/δ))."""

    long_name: ClassVar[str] = "exact δ of the shortcut, over the nominal δ"

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,)"""
        rho = float(accounting.paper_rho(self.epsilon_user, self.delta))
        return _all(truth, rasch_audit.gaussian_delta(self.epsilon_user, rho) / self.delta)


@dataclass(frozen=True)
class _Shuffled:
    n: int = parameter("persons", unit="persons", low=1)
    epsilon_user: float = parameter("privacy budget of all responses of a person", unit="nats", above=0)
    delta: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)

    units: ClassVar[str] = "nats"

    @property
    def local(self) -> float:
        """ε0 of a person's report."""
        return accounting.local_budget(self.epsilon_user, self.n, self.delta)[0]

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,), all the same"""
        return _all(truth, _audited(type(self), self.n, self.epsilon_user, self.delta))


@lru_cache(maxsize=1024)  # an audit takes long, and is asked for in every block
def _audited(metric, n, epsilon, delta):
    return metric(n, epsilon, delta).value()


@dataclass(frozen=True)
class LocalBudget(_Shuffled):
    """ε0 of a person's report that is known to give (ε, δ)-DP after shuffling; ε where shuffling does not help."""

    long_name: ClassVar[str] = "local budget ε0 of a person's report"

    def value(self) -> float:
        """The local budget."""
        return self.local


@dataclass(frozen=True)
class LocalBudgetPublished(_Shuffled):
    """ε0 that the published search finds. Source: Nguyen and Zhang, supplement."""

    long_name: ClassVar[str] = "local budget ε0 that the published search finds"

    def value(self) -> float:
        """The local budget."""
        return rasch_audit.published_local_epsilon(self.epsilon_user, self.n, self.delta)


@dataclass(frozen=True)
class ShuffledEpsilonExact(_Shuffled):
    """Exact ε at δ of shuffled reports of budget ε0 that are one binary answer each."""

    long_name: ClassVar[str] = "exact ε at δ of shuffled binary answers"

    def value(self) -> float:
        """ε, nats."""
        return rasch_audit.shuffled_exact_epsilon(self.local, self.n, self.delta)
