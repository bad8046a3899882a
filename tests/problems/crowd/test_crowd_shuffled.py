"""Crowds whose messages are shuffled: budgets, laws, refusals."""

import numpy as np
import pytest

import pipeline as pl
from pipeline.privacy.composition import answer_budget
from pipeline.privacy.shuffling import shuffled_answer_budget, shuffled_person_delta
from pipeline.problems.crowd.theory.vote_errors import vote_error
from pipeline.problems.crowd.theory.wisdom import private_ability
from pipeline.study.parameters import InvalidInput

PROMISE = {"person": 1.0, "person_delta": 1e-6}
Z = 4.9  # of a two-sided test at α = 1e-6


@pytest.mark.parametrize("questions", [1, 4, None])
def test_the_promise_of_a_worker_is_kept_by_the_flips_and_hardly_more(questions):
    mechanism = pl.crowd.ShuffledResponse(n=2000, m=12, questions=questions, **PROMISE)
    answers = questions or 12
    assert mechanism.reports == 2000 * answers // 12
    answer = mechanism.answer_epsilon
    assert answer == shuffled_answer_budget(1.0, answers, 1e-6, mechanism.reports)
    assert shuffled_person_delta(1.0, answer, answers, mechanism.reports) <= 1e-6
    # Control: half of the messages.
    assert shuffled_person_delta(1.0, answer, answers, mechanism.reports // 2) > 1e-6
    assert answer > 1.9 * answer_budget(1.0, answers, 1e-6)
    promise = mechanism.promise()
    assert (promise.trust, promise.epsilon, promise.delta) == ("shuffler", 1.0, 1e-6)


@pytest.mark.parametrize("questions", [3, None])
def test_votes_are_those_of_flips_at_that_budget(questions):
    """The exact error of majority vote at the budget of one answer before shuffling."""
    n, m, reps = 60, 6, 1500
    model = pl.crowd.models.DawidSkene(n=n, m=m, questions=questions, ability_low=0.6)
    people = pl.simulate_data(model, seed=1, replications=reps)
    mechanism = pl.crowd.ShuffledResponse(n=n, m=m, questions=questions, **PROMISE)
    release = pl.simulate_release(mechanism, people, seed=2)
    answered = (people.data.answers != 0).sum(axis=1)
    assert (release.answered == answered).all()
    wrong = (pl.crowd.MajorityVote(n=n, m=m).fit(release).labels != people.truth.labels).mean(
        axis=1
    )

    def expected(epsilon):
        """On average over who answers: the error of as many workers, drawn at random."""
        right = private_ability(people.truth.abilities, epsilon)
        number = int(answered[0, 0])
        return vote_error(right[:, :number]).mean()

    exact = expected(mechanism.answer_epsilon)
    bound = Z * wrong.std() / np.sqrt(reps)
    print(f"n={reps}, error {wrong.mean():.4f}, exact {exact:.4f} ± {bound:.4f}")
    assert abs(wrong.mean() - exact) < bound
    # The control: what the promise allows without a shuffler.
    without = expected(answer_budget(1.0, mechanism.answers, 1e-6))
    assert abs(wrong.mean() - without) > bound


def test_a_shuffler_stands_between_nobody_and_a_curator():
    """Where everybody labels everything, votes are nearly as noisy as with a curator."""
    n, m = 20_000, 10
    shuffled = pl.crowd.ShuffledResponse(n=n, m=m, **PROMISE)
    curator = pl.crowd.NoisyVotes(n=n, m=m, votes="net", **PROMISE)
    flips = n / np.sinh(shuffled.answer_epsilon / 2) ** 2
    alone = n / np.sinh(answer_budget(1.0, m, 1e-6) / 2) ** 2
    print(f"variances {flips:.0f}, curator {curator.variance:.0f}, nobody {alone:.0f}")
    assert 0.7 < flips / curator.variance < 1.3
    assert alone > 50 * flips


def test_what_hides_nobody_is_refused():
    with pytest.raises(InvalidInput, match="must be balanced"):
        pl.crowd.ShuffledResponse(n=100, m=6, questions=2, design="random", **PROMISE)
    assert pl.crowd.ShuffledResponse(n=100, m=6, design="random", **PROMISE).reports == 100
    with pytest.raises(InvalidInput, match="person_delta"):
        pl.crowd.ShuffledResponse(n=100, m=6, person=1.0, person_delta=0.0)
    with pytest.raises(InvalidInput, match="at least 6"):
        pl.crowd.ShuffledResponse(n=5, m=6, questions=1, **PROMISE)
    mechanism = pl.crowd.ShuffledResponse(n=50, m=6, questions=2, **PROMISE)
    everything = pl.simulate_data(pl.crowd.models.DawidSkene(n=50, m=6), seed=1, replications=2)
    with pytest.raises(InvalidInput, match="gave 6 answers"):
        pl.simulate_release(mechanism, everything, seed=2)
    few = pl.crowd.models.DawidSkene(n=50, m=6, questions=2, answered=0.5)
    with pytest.raises(InvalidInput, match="every worker must answer"):
        pl.simulate_release(mechanism, pl.simulate_data(few, seed=1, replications=2), seed=2)
