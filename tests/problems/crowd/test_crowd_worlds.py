"""Simulated controls of claims on crowds: each wrong world is seen by its claims, and some by those
that once were not.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

import pipeline as pl
from pipeline.analysis.claims import CONTRADICTED, SUPPORTED, TOO_WEAK, SimulatedControl, judge
from pipeline.analysis.controls import replaced
from pipeline.library.controls import judge_control
from pipeline.problems.common.changes import Wrapper, replaced_part
from pipeline.problems.crowd.claims import CLAIMS, controls
from tests.helpers.real_data import real

BY_ID = {claim.id: claim for claim in CLAIMS}
SIMULATED = [
    name
    for name, claim in BY_ID.items()
    if not name.startswith("wang.real.") and isinstance(claim.simulated, SimulatedControl)
]
LABELS = dict(grid=dict(n=[200, 400], wanted_wisdom=[2, 4, 6, 8, 10, 12]), replications=100)
FEW = dict(replications=300, block=300)
LARGE = dict(replications=20, block=2)  # for up to 20,000,000 answers a replication
SIZES = {  # what a world needs beyond the quick size, or less than that
    "wang.theorem_1": FEW,
    "wang.equation_22": FEW,
    "wang.theorem_2.sharp": LABELS,
    "wang.labels.weak": dict(grid=dict(n=[200], wanted_wisdom=[1, 2, 4])),
    "wang.theorem_2.bound": LARGE,
    "wang.theorem_2.starts": LARGE,
    "wang.theorem_3.conditions": LARGE,
    "wang.theorem_3.projected": LARGE,
    "inference.crowd.threshold": dict(replications=600),
    # At larger n v̂ few labels are wrong where tasks are alike.
    "wang.task_difficulty.sure": dict(
        grid=dict(wanted_wisdom=[8, 16], estimator=["dawid_skene"]), replications=100
    ),
}
# Seconds each: SIMULATIONS=full includes them.
SLOW = {
    "inference.crowd.threshold",
    "wang.theorem_2.sharp",
    "wang.theorem_2.bound",
    "wang.theorem_2.starts",
    "wang.theorem_3.projected",
    "wang.theorem_3.bound",
    "wang.rare",
    "wang.rare.vote",
    "wang.start.spectral",
    "wang.task_difficulty.vote",
    "wang.task_difficulty.bound",
    "wang.task_difficulty.oracle",
    "wang.task_difficulty.rate",
    "wang.task_difficulty.theorem_2",
    "wang.two_coins.law",
}


def judged(name, control=None, **changes):
    """What a claim says of its own wrong world, or of another one."""
    claim = BY_ID[name]
    if control is not None:
        claim = replace(claim, simulated=control)
    check = judge_control(claim, **{"size": "quick", "seed": 11} | SIZES.get(name, {}) | changes)
    print(f"{claim.simulated.description}: {check.text}")
    return check.verdict


@pytest.mark.parametrize("name", SIMULATED)
def test_a_claim_rejects_its_wrong_world(name):
    if name in SLOW and os.environ.get("SIMULATIONS") != "full":
        pytest.skip("takes long: SIMULATIONS=full")
    assert judged(name) == CONTRADICTED


def test_the_small_grid_tells_votes_from_their_control():
    """Labels that are never wrong, in a hundred replications, would not be told from the bound."""
    claim = BY_ID["wang.theorem_4.vote"]
    results = pl.simulate(
        "wang/experts",
        size="quick",
        seed=11,
        grid=dict(expert_exponent=[0.45], n=[25, 50, 100], epsilon=[1.75, 4]),
    )
    judgement = judge(claim, results)
    print(judgement.check.text, judgement.control.text, sep="\n")
    assert judgement.verdict == SUPPORTED and judgement.sound
    never_wrong = replace(claim.control, make=replaced("label_error", "oracle_error"))
    assert judge(replace(claim, control=never_wrong), results).verdict == TOO_WEAK


@pytest.mark.parametrize("path, truth", [real("crowd/rte_label.csv", "crowd/rte_truth.csv")])
def test_a_claim_on_rte_rejects_its_wrong_world(path, truth):
    assert judged("wang.real.rte", **{"data.path": path, "data.truth": truth}) == CONTRADICTED


@pytest.mark.parametrize(
    "path, truth", [real("crowd/bluebird_label.csv", "crowd/bluebird_truth.csv")]
)
@pytest.mark.parametrize(
    "name", ["wang.real.bluebird", "wang.real.bluebird.two_coins", "wang.real.close"]
)
def test_claims_on_bluebird_reject_their_wrong_worlds(name, path, truth):
    assert judged(name, **{"data.path": path, "data.truth": truth}) == CONTRADICTED


@dataclass(frozen=True)
class Unequal(Wrapper):
    """A mechanism that flips some answers more often than others, and all of them as often as it
    says on average.
    """

    rates: Callable[
        [np.ndarray], np.ndarray
    ]  # answers (reps, n, m) -> weights of mean 1 that broadcast to them

    def release(self, data, rng):
        said = self.declared.release(data, rng)
        flipped = rng.random(data.answers.shape) < said.flip * self.rates(data.answers)
        return replace(said, answers=np.where(flipped, -data.answers, data.answers))


def more_ones(answers):
    return np.where(answers > 0, 1.2, 0.8)


def more_of_the_able(answers):
    """Those who agree with most others are flipped more, if they do not all agree."""
    with_others = (answers * np.sign(answers.sum(axis=1, keepdims=True))).mean(
        axis=2, keepdims=True
    )
    return 1 + 0.5 * (with_others - with_others.mean(axis=1, keepdims=True))


def unequal(rates):
    return SimulatedControl(
        rates.__name__, replaced_part("mechanism", lambda part: Unequal(part, rates))
    )


@pytest.mark.parametrize(
    "name, control",
    [
        ("wang.theorem_1", controls.UNFLIPPED),
        ("wang.theorem_1", controls.COINS),
        ("wang.theorem_1", unequal(more_ones)),
        ("wang.equation_22", controls.UNFLIPPED),
        ("wang.equation_22", unequal(more_of_the_able)),
        ("wang.limits.wisdom", controls.UNFLIPPED),
    ],
    ids=lambda one: getattr(one, "description", one),
)
def test_mechanisms_that_do_not_do_what_they_say_are_seen(name, control):
    """Nothing is flipped, or everything, or more of the answers that say 1, or of workers who are
    often right.
    """
    assert judged(name, control) == CONTRADICTED


def test_every_world_is_the_control_of_a_claim():
    worlds = {name for name, one in vars(controls).items() if isinstance(one, SimulatedControl)}
    assert worlds == {
        name for name in worlds for claim in CLAIMS if claim.simulated is getattr(controls, name)
    }
