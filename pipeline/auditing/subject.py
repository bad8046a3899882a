"""A mechanism as an audit sees it: samples of a data set's output, with random numbers that the
audit chooses where it can.

Any callable (dataset, number_of_samples) -> array serves, whose first axis is the samples. If it
has a parameter `rng`, it gets a generator. Else NumPy's global state, Python's `random` and what
`numpy.random.default_rng()` returns are seeded before every call, and a mechanism that takes its
random numbers from elsewhere is audited without a replay.
"""

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.auditing.guarded import Clock
from pipeline.auditing.lending import Lending
from pipeline.auditing.offered import LogDensity, checked
from pipeline.auditing.outputs import Codes, array_of
from pipeline.auditing.recorder import Draw, Recorder, Seed
from pipeline.study.arrays import Array, Floats
from pipeline.study.parameters import InvalidInput, shorten

Mechanism = Callable[..., Any]


class NotFinite(Exception):
    """The mechanism draws what cannot be enumerated, or too much of it."""


class Raised(Exception):
    """The mechanism raised an error, which is `__cause__`."""

    def __init__(self, error: BaseException):
        super().__init__(f"{type(error).__name__}: {shorten(error, 200)}")
        self.kind = type(error).__name__
        self.__cause__ = error


@dataclass(frozen=True)
class Replayed:
    """Output of one call with a recorded stream. values: (samples, numbers). draws: in order."""

    values: Floats
    draws: list[Draw]
    form: str


@dataclass
class Subject:
    """A mechanism with a name. grid: outputs are rounded to multiples of it, None is as they are.

    rounding is post-processing, so what is certified of rounded outputs is true of the mechanism.
    takes_rng: whether the callable has a parameter `rng`. log_density: of outputs (samples,
    numbers) and a data set, if one is offered. codes: numbers for outputs that are texts. lending:
    of data sets, as some mechanisms change them.
    """

    mechanism: Mechanism
    name: str
    grid: float | None = None
    takes_rng: bool = False
    clock: Clock = field(default_factory=Clock)
    log_density: LogDensity | None = None
    codes: Codes = field(default_factory=Codes)
    lending: Lending = field(default_factory=Lending)

    @classmethod
    def of(cls, mechanism: object, grid: float | None = None) -> "Subject":
        """The subject of a callable; InvalidInput for anything else."""
        if isinstance(mechanism, type) and callable(mechanism):
            allowed = f"is a class; give its parameters, as {mechanism.__name__}(…)"
            raise InvalidInput("mechanism", mechanism.__name__, allowed)
        if not callable(mechanism):
            allowed = "must be callable as mechanism(dataset, number_of_samples), giving an array"
            raise InvalidInput("mechanism", shorten(mechanism), allowed)
        name = getattr(mechanism, "__name__", type(mechanism).__name__)
        log_density = checked(getattr(mechanism, "log_density", None))
        takes_rng = _takes_rng(mechanism)
        return cls(mechanism, name, grid, takes_rng, log_density=log_density)

    def sample(self, dataset: object, samples: int, seed: Seed) -> Floats:
        """(samples, numbers): outputs of one call, as numbers.

        Raises Raised where the mechanism does, and InvalidInput for what is no array of samples.
        """
        return self.numbers(self.call(dataset, samples, seed, []), samples)

    def replay(self, dataset: object, samples: int, seed: Seed) -> Replayed:
        """One call whose draws are noted."""
        draws: list[Draw] = []
        output = self.call(dataset, samples, seed, draws)
        return Replayed(self.numbers(output, samples), draws, form_of(output))

    def call(self, dataset: object, samples: int, seed: Seed, draws: list[Draw] | None) -> Array:
        """The output of one call, as an array; draws are noted in a list."""
        return self.called_with(dataset, samples, Recorder(seed, [] if draws is None else draws))

    def called_with(self, dataset: object, samples: int, rng: np.random.Generator) -> Array:
        """The output of one call with a generator."""
        lent = self.lending.lent(dataset)
        self.clock.begin()
        try:
            if self.takes_rng:
                output = self.mechanism(lent, samples, rng=rng)
            else:
                with _global_stream(rng):
                    output = self.mechanism(lent, samples)
        except (KeyboardInterrupt, MemoryError, InvalidInput, NotFinite):
            raise
        except (Exception, SystemExit) as error:
            raise Raised(error) from error
        finally:
            self.clock.end()
            self.lending.returned(dataset, lent)
        return array_of(output, samples)

    def numbers(self, output: Array, samples: int) -> Floats:
        """(samples, numbers) of an array of any type; InvalidInput for samples without numbers."""
        values = self.codes.numbers(output, samples)
        if self.grid is not None:
            values = np.round(values / self.grid) * self.grid
        return values


def form_of(output: Array) -> str:
    """Type and shape of a sample."""
    return f"{output.dtype.kind} of shape {output.shape[1:]}"


def _takes_rng(mechanism: Mechanism) -> bool:
    try:
        parameters = inspect.signature(mechanism).parameters
    except (TypeError, ValueError):  # compiled code
        return False
    return "rng" in parameters


@contextmanager
def _global_stream(rng: np.random.Generator) -> Iterator[None]:
    """Within, random numbers that nobody seeded come from a recorder's stream, or from seeds drawn
    of it.
    """
    word = int(rng.bit_generator.random_raw() & 0xFFFFFFFF)
    python_state = random.getstate()
    numpy_state = np.random.get_state()  # noqa: NPY002 -- a mechanism may draw from it
    original = np.random.default_rng
    spawned = iter(range(1 << 30))

    def default_rng(seed: Seed | None = None) -> np.random.Generator:
        if seed is not None:
            return original(seed)
        return Recorder([word, next(spawned)], getattr(rng, "draws", []))

    random.seed(word)
    np.random.seed(word)  # noqa: NPY002
    np.random.default_rng = default_rng  # type: ignore[assignment]  # for fewer seeds
    try:
        yield
    finally:
        np.random.default_rng = original
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
