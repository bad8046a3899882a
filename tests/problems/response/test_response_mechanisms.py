"""What all mechanisms on responses have in common: data that they share, and statements of privacy."""

import math

import pytest

from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.ranking.model import BTL, Comparisons
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.response.mechanisms.noisy_differences import (
    DiscreteGaussian,
    DiscreteLaplace,
)
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.response.model import Rasch, Responses
from pipeline.problems.response.releases import OpenResponses
from pipeline.study.grid import Grid
from pipeline.study.study import Study, build
from tests.helpers.known_responses import rng

NOISES = [DiscreteGaussian, DiscreteLaplace]


def test_no_privacy_opens_what_it_is_given():
    model = Rasch(n=9, m=4, p=0.5)
    data = model.simulate(model.truth(rng(1), 3, rng(0)), rng(2))
    release = NoPrivacy().release(data, rng(3))
    assert isinstance(release, OpenResponses) and Responses.plain_release is OpenResponses
    assert NoPrivacy().spent() == {}
    assert (release.answers == data.answers).all() and (release.observed == data.observed).all()
    assert all(
        (release.differences(debiased) == data.differences()).all() for debiased in (False, True)
    )
    model = BTL(m=4, L=7)
    wins = model.simulate(model.truth(rng(1), 3, rng(0)), rng(2))
    release = NoPrivacy().release(wins, rng(3))
    assert type(release) is FlippedWins is Comparisons.plain_release
    assert (release.wins[:, 0] == wins.wins).all() and release.epsilon.tolist() == [math.inf]


def test_mechanisms_share_the_raw_responses_and_not_the_noise(monkeypatch):
    names = ["none", "discrete_gaussian", "discrete_laplace", "randomized_response"]
    study = Study(
        name="test",
        problem="response",
        seed=3,
        replications=2,
        block=2,
        metrics=("error_l2",),
        parameters={
            "model": "rasch",
            "estimator": "spectral",
            "n": 30,
            "m": 5,
            "epsilon_user": 2.0,
        },
        grid=Grid.of({"mechanism": names}),
    )
    seen = {}

    def watch(kind, name):
        def release(self, data, generator, inner=kind.release):
            seen[name] = data.answers.copy(), generator.bit_generator.random_raw()
            return inner(self, data, generator)

        monkeypatch.setattr(kind, "release", release)

    for name, kind in zip(names, (NoPrivacy, *NOISES, RandomizedResponse), strict=True):
        watch(kind, name)
        assert study.simulate({"mechanism": name}, 0)["error_l2"].shape == (2,)
    assert len({answers.tobytes() for answers, _ in seen.values()}) == 1
    assert len({word for _, word in seen.values()}) == 4


@pytest.mark.parametrize("kind", [*NOISES, RandomizedResponse])
def test_statement_of_privacy(kind):
    guarantee = kind.guarantee
    assert guarantee.unit == "person" and "number of persons" in guarantee.public
    assert "ε" in guarantee.budget and kind.accepts is Responses
    for changes in (dict(p0=0.1), dict(p0=0.1, calibration="paper"), dict(m=10), {}):
        assert build(kind, {"n": 10, "m": 30, "epsilon_user": 1.0} | changes).cost() > 0
