"""Wrong worlds of rankings: what is simulated in place of what labels say, and claims must see.

L users compare all pairs of m items; a group of users shares a budget, as
in `ReleasedWins`. Unless a world says otherwise, a release says what the
right one would say.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pipeline.analysis.claims import SUPPORTED, SimulatedControl
from pipeline.privacy.budget_groups import groups_of
from pipeline.privacy.randomized_response_laws import attenuation
from pipeline.problems.common.changes import (
    Wrapper,
    all_of,
    changed_data,
    changed_estimate,
    changed_release,
    in_secret,
    replaced_part,
    with_parameters,
)
from pipeline.study.arrays import Floats
from pipeline.study.protocols import Components
from pipeline.study.wrong_worlds import Change

from ..design import Budgets
from ..estimators.moments import PreferenceEstimate
from ..mechanisms.laplace import Laplace
from ..misspecified import PartialComparisons
from ..model import Comparisons
from ..releases import ReleasedWins

FEWEST = 100  # users of the smallest study of films, who have ε = 1 under every scheme
FIRST = 50  # users up to which nobody guesses
TAIL = 1.5  # exponent of the law of the size of a crowd
UNLIMITED = 700.0  # budget at which no answer is ever flipped
NOTHING = 1e-12  # budget at which half of all answers are flipped

UNFLIPPED = in_secret(with_parameters("mechanism", epsilon=UNLIMITED))
COINS = in_secret(with_parameters("mechanism", epsilon=NOTHING))


@dataclass(frozen=True)
class Misinformed(Wrapper):
    """An estimator that takes all answers for unflipped."""

    def fit(self, release: ReleasedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """The declared estimator's estimate from answers that nobody flipped."""
        unflipped = replace(release, epsilon=np.full(len(release.epsilon), UNLIMITED))
        estimate: PreferenceEstimate = self.declared.fit(unflipped, rng)
        return estimate


def counted(release: ReleasedWins, share: Floats, rng: np.random.Generator) -> ReleasedWins:
    """Only this share of each group's users counts, at least one, and each of them 1/share times.

    share: (reps or 1,). Wins are those of users drawn without replacement.
    """
    users = release.users[:, None]
    drawn_users = np.maximum(np.rint(users * share[:, None, None]), 1).astype(np.int64)
    wins = np.asarray(release.wins, np.int64)
    drawn_wins = rng.hypergeometric(wins, users - wins, np.broadcast_to(drawn_users, wins.shape))
    return replace(release, wins=drawn_wins * (users / drawn_users))


def followed(first: int, power: float) -> Change:
    """Users beyond the first ones release what others did.

    L of them are then worth first·(L/first)^(1 − power).
    """

    def followers(release: ReleasedWins, rng: np.random.Generator) -> ReleasedWins:
        share = np.minimum(1, first / release.users.sum()) ** power
        return counted(release, np.array([share]), rng)

    return changed_release(followers)


def repeated(times: int) -> SimulatedControl:
    """Users answer in groups who say the same: means stay, variances are as many times as large."""
    share = np.array([1 / times])
    return SimulatedControl(
        f"users in groups of {times} who release the same answers",
        changed_release(lambda release, rng: counted(release, share, rng)),
    )


def _crowds(release: ReleasedWins, rng: np.random.Generator) -> ReleasedWins:
    share = (1 - rng.random(len(release.wins))) ** (1 / TAIL)
    return counted(release, share, rng)


def _shrunk(release: ReleasedWins, rng: np.random.Generator) -> ReleasedWins:
    tie = release.users[:, None] / 2
    return replace(release, wins=tie + attenuation(release.epsilon)[:, None] * (release.wins - tie))


def _guessing(data: Comparisons, rng: np.random.Generator) -> Comparisons:
    if data.probability is None:
        raise TypeError("comparisons without a known law have no chances that could be changed")
    share = min(1.0, FIRST / data.users)
    chance = 0.5 + share * (data.probability - 0.5)
    return Comparisons(chance, data.users, data.items, rng.spawn(1)[0])


def _neighbours_only(data: Comparisons, rng: np.random.Generator) -> Comparisons:
    if data.probability is None:
        raise TypeError("comparisons without a known law have no chances that could be changed")
    first, second = np.triu_indices(data.items, 1)
    apart = second - first
    nearby = (apart == 1) | (apart == data.items - 1)
    presence = np.broadcast_to(nearby.astype(float), data.probability.shape)
    return PartialComparisons(presence, data.probability, data.users, data.items, rng.spawn(1)[0])


def _alike(profile: str) -> str:
    """The profile in which every group has the smallest budget of this one."""
    groups = groups_of(profile)
    smallest = min(multiple for _, multiple in groups)
    return ",".join(f"{share!r}:{smallest!r}" for share, _ in groups)


def _loudest_twice(release: ReleasedWins, rng: np.random.Generator) -> ReleasedWins:
    if len(release.users) == 1:
        return release
    tie = release.users[:, None] / 2
    times = np.where(release.epsilon == release.epsilon.min(), 2, 1)[:, None]
    return replace(release, wins=tie + times * (release.wins - tie))


def _first_at_zero(estimate: PreferenceEstimate) -> PreferenceEstimate:
    return replace(estimate, theta=estimate.theta - estimate.theta[:, :1])


def faded(epsilon: Callable[[float, int], float]) -> Change:
    """Another budget of mechanisms of rankings, from the declared one and the number of users."""

    def changed(parts: Components) -> Components:
        mechanism = parts.mechanism
        if not isinstance(mechanism, Budgets):
            return parts
        other = epsilon(mechanism.answer_epsilon, mechanism.L)
        return with_parameters("mechanism", epsilon=other, person=None)(parts)

    return changed


def _fading(epsilon: float, users: int) -> float:
    return epsilon * FEWEST / users


def _swapped(epsilon: float, users: int) -> float:
    return FEWEST / users / epsilon


def _half(epsilon: float) -> float:
    return epsilon / 2


def _tenfold(epsilon: float) -> float:
    return 10 * epsilon


def _twice(spread: float) -> float:
    return 2 * spread


def _of_laplace(change: Change) -> Change:
    """A change of cells with Laplace noise only."""

    def changed(parts: Components) -> Components:
        if not isinstance(parts.mechanism, Laplace):
            return parts
        return change(parts)

    return changed


HALF_BUDGETS = SimulatedControl(
    "answers flipped as with half of the budget", with_parameters("mechanism", epsilon=_half)
)
HALF_IN_SECRET = SimulatedControl(
    "answers flipped as with half of the budget, and nobody says so",
    in_secret(with_parameters("mechanism", epsilon=_half)),
)
NO_FLIPS = SimulatedControl("a mechanism that flips no answer", UNFLIPPED)
FAIR_COINS = SimulatedControl("a mechanism that releases fair coins", COINS)
NO_CHANCE = SimulatedControl(
    "released counts moved towards a tie by tanh(ε/2), and no answer flipped",
    all_of(UNFLIPPED, changed_release(_shrunk)),
)
NO_PRIVACY = SimulatedControl(
    "answers that nobody flips, and estimators that know it",
    all_of(UNFLIPPED, replaced_part("estimator", Misinformed)),
)
FOLLOWERS = SimulatedControl(
    "beyond 100 users they release what others did: L users are worth L^⅔", followed(FEWEST, 1 / 3)
)
SOME_FOLLOWERS = SimulatedControl(
    "beyond 400 users they release what others did: L users are worth L^(5/6)", followed(400, 1 / 6)
)
CROWDS = SimulatedControl(
    "users in groups of a random size, P(size ≥ k) = k^(−3/2), who release the same answers",
    changed_release(_crowds),
)
PAIRS = repeated(2)
FOURS = repeated(4)
SIXTEENS = repeated(16)
GUESSERS = SimulatedControl("all users beyond the first 50 guess", changed_data(_guessing))
ALIKE = SimulatedControl(
    "all users of a mixture have its smallest budget", with_parameters("mechanism", profile=_alike)
)
LOUD = SimulatedControl(
    "answers of the users with the smallest budget count twice", changed_release(_loudest_twice)
)
NOT_CENTRED = SimulatedControl(
    "estimates with the first item at 0", changed_estimate(_first_at_zero)
)
RING = SimulatedControl(
    "items twice as far apart, each compared with two others, in a ring",
    all_of(with_parameters("model", spread=_twice), changed_data(_neighbours_only)),
)
RING_FOR_DEBIASING = replace(RING, verdict=SUPPORTED)
FADING = SimulatedControl("budgets that fall by a further factor 100/L", faded(_fading))
FADING_SUPPORTS = replace(FADING, verdict=SUPPORTED)
SWAPPED = SimulatedControl(
    "budgets divided by log(mL) where they are to be multiplied by it, and the other way round",
    faded(_swapped),
)
INDEPENDENT = SimulatedControl(
    "comparisons drawn independently, from the model at θ*",
    with_parameters("model", comparisons="independent"),
    SUPPORTED,
)
LITTLE_NOISE = SimulatedControl(
    "Laplace noise of a tenth of its scale",
    _of_laplace(in_secret(with_parameters("mechanism", epsilon=_tenfold))),
)
