"""Noise for real data: every entry is noised by OpenDP, nothing can seed it, bad input is one line."""

import sys

import numpy as np
import pytest

from pipeline.privacy import vetted_noise as vetted
from pipeline.study.parameters import InvalidInput

SEEDS = [
    dict(seed=1),
    dict(rng=np.random.default_rng(1)),
    dict(random_state=0),
    dict(generator=None),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_is_refused_by_name(seed):
    with pytest.raises(InvalidInput, match=f"^{next(iter(seed))}=.*takes no seed") as caught:
        vetted.release([1, 2], variance=1.0, **seed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", [1, np.random.default_rng(1), np.random.Philox(2), None])
def test_a_seed_is_refused_by_position(seed):
    with pytest.raises(InvalidInput, match="takes no seed"):
        vetted.release([1, 2], seed, variance=1.0)
    with pytest.raises(InvalidInput, match="takes no seed|must be a number|exactly one"):
        vetted.release([1, 2], variance=seed if seed != 1 else np.random.default_rng(1))


@pytest.mark.parametrize("name", ["variance", "scale"])
@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan, "1", True])
def test_noise_is_positive_and_finite(name, value):
    with pytest.raises(InvalidInput, match=f"^{name}="):
        vetted.release([1], **{name: value})
    with pytest.raises(InvalidInput, match=f"^{name}="):
        vetted.spent(1.0, **{name: value})


def test_one_noise_is_named():
    for given in ({}, dict(variance=1.0, scale=1.0)):
        with pytest.raises(InvalidInput, match="exactly one"):
            vetted.release([1], **given)


@pytest.mark.parametrize("counts", [[0.5], [1.0], ["a"], [True], [2**63]])
def test_counts_are_whole(counts):
    with pytest.raises(InvalidInput, match="^counts="):
        vetted.release(counts, variance=1.0)


@pytest.mark.parametrize("name", ["variance", "scale"])
def test_without_the_package_one_line_says_what_is_missing(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.domains", None)
    with pytest.raises(InvalidInput, match="^opendp=.*pip install opendp \\(or make release\\)$"):
        vetted.release([1, 2], **{name: 1.0})


def test_the_package_is_not_imported_before_it_is_needed():
    import subprocess

    code = "import sys; import pipeline.privacy.vetted_noise; sys.exit('opendp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


class Fake:
    """In the place of a measurement: adds 7, remembers what it was given."""

    def __init__(self):
        self.given = []

    def __call__(self, values):
        self.given.append(values)
        return [value + 7 for value in values]


@pytest.mark.parametrize(
    "counts",
    [
        np.arange(6).reshape(2, 3),
        np.zeros((0, 2), int),
        np.int32(4),
        np.array([0, 255], np.uint8),
        [[1, 0], [0, 0]],
    ],
)
def test_every_entry_passes_through_the_measurement_in_its_place(counts, monkeypatch):
    fake = Fake()
    monkeypatch.setattr(vetted, "_measurement", lambda variance, scale: fake)
    out = vetted.release(counts, variance=1.0)
    assert (
        out.dtype == np.int64
        and (out == np.asarray(counts, np.int64) + 7).all()
        and out.shape == np.shape(counts)
    )
    assert fake.given == [np.ravel(counts).tolist()] and all(type(x) is int for x in fake.given[0])


def test_numpys_generators_are_not_used(monkeypatch):
    pytest.importorskip(
        "opendp", reason="OpenDP is not installed: noise for real data is NOT tested here"
    )

    vetted.release([1], variance=1.0)  # what is imported may use them

    def forbidden(*args, **kwargs):
        raise AssertionError("a NumPy generator was made")

    for name in ("default_rng", "Generator", "RandomState", "seed", "normal", "Philox", "PCG64"):
        monkeypatch.setattr(np.random, name, forbidden)
    first, second = (vetted.release(np.zeros(50, int), variance=1e6) for _ in range(2))
    assert (first != second).any()


@pytest.mark.parametrize("law, width, budget", [("variance", 4.0, 9 / 8), ("scale", 2.0, 1.5)])
def test_noise_within_a_budget_spends_no_more_and_hardly_less(law, width, budget):
    """Sensitivity 3: ρ = 9/(2·4), ε = 3/2."""
    pytest.importorskip(
        "opendp", reason="OpenDP is not installed: noise for real data is NOT tested here"
    )
    assert budget <= vetted.spent(3.0, **{law: width}) <= (1 + 1e-9) * budget
    noise = vetted.within_budget(law, width, 3.0, budget)
    assert width < noise[law] <= (1 + 1e-11) * width and vetted.spent(3.0, **noise) <= budget
    with pytest.raises(ArithmeticError, match="spends more than"):
        vetted.within_budget(law, width, 3.0, 0.999 * budget)
