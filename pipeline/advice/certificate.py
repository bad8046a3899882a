"""A certificate: fresh replications at one level show that the means meet all targets."""

from typing import Any, NamedTuple

import numpy as np

from pipeline.advice.question import Target
from pipeline.advice.search import Found, recommended, replications
from pipeline.advice.simulation import Simulator, finite, not_converged
from pipeline.analysis.intervals import mean_interval
from pipeline.analysis.moments import STATISTICS, block_moments
from pipeline.analysis.paired_crossing import Crossing
from pipeline.study.arrays import Array, Floats
from pipeline.study.status import OK

ERROR = 0.05  # probability of a certificate where a target is not met
FAR_OFF = 0.04  # by which a first certificate lies too far beyond the crossing, of the logarithm
ATTEMPTS = 4  # at levels that are each a little safer; the k-th has the error probability ERROR/2^k


class Measured(NamedTuple):
    """A metric at one level. mean and the ends of its 95 % interval; met: share of single replications that meet the
    target by themselves; shown: whether the mean meets it, at the certificate's confidence. infinite: replications
    without a value, which count as the worst."""

    target: Target
    mean: float
    low: float
    high: float
    met: float
    shown: bool
    infinite: int

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {"metric": self.target.metric, "mean": self.mean, "low": self.low, "high": self.high,
                "share_of_runs_met": self.met, "shown": self.shown}


class Certificate(NamedTuple):
    """The level, what was measured there, on how many replications, and what share of them has no valid estimate."""

    level: float
    measured: tuple[Measured, ...]
    replications: int
    not_converged: float

    @property
    def given(self) -> bool:
        """Whether all targets are shown to be met."""
        return all(one.shown for one in self.measured)


def certify(simulator: Simulator, found: Found) -> Certificate:
    """The first certificate that is given, or a second one nearer to the crossing, or the last attempt.

    Each attempt has replications of its own. One errs with probability ERROR/2^k at most, all with less than ERROR,
    whatever the search found: a t interval's coverage, corrected for skewness, or that of Wilson's for shares. Where
    the first is given far from what it tells of the crossing itself, as on a flat curve, one nearer is tried.
    """
    alpha = ERROR / 2
    reps = replications(found, simulator, alpha)
    position = recommended(found, reps, alpha)
    step = max(position - found.value, 0.01)
    for attempt in range(ATTEMPTS):
        level = found.axis.rounded(position)
        certificate = measure(simulator, level, reps, ERROR / 2 ** (attempt + 1))
        if certificate.given or found.axis.level(position) != found.axis.level(position + step / 2) == level:
            break
        position += step / 2
    if certificate.given and attempt == 0:
        nearer = recommended(_updated(found, certificate), reps, alpha / 2)
        if nearer < position - FAR_OFF:
            other = measure(simulator, found.axis.rounded(nearer), reps, alpha / 2)
            certificate = other if other.given else certificate
    return certificate


def _updated(found: Found, certificate: Certificate) -> Found:
    """What the search found, with what a certificate says of each crossing: means weighted by their precision."""
    crossings, position = list[Crossing](), found.axis.position(certificate.level)
    for one, deviation, there in zip(found.crossings, found.deviations, certificate.measured, strict=True):
        excess, error = there.target.sign * (there.mean - there.target.value), deviation / certificate.replications**0.5
        if one.slope < 0 and one.error > 0 and error > 0:
            weights = one.error**-2, error**-2
            value = np.average([one.value, position - excess / one.slope], weights=weights)
            one = one._replace(value=float(value), error=sum(weights) ** -0.5)
        crossings.append(one)
    return found._replace(crossings=crossings)


def measure(simulator: Simulator, level: float, reps: int, alpha: float = ERROR) -> Certificate:
    """What fresh replications at a level show, at error probability alpha for all targets together."""
    sample = simulator.sample([level], reps)
    targets = simulator.question.targets
    measured = tuple(_measured(one, values[0], sample.status[0], alpha / len(targets))
                     for one, values in zip(targets, sample.values, strict=True))
    return Certificate(level, measured, sample.status.shape[-1], not_converged(sample.status))


def _measured(target: Target, values: Floats, status: Array, alpha: float) -> Measured:
    infinite = int((~np.isfinite(values)).sum())
    known = finite(values, target.worst, target.sign)
    bounded = (target.least, target.most) == (0, 1)
    part = dict(zip(STATISTICS, block_moments(known[None], np.full_like(status, OK)).values[0], strict=True))
    ends = [mean_interval(part, confidence, bounded) for confidence in (1 - 2 * alpha, 0.95)]
    bound = float(ends[0][1] if target.sign > 0 else ends[0][0])
    if float(part["m2"]) == 0 and not bounded:
        bound = np.inf * target.sign  # equal values say nothing of others
    shown = target.sign * (bound - target.value) <= 0 and not (infinite and not np.isfinite(target.worst))
    return Measured(target, float(part["mean"]), float(ends[1][0]), float(ends[1][1]),
                    float((target.sign * (known - target.value) <= 0).mean()), bool(shown), infinite)
