"""What is published of real people: the law of every entry, the budget in rationals, and what depends on the data."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from pipeline.privacy import vetted_noise as vetted
from pipeline.privacy.accounting import bun_steinke_epsilon, zcdp_epsilon
from pipeline.privacy.integer_laws import gaussian_pmf, laplace_pmf
from pipeline.problems.response.mechanisms.noisy_differences import (
    DiscreteGaussian,
    DiscreteLaplace,
)
from pipeline.problems.response.theory.connectivity import connected
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree

pytest.importorskip(
    "opendp", reason="OpenDP is not installed: releases of real data are NOT tested here"
)
KINDS = [DiscreteGaussian, DiscreteLaplace]
ANSWERS = np.array(
    [[1, 0, 0], [1, 1, 0], [1, 0, 0]], bool
)  # Y: ones, twos and zeros off the diagonal
Y = np.array([[0, 2, 3], [0, 0, 1], [0, 0, 0]])


def mechanism(kind, **changes):
    return build(kind, dict(m=3, epsilon_user=3.0, delta=1e-3) | changes)


def law(kind, noise):
    (width,) = noise.values()
    return lambda x: gaussian_pmf(x, width) if kind is DiscreteGaussian else laplace_pmf(x, width)


def follows(noise, pmf, what):
    far = int(np.abs(noise).max()) + 1
    probability = pmf(np.arange(-far, far + 1))
    probability[[0, -1]] += (1 - probability.sum()) / 2
    return counts_agree(np.bincount(noise + far, minlength=2 * far + 1), probability, what)


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_has_the_law_that_is_stated(kind):
    one = mechanism(kind)
    found = [one.publish(ANSWERS, None) for _ in range(1500)]
    noise = np.array([published.counts for published in found]) - Y
    assert (noise[:, range(3), range(3)] == 0).all() and found[0].edges.tolist() == (
        ~np.eye(3, dtype=bool)
    ).tolist()
    pmf = law(kind, found[0].noise)
    control = law(kind, {"of another": 1.3 * next(iter(found[0].noise.values()))})
    for i, j in itertools.permutations(range(3), 2):  # where Y is 0, as everywhere else
        assert follows(noise[:, i, j], pmf, f"{kind.__name__}, entry {i} {j}, Y = {Y[i, j]}")
    everywhere = noise[:, ~np.eye(3, dtype=bool)]
    assert follows(everywhere.ravel(), pmf, "all entries")
    assert not follows(everywhere.ravel(), control, "control: wider")
    only_where_counted = np.where(Y > 0, noise, 0)[:, ~np.eye(3, dtype=bool)]
    assert not follows(only_where_counted.ravel(), pmf, "control: the published procedure")
    signs = (everywhere > 0) @ (1 << np.arange(6))  # jointly: of independent entries
    above = 1 - (1 + pmf(np.zeros(1))[0]) / 2
    weight = [
        above ** bin(k).count("1") * (1 - above) ** (6 - bin(k).count("1")) for k in range(64)
    ]
    assert counts_agree(np.bincount(signs, minlength=64), weight, "signs of all six entries")


def worst(m, relation, edges):
    """Largest squared distance of the contributions of two rows of 0, 1 and missing, on the edges, by enumeration."""
    rows = [
        (np.outer(np.equal(row, 1), np.equal(row, 0)) & edges).astype(int)
        for row in itertools.product((0, 1, 2), repeat=m)
    ]
    others = rows if relation == "replace_one" else [np.zeros((m, m), int)]
    return max(int(((x - y) ** 2).sum()) for x in rows for y in others)


@pytest.mark.parametrize("calibration", ["tight", "paper"])
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("m, p0", [(2, 1.0), (3, 1.0), (4, 1.0), (4, 0.6)])
def test_what_is_stated_is_enough_and_no_more_than_was_asked(m, p0, relation, calibration):
    changes = dict(m=m, p0=p0, neighbours_are=relation, calibration=calibration)
    answers = np.random.default_rng(1).random((5, m)) < 0.5
    published = mechanism(DiscreteGaussian, **changes).publish(answers, None)
    squared = worst(m, relation, published.edges)
    assert (squared, squared) == published.sensitivity and squared <= published.charged
    sigma = Fraction(math.sqrt(published.noise["variance"]))  # what OpenDP is given
    rho = Fraction(published.spent["rho"])
    assert (
        Fraction(squared) / (2 * sigma**2)
        <= rho
        <= Fraction(squared) / (2 * sigma**2) * Fraction(1 + 1e-14)
    )
    assert published.spent["epsilon"] == zcdp_epsilon(float(rho), 1e-3) <= 3.0
    assert (
        published.spent["epsilon_bun_steinke"]
        == bun_steinke_epsilon(float(rho), 1e-3)
        > published.spent["epsilon"]
    )
    assert calibration == "paper" or published.spent["epsilon"] > 3.0 - 1e-9
    published = mechanism(DiscreteLaplace, **changes).publish(answers, None)
    squared = worst(
        m, relation, published.edges
    )  # entries differ by one at most, so this is the L1 distance
    epsilon = Fraction(published.spent["epsilon"])
    assert Fraction(squared) / Fraction(published.noise["scale"]) <= epsilon <= 3
    assert published.charged == published.sensitivity.squared or calibration == "paper"


def test_a_sensitivity_rounded_down_would_state_too_little():
    """The negative control: √12 as a double is below √12."""
    careless = vetted.spent(math.sqrt(12), variance=50.0)
    assert (
        Fraction(careless)
        < Fraction(12, 100)
        <= Fraction(
            vetted.spent(DiscreteGaussian(m=4, epsilon_user=1.0).noise.norm(12), variance=50.0)
        )
    )


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_the_counts_depends_on_the_data(kind):
    """Not even whether there is a release: one person, nothing answered, all alike."""
    one, first = mechanism(kind), None
    for answers, observed in (
        (ANSWERS, None),
        (ANSWERS[:1], None),
        (ANSWERS & False, ANSWERS & False),
        (ANSWERS | True, None),
        (np.tile(ANSWERS, (999, 1)), None),
    ):
        published = one.publish(answers, observed)
        rest = (
            published.edges.tolist(),
            published.noise,
            published.charged,
            published.sensitivity,
            published.spent,
        )
        first = first or rest
        assert rest == first and published.counts.dtype == np.int64


def test_the_graph_is_public_and_connects_or_the_budget_is_not_touched(monkeypatch):
    one = mechanism(DiscreteGaussian, m=12, p0=0.3)
    answers = np.ones((4, 12), bool)
    for _ in range(20):
        published = one.publish(answers, None)
        assert (
            connected(published.edges[None]).all() and (published.edges == published.edges.T).all()
        )
        assert (
            published.counts[~published.edges] == 0
        ).all() and not published.edges.diagonal().any()
    monkeypatch.setattr(vetted, "release", lambda *_, **__: pytest.fail("noise was drawn"))
    with pytest.raises(InvalidInput, match="p0=1e-05: no graph of 100 connected the 12 items"):
        mechanism(DiscreteGaussian, m=12, p0=1e-5).publish(answers, None)


def test_no_seed_of_numpy_makes_it_repeat():
    one = mechanism(DiscreteGaussian, epsilon_user=0.01)
    found = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002
        found.append(one.publish(ANSWERS, None).counts)
    assert (found[0] != found[1]).any()
