"""A certificate: fresh replications at one level show that the means meet all targets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import special

from pipeline.advice.axis import Axis
from pipeline.advice.numbers import in_turn
from pipeline.advice.reached import Reached
from pipeline.advice.search import CERTIFICATE, FLAT, SAFE, recommended, replications
from pipeline.advice.simulation import Simulator, finite, not_converged
from pipeline.advice.targets import Target
from pipeline.advice.tried import Tried
from pipeline.analysis.intervals import mean_interval
from pipeline.analysis.moments import STATISTICS, block_moments
from pipeline.study.arrays import Array, Floats
from pipeline.study.status import OK
from pipeline.study.untyped import JsonObject

ERROR = 0.05  # probability of a certificate where a target is not met
FAR_OFF = 0.04  # by which a certificate lies too far beyond the crossing, of the logarithm
LEAST_STEP = 0.01  # from the crossing to the first attempt, of the logarithm
# At levels that differ, but at the end of a range; the k-th has the error probability ERROR/2^k.
ATTEMPTS = 6
MOST_STEPS = 0.6  # of an answer that all attempts together may take
# Share of the distance from a certificate to the crossing by which a straight line may be wrong.
CURVED = 0.25
LONGER = 4  # times the replications, where no level is left
FEWEST = 1000  # replications of an attempt at a number of questions


class Measured(NamedTuple):
    """A metric at one level. mean and the ends of its 95 % interval.

    share_of_runs_met: share of single replications that meet the target by themselves. shown:
    whether the mean meets it, at the certificate's confidence. infinite: replications without a
    value, which count as the worst.
    """

    target: Target
    mean: float
    low: float
    high: float
    share_of_runs_met: float
    shown: bool
    infinite: int

    @property
    def excess(self) -> float:
        """By how much the mean misses the target; negative where it meets it."""
        return self.target.sign * (self.mean - self.target.value)

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.target.metric

    def record(self) -> JsonObject:
        """For JSON."""
        return {
            "metric": self.metric,
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "share_of_runs_met": self.share_of_runs_met,
            "shown": self.shown,
        }


class Certificate(NamedTuple):
    """The level, what was measured there, on how many replications, and what share of them has no
    valid estimate.
    """

    level: float
    measured: tuple[Measured, ...]
    replications: int
    not_converged: float

    @property
    def targets_shown(self) -> bool:
        """Whether all targets are shown to be met."""
        return all(target.shown for target in self.measured)

    @property
    def misses(self) -> bool:
        """Whether a mean misses its target."""
        return any(measured.excess > 0 for measured in self.measured)


@dataclass
class _Attempts:
    """Attempts at a certificate. found: what is known of the crossings by now.

    reps: replications of the next one.

    count: attempts by now; used: share of an answer's steps that they took.
    """

    simulator: Simulator
    reached: Reached
    reps: int
    count: int = 0
    used: float = 0.0

    @property
    def left(self) -> bool:
        """Whether there may be another."""
        return self.count < ATTEMPTS and self.used < MOST_STEPS

    @property
    def alpha(self) -> float:
        """Error probability of the next one: those of all add up to less than ERROR."""
        return ERROR / 2.0 ** (self.count + 1)

    def at(self, level: float) -> Certificate:
        """The next one, at a level."""
        reps = min(self.reps, self.simulator.affordable(level, MOST_STEPS - self.used))
        certificate = measure(self.simulator, level, reps, self.alpha)
        self.count += 1
        self.used += reps / self.simulator.affordable(level, 1.0)
        self.reached = _updated(self.reached, certificate)
        return certificate


def certify(simulator: Simulator, reached: Reached) -> Certificate:
    """The given certificate that is nearest to the crossing, or the last attempt at one.

    Each attempt has replications of its own. One errs with probability ERROR/2^k at most, all with
    less than ERROR, whatever the search found: a t interval's coverage, corrected for skewness, or
    that of Wilson's for shares. What an attempt tells of the crossing moves the next one: to a
    level that is safer, always another one; or nearer, where one was given far beyond, as on a flat
    curve.
    """
    if reached.numbers:
        return _number_of_questions(_Attempts(simulator, reached, FEWEST))
    attempts = _Attempts(simulator, reached, replications(reached, simulator, ERROR / 2))
    certificate = _until_given(attempts)
    return _brought_nearer(attempts, certificate) if certificate.targets_shown else certificate


def _number_of_questions(attempts: _Attempts) -> Certificate:
    """The certificate of the first number of questions in turn that can be shown to meet the
    targets, or the last attempt.

    Where few replications show one, others are spent on those that are nearer to the advised one.
    """
    waiting = in_turn(attempts.reached)
    first = waiting[0]
    best = min(waiting, key=lambda tried: tried.height)
    given: Certificate | None = None
    while attempts.left:
        promising = _promising(attempts, waiting)
        if promising is None:
            break
        attempts.reps = max(FEWEST, math.ceil(_needed(promising, attempts.alpha)))
        certificate = attempts.at(promising.number)
        if certificate.targets_shown:
            given = certificate
            waiting = _nearer(attempts.reached.axis, waiting, first, promising)
        else:
            _learn(waiting, promising, certificate)
    if given is not None:
        return given
    attempts.reps = CERTIFICATE
    return attempts.at(best.number)


def _nearer(axis: Axis, waiting: Sequence[Tried], first: Tried, given: Tried) -> list[Tried]:
    """Numbers from the advised one on that are nearer to it than one with a certificate is."""
    start = axis.position(first.number)
    end = axis.position(given.number) - FAR_OFF
    return [tried for tried in waiting if start <= axis.position(tried.number) < end]


def _learn(waiting: list[Tried], tried: Tried, certificate: Certificate) -> None:
    """Put what an attempt that failed says of its number into its place; take the number out of
    those that wait where this was no more than is known of it.
    """
    place = waiting.index(tried)
    means = [measured.excess for measured in certificate.measured]
    fresh = Tried(tried.number, np.array(means), tried.deviations, certificate.replications)
    if fresh.replications < tried.replications:
        waiting.pop(place)
    else:
        waiting[place] = tried.together(fresh)


def _promising(attempts: _Attempts, waiting: Sequence[Tried]) -> Tried | None:
    """The first number in turn for which replications suffice; None where there is none."""
    for most in (CERTIFICATE, FLAT):
        for tried in waiting:
            affordable = attempts.simulator.affordable(tried.number, MOST_STEPS - attempts.used)
            if _needed(tried, attempts.alpha) <= min(most, affordable):
                return tried
    return None


def _needed(tried: Tried, alpha: float) -> float:
    """Replications at which a certificate at error probability alpha is likely to be given."""
    if not tried.meets or tried.height == 0:
        return math.inf
    quantiles = special.ndtri(1 - alpha / len(tried.means)) + special.ndtri(SAFE)
    return float(quantiles / tried.height) ** 2


def _until_given(attempts: _Attempts) -> Certificate:
    """The first certificate that is given, at levels ever safer, or the last attempt."""
    axis = attempts.reached.axis
    level = axis.advisable(recommended(attempts.reached, attempts.reps, attempts.alpha))
    step = max(axis.position(level) - attempts.reached.value, LEAST_STEP) / 2
    certificate = attempts.at(level)
    while attempts.left and not certificate.targets_shown:
        wanted = recommended(attempts.reached, attempts.reps, attempts.alpha)
        safer = _safer(axis, level, max(wanted, axis.position(level) + step))
        if safer is None:  # nothing is left but to look longer, once
            attempts.reps *= LONGER
            return attempts.at(level)
        level = safer
        certificate = attempts.at(level)
    return certificate


def _safer(axis: Axis, level: float, position: float) -> float | None:
    """The level at a position beyond one, or the next one, towards the better end.

    None at that end.
    """
    candidate = axis.advisable(position)
    return axis.after(level) if candidate == level else candidate


def _brought_nearer(attempts: _Attempts, certificate: Certificate) -> Certificate:
    """A given certificate, or one that is given much nearer to the crossing."""
    axis = attempts.reached.axis
    failed = -math.inf  # position up to which none was given
    while attempts.left:
        position = axis.position(certificate.level)
        halfway = (failed + position) / 2
        candidate = axis.advisable(max(_hopeful(attempts), halfway))
        if position - axis.position(candidate) <= FAR_OFF:
            break
        nearer = attempts.at(candidate)
        if nearer.targets_shown:
            certificate = nearer
        else:
            failed = axis.position(candidate)
    return certificate


def _hopeful(attempts: _Attempts) -> float:
    """The position that is recommended as if the crossing were known: what fails costs nothing but
    time.
    """
    crossings = [crossing._replace(error=0.0) for crossing in attempts.reached.crossings]
    return recommended(
        replace(attempts.reached, crossings=crossings), attempts.reps, attempts.alpha
    )


def _updated(reached: Reached, certificate: Certificate) -> Reached:
    """What the search found, with what a certificate says of each crossing: means weighted by their
    precision.

    A certificate far from the crossing says less of it, as mean curves are not straight.
    """
    position = reached.axis.position(certificate.level)
    crossings = []
    for crossing, deviation, measured in zip(
        reached.crossings, reached.deviations, certificate.measured, strict=True
    ):
        excess = measured.excess
        error = math.hypot(deviation / math.sqrt(certificate.replications), CURVED * excess)
        known = math.isfinite(crossing.value) and crossing.slope < 0
        if known and crossing.error > 0 and error > 0:
            weights = crossing.error**-2, error**-2
            value = np.average(
                [crossing.value, position - excess / crossing.slope], weights=weights
            )
            crossing = crossing._replace(value=float(value), error=sum(weights) ** -0.5)
        crossings.append(crossing)
    return replace(reached, crossings=crossings)


def measure(simulator: Simulator, level: float, reps: int, alpha: float = ERROR) -> Certificate:
    """What fresh replications show at a level; alpha: chance of any error about its targets."""
    sample = simulator.sample([level], reps)
    targets = simulator.question.targets
    measured = tuple(
        _measured(target, values[0], sample.status[0], alpha / len(targets))
        for target, values in zip(targets, sample.values, strict=True)
    )
    return Certificate(level, measured, sample.status.shape[-1], not_converged(sample.status))


def _measured(target: Target, values: Floats, status: Array, alpha: float) -> Measured:
    infinite = int((~np.isfinite(values)).sum())
    known = finite(values, target.worst, target.sign)
    bounded = (target.least, target.most) == (0, 1)
    part = dict(
        zip(STATISTICS, block_moments(known[None], np.full_like(status, OK)).values[0], strict=True)
    )
    ends = [mean_interval(part, confidence, bounded) for confidence in (1 - 2 * alpha, 0.95)]
    bound = float(ends[0][1] if target.sign > 0 else ends[0][0])
    if float(part["m2"]) == 0 and not bounded:
        bound = np.inf * target.sign  # equal values say nothing of others
    shown = target.sign * (bound - target.value) <= 0 and not (
        infinite and not np.isfinite(target.worst)
    )
    return Measured(
        target,
        float(part["mean"]),
        float(ends[1][0]),
        float(ends[1][1]),
        float((target.sign * (known - target.value) <= 0).mean()),
        bool(shown),
        infinite,
    )
