"""Seeded noise on the integers, exact in law, for simulation: Gaussian and
Laplace.

For the release of somebody's real data use `pipeline.privacy.vetted_noise`.

One sampler serves both laws. Let p be symmetric and decreasing in |x|. The
integers up to a cut, beyond which p has mass below 2⁻⁵⁷, are divided into
blocks of w = 2^s numbers, none of which crosses zero (blocks start at
multiples of w). Of the 2⁶⁴ values of a random word, every number of block b
gets c_b = ⌊2⁶⁴ min_b p⌋:

* word < Σ_b w c_b: the block by inversion of the cumulated counts of words,
  the number in the block by the last s bits of the word. A block has a
  multiple of w words, starting at a multiple of w, so the number is uniform
  given the block, and every x of b has probability c_b/2⁶⁴ exactly.
* otherwise: x from the remainder p(x) − c_b/2⁶⁴ ≥ 0, by rejection: the
  block with weight max_b p − c_b/2⁶⁴, the number uniform, accepted with
  probability (p(x) − c_b/2⁶⁴)/(max_b p − c_b/2⁶⁴).

Together they give p: the second case has probability 1 − Σ w c_b/2⁶⁴, the
sum of the remainder over all x, so x has probability
c_b/2⁶⁴ + (p(x) − c_b/2⁶⁴). With w = 1 (σ < 64, scale < 32) there is no
second case: the words left over, a share of at most 1e-15, give 0. Words
are exact integers, not 53-bit doubles. The errors are: that of p in double
arithmetic, about 1e-16 relatively; that of the remainder, at most 3 % of
the draws, whose acceptance has the resolution 2⁻⁵³ of a double; and the
cut. Together they are below 1e-15 in total variation (summed with 40 digits
in the tests). Small probabilities keep their relative accuracy: those above
1e-10 to nine digits, those of 1e-18 to one.

Inversion looks up a word's first 15 bits in a table of blocks (a guide
table); where these do not determine the block, for at most 1 word in 25, it
is searched for. So nearly all draws cost one word, one table look-up and
one sum. The width keeps table and remainder small: σ/64 < w ≤ σ/32,
scale/32 < w ≤ scale/16. Tables of the last 64 laws are kept, 0.3 MB each.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.privacy.integer_laws import gaussian_pmf, laplace_pmf, positive
from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import InvalidInput
from pipeline.study.slices import ByCall

# Variance: σ up to 1e9; draws are far from the limits of int64 and of the
# integers among doubles.
LARGEST = 1e18
_GUIDE = 15  # bits
_REST = np.uint64(64 - _GUIDE)
_LAST_BITS = np.uint64(2 ** (64 - _GUIDE) - 1)
_OPEN = np.iinfo(np.int64).min  # in the guide: these bits do not determine the block
_CHUNK = 1 << 14  # words at once, so that they stay in the cache
Shape = int | tuple[int, ...]
_BELOW_ONE = 1 - 2.0**-53


def discrete_gaussian(rng: np.random.Generator, variance: float, size: Shape) -> Integers:
    """Independent draws from N_Z(0, σ²), P(x) ∝ exp(−x²/(2σ²)); int64 of
    shape `size`.

    variance: the parameter σ², in (0, 1e18]; at 1e-2 already all but 1e-21
    of the draws are 0. Law within 1e-15 in total variation, see the module.
    The same generator gives the same numbers. O(size), after O(1200) for a
    new variance. Raises `InvalidInput` for another variance.
    Source: Canonne, Kamath and Steinke (2020), Definition 1; not their
    algorithm.
    """
    variance = float(positive("variance", variance))
    if variance > LARGEST:
        raise InvalidInput("variance", variance, f"must be ≤ {LARGEST:g}")
    return _gaussian(variance).draw(rng, size)


def discrete_laplace(rng: np.random.Generator, scale: float, size: Shape) -> Integers:
    """Independent draws from the discrete Laplace, P(x) ∝ exp(−|x|/scale);
    int64 of shape `size`.

    scale: in (0, 1e9]. Law, generator and cost as `discrete_gaussian`.
    Raises `InvalidInput` for another scale.
    Source: Ghosh, Roughgarden and Sundararajan (2009).
    """
    scale = float(positive("scale", scale))
    if scale > math.sqrt(LARGEST):
        raise InvalidInput("scale", scale, f"must be ≤ {math.sqrt(LARGEST):g}")
    return _laplace(scale).draw(rng, size)


@lru_cache(64)
def _gaussian(variance: float) -> "Sampler":
    sigma = math.sqrt(variance)
    return Sampler(lambda x: gaussian_pmf(x, variance), 9.2 * sigma, sigma / 32)


@lru_cache(64)
def _laplace(scale: float) -> "Sampler":
    return Sampler(lambda x: laplace_pmf(x, scale), 42 * scale, scale / 16)


class Sampler:
    """Sampler of a symmetric law on the integers that decreases in |x|.

    pmf: vectorised; reach: |x| beyond which less than 2⁻⁶⁰ lies; widest:
    bound of a block's width. bits: s; first (blocks,): smallest number of a
    block; starts (blocks,): its first word; total: words in blocks; guide
    (2¹⁵,): smallest number of the block, or open. For w > 1, (blocks,):
    floor c_b/2⁶⁴, height max_b p − c_b/2⁶⁴, and tries, the cumulated
    heights as whole numbers, 2⁶² in all.
    """

    def __init__(self, pmf: Callable[[Integers], Floats], reach: float, widest: float) -> None:
        self.pmf = pmf
        self.bits = max(0, math.frexp(widest)[1] - 1)
        width = 1 << self.bits
        blocks = math.ceil((reach + 1) / width)
        self.first = np.arange(-blocks, blocks) * width
        low, high = np.sort([pmf(self.first), pmf(self.first + width - 1)], axis=0)
        counts = np.floor(np.ldexp(np.minimum(low, _BELOW_ONE), 64))
        if width == 1:
            self.first = self.first[counts > 0]
            words = counts[counts > 0].astype(np.uint64)  # exact
            words[self.first == 0] -= words.sum()  # those left over, modulo 2⁶⁴
            ends = np.cumsum(words)
            self.total = 2**64
            borders = ends[:-1]
        else:
            self.floor = np.ldexp(counts, -64)
            self.height = high - self.floor
            chances = self.height / self.height.sum()
            self.tries = np.cumsum(np.ldexp(chances, 62).astype(np.uint64))
            words = np.ldexp(counts, self.bits).astype(np.uint64)  # exact
            ends = np.cumsum(words)
            self.total = int(ends[-1])
            borders = ends
        self.starts = ends - words
        self.guide = self._guide_table(borders)

    def _guide_table(self, borders: NDArray[np.uint64]) -> Integers:
        """Smallest number of the block that the first bits of a word
        determine, or open.

        borders: of each block the word after its last.
        """
        slots = 1 << _GUIDE
        slot = (borders >> _REST).view(np.int64)
        is_inside = (borders & _LAST_BITS) > 0
        at_beginning = np.bincount(slot + is_inside, minlength=slots).cumsum()[:slots]
        at_end = np.bincount(slot, minlength=slots).cumsum()[:slots]
        number = np.append(self.first, _OPEN)[at_beginning]
        # Determined where no block ends in between.
        return np.where(at_beginning == at_end, number, _OPEN)

    def _block(self, words: NDArray[np.uint64]) -> Integers:
        """Number of the block that owns a word, or the number of blocks if
        none does.
        """
        block = np.searchsorted(self.starts, words, side="right") - 1
        if self.total < 2**64:
            block[words >= np.uint64(self.total)] = self.first.size
        return block

    def draw(self, rng: np.random.Generator, size: Shape) -> Integers:
        """Independent draws; int64 of shape `size`."""
        if isinstance(rng, ByCall):
            return rng.in_chunks(size, self._chunk)
        out = np.empty(size, np.int64)
        flat = out.reshape(-1)
        for start in range(0, flat.size, _CHUNK):
            self._fill(rng, flat[start : start + _CHUNK])
        return out

    def _chunk(self, rng: np.random.Generator, left: int) -> Integers:
        """The next draws, of so many that are left."""
        return self._fill(rng, np.empty(min(left, _CHUNK), np.int64))

    def _fill(self, rng: np.random.Generator, part: Integers) -> Integers:
        """Fill a chunk with draws."""
        words = rng.integers(0, 2**64, part.size, np.uint64)
        np.take(self.guide, (words >> _REST).view(np.int64), out=part, mode="clip")
        unsettled = np.flatnonzero(part == _OPEN)
        block = self._block(words[unsettled])
        outside = block == self.first.size
        part[unsettled] = self.first[block - outside]
        if self.bits:
            words &= np.uint64((1 << self.bits) - 1)
            part += words.view(np.int64)
        if outside.any():
            part[unsettled[outside]] = self._rest(rng, int(np.count_nonzero(outside)))
        return part

    def _rest(self, rng: np.random.Generator, size: int) -> Integers:
        """Draws from p(x) − c_b/2⁶⁴, normalised."""
        drawn = np.empty(0, np.int64)
        while drawn.size < size:
            tries = 2 * (size - drawn.size) + 16  # about half are accepted
            word = rng.integers(0, self.tries[-1], tries, np.uint64)
            block = np.searchsorted(self.tries, word, side="right")
            x = self.first[block] + rng.integers(0, 1 << self.bits, tries)
            height = rng.random(tries) * self.height[block]
            is_accepted = height < self.pmf(x) - self.floor[block]
            drawn = np.concatenate([drawn, x[is_accepted]])
        return drawn[:size]
