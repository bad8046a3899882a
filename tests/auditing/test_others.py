"""Mechanisms of other people's kinds, each right and wrong: right ones never violate, wrong ones do.

They are neither in the program nor in its benchmarks, and were chosen before they were audited.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import pipeline as pl
from pipeline.auditing.audit import Case, Options, audit
from pipeline.auditing.neighbours import same_data
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair
from pipeline.auditing.subject import Subject
from pipeline.study.parameters import InvalidInput

E = math.e
BITS = ([0, 1, 1], [0, 1, 0])
SCORES = ([1, 0, 0, 0], [0, 1, 1, 1])
ONE = (0, 1)
SAMPLES = 20_000


def on_a_grid(numbers):
    """Multiples of 1/64."""
    return np.round(numbers * 64) / 64


def staircase(bits, samples, rng, epsilon=1.0):
    """Geng and Viswanath (2014)."""
    width = 1 / (1 + np.exp(epsilon / 2))
    ratio = np.exp(-epsilon)
    sign = rng.choice([-1, 1], samples)
    step = rng.geometric(1 - ratio, samples) - 1
    uniform = rng.random(samples)
    is_inner = rng.random(samples) < width / (width + (1 - width) * ratio)
    inner = step + width * uniform
    outer = step + width + (1 - width) * uniform
    return on_a_grid(np.sum(bits) + sign * np.where(is_inner, inner, outer))


def permute_and_flip(scores, samples, rng, epsilon=1.0):
    """McKenna and Sheldon (2020)."""
    scores = np.asarray(scores, float)
    order = np.argsort(rng.random((samples, len(scores))), axis=1)
    chances = np.exp(epsilon * (scores - scores.max()) / 2)
    coins = rng.random(order.shape) < chances[order]
    return order[np.arange(samples), np.argmax(coins, axis=1)]


def noisy_minimum(scores, samples, rng, scale=2.0):
    """Which score is least after Laplace noise."""
    noise = rng.laplace(scale=scale, size=(samples, len(scores)))
    return np.argmin(np.asarray(scores) + noise, axis=1)


def gumbel_maximum(scores, samples, rng, scale=2.0):
    """The exponential mechanism by Gumbel noise."""
    noise = rng.gumbel(scale=scale, size=(samples, len(scores)))
    return np.argmax(np.asarray(scores) + noise, axis=1)


def subsampled(bits, samples, rng, rate=0.3):
    """A noisy count of some people; claims the amplified budget."""
    is_in = rng.random((samples, len(bits))) < rate
    counts = (is_in * np.array(bits)).sum(axis=1)
    return np.floor((counts + rng.laplace(size=samples)) * 4) / 4


def of_clipped(numbers, samples, rng, bound=1.0):
    """A sum of clipped numbers; bound None clips at the largest of the data."""
    numbers = np.asarray(numbers, float)
    top = numbers.max() if bound is None else bound
    return on_a_grid(np.clip(numbers, 0, top).sum() + rng.laplace(scale=top, size=samples))


def propose_test_release(bits, samples, rng, scale=1.0):
    """Whether the distance to the next unstable data set seems large."""
    distance = np.sum(bits) + rng.laplace(scale=scale, size=samples)
    return (distance > math.log(1 / (2 * 1e-3)) + 1).astype(float)


def of_k_answers(answer, samples, rng, others=3):
    """Randomized response among four answers. others: in the normaliser."""
    stays = rng.random(samples) < E / (E + others)
    return np.where(stays, answer, (answer + rng.integers(1, 4, samples)) % 4)


def vector(numbers, samples, rng, scale=3.0):
    """Laplace noise on three numbers that a person changes by 1 each."""
    return on_a_grid(np.asarray(numbers) + rng.laplace(scale=scale, size=(samples, 3)))


def cut_off(number, samples, rng, is_noise_cut=False):
    """Outputs that are cut off at 3, or noise that is."""
    noise = rng.laplace(size=4 * samples)
    if is_noise_cut:
        noise = noise[np.abs(noise) < 3]
    return np.floor(np.clip(number + noise[:samples], -3, 4) * 4) / 4


def histogram(counts, samples, rng, is_suppressed=False):
    """Discrete Laplace noise on every bin; or on those only that are not empty."""
    size = (samples, len(counts))
    stop = 1 - 1 / E
    noisy = np.asarray(counts) + rng.geometric(stop, size) - rng.geometric(stop, size)
    return np.where(np.asarray(counts) > 0, noisy, 0) if is_suppressed else noisy


def in_single_precision(number, samples, rng, is_rounded=True):
    """Noise in single precision, on a grid or as it is."""
    noise = rng.laplace(size=samples).astype(np.float32)
    if is_rounded:
        return np.float32(on_a_grid(noise) + number)
    return np.float32(number * 0.1) + noise * np.float32(0.1)


def unary(answer, samples, rng, epsilon=0.5):
    """RAPPOR's permanent response on four bits, of which two differ. epsilon: of a bit."""
    flip = 1 / (1 + np.exp(epsilon))
    return (rng.random((samples, 4)) < flip) ^ np.eye(4, dtype=bool)[answer]


def piecewise(number, samples, rng, epsilon=1.0):
    """Wang et al. (2019), for numbers from −1 to 1."""
    root = np.exp(epsilon / 2)
    most = (root + 1) / (root - 1)
    low = (most + 1) / 2 * number - (most - 1) / 2
    near = low + (most - 1) * rng.random(samples)
    far = (most + 1) * rng.random(samples)
    far = np.where(far < low + most, far - most, far - 1)
    return on_a_grid(np.where(rng.random(samples) < root / (root + 1), near, far))


def gaussian(number, samples, rng, sigma=1.0):
    """Normal noise."""
    return on_a_grid(number + rng.normal(scale=sigma, size=samples))


def running_counts(bits, samples, rng, scale=3.0):
    """All partial sums, of which a person changes three."""
    return on_a_grid(np.cumsum(bits) + rng.laplace(scale=scale, size=(samples, len(bits))))


def sparse_vector(scores, samples, rng, is_noisy=True):
    """The first score above a noisy threshold; −1 if none is."""
    threshold = rng.laplace(scale=2, size=(samples, 1))
    noise = rng.laplace(scale=4 if is_noisy else 0.5, size=(samples, len(scores)))
    above = np.asarray(scores) + noise >= threshold
    return np.where(above.any(axis=1), above.argmax(axis=1), -1)


def seeded_by_data(bits, samples, rng):
    """Noise that is the same for the same data."""
    own = np.random.default_rng(int(np.sum(bits)))
    return np.floor((np.sum(bits) + own.laplace(size=samples)) * 4) / 4


def sizes(bits, samples, rng):
    """As many numbers as there are ones."""
    return np.floor(rng.laplace(size=(samples, 1 + int(np.sum(bits)))))


@dataclass(frozen=True)
class Form:
    """A mechanism in its right and in its wrong form; None where there is only the other one."""

    right: Callable[..., Any] | None
    wrong: Callable[..., Any] | None
    pair: tuple[Any, Any]
    promise: Promise = Promise(1.0)


FORMS = {
    "staircase": Form(staircase, partial(staircase, epsilon=1.3), BITS),
    "permute and flip": Form(permute_and_flip, partial(permute_and_flip, epsilon=2.0), SCORES),
    "noisy minimum": Form(noisy_minimum, partial(noisy_minimum, scale=1.0), SCORES),
    "Gumbel": Form(gumbel_maximum, partial(gumbel_maximum, scale=1.0), SCORES),
    "subsampled": Form(
        subsampled, partial(subsampled, rate=1.0), BITS, Promise(math.log1p(0.3 * (E - 1)))
    ),
    "clipped": Form(of_clipped, partial(of_clipped, bound=None), ([0.2, 0.3, 1], [0.2, 0.3, 0])),
    "propose-test-release": Form(
        propose_test_release,
        partial(propose_test_release, scale=0.2),
        ([1] * 8, [1] * 7 + [0]),
        Promise(1.0, 1e-3),
    ),
    "k answers": Form(of_k_answers, partial(of_k_answers, others=1), (0, 2)),
    "L1 or L2": Form(vector, partial(vector, scale=math.sqrt(3)), ([1, 1, 1], [0, 0, 0])),
    "cut off": Form(cut_off, partial(cut_off, is_noise_cut=True), ONE),
    "histogram": Form(histogram, partial(histogram, is_suppressed=True), ([1, 2], [0, 2])),
    "single precision": Form(
        in_single_precision, partial(in_single_precision, is_rounded=False), ONE
    ),
    "unary": Form(unary, partial(unary, epsilon=1.0), (0, 2)),
    "piecewise": Form(piecewise, partial(piecewise, epsilon=1.5), (1.0, -1.0)),
    "Gaussian": Form(gaussian, partial(gaussian, sigma=0.7071), ONE, Promise(None, mu=1.0)),
    "running counts": Form(
        running_counts, partial(running_counts, scale=1.0), ([1, 0, 0], [0, 0, 0])
    ),
    "sparse vector": Form(sparse_vector, partial(sparse_vector, is_noisy=False), SCORES),
    "seeded by data": Form(None, seeded_by_data, BITS),
    "sizes": Form(None, sizes, BITS),
}


@pytest.mark.parametrize("name", FORMS)
def test_wrong_forms_are_found_and_right_ones_are_not(name):
    form = FORMS[name]
    for mechanism, is_wrong in ((form.right, False), (form.wrong, True)):
        if mechanism is None:
            continue
        pair = Pair("two neighbours", *form.pair)
        answer = audit(
            Case(Subject.of(mechanism), form.promise, [pair]), Options(samples=SAMPLES, repeats=0)
        )
        print(answer)
        assert answer.violates == is_wrong


def answer_of(mechanism, pair=ONE, epsilon=1.0, samples=5_000):
    """An audit in this process."""
    case = Case(Subject.of(mechanism), Promise(epsilon), [Pair("two neighbours", *pair)])
    return audit(case, Options(samples=samples, repeats=0))


def wrong_flips(bit, samples, rng):
    """A bit that is flipped too seldom, which promises 1 and spends 2.197."""
    return (rng.random(samples) < 0.1) ^ bool(bit)


def labels(bit, samples, rng):
    """The bit as a text."""
    return np.array(["no", "yes"])[wrong_flips(bit, samples, rng).astype(int)]


OUTPUTS = {
    "texts": labels,
    "lists of texts": lambda *call, rng: labels(*call, rng).tolist(),
    "tuples": lambda *call, rng: [("a", bool(flip)) for flip in wrong_flips(*call, rng)],
    "mappings": lambda *call, rng: [{"b": bool(flip)} for flip in wrong_flips(*call, rng)],
    "bytes": lambda *call, rng: labels(*call, rng).astype("S"),
    "decimals": lambda *call, rng: [Decimal(int(flip)) for flip in wrong_flips(*call, rng)],
    "sparse": lambda *call, rng: sparse.csr_matrix(wrong_flips(*call, rng)[:, None]),
    "masked": lambda *call, rng: np.ma.masked_array(np.ones(call[1]), wrong_flips(*call, rng)),
    "frames": lambda *call, rng: pd.DataFrame({"x": wrong_flips(*call, rng)}),
    "times": lambda *call, rng: np.datetime64(0, "D") + wrong_flips(*call, rng).astype(int),
    "complex": lambda *call, rng: 1j * wrong_flips(*call, rng),
    "long whole numbers": lambda *call, rng: 2**60 + wrong_flips(*call, rng).astype(int),
    "unsigned": lambda *call, rng: np.uint64(2**63) + wrong_flips(*call, rng).astype(np.uint64),
    "none": lambda *call, rng: np.where(wrong_flips(*call, rng), np.nan, 1.0),
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_outputs_of_any_kind_are_told_apart(kind):
    answer = answer_of(OUTPUTS[kind])
    assert answer.violates and answer.epsilon_lower < math.log(9) + 1e-6


def test_events_name_texts():
    assert answer_of(labels).event.startswith("the output is (yes): chances 0.1 and 0.9")


def leaves_order(numbers, samples, rng):
    """Sorts its data in place, as careless code does; right all the same."""
    numbers.sort()
    return on_a_grid(numbers[-1] + rng.laplace(size=samples))


def takes_away(numbers, samples, rng):
    """Takes an answer away from its data in each call, and spends twice its budget."""
    last = numbers.pop() if numbers else 0
    return on_a_grid(last + rng.laplace(scale=0.5, size=samples))


def test_each_call_gets_the_data_as_they_were():
    pair = ([1, 0], [0, 0])
    assert not answer_of(leaves_order, pair).violates
    assert pair == ([1, 0], [0, 0])
    assert answer_of(takes_away, ([0, 1], [0, 0])).violates


def with_one_threshold(scores, samples, rng):
    """Sparse vector whose samples share the noise of the threshold."""
    threshold = rng.laplace(scale=2)
    noise = rng.laplace(scale=4, size=(samples, len(scores)))
    above = np.asarray(scores) + noise >= threshold
    return np.where(above.any(axis=1), above.argmax(axis=1), -1)


def test_samples_that_share_noise_or_depend_on_earlier_calls_are_refused():
    calls = []

    def drifting(bit, samples, rng):
        calls.append(bit)
        return on_a_grid(bit + 10 * len(calls) + rng.laplace(size=samples))

    for mechanism, pair in ((with_one_threshold, SCORES), (drifting, ONE)):
        with pytest.raises(InvalidInput, match="draw all noise anew"):
            answer_of(mechanism, pair)


def test_a_pair_of_equal_data_is_refused():
    frame = pd.DataFrame({"x": [1, 2]})
    equal = [("ab", "ab"), ({1}, {1}), ({"a": 1}, {"a": 1}), (frame, frame.copy())]
    for first, second in equal:
        assert same_data(first, second)
    assert not same_data({"a": np.zeros(2)}, {"a": np.zeros(2)})  # which say nothing of that


def test_what_a_mechanism_prints_is_not_on_standard_output(capfd):
    def talks(bit, samples, rng):
        print("noise!")
        return wrong_flips(bit, samples, rng)

    assert pl.audit(talks, ONE, epsilon=1.0, samples=1_000, repeats=0).violates
    printed = capfd.readouterr()
    assert printed.out == "" and "noise!" in printed.err
