"""Targets of inference: what errors cost is foreseen, and a value that is missing is said."""

import pytest

from pipeline.advice.certificate import Measured
from pipeline.advice.question import read
from pipeline.advice.refusal import _mean
from pipeline.advice.simulation import Simulator
from pipeline.advice.targets import Target
from pipeline.identity.registry import problem
from pipeline.problems.common.bootstrap import PER_REPLICATION

CROWD = dict(problem="crowd", m=50, epsilon=1.0, mechanism="randomized_response", unknown="people")


def cost(target, level, **changes):
    return Simulator(read({**CROWD, **changes, "target": target})).cost(level)


def test_errors_count_where_a_target_reads_them():
    """They grow with n³ and n² m, the fit with n m only."""
    with_errors = cost("coverage>=0.9", 400) - cost("label_error<=0.1", 400)
    assert with_errors > 10 * cost("label_error<=0.1", 400)
    assert cost("coverage>=0.9", 4) < 2 * cost("label_error<=0.1", 4)


def test_a_bootstrap_counts_its_fits():
    plain = cost("coverage>=0.9", 20)
    bootstrap = cost("coverage>=0.9", 20, bootstrap=50, estimator="dawid_skene")
    fit = problem("crowd").part("estimator", "dawid_skene")(n=20, m=50).cost()
    assert bootstrap - plain == pytest.approx(50 * fit + PER_REPLICATION)


def test_which_metrics_read_errors():
    metrics = problem("ranking").metrics
    named = {name for name in metrics if problem("ranking").metric(name).reads_errors}
    assert {"coverage", "rank_width", "rank_low", "interval_width"} <= named
    assert not {"error_l2", "kendall", "rank_kept"} & named


@pytest.mark.parametrize("missing", [0, 30])
def test_a_mean_without_values_says_so(missing):
    target = Target("coverage", ">=", 0.94, 0.0, 1.0)
    text = _mean(Measured(target, 0.2, 0.1, 0.3, 0.0, False, missing), False, 400)
    assert text.startswith("coverage = 0.2")
    said = "(without a value in 30 of 400 replications, which count as the worst)"
    assert (said in text) == bool(missing)
