"""Sentences on what each promise to a person does to the first ranks."""

import numpy as np
import pytest
import xarray as xr

from pipeline.reporting.promises import promises
from pipeline.reporting.section import Facts, Protection

PERSONS = [0.25, 1.0, 4.0]
FACTS = Facts(
    privacy=[
        Protection("noisy_counts", [], trust="curator"),
        Protection("randomized_response", [], trust="nobody"),
        Protection("none", [], trust="everybody"),
    ],
    constants={"first": 2},
)


def summary(kept, are_reversed, persons=PERSONS):
    """Of three mechanisms and two items. kept, are_reversed: (persons, mechanisms), of all items."""
    axes = ("person", "mechanism", "item")
    columns = {}
    for name, values in (("first_kept", kept), ("pairs_reversed", are_reversed)):
        of_items = np.repeat(np.array(values, float)[:, :, None], 2, axis=2)
        of_items[:, :, 0] = 0.5
        for suffix, width in (("", 0.0), ("_low", -0.01), ("_high", 0.01)):
            columns[name + suffix] = (axes, of_items + width)
    levels = {
        "person": persons,
        "mechanism": [protection.mechanism for protection in FACTS.privacy],
        "item": ["tea", "all items"],
    }
    return xr.Dataset(columns, levels)


KEPT = [[0.2, 0.01, 1], [0.96, 0.03, 1], [0.97, 0.5, 1]]
REVERSED = [[0.3, 0.49, 0], [0.02, 0.46, 0], [0.01, 0.2, 0]]


def test_each_trust_has_a_sentence_at_one_nat():
    curator, nobody = promises(summary(KEPT, REVERSED), FACTS)
    assert curator.statement == (
        "At 1 nat a person, with a curator (noisy counts), the first 2 keep their ranks"
    )
    assert curator.shown == "96 % of releases"
    assert curator.where == (
        "95 % to 97 %; 2 % of all pairs are reversed; in 95 % of releases they do from 1 nats on"
    )
    assert nobody.statement == (
        "At 1 nat a person, with nobody trusted (randomized response), no order survives"
    )
    assert nobody.shown == "46 % of all pairs are reversed"
    assert nobody.where.endswith("the first 2 keep their ranks in 3 % of releases")


def test_the_nearest_promise_is_told_and_how_far_it_reaches():
    kept = [[0.96, 0.01, 1], [0.5, 0.03, 1], [0.6, 0.7, 1]]
    told = [*promises(summary(kept, REVERSED, persons=[0.1, 2.0, 8.0]), FACTS)]
    assert told[0].statement.startswith("At 2 nats a person, with a curator")
    assert told[0].where.endswith("in 95 % of releases they do at no promise up to 8 nats")


@pytest.mark.parametrize("lacking", ["item", "metric", "all"])
def test_other_studies_have_no_such_sentences(lacking):
    whole = summary(KEPT, REVERSED)
    others = {
        "item": whole.isel(item=1, drop=True),
        "metric": whole.drop_vars("pairs_reversed"),
        "all": whole.isel(item=[0]),
    }
    assert [*promises(others[lacking], FACTS)] == []


def test_labels_have_a_sentence_of_the_best_estimator():
    axes = ("person", "mechanism", "estimator", "task")
    means = np.full((3, 3, 2, 1), np.nan)
    means[:, 0, 0, 0] = [0.6, 0.9, 0.96]
    means[:, 1, :, 0] = [[0.5, 0.5], [0.52, 0.55], [0.6, 0.7]]
    columns = {
        "label_kept": (axes, means),
        "label_kept_low": (axes, means - 0.01),
        "label_kept_high": (axes, means + 0.01),
    }
    levels = {
        "person": PERSONS,
        "mechanism": [protection.mechanism for protection in FACTS.privacy],
        "estimator": ["vote_mixture", "majority_vote"],
        "task": ["all tasks"],
    }
    curator, nobody = promises(xr.Dataset(columns, levels), FACTS)
    assert curator.statement == (
        "At 1 nat a person, with a curator (noisy counts, vote mixture), tasks keep their labels"
    )
    assert curator.shown == "90 % of tasks" and curator.where.endswith("from 4 nats on")
    assert nobody.statement.startswith(
        "At 1 nat a person, with nobody trusted (randomized response, majority vote)"
    )
    assert nobody.shown == "55 % of tasks"
