"""Advice against exhaustive search, which shares no code with it: a few of the questions of
`benchmarks/advise.py`.
"""

import numpy as np
import pytest

from benchmarks import advise, exhaustive
from pipeline.advice.answer import answer
from pipeline.identity import registry
from pipeline.identity.registry import problem
from tests.advice.test_advise import OWN, truth

NUMBERS = (4, 15)  # mixed budgets with people unknown; a crowd
FRESH, REPS = 6000, (200, 1000)


def test_exhaustive_search_finds_what_is_known():
    """Of a problem whose answer is known in closed form, in both directions.

    Half of the noise is another.
    """
    known = {"model": "answers", "mechanism": "laplace", "estimator": "mean"}
    epsilon = exhaustive.Task(
        "own_mean", {**known, "n": 20}, "epsilon", False, "error_squared", "<=", 0.1
    )
    people = exhaustive.Task(
        "own_mean", {**known, "epsilon": 1.0}, "n", True, "error_squared", ">=", 0.05
    )
    for task, exact, better in ((epsilon, truth(0.1), 1), (people, (1 / 12 + 2) / 0.05, -1)):
        with registry.registered(OWN):
            found = exhaustive.optimum(task, 2 * exact if not task.whole else round(2 * exact), 5)
        wide = 5 * found.error + 0.01  # the mean is no straight line
        print(f"{task.parameter}: {found.level:.3f} for {exact:.3f}, error {found.error:.3f}")
        assert (
            found.better == better and abs(np.log(found.level / exact)) < wide < abs(np.log(2)) / 2
        )


def test_the_questions_name_everything():
    """All mechanisms of all problems, all unknowns, mixed budgets and classes of users, in 48
    questions.
    """
    assert len(advise.ROWS) == 48
    for name in ("ranking", "response", "clustering", "crowd"):
        rows = [row for row in advise.ROWS if row.problem == name]
        with registry.registered(alone=True):
            shipped = {*problem(name).mechanisms}
        assert {row.mechanism for row in rows} >= shipped, name
        assert {row.unknown for row in rows} >= {"epsilon", "people", "items"}, name
    assert {row.unknown for row in advise.ROWS} == {
        "epsilon",
        "person",
        "people",
        "items",
        "missing",
        "questions",
    }
    assert (
        sum("profile" in row.more for row in advise.ROWS)
        >= 5
        <= sum("alpha" in row.more for row in advise.ROWS)
    )
    assert sum(row.mechanism is None for row in advise.ROWS) >= 6


@pytest.mark.parametrize("number", NUMBERS)
def test_advice_is_near_the_least_of_all(number):
    found = answer(advise.drawn(number))
    judgement = advise.judged(found, FRESH, REPS)
    print(f"{found.value:g}: {judgement.ratio:.3f} ± {judgement.error:.3f} times the least")
    assert found.certified and judgement.met
    assert 1 - 5 * judgement.error < judgement.ratio < 1.2 + 5 * judgement.error
