"""Streams: the same address gives the same numbers, any other address gives independent ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pipeline.study.streams import Stream, canonical, digest

ROLES = ("population", "truth", "data", "noise", "estimator")
LABELS = canonical({"L": 100, "epsilon": 0.5, "m": 10})
N = 20_000


def normal(stream, n=N):
    return stream.generator().standard_normal(n)


def independent(samples, what, alpha=1e-6):
    """True when no two rows correlate beyond chance (Fisher's z, Bonferroni over the pairs)."""
    samples = np.asarray(samples)
    n, pairs = samples.shape[1], len(samples) * (len(samples) - 1) // 2
    correlation = np.corrcoef(samples)[np.triu_indices(len(samples), 1)]
    statistic = np.abs(np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))).max() * np.sqrt(
        n - 3
    )
    bound = stats.norm.isf(alpha / (2 * pairs))
    print(
        f"{what}: n={n} pairs={pairs} statistic={statistic:.3g} bound={bound:.3g} alpha={alpha:g}"
    )
    return statistic <= bound


def neighbours():
    """Addresses that differ from one another in one thing only."""
    yield from (Stream(7, role, LABELS, 0) for role in ROLES)
    yield from (Stream(7, "data", LABELS, block) for block in (-1, 1, 2, 2**32, 2**32 + 1))
    yield from (Stream(root, "data", LABELS, 0) for root in (8, 0, 7 + 2**32, 2**62))
    others = (
        {"m": 11},
        {"L": 101},
        {"epsilon": 0.5 + 2**-53},
        {"epsilon": 1},
        {"epsilon": 1.0},
        {"q": 1},
    )
    for other in others:
        yield Stream(7, "data", canonical({"L": 100, "epsilon": 0.5, "m": 10} | other), 0)


def test_the_same_address_gives_the_same_numbers():
    for stream in neighbours():
        again = Stream(stream.root, stream.role, stream.labels, stream.block)
        assert again == stream and normal(again, 50).tobytes() == normal(stream, 50).tobytes()


def test_other_addresses_give_other_numbers():
    found = {normal(stream, 4).tobytes() for stream in neighbours()}
    assert len(found) == len(list(neighbours())) == 20


def test_streams_are_independent_and_a_wrong_twin_is_not():
    samples = [normal(stream) for stream in neighbours()]
    assert independent(samples, "streams")
    squares = [np.square(s) for s in samples]
    assert independent(squares, "squares of streams")
    control = samples[0] * 0.05 + samples[1]  # five percent leak into the next stream
    assert not independent([*samples, control], "streams, one leaking into another")
    assert not independent([samples[0], samples[0]], "one stream twice")


def test_blocks_do_not_overlap_when_shifted():
    """The start of one block's stream is nowhere in another's."""
    first, second = (normal(Stream(7, "data", LABELS, block), 4000) for block in (0, 1))
    assert not np.isin(first, second).any()


def test_pooled_numbers_have_the_law_of_one_stream():
    """Many short streams look like a long one: seeds are not correlated with what they seed."""
    first = np.array(
        [Stream(7, "data", LABELS, block).generator().random() for block in range(3000)]
    )
    result = stats.kstest(first, "uniform")
    print(
        f"first numbers: n={first.size} statistic={result.statistic:.3g} p={result.pvalue:.3g} alpha=1e-06"
    )
    assert result.pvalue > 1e-6
    assert stats.kstest(first**1.3, "uniform").pvalue < 1e-6
    assert independent([first[:-1], first[1:]], "first numbers of neighbouring blocks")


# A guard against changes by accident: these numbers are in every store that was ever made.
PINNED = {
    "population": 10540880580355976140,
    "truth": 3651842738650879009,
    "data": 17284288173907117484,
    "noise": 11425803571922202958,
    "estimator": 16480899363514279851,
}


@pytest.mark.parametrize("role", ROLES)
def test_pinned_first_value(role):
    assert (
        int(Stream(20240117, role, LABELS, 3).generator().bit_generator.random_raw())
        == PINNED[role]
    )


def test_canonical_text():
    assert canonical({"m": 10, "L": 1}) == canonical({"L": 1, "m": 10}) == '{"L":1,"m":10}'
    texts = [canonical({"x": value}) for value in (1, 1.0, True, "1", "1.0", "true", 1 + 2**-52)]
    assert len(set(texts)) == len(texts)
    assert canonical({"x": 1e3}) == canonical({"x": 1000.0})
    assert canonical({"x": float("inf")}) == '{"x":Infinity}'
    assert canonical({"é": "ü"}).isascii() and "\n" not in canonical({"a": "b\nc"})


def test_labels_cannot_pass_for_a_role():
    """Role and labels are told apart in the digest, as canonical text holds no line break."""
    addresses = itertools.product(("a", "a\n{}"[:1], "ab"), (canonical({}), canonical({"b": "\n"})))
    digests = {(role, labels): digest(f"{role}\n{labels}") for role, labels in addresses}
    assert len(set(digests.values())) == len(digests)


@given(st.integers(0, 2**63 - 1), st.integers(-1, 2**40))
def test_every_root_and_block_has_a_stream(root, block):
    assert 0 <= Stream(root, "data", LABELS, block).generator().random() < 1


def test_digest_is_stable():
    assert digest("a", 8).hex() == "40f89e395b66422f"
