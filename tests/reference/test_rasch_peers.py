"""Difficulties in the Rasch model without privacy against girth: conditional, marginal and joint likelihood."""

import numpy as np
import pytest
from girth import rasch_conditional, rasch_jml, rasch_mml
from scipy.optimize import brentq
from scipy.special import expit

from pipeline.problems.response.estimators.likelihood import JointLikelihood, PairwiseLikelihood
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.releases import OpenResponses

RAW = dict(pseudo_count=0.0, floor=0.0)
N, M, REPS = 1500, 6, 8


def simulated(seed, m=M, n=N):
    model, rng = Rasch(n=n, m=m, items="fixed"), np.random.default_rng(seed)
    truth = model.truth(rng, REPS, np.random.default_rng(0))
    return truth.theta[0], OpenResponses(model.simulate(truth, rng).answers, None)


def fits(kind, release):
    found = kind.fit(release, np.random.default_rng(0))
    assert found.converged.all()
    return found.theta


def theirs(method, release):
    """girth has items × persons, and no common origin."""
    found = [method(answers.T.astype(int))["Difficulty"] for answers in release.answers]
    return np.array([beta - beta.mean() for beta in found])


def test_two_items_are_those_of_conditional_likelihood():
    """With two items the pair is all there is; girth stops at steps of 1e-3."""
    _, release = simulated(1, m=2)
    conditional = theirs(rasch_conditional, release)
    for kind in (PairwiseLikelihood(m=2, ridge=0.0, **RAW), Spectral(m=2, **RAW)):
        assert fits(kind, release) == pytest.approx(conditional, abs=2e-3)
    assert fits(JointLikelihood(m=2, n=N), release) != pytest.approx(conditional, abs=0.05)


@pytest.mark.parametrize("method", [rasch_conditional, rasch_mml])
@pytest.mark.parametrize("kind", [PairwiseLikelihood(m=M, ridge=0.0, **RAW), Spectral(m=M, **RAW)])
def test_consistent_estimators_are_closer_to_each_other_than_to_the_truth(method, kind):
    """They use the same data, a little less well: apart by less than half of the error."""
    truth, release = simulated(2)
    ours, peer = fits(kind, release), theirs(method, release)
    error = np.sqrt(np.mean((peer - truth) ** 2))
    apart = np.sqrt(np.mean((ours - peer) ** 2))
    print(f"apart {apart:.4f}, error {error:.4f}")
    assert apart < 0.5 * error
    control = fits(JointLikelihood(m=M, n=N), release)
    assert np.sqrt(np.mean((control - peer) ** 2)) > error


def test_joint_likelihood_of_items_given_their_abilities():
    """girth rescales abilities to unit variance, another estimator; but its items' step solves the same equations.

    At the joint maximum, Σ_l σ(θ_l − β_i) over persons with some but not all answers right is item i's count; solved
    here with SciPy's root finder, person by person, item by item.
    """
    _, release = simulated(3, n=200)
    ours = fits(JointLikelihood(m=M, n=200), release)
    for answers, beta in zip(release.answers, ours, strict=True):
        score = answers.sum(axis=1)
        kept = (score > 0) & (score < M)
        ability = {
            r: brentq(lambda t, r=r, b=beta: expit(t - b).sum() - r, -30, 30, xtol=1e-12)
            for r in range(1, M)
        }
        people = np.array([ability[r] for r in score[kept]])
        again = [
            brentq(lambda b, c=c, t=people: expit(t - b).sum() - c, -30, 30, xtol=1e-12)
            for c in answers[kept].sum(axis=0)
        ]
        assert beta == pytest.approx(again, abs=1e-8)
    peer = theirs(rasch_jml, release)
    slope = (ours * peer).sum() / (peer * peer).sum()
    assert np.corrcoef(ours.ravel(), peer.ravel())[0, 1] > 0.999 and slope != pytest.approx(
        1, abs=0.01
    )
