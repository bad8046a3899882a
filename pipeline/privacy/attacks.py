"""What the best attacker, who knows all but which of two neighbours is
true, learns of a release.

An attack is a likelihood-ratio test of one neighbour against the other: no
test has more true alarms at the same probability of a false one (Neyman and
Pearson).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy
from scipy import special

from pipeline.privacy.accounting import gaussian_rho, zcdp_epsilon
from pipeline.privacy.integer_laws import gaussian_pmf
from pipeline.study.arrays import Floats

# Standard deviations of a discrete Gaussian that are summed over.
TAIL = 12.0
# Chance that fewer reports hide a shuffled bit than are counted on.
RARE = 1e-9
# Numbers of such reports that are told apart.
COINS = 100
# Entries of a law that are held; beyond, the sum of so much noise is
# Gaussian to all digits.
LONGEST = 2**22


@dataclass(frozen=True)
class FlippedBits:
    """All of `bits` bits differ, each released by randomized response at
    budget `each`.

    Counts with discrete Laplace noise of scale 1/each that differ by one
    are the same experiment: whether the noisy count is nearer to one or to
    the other is all that a likelihood ratio sees. The number of bits that
    agree with one neighbour is binomial, with chance 1/(1 + e^−each) if
    that is the truth, and 1/(1 + e^each) if not.
    Source: Neyman and Pearson's lemma; Warner (1965).

    >>> round(FlippedBits(1.0, 1).power(0.01), 5)  # e · 0.01
    0.02718
    """

    each: float
    bits: int
    delta: ClassVar[float] = 0.0
    exact: ClassVar[bool] = True

    @property
    def epsilon(self) -> float:
        """Budget of all bits, which is attained."""
        return self.bits * self.each

    def power(self, false_alarms: float) -> float:
        """Of the test that counts agreements, and decides by chance at the
        border. O(bits).
        """
        agreements = np.arange(self.bits, -1, -1)
        unflipped = 1 / (1 + math.exp(-self.each))
        if_false = scipy.stats.binom.pmf(agreements, self.bits, 1 - unflipped)
        if_true = scipy.stats.binom.pmf(agreements, self.bits, unflipped)
        return _power(if_false, if_true, false_alarms)


@dataclass(frozen=True)
class ShuffledBit:
    """One bit of a person's report, which leaves among `others` reports in
    random order: a bound.

    Every report has `bits` bits, each released by randomized response at
    budget ε = `each`, flipped with probability f. Whatever another person's
    answers are, their bits have at least e^−ε of the chance that they have
    under the person's answers, and any bit is a fair coin with chance 2f.
    So with chance λ = 2f e^−(bits − 1)ε another's report is one whose bit
    is a coin, and whose other bits follow the person's law. An attacker who
    is told all reports that are not so, and which ones they are, has as
    many left as are so, C, and the person's. These tell C, which is
    binomial (`others`, λ), and how many of the C + 1 bits are 1, and no
    more.

    A coin less tells more, so that of C only `COINS` values above its
    quantile of `RARE` are told apart, and `RARE` is added. Without others
    it is `FlippedBits`.
    Source: the clones of Feldman, McMillan and Talwar (2022), for one bit
    of a report.

    >>> ShuffledBit(1.0, 2, others=200).power(0.05) < FlippedBits(1.0, 1).power(0.05)
    True
    """

    each: float
    bits: int
    others: int
    delta: ClassVar[float] = 0.0
    exact: ClassVar[bool] = False

    @property
    def epsilon(self) -> float:
        """Budget of the bit; shuffling leaves it, as the bits of all others
        may come out alike.
        """
        return self.each

    def power(self, false_alarms: float) -> float:
        """Of the test on both numbers, and `RARE`. O(COINS · √C)."""
        flip = 1 / (1 + math.exp(self.each))
        chance = 2 * flip * math.exp(-(self.bits - 1) * self.each)
        number = scipy.stats.binom(self.others, chance)
        least = 0
        if self.others:
            least = max(0, int(number.ppf(RARE)))
        most = min(self.others, least + COINS)
        weights = [number.pmf(coins) for coins in range(least, most)]
        weights.append(number.sf(most - 1))
        false = []
        true = []
        for coins, weight in enumerate(weights, start=least):
            if_zero, if_one = _chances_of_sum(coins)
            false.append(weight * ((1 - flip) * if_zero + flip * if_one))
            true.append(weight * ((1 - flip) * if_one + flip * if_zero))
        if_false = np.concatenate(false)
        if_true = np.concatenate(true)
        order = np.argsort(-if_true / if_false, kind="stable")
        bound = _power(if_false[order], if_true[order], false_alarms)
        if least > 0:
            bound += RARE
        return min(bound, FlippedBits(self.each, 1).power(false_alarms))


def _chances_of_sum(coins: int) -> tuple[Floats, Floats]:
    """Law of the sum of so many fair coins and a bit that is 0, and of one
    that is 1.
    """
    reach = math.ceil(TAIL * math.sqrt(coins) / 2) + 2
    total = np.arange(max(0, coins // 2 - reach), min(coins, coins // 2 + reach) + 2)
    if_zero = scipy.stats.binom.pmf(total, coins, 0.5)
    if_one = scipy.stats.binom.pmf(total - 1, coins, 0.5)
    return if_zero, if_one


@dataclass(frozen=True)
class LaplaceShift:
    """One number that differs by 1, released with Laplace noise of scale
    1/epsilon.

    Source: Neyman and Pearson.
    """

    epsilon: float
    delta: ClassVar[float] = 0.0
    exact: ClassVar[bool] = True

    def power(self, false_alarms: float) -> float:
        """P(X + 1 > x) where P(X > x) is `false_alarms`.

        The likelihood ratio grows with the released number.
        """
        noise = scipy.stats.laplace(scale=1 / self.epsilon)
        return float(noise.sf(noise.isf(false_alarms) - 1))


@dataclass(frozen=True)
class GaussianShifts:
    """`entries` counts that differ by 1 each, with discrete Gaussian noise
    of parameter `variance`.

    The likelihood ratio grows with the sum of the noisy counts, whose law
    is the convolution of `entries` discrete Gaussians. The loss is not
    bounded, so the budget is one at `delta`.
    """

    variance: float
    entries: int
    delta: float
    exact: ClassVar[bool] = True

    @property
    def epsilon(self) -> float:
        """ε at δ, by concentrated privacy; see `accounting.zcdp_epsilon`."""
        return float(zcdp_epsilon(gaussian_rho(self.entries, self.variance), self.delta))

    @cached_property
    def _law(self) -> Floats | None:
        """Law of the sum of the noise, from −k to k; None where it is
        Gaussian to all digits.
        """
        reach = math.ceil(TAIL * math.sqrt(self.variance)) + 1  # of the noise of one entry
        deviation = math.sqrt(self.variance * self.entries)
        half = math.ceil(TAIL * deviation) + self.entries + reach
        if 2 * half + 1 > LONGEST:
            return None
        padded = np.zeros(2 * half + 1)
        noise = np.arange(-reach, reach + 1)
        padded[noise] = gaussian_pmf(noise, self.variance)  # around 0, cyclic
        law = np.fft.irfft(np.fft.rfft(padded) ** self.entries, padded.size)
        return np.maximum(np.fft.fftshift(law), 0.0)

    def power(self, false_alarms: float) -> float:
        """Of the test on the sum. O(k log k) for a law of k entries."""
        if self._law is None:
            shift = math.sqrt(self.entries / self.variance)
            return float(special.ndtr(special.ndtri(false_alarms) + shift))
        law = self._law[::-1]  # large sums first
        return _power(law, np.roll(law, -self.entries), false_alarms)


@dataclass(frozen=True)
class Bound:
    """What (ε, δ) allows any attack on any mechanism: min(e^ε α + δ,
    1 − e^−ε (1 − α − δ)).

    Attained by few.
    Source: Kairouz, Oh and Viswanath (2015), Theorem 2.1; Wasserman and
    Zhou (2010).
    """

    epsilon: float
    delta: float = 0.0
    exact: ClassVar[bool] = False

    def power(self, false_alarms: float) -> float:
        """The bound."""
        up = math.exp(min(self.epsilon, 700)) * false_alarms + self.delta
        return min(1.0, up, 1 - math.exp(-self.epsilon) * (1 - false_alarms - self.delta))


def _power(false: Floats, true: Floats, level: float) -> float:
    """Power of the randomised test that rejects outcomes from the first on.

    false, true: their chances.
    """
    used = np.cumsum(false)
    whole = int(np.searchsorted(used, level, side="right"))
    power = float(true[:whole].sum())
    if whole < len(false) and false[whole] > 0:
        spent = used[whole - 1] if whole else 0.0
        power += float(true[whole] * (level - spent) / false[whole])
    return min(power, 1.0)
