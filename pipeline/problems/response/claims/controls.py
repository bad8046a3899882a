"""Wrong worlds of responses: what is simulated in place of what labels say, and claims must see.

n persons answer m items. Unless a world says otherwise, a release says what
the right one would say.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pipeline.analysis.claims import SUPPORTED, SimulatedControl
from pipeline.problems.common.changes import (
    answers_of,
    changed_data,
    changed_release,
    in_secret,
    replaced_part,
    with_parameters,
)
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.protocols import Components, Release
from pipeline.study.wrong_worlds import Change

from ..estimators.spectral import Spectral
from ..mechanisms.noisy_differences import DiscreteLaplace, NoisyDifferences
from ..mechanisms.randomized_response import RandomizedResponse
from ..mechanisms.shuffled import ShuffledResponse
from ..misspecified import MisspecifiedRasch
from ..model import GivenResponses, Rasch, Responses
from ..releases import Differences, PairwiseRelease

LARGE = 1000.0  # budget of a person at which noise on counts is next to nothing
UNLIMITED = 1e5  # budget of a person at which no answer is ever flipped
ABOVE_ALL = 1e9  # persons, more than there are
NEAR = 3  # places in a ring of items up to which two are compared


# ---------------------------------------------------------------------------------- data


def persons(count: Callable[[int], float]) -> Change:
    """Other persons than are counted.

    count: the declared number -> how many answer, at least two.
    """
    return with_parameters("model", n=lambda n: max(2, round(count(n))))


def repeated(times: int) -> Change:
    """All answers of every person are there so many times, of as many fewer persons."""

    def tiled(data: Responses, rng: np.random.Generator) -> GivenResponses:
        different = max(1, data.persons // times)
        rows = np.arange(data.persons) % different
        answers = data.answers[:, rows]
        if data.observed is None:
            return GivenResponses(answers, None)
        return GivenResponses(answers, data.observed[:, rows])

    return changed_data(tiled)


def _first_item_guessed(data: Responses, rng: np.random.Generator) -> GivenResponses:
    answers = data.answers.copy()
    answers[:, :, 0] = rng.spawn(1)[0].random(answers.shape[:2]) < 0.5
    if data.observed is not None:
        answers &= data.observed
    return GivenResponses(answers, data.observed)


def _guessing(model: Rasch) -> MisspecifiedRasch:
    return MisspecifiedRasch(**{**vars(model), "at_random": 0.5})


# ------------------------------------------------------------------------------ releases


def noisier(
    variance: Callable[[Differences], Floats], of: Callable[[Any], bool] | None = None
) -> Change:
    """More noise on counts than is said.

    variance: a release -> that of what is added, (reps,). of: whether a
    mechanism is meant; None is all.
    """

    def noisy(release: Release, rng: np.random.Generator) -> Release:
        if not isinstance(release, Differences):
            return release
        deviation = np.sqrt(variance(release))[:, None, None]
        noise = deviation * rng.standard_normal(release.counts.shape)
        edges = release.edges
        if edges is None:
            edges = ~np.eye(release.counts.shape[1], dtype=bool)
        return replace(release, counts=release.counts + noise * edges)

    change = changed_release(noisy)
    if of is None:
        return change
    return only(of, change)


def only(of: Callable[[Any], bool], change: Change) -> Change:
    """A change of the cells whose mechanism is of a kind."""

    def changed(parts: Components) -> Components:
        if not of(parts.mechanism):
            return parts
        return change(parts)

    return changed


def _ring(release: PairwiseRelease, rng: np.random.Generator) -> Differences:
    counts = release.differences()
    edges = neighbours(counts.shape[1])[None]
    return Differences(counts * edges, release.persons, np.zeros(len(counts)), edges)


def neighbours(m: int) -> Booleans:
    """(m, m): pairs of items that are up to `NEAR` places apart in a ring of m items."""
    apart = np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
    steps = np.minimum(apart, m - apart)
    near: Booleans = (steps > 0) & (steps <= NEAR)
    return near


def _as_much_again(release: Differences) -> Floats:
    return release.variance


def _much_more(release: Differences) -> Floats:
    return 99 * release.variance


def own_noise(share: float) -> Change:
    """Noise of every person, with this share of m as variance, on every count."""
    return noisier(
        lambda release: np.full(
            len(release.counts), share * release.persons * release.counts.shape[1]
        )
    )


def is_laplace(mechanism: object) -> bool:
    """Whether noise is discrete Laplace."""
    return isinstance(mechanism, DiscreteLaplace)


def is_noisy(mechanism: object) -> bool:
    """Whether noise is added to counts."""
    return isinstance(mechanism, NoisyDifferences)


def is_dense(mechanism: object) -> bool:
    """Whether noise is added to the counts of all pairs."""
    return isinstance(mechanism, NoisyDifferences) and mechanism.p0 == 1


def is_sparse(mechanism: object) -> bool:
    """Whether noise is added to counts on a sparse graph."""
    return isinstance(mechanism, NoisyDifferences) and mechanism.p0 < 1


def is_tight(mechanism: object) -> bool:
    """Whether noise is made for what a row can change."""
    return isinstance(mechanism, NoisyDifferences) and mechanism.calibration == "tight"


def is_flipping(mechanism: object) -> bool:
    """Whether responses are flipped."""
    return isinstance(mechanism, RandomizedResponse)


# -------------------------------------------------------------------------------- worlds

FOLLOWERS = SimulatedControl(
    "all persons beyond the first 250 copy others", persons(lambda n: min(n, 250))
)
NEWCOMERS = SimulatedControl(
    "beyond 100 persons each brings others, up to 12,000: n are worth n²",
    persons(lambda n: min(n * max(1, n / 100), max(n, 12_000))),
)
SIXTEENTH = SimulatedControl("answers of a sixteenth of the persons", persons(lambda n: n / 16))
CROWD = SimulatedControl("answers of 32 times as many persons", persons(lambda n: 32 * n))
TWINS = SimulatedControl("persons in pairs who give the same answers", repeated(2))
ONE_GUESSED = SimulatedControl(
    "all responses to the first item guessed", changed_data(_first_item_guessed)
)
GUESSED = SimulatedControl("half of all responses guessed", answers_of(_guessing))
SPECTRAL = SimulatedControl(
    "the spectral estimator under every name",
    replaced_part("estimator", lambda part: Spectral(m=part.m, pseudo_count=0.0, floor=0.0)),
)
RING = SimulatedControl(
    "counts of pairs of neighbours in a ring of items only",
    changed_release(_ring, privately=False, releases=Differences),
)
LOUD = SimulatedControl("noise of twice the variance that is said", noisier(_as_much_again))
LOUDER = SimulatedControl("noise of 100 times the variance that is said", noisier(_much_more))
OWN_NOISE = SimulatedControl(
    "every person adds noise of variance m/60 to every count", own_noise(1 / 60)
)
LITTLE_OWN_NOISE = SimulatedControl(
    "every person adds noise of variance m/150 to every count", own_noise(1 / 150)
)
LEAST_OWN_NOISE = SimulatedControl(
    "every person adds noise of variance m/1000 to every count", own_noise(1 / 1000)
)
QUIET = SimulatedControl(
    "noise that is next to nothing, and said to be what it should",
    only(is_noisy, in_secret(with_parameters("mechanism", epsilon_user=LARGE), "variance")),
)
QUIET_LAPLACE = SimulatedControl(
    "Laplace noise that is next to nothing",
    only(is_laplace, in_secret(with_parameters("mechanism", epsilon_user=LARGE), "variance")),
)
QUIET_NOISE = SimulatedControl(
    "noise that is next to nothing",
    only(is_noisy, with_parameters("mechanism", epsilon_user=LARGE)),
)
NO_FLIPS = SimulatedControl(
    "randomized response that flips nothing, and says so",
    only(is_flipping, with_parameters("mechanism", epsilon_user=UNLIMITED)),
)
SECRET_NO_FLIPS = SimulatedControl(
    "randomized response that flips nothing",
    only(is_flipping, in_secret(with_parameters("mechanism", epsilon_user=UNLIMITED))),
)
FLAT_CHAIN = SimulatedControl(
    "a spectral estimate of counts that are all the same",
    replaced_part(
        "estimator",
        lambda part: replace(part, floor=ABOVE_ALL) if isinstance(part, Spectral) else part,
    ),
)
HALF_OF_ALL = SimulatedControl(
    "half of the responses are missing in addition",
    with_parameters("model", p=lambda share: share / 2),
)
LOUD_DENSE = SimulatedControl(
    "noise of 100 times the variance on all pairs", noisier(_much_more, is_dense)
)
LOUD_DENSE_SUPPORTS = replace(LOUD_DENSE, verdict=SUPPORTED)
LOUD_SPARSE = SimulatedControl(
    "noise of 100 times the variance on sparse graphs", noisier(_much_more, is_sparse)
)
QUIET_SPARSE = SimulatedControl(
    "noise that is next to nothing on sparse graphs",
    only(is_sparse, with_parameters("mechanism", epsilon_user=LARGE)),
)
LOUD_TIGHT = SimulatedControl(
    "noise of 100 times the variance where it is made for what a row can change",
    noisier(_much_more, is_tight),
)


# ------------------------------------------------------------------------- budgets of persons


def _whole_each(part: object) -> object:
    """Every answer has the budget of all of them."""
    if not isinstance(part, RandomizedResponse) or part.person is None:
        return part
    return replace(part, person=part.person * part.answers, person_delta=0.0)


def _budget_divided(part: object) -> object:
    """The budget is divided by the square of the number of answers."""
    if not isinstance(part, ShuffledResponse | NoisyDifferences) or part.person is None:
        return part
    return replace(part, person=part.person / part.answers**2)


WHOLE_EACH = SimulatedControl(
    "every answer has the budget of all of them, and estimators know it",
    replaced_part("mechanism", _whole_each),
)
BUDGET_DIVIDED = SimulatedControl(
    "budgets divided by the square of the number of answers",
    replaced_part("mechanism", _budget_divided),
)
