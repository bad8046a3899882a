"""Random numbers that a release takes, against those of the release itself."""

import numpy as np

from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.response.mechanisms.noisy_differences import DiscreteGaussian
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.response.metrics.numbers_drawn import numbers_drawn
from pipeline.problems.response.model import Rasch


def drawn(mechanism, p):
    """Numbers drawn of two replications of 30 persons and 6 items, their release, and the data."""
    rng = np.random.default_rng(1)
    model = Rasch(n=30, m=6, p=p)
    truth = model.truth(rng, 2, rng)
    data = model.simulate(truth, rng)
    release = mechanism.release(data, rng)
    return numbers_drawn()(truth, release, None), release, data


def test_noise_takes_a_number_for_each_count():
    counted, _, _ = drawn(DiscreteGaussian(m=6, epsilon_user=1.0), 0.5)
    assert counted.tolist() == [30, 30]


def test_noise_on_a_graph_takes_a_number_for_each_count_on_it():
    counted, release, _ = drawn(DiscreteGaussian(m=6, epsilon_user=1.0, p0=0.4), 1)
    on_graph = [int(edges.sum()) for edges in release.edges]
    assert counted.tolist() == on_graph and max(on_graph) < 30


def test_flips_take_a_number_for_each_answer():
    counted, _, data = drawn(RandomizedResponse(m=6, n=30, epsilon_user=6.0), 0.5)
    assert counted.tolist() == data.observed.sum(axis=(1, 2)).tolist()
    assert 60 < counted.min() and counted.max() < 120


def test_no_privacy_takes_none():
    counted, _, _ = drawn(NoPrivacy(), 1)
    assert counted.tolist() == [0, 0]
