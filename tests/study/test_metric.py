"""Functions that become metrics: what they read, their parameters and their code."""

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import pipeline as pl
from pipeline.identity.live_code import live_code
from pipeline.study.contracts import fault
from pipeline.study.parameters import InvalidInput, fields

ITEMS = pl.parameter("items", unit="items", low=2)


@pl.metric("largest error", units="log-odds", least=0.0)
def largest_error(truth, estimate):
    """max_i |θ̂_i − θ_i|."""
    return np.abs(estimate.scores - truth).max(axis=1)


@pl.metric("error over the number of items")
def error_per_item(
    truth, estimate, *, N: int = ITEMS, power: float = pl.parameter("power", default=1.0, above=0)
):
    """The largest error over N^power."""
    return np.abs(estimate.scores - truth).max(axis=1) / N**power


@pl.metric("pairs", units="pairs")
def pairs(*, N: int = ITEMS):
    """N(N − 1)/2."""
    return N * (N - 1) / 2


@dataclass(frozen=True)
class Scores:
    scores: np.ndarray

    @property
    def converged(self):
        return np.ones(len(self.scores), bool)


TRUTH = np.zeros((3, 2))
ESTIMATE = Scores(np.array([[1.0, -2.0], [0.0, 0.5], [3.0, 3.0]]))


def test_a_function_reads_what_it_names():
    np.testing.assert_array_equal(largest_error()(TRUTH, None, ESTIMATE), [2.0, 0.5, 3.0])
    assert largest_error.inputs == ("truth", "estimate")
    assert (largest_error.long_name, largest_error.units, largest_error.least) == (
        "largest error",
        "log-odds",
        0.0,
    )
    assert largest_error.most == math.inf and not largest_error.exact
    assert largest_error.__doc__ == "max_i |θ̂_i − θ_i|."


def test_parameters_are_checked_and_make_equal_metrics():
    np.testing.assert_array_equal(error_per_item(N=10)(TRUTH, None, ESTIMATE), [0.2, 0.05, 0.3])
    assert error_per_item(N=10) == error_per_item(N=10.0, power=1) != error_per_item(N=10, power=2)
    assert fields(error_per_item)["N"].metadata["unit"] == "items"
    with pytest.raises(InvalidInput, match="N=1: must be a whole number ≥ 2"):
        error_per_item(N=1)
    assert pickle.loads(pickle.dumps(error_per_item(N=10))) == error_per_item(N=10)


def test_a_function_of_parameters_alone_is_exact():
    assert pairs.exact and pairs(N=5).value == 10
    np.testing.assert_array_equal(pairs(N=5)(TRUTH, None, ESTIMATE), [10.0, 10.0, 10.0])


@pytest.mark.parametrize("metric", [largest_error, error_per_item, pairs])
def test_it_is_a_metric_as_a_class_is(metric):
    assert fault("metric", metric) == ""


def test_the_code_of_the_function_counts():
    def made(power):
        if power == 1:

            @pl.metric("error")
            def error(truth, estimate):
                return abs(estimate.scores - truth).sum(axis=1)
        else:

            @pl.metric("error")
            def error(truth, estimate):
                return ((estimate.scores - truth) ** 2).sum(axis=1)

        return error

    assert live_code(made(1)) == live_code(made(1))
    assert live_code(made(1)) != live_code(made(2))


@pytest.mark.parametrize(
    "source",
    [
        "def wrong(truth, m): ...",
        "def wrong(truth, *, m=3): ...",
        "def wrong(*values): ...",
        "def wrong(truth, m=pl.parameter('items')): ...",
    ],
)
def test_other_arguments_are_refused_in_one_line(source):
    variables = {"pl": pl}
    exec(source, variables)
    with pytest.raises(
        InvalidInput, match="metric wrong=.*must be one of truth, release, estimate, or stand after"
    ):
        pl.metric("wrong")(variables["wrong"])
