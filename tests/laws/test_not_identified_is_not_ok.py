"""No estimate of a ranking or of difficulties is ok where the design leaves items apart; of its linked twin all are.

Every estimator, by every mechanism. Who answered what is protected by the noise on counts: nothing of it is published.
"""

import itertools

import numpy as np
import pytest

from pipeline.identity.registry import problems
from pipeline.problems.ranking.mechanisms.randomized_response import (
    RandomizedResponse as RankingResponse,
)
from pipeline.problems.ranking.misspecified import MisspecifiedBTL
from pipeline.problems.ranking.model import Comparisons
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.response.data.release import _difficulties
from pipeline.problems.response.estimators.likelihood import PairwiseLikelihood
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.mechanisms.noisy_differences import (
    DiscreteGaussian,
    DiscreteLaplace,
)
from pipeline.problems.response.model import GivenResponses, Rasch
from pipeline.study.parameters import fields
from pipeline.study.study import build

M, N, L, REPS = 6, 60, 40, 5
VALUES = dict(m=M, n=N, L=L, epsilon=3.0, epsilon_user=40.0, delta=1e-4, p=0.5)
NAMES = [
    (problem, part)
    for problem in ("ranking", "response")
    for part in problems()[problem].estimators
]

# Estimators that compare items by the law of abilities, which all who answer them share.
BY_LAW = {"item_shares"}


def rng(seed):
    return np.random.default_rng(seed)


class Partial(Comparisons):
    """Comparisons of given pairs, by all users; pairs: (REPS or 1, 1, pairs), 1 is a design that replications share."""

    def __init__(self, pairs):
        super().__init__(None, L, M, rng(1))
        self._made = np.broadcast_to(L * pairs, (REPS, *pairs.shape[1:]))
        self.wins = self._made[:, 0] // 2

    def compared(self, sizes):
        return self._made


def compared(matrix):
    """(…, 1, pairs) of symmetric (…, M, M)."""
    return np.asarray(matrix)[..., None, *np.triu_indices(M, 1)].astype(int)


def halves(bridges):
    """(REPS, M, M): pairs within two halves of the items, and in chosen replications one more pair that links them."""
    pairs = np.broadcast_to(
        np.kron(np.eye(2, dtype=bool), np.ones((M // 2, M // 2), bool)), (REPS, M, M)
    ).copy()
    for r in bridges:
        pairs[r, 1, M - 1] = pairs[r, M - 1, 1] = True
    return pairs


def responses(bridges):
    """Two halves of the persons saw a half of the items each, and in chosen replications some persons saw all."""
    observed = np.zeros((REPS, N, M), bool)
    observed[:, : N // 2, : M // 2] = observed[:, N // 2 :, M // 2 :] = True
    for r in bridges:
        observed[r, N // 3 : 2 * N // 3] = True
    return GivenResponses((rng(2).random((REPS, N, M)) < 0.5) & observed, observed)


def statuses(problem, name, data):
    """(mechanism, settings, converged (REPS,)) of an estimator by every mechanism whose releases it accepts."""
    kind = problem.load(problem.estimators[name])
    spectral = problem.name == "response" and "spectral" in name
    solvers = [dict(solver=solver) for solver in ("direct", "power")] if spectral else [{}]
    for mechanism, more in itertools.product(problem.mechanisms, solvers):
        cls = problem.load(problem.mechanisms[mechanism])
        if cls.guarantee.trust == "shuffler":  # which refuses a design that hides nobody
            continue
        values = VALUES if "epsilon" in fields(cls) else VALUES | {"person": 40.0}
        part = build(cls, values)
        release = data.release_plainly() if mechanism == "none" else part.release(data, rng(3))
        if isinstance(release, kind.accepts):
            yield mechanism, more, build(kind, VALUES | more).fit(release, rng(4)).converged


@pytest.mark.parametrize("problem, name", NAMES)
def test_only_linked_designs_are_ok(problem, name):
    fits = 0
    for bridges in ((), (1, 4), range(REPS)):
        linked = [r in bridges or name in BY_LAW for r in range(REPS)]
        designs = (
            [responses(bridges)] if problem == "response" else [Partial(compared(halves(bridges)))]
        )
        if problem == "ranking" and len(bridges) in (
            0,
            REPS,
        ):  # one design that all replications share
            designs += [Partial(compared(halves(bridges)[:1]))]
        for data in designs:
            for mechanism, more, converged in statuses(problems()[problem], name, data):
                assert converged.tolist() == linked, (mechanism, more, bridges)
                fits += 1
    print(f"{problem}: {name}: {fits} fits of {REPS} replications")
    assert fits >= 3


def reached(edges):
    """Whether item 0 leads to all items along symmetric edges (M, M): powers of a matrix of counts."""
    return bool((np.linalg.matrix_power(np.eye(len(edges)) + edges, len(edges))[0] > 0).all())


@pytest.mark.parametrize("p0", [1.0, 0.6])
@pytest.mark.parametrize("kind", [DiscreteGaussian, DiscreteLaplace])
def test_noise_on_counts_is_not_ok_exactly_where_nobody_links_the_items(kind, p0):
    model = Rasch(n=4, m=M, p=0.3)
    data = model.simulate(model.truth(rng(5), 200, rng(0)), rng(6))
    release = kind(m=M, epsilon_user=1.0, p0=p0).release(data, rng(7))
    seen = data.observed.astype(int)
    pairs = np.einsum("rni,rnj->rij", seen, seen) > 0
    edges = np.ones((1, M, M), bool) if release.edges is None else release.edges
    linked = [reached(one) for one in pairs & edges]
    print(f"{200 - sum(linked)} of 200 data sets not linked")
    assert 150 < 200 - sum(linked) < 200
    for estimator in (Spectral(m=M), Spectral(m=M, solver="power"), PairwiseLikelihood(m=M)):
        found = estimator.fit(release, None)
        assert found.converged.tolist() == linked
        assert np.isnan(found.theta).all(axis=1).tolist() == [not one for one in linked]


def test_many_responses_are_counted_once_for_their_links(monkeypatch):
    """Also where counts are made part by part, and asked for by several mechanisms."""
    model = Rasch(n=4, m=M, p=0.4)
    truth = model.truth(rng(5), 50, rng(0))
    whole = model.simulate(truth, rng(6)).linked()
    monkeypatch.setattr("pipeline.problems.response.model.KEPT", 0)
    parts = model.simulate(truth, rng(6))
    assert (parts.linked() == whole).all() and 0 < whole.sum() < 50
    assert parts.linked() is parts.linked()
    assert Rasch(n=4, m=M).simulate(truth, rng(6)).linked() is None  # all answered all


def test_what_is_published_says_nothing_of_who_answered_what():
    """`linked` is lent to studies: difficulties that were not published would say that nobody links the items."""
    pytest.importorskip("opendp")
    for bridges in ((), range(REPS)):
        data = responses(bridges)
        published = DiscreteGaussian(m=M, epsilon_user=1.0).publish(
            data.answers[0], data.observed[0]
        )
        assert published.edges.sum() == M * (M - 1)
        assert np.isfinite(_difficulties(Spectral(m=M), published).theta).all()


@pytest.mark.parametrize("profile", ["1:1", "0.5:1,0.5:4"])
def test_comparisons_left_out_are_not_ok_exactly_where_they_link_not_all_items(profile):
    model = MisspecifiedBTL(m=M, L=2, left_out=0.99, spread=0.0)
    data = model.simulate(model.truth(rng(8), 300, rng(0)), rng(9))
    release = RankingResponse(m=M, L=2, epsilon=2.0, profile=profile).release(data, rng(10))
    first, second = np.triu_indices(M, 1)
    edges = np.zeros((300, M, M), bool)
    edges[:, first, second] = edges[:, second, first] = release.compared.any(axis=1)
    linked = [reached(one) for one in edges]
    print(f"{300 - sum(linked)} of 300 designs not linked")
    assert 10 < 300 - sum(linked) < 290
    for name in problems()["ranking"].estimators:
        estimator = build(
            problems()["ranking"].load(problems()["ranking"].estimators[name]), VALUES
        )
        assert estimator.fit(release, rng(0)).converged.tolist() == linked, name


def test_a_design_that_replications_share_is_examined_once():
    own, users = L * compared(halves([3])), np.array([L])
    shared = np.broadcast_to(own[:1], own.shape)
    for made, linked in ((own, [False, False, False, True, False]), (shared, [False])):
        assert FlippedWins(made / 2, users, np.ones(1), M, made).linked.tolist() == linked
    assert FlippedWins(own / 2, users, np.ones(1), M).linked is True
