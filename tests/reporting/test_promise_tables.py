"""A table for each budget of a person: what a release is worth, in words and in numbers."""

import pytest

from pipeline.reporting.promise_tables import promise_tables
from tests.reporting.test_promises import FACTS, KEPT, REVERSED, summary


def test_every_budget_has_a_table_with_a_row_for_each_trust():
    small, one, large = promise_tables(summary(KEPT, REVERSED), FACTS)
    assert small.title.startswith("0.25 nats a person: ") and "1.28-fold" in small.title
    assert one.heads[2:] == ("First 2 keep their ranks", "Pairs reversed", "An item moves")
    assert [row[0] for row in one.rows] == [
        "With a curator (noisy counts)",
        "With nobody trusted (randomized response)",
    ]
    curator, nobody = one.rows
    assert curator[1] == (
        "The first 2 stay where they are in nearly every release; one pair in 50 is reversed."
    )
    assert curator[2:] == ("96 % of releases [95 %, 97 %]", "2 % of pairs [1 %, 3 %]", "–")
    assert nobody[1] == "Nothing: no order survives, coins would reverse half of the pairs."
    assert large.rows[1][1] == (
        "The first 2 stay where they are in 5 of 10 releases; one pair in 5 is reversed."
    )


@pytest.mark.parametrize("lacking", ["first_kept", "item"])
def test_other_studies_have_no_such_tables(lacking):
    whole = summary(KEPT, REVERSED)
    other = whole.drop_vars("first_kept") if lacking in whole else whole.isel(item=[0])
    assert promise_tables(other, FACTS) == []
