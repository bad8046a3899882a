"""Responses that are partly guessed, and missing not at random: against enumeration, and the Rasch model they are."""

import itertools
import math

import numpy as np
import pytest

from pipeline.problems.response.misspecified import MisspecifiedRasch, SilencedItems
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree

REPS = 60_000
ABILITY, BETA, SILENT = 0.4, (0.7, -0.7), (0.8, 0.3)


def law(silent, g, p=0.75):
    """Table by the two responses of a person: 0 wrong, 1 right, 2 not observed."""
    table = np.zeros((3, 3))
    cells = []
    for beta, s in zip(BETA, silent, strict=True):
        right = (1 - g) / (1 + math.exp(beta - ABILITY)) + g / 2
        told = p * (1 - right) * (1 - s), p * right
        cells.append((*told, 1 - sum(told)))
    for a, b in itertools.product(range(3), repeat=2):
        table[a, b] = cells[0][a] * cells[1][b]
    return table


def test_responses_have_their_law():
    model = build(MisspecifiedRasch, dict(n=1, m=2, p=0.75, at_random=0.3, left_out=0.9))
    truth = SilencedItems(*(np.tile(one, (REPS, 1)) for one in (BETA, (ABILITY,), SILENT)))
    found = model.simulate(truth, np.random.default_rng(1))
    assert not (found.answers & ~found.observed).any()
    kind = np.where(found.observed, found.answers, 2)[:, 0]
    counts = np.bincount(kind @ [3, 1], minlength=9)
    assert counts_agree(counts, law(SILENT, 0.3), "responses of a person")
    assert not counts_agree(counts, law(SILENT[::-1], 0.3), "control: the other item's wrong ones")
    assert not counts_agree(counts, law(SILENT, 0), "control: nothing guessed")


def test_what_is_told_is_a_rasch_model_of_other_difficulties():
    """The odds of one item right and the other wrong, against the other way round, are e^(β'_j − β'_i)."""
    told = law(SILENT, 0)
    moved = [beta + math.log1p(-s) for beta, s in zip(BETA, SILENT, strict=True)]
    assert told[1, 0] / told[0, 1] == pytest.approx(math.exp(moved[1] - moved[0]), rel=1e-12)
    assert told[1, 0] / told[0, 1] != pytest.approx(math.exp(BETA[1] - BETA[0]), rel=0.1)


def test_persons_are_moved_and_missing_answers_are_declared():
    model = build(MisspecifiedRasch, dict(n=3, m=2, ability_shift=-50.0))
    truth = model.truth(np.random.default_rng(1), 5, None)
    assert (truth.ability < -40).all() and not model.simulate(
        truth, np.random.default_rng(2)
    ).answers.any()
    with pytest.raises(InvalidInput, match="left_out=0.1: needs missing responses"):
        build(MisspecifiedRasch, dict(n=3, m=2, left_out=0.1))
