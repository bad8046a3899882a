"""Wrong worlds of responses: each does what it says, and a claim that reads it sees it."""

import dataclasses

import numpy as np
import pytest

from pipeline.analysis.claims import CONTRADICTED, NotSimulated, SimulatedControl
from pipeline.library.controls import judge_control
from pipeline.problems.response.claims import CLAIMS, controls
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.mechanisms.noisy_differences import DiscreteGaussian
from pipeline.problems.response.model import Rasch
from pipeline.study.study import Study
from pipeline.study.wrong_worlds import unchanged

BY_NAME = {claim.id: claim for claim in CLAIMS}
SMALL = dict(size="quick", replications=100, block=50, seed=11)
SOME = [  # of worlds that are simulated fast
    "nguyen.theorem_3_1.rate",
    "nguyen.theorem_3_1.spread",
    "nguyen.theorem_3_1.few",
    "nguyen.theorem_1_7",
    "nguyen.joint_likelihood",
    "nguyen.theorem_3_2",
    "nguyen.lemma_4_1.corrected",
    "nguyen.lemma_4_1.tight",
]


@pytest.mark.parametrize("name", SOME)
def test_a_claim_is_contradicted_in_its_wrong_world(name):
    claim = BY_NAME[name]
    found = judge_control(claim, **SMALL)
    print(f"{claim.simulated.description}: {found.text}")
    assert found.verdict == CONTRADICTED


@pytest.mark.parametrize("name", ["nguyen.theorem_1_7", "nguyen.lemma_4_1.corrected"])
def test_a_claim_is_not_contradicted_where_nothing_is_wrong(name):
    claim = dataclasses.replace(BY_NAME[name], simulated=SimulatedControl("nothing", unchanged))
    found = judge_control(claim, **SMALL)
    print(found.text)
    assert found.verdict == claim.best


def test_worlds_are_shared():
    of_paper = [claim for claim in CLAIMS if claim.id.startswith("nguyen.")]
    simulated = {
        claim.simulated for claim in of_paper if isinstance(claim.simulated, SimulatedControl)
    }
    reasons = {
        claim.simulated.reason for claim in CLAIMS if isinstance(claim.simulated, NotSimulated)
    }
    assert all(claim.simulated for claim in CLAIMS)
    assert len(simulated) <= 28 and len(reasons) <= 2 and all(reasons)


def parts(change, **values):
    """Parts of a cell of a study in a wrong world."""
    settings = dict(
        model="rasch",
        n=40,
        m=8,
        mechanism="discrete_gaussian",
        epsilon_user=5.0,
        estimator="spectral",
    )
    study = Study(
        "worlds",
        "response",
        seed=1,
        replications=20,
        block=20,
        metrics=("error_l2",),
        grid={"m": [8]},
        parameters={name: value for name, value in (settings | values).items() if name != "m"},
    )
    return change(study.components({"m": 8}))


def data_and_release(change, **values):
    found = parts(change, **values)
    streams = np.random.default_rng(3).spawn(3)
    truth = found.model.truth(streams[0], 200, streams[0])
    data = found.model.simulate(truth, streams[1])
    return data, found.mechanism.release(data, streams[2])


def test_other_numbers_of_persons_answer():
    assert data_and_release(controls.SIXTEENTH.change)[0].persons == 2
    assert data_and_release(controls.CROWD.change)[0].persons == 40 * 32
    assert data_and_release(controls.NEWCOMERS.change, n=200)[0].persons == 400
    assert data_and_release(controls.FOLLOWERS.change, n=900)[0].persons == 250


def test_twins_give_the_same_answers():
    data, _ = data_and_release(controls.TWINS.change)
    assert data.persons == 40 and (data.answers[:, :20] == data.answers[:, 20:]).all()


def test_neighbours_in_a_ring():
    near = controls.neighbours(9)
    assert (
        (near == near.T).all()
        and (near.sum(axis=0) == 2 * controls.NEAR).all()
        and not near.diagonal().any()
    )
    _, release = data_and_release(controls.RING.change)
    assert (release.edges == controls.neighbours(8)).all() and not release.counts[
        :, ~release.edges[0]
    ].any()


def test_noise_of_other_variances_is_not_told():
    loud, quiet, right = (
        data_and_release(change)
        for change in (controls.LOUD.change, controls.QUIET.change, unchanged)
    )
    off = ~np.eye(8, dtype=bool)
    ratios = []
    for data, release in (loud, quiet, right):
        noise = (release.counts - data.differences())[:, off]
        assert (release.variance == right[1].variance).all()
        ratios.append(float(noise.var() / release.variance[0]))
    n = noise.size
    print(f"variance over that said: n={n} statistic={ratios} bounds: 2, 0 and 1, each ± 0.1")
    assert np.abs(np.array(ratios) - [2, 0, 1]).max() < 0.1


def test_changes_are_for_cells_of_one_kind():
    dense, sparse = dict(p0=1.0), dict(p0=0.9)
    assert isinstance(parts(controls.LOUD_SPARSE.change, **dense).mechanism, DiscreteGaussian)
    assert not isinstance(parts(controls.LOUD_SPARSE.change, **sparse).mechanism, DiscreteGaussian)
    assert isinstance(parts(controls.QUIET_LAPLACE.change, **dense).mechanism, DiscreteGaussian)
    assert isinstance(
        parts(controls.SPECTRAL.change, estimator="pairwise_likelihood").estimator, Spectral
    )


def test_half_of_the_responses_are_guessed():
    model = Rasch(n=50_000, m=3, item_law="spaced", spacing=4.0)
    truth = model.truth(np.random.default_rng(0), 1, np.random.default_rng(0))
    right, wrong = (
        one.simulate(truth, np.random.default_rng(1)).answers.mean(axis=(0, 1))
        for one in (model, controls._guessing(model))
    )
    order = np.argsort(truth.theta[0])
    print(f"share right: n=50000 statistic={wrong[order]} of {right[order]}, bound 0.02")
    assert np.abs(wrong - (right + 0.5) / 2).max() < 0.02
