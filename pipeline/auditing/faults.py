"""Faults that the program plants in a mechanism, to count how many of them the
same audit finds.

A fault changes the output of the mechanism as it is, on the pair that was
audited; each is a breach of the promise that is known by construction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from pipeline.auditing.lending import Nothing
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair
from pipeline.auditing.subject import Subject
from pipeline.study.arrays import Floats

FACTORS = (1.1, 1.5, 2.0)
LEAK = 3e-5  # δ beyond the promised one
MARK = 2.0**40  # an output that the mechanism never gives
PROBED = 400  # samples, by whose mean an answer without noise is replaced
MANY = 8  # outputs, from which on noise is a number and no flip


@dataclass(frozen=True)
class Site:
    """Where faults are planted. spent: ε that is certified of the mechanism as it
    is.

    means: (2, numbers) rounded mean output of either data set. column: the number
    that differs most. flips: whether outputs are few, so that noise is a flip and
    not a sum.
    """

    subject: Subject
    pair: Pair
    promise: Promise
    spent: float
    means: Floats
    column: int
    flips: bool

    @classmethod
    def of(cls, subject: Subject, pair: Pair, promise: Promise, spent: float) -> "Site":
        """Look at some outputs of both data sets."""
        datasets = (pair.first, pair.second)
        outputs = [np.nan_to_num(subject.sample(data, PROBED, [7])) for data in datasets]
        means = np.array([side.mean(axis=0) for side in outputs])
        spread = np.array([side.std(axis=0) for side in outputs]).sum(axis=0)
        leads = np.abs(means[0] - means[1]) / np.maximum(spread, 1e-12)
        column = int(np.argmax(leads))
        few = len(np.unique(np.concatenate([side[:, column] for side in outputs]))) < MANY
        return cls(subject, pair, promise, spent, np.round(means), column, few)

    def is_second(self, dataset: object) -> int:
        """1 for the second data set of the pair, else 0."""
        return int(dataset is self.pair.second)

    def answer(self, dataset: object) -> float:
        """The number that differs most without its noise.

        It differs between both data sets.
        """
        plain = self.means[:, self.column]
        second = self.is_second(dataset)
        if plain[0] == plain[1]:
            return float(plain[0] + second)
        return float(plain[second])

    def outputs(self, dataset: object, samples: int, rng: np.random.Generator) -> Floats:
        """Outputs of the mechanism as it is, with the same generator where it
        takes one.
        """
        if not self.subject.takes_rng:
            return self.subject.sample(dataset, samples, [int(rng.integers(1 << 62))])
        output = self.subject.called_with(dataset, samples, rng)
        return self.subject.numbers(output, samples)


Spoiled = Callable[[Any, int, np.random.Generator], Floats]
Fault = Callable[[Site], "Spoiled | None"]  # None where it cannot be planted


def over_budget(factor: float) -> Fault:
    """The budget times a factor: one more number tells the data set, with what is
    missing.
    """

    def plant(site: Site) -> Spoiled:
        def spoiled(dataset: object, samples: int, rng: np.random.Generator) -> Floats:
            outputs = site.outputs(dataset, samples, rng)
            bit = site.is_second(dataset)
            return np.column_stack([outputs, _leaked(site, factor, bit, samples, rng)])

        return spoiled

    return plant


def _leaked(site: Site, factor: float, bit: int, samples: int, rng: np.random.Generator) -> Floats:
    promise = site.promise
    if promise.epsilon is not None:
        missing = max(factor * promise.epsilon - site.spent, (factor - 1) * promise.epsilon)
        flip = float(special.expit(-missing))
        return np.asarray((rng.random(samples) < flip) ^ bool(bit), float)
    mu = promise.least_epsilon
    more = factor - 1 if promise.rho is not None else factor**2 - 1
    missing = mu * np.sqrt(more)
    return np.asarray(np.round((rng.normal(size=samples) + bit * missing) * 64) / 64)


def no_noise(site: Site) -> Spoiled:
    """The number that differs most is released without noise."""

    def spoiled(dataset: object, samples: int, rng: np.random.Generator) -> Floats:
        outputs = site.outputs(dataset, samples, rng)
        outputs[:, site.column] = site.answer(dataset)
        return outputs

    return spoiled


def shared_noise(site: Site) -> Spoiled:
    """The noise of one person's number serves another person's, whose answer is
    known.
    """

    def spoiled(dataset: object, samples: int, rng: np.random.Generator) -> Floats:
        outputs = site.outputs(dataset, samples, rng)
        other = outputs[:, site.column] - site.answer(dataset)
        if site.flips:
            other = (other != 0).astype(float)
        return np.column_stack([outputs, other])

    return spoiled


def seed_twice(site: Site) -> Spoiled | None:
    """The data and a data set that is known are released with one seed."""
    first = site.subject.sample(site.pair.first, 4, [8])
    again = site.subject.sample(site.pair.first, 4, [8])
    if not np.array_equal(first, again, equal_nan=True):
        return None

    def spoiled(dataset: object, samples: int, rng: np.random.Generator) -> Floats:
        seed = [int(rng.integers(1 << 62))]
        outputs = site.subject.sample(dataset, samples, seed)
        known = site.subject.sample(site.pair.first, samples, seed)
        return np.column_stack([outputs, known])

    return spoiled


def rounding(site: Site) -> Spoiled | None:
    """Noise is added in floating-point arithmetic, whose last bits depend on the
    answer.
    """
    if site.flips or site.subject.grid is not None:
        return None

    def spoiled(dataset: object, samples: int, rng: np.random.Generator) -> Floats:
        outputs = site.outputs(dataset, samples, rng)
        answer = site.answer(dataset)
        noise = outputs[:, site.column] - answer
        outputs[:, site.column] = noise * 0.1 + answer * 0.1
        return outputs

    return spoiled


def leak(site: Site) -> Spoiled:
    """With chance δ + 3e-5 the output tells the data set."""

    def spoiled(dataset: object, samples: int, rng: np.random.Generator) -> Floats:
        outputs = site.outputs(dataset, samples, rng)
        leaks = rng.random(samples) < LEAK + site.promise.delta
        outputs[leaks, site.column] = MARK * (1 + site.is_second(dataset))
        return outputs

    return spoiled


FAULTS: Mapping[str, Fault] = {
    **{f"budget × {factor:g}": over_budget(factor) for factor in FACTORS},
    "a number without noise": no_noise,
    "noise of one person used for two": shared_noise,
    "a seed used twice": seed_twice,
    "rounding of floating-point numbers": rounding,
    f"a leak of δ = {LEAK:g}": leak,
}


def planted(name: str, site: Site) -> Subject | None:
    """The mechanism with a fault; None where it cannot be planted."""
    spoiled = FAULTS[name](site)
    if spoiled is None:
        return None

    def mechanism(dataset: object, samples: int, rng: np.random.Generator) -> Floats:
        return spoiled(dataset, samples, rng)

    name = f"{site.subject.name}, {name}"
    clock = site.subject.clock
    codes = site.subject.codes
    lending = Nothing()  # the mechanism below has its own
    return Subject(mechanism, name, None, True, clock, codes=codes, lending=lending)
