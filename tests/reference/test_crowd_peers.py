"""Dawid–Skene without privacy against crowd-kit's one-coin model.

crowd-kit also estimates the share of labels 1, which Wang and Xu fix at ½. Every task is therefore given twice, once
with all answers reversed: then that share is ½ at every step, and both take the same steps.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import OneCoinDawidSkene

from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene
from pipeline.problems.crowd.model import DawidSkene as Crowd

STEPS = 35  # of crowd-kit, 10 to 20 ms each; enough for able workers


def mirrored(seed, reps, n, m, **law):
    rng, crowd = np.random.default_rng(seed), Crowd(n=n, m=m, **law)
    answers = crowd.simulate(crowd.truth(rng, reps, rng), rng).answers
    return type(crowd).produces(np.concatenate([answers, -answers], axis=2)).release_plainly()


def theirs(answers):
    """Posterior (m,) and abilities (n,) from answers (n, m)."""
    worker, task = np.nonzero(answers)
    data = pd.DataFrame(
        {"worker": worker, "task": task, "label": (answers[worker, task] > 0).astype(int)}
    )
    model = OneCoinDawidSkene(n_iter=STEPS, tol=-np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, on crowd-kit
        model.fit(data)
    n, m = answers.shape
    return (
        model.probas_[1].reindex(range(m)).to_numpy(),
        model.skills_.reindex(range(n)).to_numpy(),
    )


@pytest.mark.parametrize("n, m, answered", [(9, 30, 1.0), (15, 30, 0.8)])
def test_labels_and_abilities_are_crowd_kits(n, m, answered):
    release = mirrored(1, 2, n, m, answered=answered, ability_low=0.75)
    found = DawidSkene(n=n, m=2 * m, projection=1e-10, iterations=10_000).fit(
        release, np.random.default_rng(0)
    )
    assert found.converged.all()
    for r, answers in enumerate(release.answers):
        posterior, abilities = theirs(answers)
        assert np.abs(found.abilities[r] - abilities).max() < 1e-6
        assert np.abs(found.posterior[r] - posterior).max() < 1e-6
        assert ((posterior >= 0.5) == found.labels[r]).all()


def test_without_mirroring_the_estimated_prior_shows():
    """The negative control: another model, other abilities."""
    rng, crowd = np.random.default_rng(2), Crowd(n=9, m=40, label_prior=0.2, ability_low=0.6)
    release = crowd.simulate(crowd.truth(rng, 1, rng), rng).release_plainly()
    found = DawidSkene(n=9, m=40, projection=1e-10, iterations=10_000).fit(release, rng)
    assert np.abs(found.abilities[0] - theirs(release.answers[0])[1]).max() > 1e-4
