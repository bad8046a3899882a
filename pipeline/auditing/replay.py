"""Level 2: one recorded stream of random numbers on both data sets.

A draw whose number, kind or parameters depend on the data is named with its
line. Where all draws are equal, the difference of the outputs is the same for
every stream if noise is only added; then the law of the noise follows from the
draws, and the budget that it spends from both, exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from pipeline.auditing.promise import Promise
from pipeline.auditing.recorder import Draw
from pipeline.auditing.samples import Pair
from pipeline.auditing.subject import Replayed, Subject
from pipeline.study.arrays import Floats

SAMPLES = 24
NAMED = 4  # draws that are named
CLOSE = 1e-9  # relative difference that is rounding
TINY = 1e-300
ADDED = {"laplace": "laplace", "normal": "normal", "standard_normal": "normal"}


@dataclass(frozen=True)
class Replay:
    """What one stream shows. notes: draws that depend on the data, and other remarks.

    shift: (numbers,) difference of the outputs, where it is the same in all
    samples; else None. epsilon: at the promise's δ, and rho and mu, spent by
    the noise that is added; None where its law is not seen. violates: whether
    that is more than promised, or a number has no noise.
    """

    pair: Pair
    notes: tuple[str, ...]
    shift: Floats | None = None
    epsilon: float | None = None
    rho: float | None = None
    mu: float | None = None
    violates: bool = False
    event: str = ""


@dataclass(frozen=True)
class AddedNoise:
    """Independent noise of one law. scales: (numbers,), of each number."""

    law: str
    scales: Floats


def replayed(
    subject: Subject, pair: Pair, promise: Promise, seed: int, sensitivity: float | None = None
) -> Replay:
    """Compare both data sets on one stream.

    sensitivity: largest change of any number, which the mechanism declares;
    None for none.
    """
    first, again, second = (
        subject.replay(dataset, SAMPLES, [seed, 0])
        for dataset in (pair.first, pair.first, pair.second)
    )
    if not np.array_equal(first.values, again.values, equal_nan=True):
        note = "its random numbers do not come from rng or NumPy's defaults: not replayed"
        return Replay(pair, (note,))
    notes = (*_dependent(first.draws, second.draws), *_patterns(first, second))
    if first.values.shape != second.values.shape:
        return Replay(pair, notes)
    shift = _shift(first.values, second.values)
    if shift is None or not first.draws or not second.draws:
        return Replay(pair, notes)
    largest = float(np.abs(shift).max(initial=0))
    if sensitivity is not None and largest > sensitivity * (1 + CLOSE):
        notes = (
            *notes,
            f"a number changes by {largest:g}, its declared sensitivity is {sensitivity:g}",
        )
    noise = _added(first)
    other = _added(second)
    if noise is None or other is None or not _alike(noise, other):
        return Replay(pair, notes, shift)
    return _accounted(pair, promise, notes, shift, noise)


def _accounted(
    pair: Pair, promise: Promise, notes: tuple[str, ...], shift: Floats, noise: AddedNoise
) -> Replay:
    """What added noise spends on a shift."""
    moved = np.abs(shift) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(moved, np.abs(shift) / noise.scales, 0.0)
    plain = np.flatnonzero(~np.isfinite(ratios))
    if plain.size:
        event = f"number {plain[0] + 1} differs by {shift[plain[0]]:g} and has no noise"
        infinite = float("inf")
        return Replay(pair, notes, shift, infinite, infinite, infinite, True, event)
    if noise.law == "normal":
        mu = float(np.sqrt((ratios**2).sum()))
        epsilon = _gaussian_epsilon(mu, promise.delta)
        rho: float | None = mu**2 / 2
    else:
        mu = _laplace_mu(float(ratios.max(initial=0)))
        rho = None
        epsilon = float(ratios.sum())
        if promise.delta > 0 and len(ratios[moved]) > 0:
            epsilon = _laplace_epsilon(float(ratios.max()), promise.delta)
    text = f"{noise.law} noise of scale {noise.scales[moved].min(initial=np.inf):.6g}"
    event = f"{text} hides a change of {np.abs(shift).sum():g} in {moved.sum()} numbers"
    violates = promise.epsilon is not None and epsilon > promise.epsilon * (1 + 1e-7)
    violates |= promise.rho is not None and rho is not None and rho > promise.rho * (1 + 1e-7)
    violates |= promise.mu is not None and mu > promise.mu * (1 + 1e-7)
    return Replay(pair, notes, shift, epsilon, rho, mu, violates, event)


def _dependent(first: Sequence[Draw], second: Sequence[Draw]) -> tuple[str, ...]:
    """Draws whose number, kind or parameters differ, by their lines."""
    notes: list[str] = []
    for ours, theirs in zip(first, second, strict=False):
        if ours.kind != theirs.kind or ours.line != theirs.line:
            notes.append(f"{ours.line}: {ours.kind} or {theirs.kind} is drawn, by the data")
            break
        if ours.parameters != theirs.parameters:
            notes.append(f"{ours.line}: parameters of {ours.kind} depend on the data")
    if len(first) != len(second):
        last = max(first, second, key=len)[-1]
        counts = f"{len(first)} or {len(second)}"
        notes.append(f"{last.line}: {counts} draws are made, by the data")
    return tuple(dict.fromkeys(notes))[:NAMED]


def _patterns(first: Replayed, second: Replayed) -> tuple[str, ...]:
    """What differs on equal streams and tells of the data by itself: zeros and missing numbers."""
    notes = []
    if first.values.shape != second.values.shape:
        return (f"outputs are {first.form} or {second.form}, by the data",)
    if not np.array_equal(np.isnan(first.values), np.isnan(second.values)):
        notes.append("which numbers are missing depends on the data")
    zeros = [(side.values == 0).all(axis=0) for side in (first, second)]
    if not np.array_equal(*zeros):
        column = int(np.flatnonzero(zeros[0] != zeros[1])[0])
        notes.append(f"number {column + 1} is always 0 on one data set only")
    return tuple(notes)


def _shift(first: Floats, second: Floats) -> Floats | None:
    """The difference of the outputs, where it is the same in all samples."""
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        difference = first - second
    if not np.isfinite(difference).all():
        return None
    size = np.abs(first).max(axis=0, initial=0) + np.abs(second).max(axis=0, initial=0)
    shift: Floats = np.median(difference, axis=0)
    if (np.abs(difference - shift) > CLOSE * size + TINY).any():
        return None
    return np.where(np.abs(shift) > CLOSE * size, shift, 0.0)


def _added(replay: Replayed) -> AddedNoise | None:
    """The noise that is added to each number; None unless every number is a constant and a multiple
    of one draw of its own.
    """
    laws = {ADDED.get(draw.kind, "") for draw in replay.draws}
    if len(laws) != 1 or "" in laws:
        return None
    drawn = _standardised(replay.draws)
    if drawn is None or drawn.size != replay.values.size:
        return None
    noise = drawn.reshape(replay.values.shape)
    scales = _slopes(noise, replay.values)
    if scales is None:
        return None
    return AddedNoise(laws.pop(), np.abs(scales))


def _standardised(draws: Sequence[Draw]) -> Floats | None:
    """All numbers drawn, in order, as draws of scale 1 around 0."""
    numbers = []
    for draw in draws:
        if draw.values is None:
            return None
        location: Any = 0.0
        scale: Any = 1.0
        if draw.kind != "standard_normal":
            location = _argument(draw, 0, "loc", 0.0)
            scale = _argument(draw, 1, "scale", 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            numbers.append(np.ravel((draw.values - location) / scale))
    together: Floats = np.concatenate(numbers)
    return together if np.isfinite(together).all() else None


def _argument(draw: Draw, place: int, name: str, default: float) -> object:
    if len(draw.arguments) > place:
        return np.asarray(draw.arguments[place], float)
    return np.asarray(draw.named.get(name, default), float)


def _slopes(noise: Floats, values: Floats) -> Floats | None:
    """(numbers,): the factor of the noise in each number; None where it is no such sum."""
    centred = noise - noise.mean(axis=0)
    moved = values - values.mean(axis=0)
    slopes: Floats = (centred * moved).sum(axis=0) / (centred**2).sum(axis=0)
    left = np.abs(moved - slopes * centred).max(axis=0)
    size = np.abs(values).max(axis=0) + np.abs(slopes) * np.abs(noise).max(axis=0)
    if (left > 1e-7 * np.maximum(size, TINY)).any():
        return None
    return np.where(np.abs(slopes) > CLOSE * np.maximum(size, TINY), slopes, 0.0)


def _alike(first: AddedNoise, second: AddedNoise) -> bool:
    return first.law == second.law and np.allclose(first.scales, second.scales, rtol=1e-6)


def _gaussian_epsilon(mu: float, delta: float) -> float:
    """ε at δ of noise with that ratio of shift and deviation. Source: Balle and Wang (2018)."""
    if mu == 0:
        return 0.0
    if delta == 0:
        return float("inf")
    low = 0.0
    high = mu**2 / 2 + mu * 40
    for _ in range(200):
        middle = (low + high) / 2
        first = special.log_ndtr(mu / 2 - middle / mu)
        second = middle + special.log_ndtr(-mu / 2 - middle / mu)
        if np.exp(first) - np.exp(second) > delta:
            low = middle
        else:
            high = middle
    return float(high)


def _laplace_epsilon(ratio: float, delta: float) -> float:
    """A lower bound of ε at δ of several numbers with Laplace noise: that of the largest change.

    δ(ε) = 1 − e^((ε − r)/2) for one number.
    """
    return float(max(ratio + 2 * np.log1p(-delta), 0.0))


def _laplace_mu(ratio: float) -> float:
    """The μ that the best test on one number certifies: at the middle of the curve."""
    alarm = np.exp(-ratio / 2) / 2
    return float(-2 * special.ndtri(alarm))
