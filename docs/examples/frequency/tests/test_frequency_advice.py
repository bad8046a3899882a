"""Advice on private frequencies: against the closed form of the risk, for every mechanism."""

import pytest
from private_frequencies import PROBLEM
from private_frequencies.theory import reports, risks
from scipy import optimize

from pipeline.advice.answer import answer
from pipeline.identity import registry
from pipeline.study.parameters import InvalidInput

K, N = 12, 4000


@pytest.fixture(autouse=True)
def known():
    """The problem, known to this process for the time of a test, as its entry point makes it."""
    with registry.registered(PROBLEM):
        yield


def least(support, target):
    """ε at which the risk is the target."""
    return optimize.brentq(lambda epsilon: risks.risk(support(epsilon), K, N) - target, 0.1, 12)


def test_the_least_budget_is_that_of_the_risk():
    """Of each mechanism, in its interval; that of half the people is not."""
    target = 0.02
    found = answer(
        {"problem": "frequency", "k": K, "n": N, "target": f"error_squared<={target}"}
    ).record()
    rows = {one["mechanism"]: one for one in found["mechanisms"]}
    exact = {
        name: least(support, target)
        for name, support in (
            ("randomized_response", lambda e: reports.randomized_response(K, e)),
            ("subset_selection", lambda e: reports.subset_selection(K, e)),
            ("symmetric_unary", reports.symmetric_unary),
            ("optimised_unary", reports.optimised_unary),
        )
    }
    best = min(exact, key=exact.get)
    print(f"n={found['replications']}: {exact}")
    assert (
        rows.keys() == {*exact, "local_hashing"}
        and found["certified"]
        and len(found["stress"]) == 3
    )
    for name, epsilon in exact.items():
        assert rows[name]["low"] * 0.98 <= epsilon <= rows[name]["high"] * 1.02, name
    wrong = optimize.brentq(
        lambda e: risks.risk(reports.subset_selection(K, e), K, N // 2) - target, 0.1, 12
    )
    assert (
        exact[best] <= found["value"] <= 1.15 * exact[best]
        and wrong > 1.05 * rows["subset_selection"]["high"]
    )


def test_people_are_those_of_the_risk():
    found = answer(
        {
            "problem": "frequency",
            "k": K,
            "epsilon": 1.0,
            "mechanism": "optimised_unary",
            "target": "error_squared<=0.02",
        }
    )
    exact = risks.risk(reports.optimised_unary(1.0), K, 1) / 0.02
    assert (
        found.certified
        and exact <= found.value <= 1.15 * exact
        and found.low <= exact <= found.high
    )


def test_mistakes_are_said_as_of_any_problem():
    with pytest.raises(InvalidInput, match="did you mean 'error_squared'"):
        answer({"problem": "frequency", "k": K, "n": N, "target": "eror_squared<=0.1"})
