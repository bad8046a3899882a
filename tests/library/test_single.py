"""One data set without a dimension of replications, through the estimators of every problem."""

import dataclasses
import pickle

import numpy as np
import pytest

import pipeline as pl
from pipeline.library.single import axes_of, with_replications, without_replications
from pipeline.study.parameters import InvalidInput

BLOCKS = dict(b="0.9, 0.1; 0.2, 0.8", alpha="0.5, 0.5")
# (problem, model, mechanisms, names of the estimators that accept their releases)
CHAINS = [
    (
        "ranking",
        pl.ranking.BTL(m=4, L=300),
        [
            pl.ranking.RandomizedResponse(m=4, L=300, epsilon=1.0),
            pl.ranking.Laplace(m=4, L=300, epsilon=1.0),
            pl.ranking.RandomizedResponse(m=4, L=300, epsilon=1.0, profile="0.5:1,0.5:4"),
            pl.ranking.NoPrivacy(),
        ],
    ),
    (
        "response",
        pl.response.Rasch(n=300, m=4),
        [
            pl.response.DiscreteGaussian(m=4, epsilon_user=5.0),
            pl.response.DiscreteLaplace(m=4, epsilon_user=5.0),
            pl.response.RandomizedResponse(n=300, m=4, epsilon_user=20.0),
            pl.response.NoPrivacy(),
        ],
    ),
    (
        "clustering",
        pl.clustering.BlockModel(U=3000, N=6, w=4, **BLOCKS),
        [
            pl.clustering.PairwisePreference(N=6, epsilon=2.0),
            pl.clustering.MaxSense(N=6, w=4, epsilon=2.0),
            pl.clustering.NoPrivacy(),
        ],
    ),
    (
        "crowd",
        pl.crowd.models.DawidSkene(n=30, m=20),
        [pl.crowd.RandomizedResponse(n=30, m=20, epsilon=2.0), pl.crowd.NoPrivacy()],
    ),
]
SIZES = {"m": 4, "N": 6}


def fitted_with(parts, release):
    """Estimators of a problem that accept a release, made with the sizes of these tests."""
    for name in dir(parts.estimators):
        cls = getattr(parts.estimators, name)
        if isinstance(release, cls.accepts):
            known = {field.name for field in dataclasses.fields(cls)}
            sizes = {"n": 30, "m": 20} if parts is pl.crowd else {"n": 300, **SIZES}
            yield cls(**{size: value for size, value in sizes.items() if size in known})


@pytest.mark.parametrize(
    "problem, model, mechanisms", CHAINS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_one_data_set_gives_what_a_block_of_one_gives(problem, model, mechanisms):
    parts, fits = getattr(pl, problem), set()
    people = pl.simulate_data(model, seed=3)
    for mechanism in mechanisms:
        release = pl.simulate_release(mechanism, people, seed=4)
        for estimator in fitted_with(parts, release):
            one = estimator.fit(release)
            block = (
                type(estimator)
                .__mro__[1]
                .fit(estimator, with_replications(release)[0], np.random.default_rng(0))
            )
            assert np.ndim(one.converged) == 0 and block.converged.shape == (1,)
            for name in axes_of(one):
                value, expected = getattr(one, name), getattr(block, name)
                if axes_of(one)[name][0] == "reps":
                    expected = expected[0]
                assert np.array_equal(
                    value, expected, equal_nan=value is not None and value.dtype.kind == "f"
                ), name
            fits.add(type(estimator).__name__)
    assert fits == set(dir(parts.estimators)), "every estimator is tried"


def test_a_block_stays_a_block():
    people = pl.simulate_data(pl.ranking.BTL(m=4, L=300), seed=3, replications=5)
    release = pl.simulate_release(pl.ranking.RandomizedResponse(m=4, L=300, epsilon=1.0), people)
    assert people.truth.theta.shape == (5, 4) and release.wins.shape == (5, 1, 6)
    assert pl.ranking.Debiased(m=4).fit(release).theta.shape == (5, 4)


def test_counts_of_ones_own():
    """Two items, 100 users, 73 released wins: the debiased share is ½ + a(0.23), and θ̂ minimises eq. (3)."""
    release = pl.ranking.FlippedWins(wins=[73], users=100, epsilon=2.0, items=2)
    estimate = pl.ranking.Debiased(m=2, lambda_scale=0.0).fit(release)
    share = 0.5 + (np.exp(2) + 1) / (np.exp(2) - 1) * 0.23
    assert np.allclose(
        estimate.theta, np.array([0.5, -0.5]) * np.log(share / (1 - share)), atol=1e-6
    )
    as_it_is = pl.ranking.PlugIn(m=2, lambda_scale=0.0).fit(
        release
    )  # the negative control: it does not debias
    assert not np.allclose(estimate.theta, as_it_is.theta, atol=0.1)


def test_parts_travel_and_compare():
    one = pl.ranking.Debiased(m=4, lambda_scale=2.0)
    other = pickle.loads(pickle.dumps(one))
    assert (
        other == one
        and repr(one) == "Debiased(m=4, lambda_scale=2.0, bootstrap=0)"
        and pl.ranking is pl.ranking
    )
    with pytest.raises(InvalidInput, match="m=1: must be a whole number ≥ 2"):
        pl.ranking.Debiased(m=1)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: pl.ranking.Debiased(m=3).fit([3, 4, 5]),
            "release=list: Debiased needs ReleasedWins",
        ),
        (
            lambda: pl.ranking.Debiased(m=3).fit(pl.ranking.FlippedWins([1, 2], 5, 1.0, 3)),
            "must have 3 along pairs, not 2",
        ),
        (
            lambda: pl.ranking.Debiased(m=4).fit(pl.ranking.FlippedWins([1, 2, 3], 5, 1.0, 3)),
            "m=4: Debiased is made for that, but is given data with m=3",
        ),
        (
            lambda: pl.ranking.Debiased(m=3).fit(pl.ranking.FlippedWins([1, 2, 3], [5, 5], 1.0, 3)),
            "must have 1 along groups, not 2",
        ),
        (
            lambda: pl.ranking.Debiased(m=3).fit(
                pl.ranking.FlippedWins(np.ones((2, 2, 2, 3)), 5, 1.0, 3)
            ),
            r"must be \(reps, groups, pairs\)",
        ),
        (
            lambda: pl.simulate_release(
                pl.clustering.MaxSense(N=6, w=4, epsilon=2.0), np.ones((9, 6))
            ),
            "MaxSense needs Users; simulate_data makes them",
        ),
        (
            lambda: pl.simulate_release(
                pl.crowd.RandomizedResponse(n=3, m=2, epsilon=1.0),
                pl.simulate_data(pl.ranking.BTL(m=3, L=3)),
            ),
            "RandomizedResponse needs Answers",
        ),
        (lambda: pl.simulate_data(None), "model=NoneType: is no model"),
        (
            lambda: pl.simulate_data(pl.ranking.BTL),
            r"model=BTL: is a class; give its parameters, as BTL\(…\)",
        ),
        (lambda: pl.simulate_data(pl.ranking.Debiased(m=3)), "model=Debiased: is no model"),
        (
            lambda: pl.simulate_data(pl.ranking.BTL(m=3, L=3), seed=None),
            "seed=null: must be a whole number",
        ),
        (
            lambda: pl.simulate_data(pl.ranking.BTL(m=3, L=3), replications=1.5),
            "replications=1.5: must be a whole number",
        ),
        (lambda: pl.simulate_release([1], np.ones((2, 2))), "mechanism=list: is no mechanism"),
        (
            lambda: pl.simulate_release(pl.response.Rasch(n=2, m=2), np.ones((2, 2))),
            "mechanism=Rasch: is no mechanism",
        ),
        (
            lambda: pl.simulate_release(pl.ranking.RandomizedResponse(m=2, L=5, epsilon=1.0), None),
            "data=NoneType: must be what simulate_data gives",
        ),
        (
            lambda: pl.simulate_release(
                pl.ranking.RandomizedResponse(m=2, L=5, epsilon=1.0), [["a", "b"], ["c", "d"]]
            ),
            "data=list: must be what simulate_data gives, or an array of numbers",
        ),
        (
            lambda: pl.simulate_release(
                pl.ranking.RandomizedResponse(m=2, L=5, epsilon=1.0), [[1], [1, 2]]
            ),
            "data=list: must be what simulate_data gives, or an array of numbers",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(call, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_a_name_of_two_parts_is_asked_for_by_its_kind():
    with pytest.raises(
        AttributeError, match="crowd.models.DawidSkene or crowd.estimators.DawidSkene"
    ):
        _ = pl.crowd.DawidSkene
    with pytest.raises(AttributeError, match="did you mean 'Debiased'"):
        _ = pl.ranking.Debaised
    assert {"Debiased", "FlippedWins", "estimators"} <= set(dir(pl.ranking)) and "ranking" in dir(
        pl
    )


def test_replications_come_off_what_declares_them():
    block = pl.ranking.FlippedWins(np.ones((1, 1, 3)), np.array([5]), np.array([1.0]), 3)
    assert without_replications(block).wins.shape == (1, 3) and without_replications(
        block
    ).users.shape == (1,)


def test_mechanisms_alone_on_arrays():
    """Flips have the probability that ε says, of answers that are given; counts that are certain stay as they are."""
    wins = np.array([[0, 30_000, 50_000], [20_000, 0, 50_000], [0, 0, 0]])
    mechanism = pl.ranking.RandomizedResponse(m=3, L=50_000, epsilon=1.0)
    released = pl.simulate_release(mechanism, wins, seed=1)
    flip = 1 / (1 + np.e)
    expected = np.array([30_000, 50_000, 50_000]) * (1 - 2 * flip) + 50_000 * flip
    distance = np.abs(released.wins[0] - expected).max() / np.sqrt(50_000 * flip * (1 - flip))
    print(
        f"n = 50000, largest distance {distance:.2f} standard errors, bound 5.5 (alpha 2e-7 for 3)"
    )
    assert distance < 5.5 < np.abs(released.wins[0] - np.array([30_000, 50_000, 50_000])).max()
    fitted = pl.ranking.Debiased(m=3).fit(released)
    assert fitted.theta.argmax() == 0 and fitted.theta.argmin() == 2

    answers = np.where(np.arange(40_000).reshape(200, 200) % 3, 1.0, 0.0)
    answers[0, 0] = np.nan
    released = pl.simulate_release(
        pl.response.RandomizedResponse(n=200, m=200, epsilon_user=200.0), answers
    )
    flipped = (released.answers != (answers == 1))[released.observed].mean()
    assert (
        abs(flipped - flip) < 5.5 * np.sqrt(flip * (1 - flip) / 39_999)
        and not released.observed[0, 0]
    )
    labels = np.where(np.arange(40_000).reshape(200, 200) % 2, 1, -1)
    released = pl.simulate_release(pl.crowd.RandomizedResponse(n=200, m=200, epsilon=1.0), labels)
    assert abs((released.answers != labels).mean() - flip) < 5.5 * np.sqrt(
        flip * (1 - flip) / 40_000
    )
    assert (
        pl.simulate_release(pl.crowd.NoPrivacy(), pl.crowd.Answers(labels)).answers == labels
    ).all()


@pytest.mark.parametrize(
    "mechanism, data, message",
    [
        (
            pl.ranking.RandomizedResponse(m=3, L=5, epsilon=1.0),
            [[0, 9], [1, 0]],
            "m=3: .* data with m=2",
        ),
        (
            pl.ranking.RandomizedResponse(m=2, L=5, epsilon=1.0),
            [[0, 9], [1, 0]],
            "L=5: a pair was compared 10 times",
        ),
        (
            pl.ranking.RandomizedResponse(m=2, L=10, epsilon=1.0, profile="0.5:1,0.5:2"),
            [[0, 9], [1, 0]],
            "one budget",
        ),
        (
            pl.ranking.RandomizedResponse(m=2, L=5, epsilon=1.0),
            [[0, -1], [1, 0]],
            "whole numbers ≥ 0",
        ),
        (
            pl.response.RandomizedResponse(n=2, m=2, epsilon_user=1.0),
            [[0, 2], [1, 0]],
            "1 for right, 0 for wrong",
        ),
        (pl.crowd.RandomizedResponse(n=2, m=2, epsilon=1.0), [[0, 2], [1, 0]], "1 for label 1"),
        (pl.crowd.RandomizedResponse(n=2, m=2, epsilon=1.0), [1, 0], r"must be \(workers, tasks\)"),
    ],
)
def test_arrays_that_do_not_fit_are_one_line(mechanism, data, message):
    with pytest.raises(InvalidInput, match=message):
        pl.simulate_release(mechanism, data)
