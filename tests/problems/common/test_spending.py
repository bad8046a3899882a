"""How many questions a budget is best spent on: against every number of them."""

import math

import pytest
from scipy.optimize import brentq

from pipeline.problems.common.spending import BEST_ANSWER, questions_of_survey, worth


def test_the_root_is_where_an_answer_is_worth_most_a_nat():
    root = brentq(lambda y: math.sinh(y) - 2 * y, 1, 5, xtol=1e-14)
    assert math.isclose(BEST_ANSWER, root, rel_tol=1e-12)


@pytest.mark.parametrize("most", [1, 3, 45])
@pytest.mark.parametrize("person", [0.1, 1.0, 3.1, 3.2, 8.0, 30.0, 200.0])
def test_no_other_number_is_worth_more(person, most):
    best = questions_of_survey(person, most)
    others = [worth(questions, person) for questions in range(1, most + 1)]
    assert 1 <= best <= most
    assert worth(best, person) == max(others)
