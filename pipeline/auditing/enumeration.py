"""Level 1: the law of a mechanism's output, exactly, by running its code on every path that its
random numbers can take.

The generator that the mechanism gets draws nothing: where the code asks whether
a uniform number is below a threshold, or for a binomial number, the run is
repeated for each answer, and has the product of their chances. So it is the
code that is judged, not what it is said to do.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, DTypeLike
from scipy import special

from pipeline.auditing.exact import Law
from pipeline.auditing.recorder import DRAWS
from pipeline.auditing.subject import NotFinite
from pipeline.study.arrays import Array, Floats

MOST_PATHS = 20_000
MOST_VALUES = 4_096  # numbers that one call may ask for
WORD = 1 << 64
Index: TypeAlias = Any  # as of an array
Argument: TypeAlias = Any  # numbers, or an array of them, as numpy.random.Generator takes them
Drawn: TypeAlias = Any  # numbers, an array of them, or Unknown: as a generator's calls give them


class Paths:
    """All sequences of answers, one after the other. weight: chance of the present one."""

    def __init__(self) -> None:
        self.prefix: list[int] = []
        self.chances: list[Sequence[float]] = []
        self.depth = 0
        self.weight = 1.0

    def begin(self) -> None:
        """Begin the present path."""
        self.depth = 0
        self.weight = 1.0

    def branch(self, chances: Sequence[float]) -> int:
        """Which of several cases is taken on the present path."""
        if self.depth == len(self.prefix):
            self.prefix.append(_next_possible(chances, 0))
            self.chances.append(chances)
        case = self.prefix[self.depth]
        self.depth += 1
        self.weight *= chances[case]
        return case

    def advance(self) -> bool:
        """Go to the next path; False after the last."""
        while self.prefix:
            chances = self.chances[-1]
            following = _next_possible(chances, self.prefix[-1] + 1)
            if following < len(chances):
                self.prefix[-1] = following
                return True
            self.prefix.pop()
            self.chances.pop()
        return False


def _next_possible(chances: Sequence[float], case: int) -> int:
    while case < len(chances) and chances[case] <= 0:
        case += 1
    return case


class Unknown(NDArrayOperatorsMixin):
    """Uniform numbers of which only is known between which ends they lie, low ≤ number < high.

    A comparison with a threshold decides on which side it is, and takes both
    ways in turn. whole: whether they are integers.
    """

    def __init__(self, paths: Paths, low: Floats, high: Floats, whole: bool):
        self.paths = paths
        self.low = low
        self.high = high
        self.whole = whole

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.low.shape

    @property
    def size(self) -> int:
        """How many numbers."""
        return self.low.size

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, index: Index) -> "Unknown":
        return Unknown(self.paths, self.low[index], self.high[index], self.whole)

    def reshape(self, *shape: int) -> "Unknown":
        """The same numbers in another shape."""
        return Unknown(self.paths, self.low.reshape(*shape), self.high.reshape(*shape), self.whole)

    def astype(self, dtype: DTypeLike, copy: bool = True) -> "Unknown":
        """The same numbers; only words keep their type."""
        if np.dtype(dtype) != np.uint64:
            raise NotFinite("random numbers are converted")
        return self

    def view(self, dtype: DTypeLike) -> "Unknown":
        """The bytes of random words of which nothing is known yet."""
        if np.dtype(dtype) != np.uint8 or not (self.high - self.low == WORD).all():
            raise NotFinite("random numbers are viewed as others")
        size = 8 * self.size
        return Unknown(self.paths, np.zeros(size), np.full(size, 256.0), whole=True)

    def __bool__(self) -> bool:
        raise NotFinite("uniform random numbers are used as they are")

    def __float__(self) -> float:
        raise NotFinite("uniform random numbers are used as they are")

    def __int__(self) -> int:
        raise NotFinite("random integers are used as they are")

    __index__ = __int__

    def __array__(self, *arguments: object, **named: object) -> Array:
        raise NotFinite("uniform random numbers are used as they are")

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Argument, **named: object
    ) -> object:
        flipped = {
            np.less: np.greater,
            np.greater: np.less,
            np.less_equal: np.greater_equal,
            np.greater_equal: np.less_equal,
            np.equal: np.equal,
        }
        if method != "__call__" or ufunc not in flipped or len(inputs) != 2 or named:
            raise NotFinite(f"uniform random numbers are used in {ufunc.__name__}")
        left, right = inputs
        if left is self and not isinstance(right, Unknown):
            return self._compared(ufunc, right)
        if right is self and not isinstance(left, Unknown):
            return self._compared(flipped[ufunc], left)
        raise NotFinite("uniform random numbers are compared with each other")

    def _compared(self, relation: np.ufunc, threshold: ArrayLike) -> Drawn:
        thresholds = np.broadcast_to(np.asarray(threshold, float), self.shape)
        answers = np.empty(self.shape, bool)
        for place in np.ndindex(self.shape):
            bound = float(thresholds[place])
            if relation is np.equal:
                answers[place] = self._is_equal(place, bound)
            elif relation is np.less:
                answers[place] = self._is_below(place, bound)
            elif relation is np.greater_equal:
                answers[place] = not self._is_below(place, bound)
            elif relation is np.less_equal:
                answers[place] = self._is_below(place, self._beyond(bound))
            else:
                answers[place] = not self._is_below(place, self._beyond(bound))
        return answers if self.shape else answers[()]

    def _beyond(self, bound: float) -> float:
        """The bound below which numbers are that are at most `bound`."""
        if self.whole:
            return math.floor(bound) + 1
        return bound

    def _is_below(self, place: tuple[int, ...], bound: float) -> bool:
        """Whether a number is below a bound; takes both ways where it may be either."""
        if self.whole:
            bound = math.ceil(bound)
        low = self.low[place]
        high = self.high[place]
        if bound <= low or bound >= high:
            return bool(bound >= high)
        share = float((bound - low) / (high - low))
        if self.paths.branch((share, 1 - share)) == 0:
            self.high[place] = bound
            return True
        self.low[place] = bound
        return False

    def _is_equal(self, place: tuple[int, ...], bound: float) -> bool:
        if not self.whole or bound != math.floor(bound):
            return False
        return self._is_below(place, bound + 1) and not self._is_below(place, bound)


class Enumerator(np.random.Generator):
    """A generator that takes every path; what it cannot enumerate raises NotFinite."""

    def __init__(self, paths: Paths):
        self._bits = np.random.PCG64(0)
        super().__init__(self._bits)
        self.paths = paths

    @property
    def bit_generator(self) -> np.random.BitGenerator:
        """Refused: compiled code would draw from it what nobody enumerates."""
        raise NotFinite("random bits are drawn")

    def untouched(self) -> bool:
        """Whether nothing was drawn in another way."""
        return self._bits.state == np.random.PCG64(0).state

    def random(self, size: Argument = None, *arguments: object, **named: object) -> Drawn:
        """Uniform numbers in [0, 1)."""
        low = np.zeros(_shape(size))
        return Unknown(self.paths, low, np.ones(low.shape), whole=False)

    def integers(
        self,
        low: Argument,
        high: Argument = None,
        size: Argument = None,
        dtype: Argument = int,
        endpoint: bool = False,
    ) -> Drawn:
        """Uniform integers; each by itself where there are few, else compared only."""
        if high is None:
            high = low
            low = 0
        if np.ndim(low) or np.ndim(high):
            raise NotFinite("integers of several ranges are drawn")
        first = int(low)
        end = int(high) + int(endpoint)
        shape = _shape(size)
        if end - first > 8:
            lows = np.full(shape, float(first))
            return Unknown(self.paths, lows, np.full(shape, float(end)), whole=True)
        count = end - first
        law = np.full(count, 1 / count).tolist()
        return self._each(shape, law, first, dtype)

    def binomial(self, n: Argument, p: Argument, size: Argument = None) -> Drawn:
        """Binomial numbers."""
        trials, chances = np.broadcast_arrays(n, p)
        shape = trials.shape if size is None else _shape(size)
        trials = np.broadcast_to(trials, shape)
        chances = np.broadcast_to(chances, shape)
        laws = []
        for number, chance in zip(trials.flat, chances.flat, strict=True):
            counts = np.arange(int(number) + 1)
            ways = special.binom(int(number), counts)
            laws.append((ways * chance**counts * (1 - chance) ** counts[::-1]).tolist())
        return self._of_laws(shape, laws, 0, np.int64)

    def choice(  # type: ignore[override]
        self,
        a: Argument,
        size: Argument = None,
        replace: bool = True,
        p: Argument = None,
        **named: object,
    ) -> Drawn:
        """One of several, or independent ones."""
        pool = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        shape = _shape(size)
        count = int(np.prod(shape))
        if not replace and count > 1:
            raise NotFinite("choices without replacement are drawn")
        law = np.full(len(pool), 1 / len(pool)) if p is None else np.asarray(p, float)
        return pool[self._each(shape, law.tolist(), 0, np.int64)]

    def _each(
        self, shape: tuple[int, ...], law: Sequence[float], first: int, dtype: DTypeLike
    ) -> Drawn:
        """Independent integers of one law, which begins at `first`."""
        return self._of_laws(shape, itertools.repeat(law, int(np.prod(shape))), first, dtype)

    def _of_laws(
        self, shape: tuple[int, ...], laws: Iterable[Sequence[float]], first: int, dtype: DTypeLike
    ) -> Drawn:
        values = [first + self.paths.branch(law) for law in laws]
        array = np.array(values, dtype).reshape(shape)
        return array if shape else array[()]


def _refusing(kind: str) -> Callable[..., Drawn]:
    def draw(self: Enumerator, *arguments: object, **named: object) -> Drawn:
        raise NotFinite(f"{kind} numbers are drawn")

    return draw


for _kind in [*DRAWS, "spawn"]:
    if _kind not in vars(Enumerator):
        setattr(Enumerator, _kind, _refusing(_kind))


def _shape(size: Argument) -> tuple[int, ...]:
    shape = () if size is None else tuple(np.atleast_1d(size).astype(int).tolist())
    if np.prod(shape) > MOST_VALUES:
        raise NotFinite("too many random numbers are drawn")
    return shape


def law_of(run: Callable[[Enumerator], Array], most: int = MOST_PATHS) -> Law:
    """Output -> its chance, by running a mechanism on all paths.

    run: gives one output with a generator. Raises NotFinite where there are
    more than `most` paths, or what is drawn cannot be enumerated.

    >>> law_of(lambda rng: np.array([rng.random() < 0.25]))
    {(True,): 0.25, (False,): 0.75}
    """
    paths = Paths()
    law: dict[Hashable, float] = {}
    for _ in range(most):
        paths.begin()
        rng = Enumerator(paths)
        output = tuple(run(rng).tolist())
        if not rng.untouched():
            raise NotFinite("random bits are drawn")
        law[output] = law.get(output, 0.0) + paths.weight
        if not paths.advance():
            return law
    raise NotFinite("there are too many paths")
