"""What a cell's mechanism really spends, compared with what it declares: exact numbers.

Shares are of the declared budget: at 1 it is spent in full, at 2
twice what is declared is spent. NaN where a metric does not
apply. No metric declares a range: it would widen intervals for
values not seen, but these numbers are exact.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pipeline.privacy import accounting, gaussian_account
from pipeline.privacy.budgeted_noise import CONVERSIONS
from pipeline.study.arrays import Floats
from pipeline.study.metric import metric
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseMetric

from ..model import ItemParameters
from ..releases import Differences
from ..theory import privacy_loss

ITEMS: int = parameter("items", unit="items", low=2)
PERSONS: int = parameter("persons", unit="persons", low=1)
MECHANISM: str = parameter("mechanism, whose declaration is audited")
BUDGET: float = parameter("privacy budget of all responses of a person", unit="nats", above=0)
SHUFFLED_BUDGET: float = parameter(
    "privacy budget of all responses of a person", unit="nats", above=0, high=500
)
DELTA: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)


def declares_zcdp(mechanism: str) -> bool:
    """Whether ρ-zCDP is declared, by the tight conversion of (ε, δ); others declare pure ε-DP."""
    return mechanism == "discrete_gaussian"


@dataclass(frozen=True)
class PersonSpent(BaseMetric):
    """Share of the declared budget that the worst replacement of a person's row spends.

    By the noise released. Gaussian: of ρ-zCDP, largest D_α/(αρ),
    ρ by the mechanism's conversion; of δ at ε where that is
    exact. Laplace: of ε. The entries that change are counted over
    all pairs of rows. NaN for other mechanisms. Source: Nguyen
    and Zhang, Lemma 4.1, and Lemma 4.2 of the supplement,
    composed.
    """

    m: int = parameter("items", unit="items", low=2)
    mechanism: str = parameter("mechanism, whose declaration is audited")
    epsilon_user: float = parameter(
        "privacy budget of all responses of a person", unit="nats", above=0
    )
    delta: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)
    conversion: str = parameter(
        "how ε at δ becomes zCDP", default="tight", choices=tuple(CONVERSIONS)
    )

    long_name: ClassVar[str] = "share of a person's declared budget that is spent"
    units: ClassVar[str] = "1"
    exact: ClassVar[bool] = True

    def __call__(self, truth: ItemParameters, release: Differences, estimate: object) -> Floats:
        """The share, (reps,)."""
        if self.mechanism not in ("discrete_gaussian", "discrete_laplace"):
            return np.full(len(truth.theta), np.nan)
        entries = privacy_loss.changed_entries(self.m)
        variances, place = np.unique(np.asarray(release.variance), return_inverse=True)
        spent = [self._spent(entries, variance) for variance in variances.tolist()]
        return np.array(spent)[place]

    def _spent(self, entries: int, variance: float) -> float:
        if not declares_zcdp(self.mechanism):  # 1/t, from Var = 1/(2 sinh²)
            return entries * 2 * math.asinh(1 / math.sqrt(2 * variance)) / self.epsilon_user
        if self.conversion == "exact":
            delta = gaussian_account.discrete_gaussians_delta(self.epsilon_user, entries, variance)
            return delta / self.delta
        rho = float(CONVERSIONS[self.conversion](self.epsilon_user, self.delta))
        return privacy_loss.gaussian_spent(entries, variance, rho)


@metric("share of a person's declared budget that the printed variance spends")
def person_spent_printed(
    *,
    m: int = ITEMS,
    mechanism: str = MECHANISM,
    epsilon_user: float = BUDGET,
    delta: float = DELTA,
) -> float:
    """`PersonSpent` of the variance √(m(m−1))/ε*² that is printed; NaN but for the Gaussian.

    Source: Nguyen and Zhang, Lemma 4.1.
    """
    if not declares_zcdp(mechanism):
        return math.nan
    return privacy_loss.printed_spent(m, float(accounting.zcdp_rho(epsilon_user, delta)))


@metric("share of the budget that the noise on one count spends")
def count_spent(
    *, m: int = ITEMS, mechanism: str = MECHANISM, epsilon_user: float = BUDGET
) -> float:
    """Share of ε that noise on one count spends.

    The count is of all right answers, which one person changes by
    up to m. Gaussian: N_Z(0, m²/ε²), share of ½ε²-zCDP; Laplace:
    scale m/ε, share of ε. Computed from the whole laws. Source:
    Nguyen and Zhang, supplement, Lemmas 3.2 and 4.2.
    """
    if declares_zcdp(mechanism):
        return privacy_loss.gaussian_count_spent(m, epsilon_user)
    return privacy_loss.laplace_count_spent(m, epsilon_user)


@metric("ε of the shortcut by Bun and Steinke, over the nominal ε")
def shortcut_epsilon_cited(*, epsilon_user: float = BUDGET, delta: float = DELTA) -> float:
    """ε at δ that ρ = ε²/(4 log(1/δ)) spends by the lemma that the paper cites, over the nominal ε.

    It is ρ + √(4ρ log(1/δ)).
    Source: Nguyen and Zhang, supplement, Lemma 4.3 and below it.
    """
    rho = accounting.paper_rho(epsilon_user, delta)
    return float(accounting.bun_steinke_epsilon(rho, delta)) / epsilon_user


@metric("exact δ of the shortcut, over the nominal δ")
def shortcut_delta_exact(*, epsilon_user: float = BUDGET, delta: float = DELTA) -> float:
    """Exact δ at the nominal ε, over the nominal δ, of Gaussian noise with ρ = ε²/(4 log(1/δ))."""
    rho = float(accounting.paper_rho(epsilon_user, delta))
    return float(privacy_loss.gaussian_delta(epsilon_user, rho) / delta)


@lru_cache(maxsize=1024)  # it takes long, and every block needs it
def _local_budget(n: int, epsilon_user: float, delta: float) -> float:
    """ε0 of a person's report."""
    return float(accounting.local_budget(epsilon_user, n, delta)[0])


@lru_cache(maxsize=1024)
def _published_budget(n: int, epsilon_user: float, delta: float) -> float:
    """ε0 that the published search finds."""
    return privacy_loss.published_local_epsilon(epsilon_user, n, delta)


@lru_cache(maxsize=1024)
def _shuffled_epsilon(n: int, epsilon_user: float, delta: float) -> float:
    """Exact ε at δ of shuffled binary answers of budget ε0."""
    local = _local_budget(n, epsilon_user, delta)
    return privacy_loss.shuffled_exact_epsilon(local, n, delta)


@metric("local budget ε0 of a person's report", units="nats")
def local_budget(
    *, n: int = PERSONS, epsilon_user: float = SHUFFLED_BUDGET, delta: float = DELTA
) -> float:
    """ε0 of a person's report that is known to give (ε, δ)-DP after shuffling, nats.

    ε where shuffling does not help.
    """
    return _local_budget(n, epsilon_user, delta)


@metric("local budget ε0 that the published search finds", units="nats")
def local_budget_published(
    *, n: int = PERSONS, epsilon_user: float = SHUFFLED_BUDGET, delta: float = DELTA
) -> float:
    """ε0 that the published search finds, nats.

    Source: Nguyen and Zhang, supplement,
    `find_effective_epsilon0_rr`.
    """
    return _published_budget(n, epsilon_user, delta)


@metric("exact ε at δ of shuffled binary answers", units="nats")
def shuffled_epsilon_exact(
    *, n: int = PERSONS, epsilon_user: float = SHUFFLED_BUDGET, delta: float = DELTA
) -> float:
    """Exact ε at δ of shuffled reports of budget ε0 that are one binary answer each, nats."""
    return _shuffled_epsilon(n, epsilon_user, delta)
