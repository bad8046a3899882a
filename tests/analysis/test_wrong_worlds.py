"""Simulated controls: only the parts change, only what a claim reads is simulated, and the claim sees it."""

import dataclasses

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.claims import CONTRADICTED, SUPPORTED, NotSimulated, SimulatedControl
from pipeline.analysis.wrong_worlds import as_expected, checks_of_wrong_worlds, wrong_world
from pipeline.problems.common.changes import (
    all_of,
    answers_of,
    changed_data,
    changed_estimate,
    changed_release,
    data_of,
    in_secret,
    with_parameters,
)
from pipeline.problems.crowd.claims.limits import CLAIMS
from pipeline.storage.datasets import blank
from pipeline.study.study import Study
from pipeline.study.wrong_worlds import WrongWorld, unchanged

EPSILONS = [0.5, 1.0, 2.0]
METRICS = ("answers_wrong", "ones_wrong", "zeros_wrong", "wrong_together", "label_error")
STUDY = Study(
    "wang/privacy",
    "crowd",
    seed=3,
    replications=200,
    block=100,
    metrics=METRICS,
    grid={"epsilon": EPSILONS, "ability_low": [0.5, 1.0]},
    parameters=dict(
        model="dawid_skene", n=10, m=200, mechanism="randomized_response", estimator="majority_vote"
    ),
)
LOSS = next(claim for claim in CLAIMS if claim.id == "wang.theorem_1")
TWICE = SimulatedControl(
    "twice the declared ε", with_parameters("mechanism", epsilon=lambda declared: 2 * declared)
)


def whole(study: Study) -> xr.Dataset:
    """All cells of a study, simulated one by one."""
    results = blank(study)
    for number, labels in enumerate(study.grid):
        for block in range(study.blocks):
            rows = slice(block * study.block, (block + 1) * study.block)
            for name, values in study.simulate(labels, block).items():
                results[name].values[*np.unravel_index(number, (3, 2)), rows] = values
    return results


def test_a_world_without_a_change_has_the_numbers_of_the_study():
    claim = dataclasses.replace(LOSS, simulated=SimulatedControl("nothing", unchanged))
    found = wrong_world([claim], claim.simulated, STUDY, blank(STUDY))
    read = found["status"] > 0
    assert read.any("replication").sel(ability_low=1.0).all()
    assert not read.sel(ability_low=0.5).any()  # which the claim does not read
    for name, values in whole(STUDY).data_vars.items():
        assert found[name].where(read).equals(values.where(read).transpose(*found[name].dims))


def test_a_claim_is_contradicted_in_its_wrong_world_only():
    controls = (
        TWICE,
        SimulatedControl("nothing", unchanged),
        SimulatedControl("nothing", unchanged, SUPPORTED),
    )
    claims = [
        dataclasses.replace(LOSS, simulated=control)
        for control in (*controls, NotSimulated("none"))
    ]
    found = list(checks_of_wrong_worlds(claims, STUDY, blank(STUDY)))
    assert [claim.simulated for claim, _ in found] == [*controls]
    assert [check.verdict for _, check in found] == [CONTRADICTED, SUPPORTED, SUPPORTED]
    assert [as_expected(*one) for one in found] == [True, False, True]


def released(change, labels):
    """Release of one cell's world, and that of the declared parts on the same data."""
    parts = STUDY.components(labels)
    wrong = change(parts)
    truth = parts.model.truth(np.random.default_rng(1), 50, np.random.default_rng(2))
    return [
        one.mechanism.release(
            one.model.simulate(truth, np.random.default_rng(3)), np.random.default_rng(4)
        )
        for one in (parts, wrong)
    ]


LABELS = {"epsilon": 1.0, "ability_low": 1.0}


def test_what_is_done_in_secret_is_not_told():
    right, open_one = released(TWICE.change, LABELS)
    _, secret = released(in_secret(TWICE.change), LABELS)
    assert np.array_equal(secret.answers, open_one.answers) and not np.array_equal(
        secret.answers, right.answers
    )
    assert secret.flip == right.flip != open_one.flip


@pytest.mark.parametrize(
    "change",
    [
        changed_release(
            lambda release, rng: dataclasses.replace(release, answers=-release.answers)
        ),
        changed_data(lambda data, rng: dataclasses.replace(data, answers=-data.answers)),
        answers_of(lambda model: dataclasses.replace(model, answered=0.5)),
        data_of(lambda truth: dataclasses.replace(truth, abilities=1 - truth.abilities)),
    ],
    ids=["release", "data", "answers", "truth"],
)
def test_people_or_releases_may_be_wrong(change):
    right, wrong = released(change, LABELS)
    assert not np.array_equal(right.answers, wrong.answers)


def test_a_changed_release_says_its_type():
    """Releases are checked against it: without it that of the declared mechanism."""
    parts = STUDY.components(LABELS)
    same, another = (
        changed_release(lambda release, rng: release, releases=kind)(parts) for kind in (None, dict)
    )
    assert (
        same.mechanism.releases is parts.mechanism.releases and another.mechanism.releases is dict
    )


def test_changes_come_one_after_the_other_and_leave_other_parts():
    parts = STUDY.components(LABELS)
    both = all_of(TWICE.change, TWICE.change)(parts)
    assert both.mechanism.epsilon == 4 and both.model == parts.model
    assert with_parameters("mechanism", budget_of_nobody=1)(parts) == parts


def test_estimates_may_be_wrong():
    flipped = changed_estimate(
        lambda estimate: dataclasses.replace(estimate, labels=1 - estimate.labels)
    )
    world = WrongWorld.of(STUDY, flipped)
    right, wrong = (one.simulate(LABELS, 0)["label_error"] for one in (STUDY, world))
    assert np.allclose(right, 1 - wrong)
