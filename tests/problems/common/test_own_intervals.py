"""What a release lets a reader believe of each item: the ends that the estimate itself states."""

import numpy as np
import pytest
import xarray as xr

import pipeline as pl
from pipeline.problems.common import own_intervals
from pipeline.problems.common.own_items import ALL
from pipeline.reporting.beliefs import beliefs
from pipeline.reporting.section import Facts

ENDS = {"score_low": "low", "score_high": "high", "rank_low": "low", "rank_high": "high"}


class Named:
    names = ("tea", "milk", "ale", "gin")


@pytest.fixture(scope="module")
def estimate():
    people = pl.simulate_data(pl.ranking.BTL(m=4, L=200), seed=1)
    mechanism = pl.ranking.RandomizedResponse(m=4, L=200, epsilon=1.0)
    return pl.ranking.Debiased(m=4).fit(pl.simulate_release(mechanism, people, seed=2))


class Block:
    """The estimate as a block of one replication."""

    def __init__(self, estimate):
        self.estimate = estimate

    def interval(self, level):
        ends = self.estimate.interval(level)
        return type(ends)(ends.low[None], ends.high[None])

    def ranks(self, level):
        ends = self.estimate.ranks(level)
        return type(ends)(ends.low[None], ends.high[None])


@pytest.mark.parametrize("name", ENDS)
def test_ends_are_those_of_the_estimate(estimate, name):
    part = getattr(own_intervals, name)
    source = estimate.interval(0.9) if name.startswith("score") else estimate.ranks(0.9)
    ends = getattr(source, ENDS[name])
    for place, item in enumerate(Named.names):
        assert part(item=item, confidence=0.9)(Named, None, Block(estimate)) == [ends[place]]
    assert part(item=ALL, confidence=0.9)(Named, None, Block(estimate))[0] == pytest.approx(
        ends.mean()
    )


def test_without_errors_nothing_is_told():
    class Plain:
        converged = np.ones(3, bool)

    for name in ENDS:
        assert np.isnan(getattr(own_intervals, name)()(Named, None, Plain())).all()


class Protection:
    mechanism = "randomized_response"
    trust = "nobody"


def test_the_table_says_it_in_words():
    items = [ALL, "tea", "milk"]
    shape = (2, 1, 3)
    ends = {
        "score_low": [[-1.26, 0.5, -2.0], [np.nan] * 3],
        "score_high": [[1, 1.5, -0.5], [np.nan] * 3],
        "rank_low": [[1, 1, 1], [np.nan] * 3],
        "rank_high": [[2, 1.04, 2], [np.nan] * 3],
    }
    axes = ("person", "mechanism", "item")
    columns = {name: (axes, np.reshape(values, shape)) for name, values in ends.items()}
    coordinates = {"person": [1.0, 2.0], "mechanism": ["randomized_response"], "item": items}
    facts = Facts.__new__(Facts)
    object.__setattr__(facts, "privacy", [Protection])
    (table,) = beliefs(xr.Dataset(columns, coordinates), facts)
    assert table.name == "with nobody trusted (randomized response)"
    assert table.rows == [
        ("1 nat", "tea", "1, surely", "0.5 to 1.5"),
        ("1 nat", "milk", "any of 1 to 2", "−2 to −0.5"),
        ("2 nats", "tea", "not told", "not told"),
        ("2 nats", "milk", "not told", "not told"),
    ]
    assert [*beliefs(xr.Dataset(), facts)] == []
