"""Units in slices of replications: the same bytes, in less memory."""

import tracemalloc

import numpy as np
import pytest
from engine import mapping

from pipeline.cli.config import read_experiment
from pipeline.study import slices


def unit(study, labels):
    with np.errstate(all="ignore"):
        return {name: value.tobytes() for name, value in study.simulate(labels, 1).items()}


@pytest.mark.parametrize("mechanism, extra", [
    ("randomized_response", {"draw": "conditional"}), ("randomized_response", {"draw": "marginal"}),
    ("randomized_response", {"draw": "conditional", "profile": "0.5:1,0.3:4,0.2:2"}), ("laplace", {}), ("none", {})])
@pytest.mark.parametrize("estimator", ["debiased", "plug_in", "weighted", "likelihood", "rank_centrality"])
def test_slices_give_the_same_bytes(mechanism, extra, estimator, monkeypatch):
    """All models, mechanisms and estimators that may be cut; slices that are even, uneven, and of one replication."""
    if estimator == "likelihood" and mechanism == "laplace":
        pytest.skip("it needs the law of randomized response")
    for theta in ("redrawn", "fixed", "two_groups") if estimator == "debiased" else ("redrawn",):
        grid = {"m": [7], "L": [20]} | ({} if mechanism == "none" else {"epsilon": [0.5]})
        given = {"model": "btl", "mechanism": mechanism, "estimator": estimator, "theta": theta, **extra}
        one = read_experiment(mapping(grid=grid, metrics=["error_l2", "error_inf", "kendall"], parameters=given)).study
        labels = one.grid.labels(0)
        parts = one.components(labels)
        monkeypatch.setattr(slices, "BYTES", 2**30)
        assert slices.slices(20, parts) is None
        whole = unit(one, labels)
        each = sum(part.memory() for part in parts[:3] if hasattr(part, "memory"))
        for memory, lengths in ((7 * each, [7, 7, 6]), (1, [1] * 20)):
            monkeypatch.setattr(slices, "BYTES", memory)
            assert [cut.stop - cut.start for cut in slices.slices(20, parts)] == lengths
            assert unit(one, labels) == whole


def test_calls_in_another_order_would_give_other_numbers(monkeypatch):
    """Negative control: a generator that just goes on from slice to slice."""
    one = read_experiment(mapping(grid={"m": [7], "L": [20], "epsilon": [0.5], "estimator": ["debiased"]})).study
    labels = one.grid.labels(0)
    whole = unit(one, labels)
    monkeypatch.setattr(slices, "BYTES", 1)
    monkeypatch.setattr(slices, "SlicedGenerator", lambda generator, _: Plain(generator))
    assert unit(one, labels) != whole


class Plain:
    def __init__(self, generator):
        self.generator = generator

    def begin(self, number):
        pass

    def __getattr__(self, name):
        return getattr(self.generator, name)


def test_a_class_that_inherits_the_permission_is_not_cut(monkeypatch):
    one = read_experiment(mapping(grid={"m": [7], "L": [20], "epsilon": [0.5], "estimator": ["debiased"]})).study
    parts = one.components(one.grid.labels(0))
    monkeypatch.setattr(slices, "BYTES", 1)
    assert len(slices.slices(20, parts)) == 20
    own = type("Own", (type(parts.mechanism),), {})
    mine = own(m=7, L=20, epsilon=0.5)
    assert slices.slices(20, parts._replace(mechanism=mine)) is None


def test_memory_follows_the_slice_not_the_block(monkeypatch):
    """Bytes that NumPy allocates at once, for 100 replications of 40 items in slices of 25."""
    grid = {"m": [40], "L": [50], "epsilon": [1.0], "estimator": ["debiased"]}
    one = read_experiment(mapping(grid=grid, metrics=["error_l2"], replications=100, block=100)).study

    def most():
        tracemalloc.start()
        unit_of(one)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    unit_of(one)  # imports and caches
    whole = most()
    monkeypatch.setattr(slices, "BYTES", 24 * 40**2 * 25)
    assert len(slices.slices(100, one.components(one.grid.labels(0)))) == 4
    sliced = most()
    print(f"{whole:,} bytes whole, {sliced:,} in four slices")
    assert sliced < 0.6 * whole


def unit_of(study):
    return study.simulate(study.grid.labels(0), 0)
