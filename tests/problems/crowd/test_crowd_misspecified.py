"""Crowds of less able workers who tell one answer less often: against enumeration."""

import itertools

import numpy as np

from pipeline.problems.crowd.misspecified import MisspecifiedCrowd
from pipeline.study.study import build
from tests.helpers.checks import counts_agree

REPS = 60_000


def test_answers_have_their_law():
    """One worker, two tasks of labels 1; a worker who guesses does so in both."""
    model = build(
        MisspecifiedCrowd,
        dict(
            n=1,
            m=2,
            ability_low=0.9,
            ability_high=0.9,
            label_prior=1.0,
            answered=0.8,
            at_random=0.4,
            ability_loss=0.25,
            left_out=0.5,
        ),
    )
    rng = np.random.default_rng(1)
    truth = model.truth(rng, REPS, None)
    assert set(np.unique(truth.abilities.round(12))) == {0.5, 0.8}
    found = model.simulate(truth, rng).answers.reshape(REPS, 2)

    def law(g, left_out):
        table = np.zeros((3, 3))
        for share, able in ((g, 0.5), (1 - g, 0.8)):
            one = {1: 0.8 * able * (1 - left_out), -1: 0.8 * (1 - able)}
            one[0] = 1 - sum(one.values())
            for x, y in itertools.product((-1, 0, 1), repeat=2):
                table[x + 1, y + 1] += share * one[x] * one[y]
        return table

    counts = np.bincount((found + 1) @ [3, 1], minlength=9)
    assert counts_agree(counts, law(0.4, 0.5), "answers to two tasks")
    assert not counts_agree(counts, law(0.4, 0.0), "control: nothing left out")
    assert not counts_agree(counts, law(0.0, 0.5), "control: nobody guesses")
