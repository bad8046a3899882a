"""A floor of the error that no private release is below, and what the best linear estimate has."""

import numpy as np

from pipeline.privacy.budgeted_noise import CONVERSIONS
from pipeline.study.arrays import Floats
from pipeline.study.metric import metric
from pipeline.study.parameters import parameter

from ..model import ItemParameters
from ..releases import Differences
from ..theory import private_floor as theory

ITEMS: int = parameter("items", unit="items", low=2)
PERSONS: int = parameter("persons", unit="persons", low=1)
BUDGET: float = parameter("privacy budget of all responses of a person", unit="nats", above=0)
DELTA: float = parameter("δ of the (ε, δ)-guarantee", default=1e-4, above=0, below=1)


@metric("least squared error of any private release, over that of the estimate 0")
def private_floor(
    *,
    m: int = ITEMS,
    n: int = PERSONS,
    epsilon_user: float = BUDGET,
    delta: float = DELTA,
    conversion: str = parameter(
        "how ε at δ becomes zCDP", default="tight", choices=tuple(CONVERSIONS)
    ),
) -> float:
    """Floor of E‖β̂ − β*‖₂² over E‖β*‖₂², β* and θ* standard normal, of all ρ-zCDP releases.

    ρ is that of (ε, δ). Source: `theory.private_floor`.
    """
    rho = float(CONVERSIONS[conversion](epsilon_user, delta))
    return theory.private_floor(m, n, rho)


@metric("predicted squared error of scores drawn towards 0", units="logits²", least=0.0)
def shrunk_risk(
    truth: ItemParameters, release: object, *, m: int = ITEMS, n: int = PERSONS
) -> Floats:
    """First order of E‖β̂ − β*‖₂²/m of `shrunk_scores`, β* and θ* standard normal, (reps,).

    NaN for releases without noise on counts of all pairs. Source: `theory.private_floor`.
    """
    reps = len(truth.theta)
    if not isinstance(release, Differences) or release.edges is not None:
        return np.full(reps, np.nan)
    variance = np.broadcast_to(release.variance, reps)
    return (m - 1) / m * theory.shrunk_risk(m, n, variance)
