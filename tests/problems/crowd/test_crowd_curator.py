"""Crowds whose votes get a curator's noise: sensitivities by enumeration, laws, errors."""

import itertools

import numpy as np
import pytest

import pipeline as pl
from pipeline.privacy.integer_laws import gaussian_pmf
from pipeline.privacy.published_counts import bounded_counts
from pipeline.problems.crowd.theory.vote_errors import net_votes
from pipeline.problems.crowd.theory.vote_sensitivity import ONE_NET_ROW, vote_sensitivity
from pipeline.study.parameters import InvalidInput

Z = 4.9  # of a two-sided test at α = 1e-6


def counts_of_one(m, questions):
    """{tasks: counts (answers, m, 2)} of every worker who answers so many of m tasks."""
    everything = {}
    for tasks in itertools.combinations(range(m), questions):
        rows = []
        for labels in itertools.product((0, 1), repeat=questions):
            counts = np.zeros((m, 2), int)
            counts[list(tasks), list(labels)] = 1
            rows.append(counts)
        everything[tasks] = np.array(rows)
    return everything


def largest(changes):
    """Largest sums of absolute values and of squares, of changes (…, numbers)."""
    return np.abs(changes).sum(axis=-1).max(), (changes**2).sum(axis=-1).max()


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_no_worker_changes_more_than_is_charged(m):
    for questions in range(1, m + 1):
        by_tasks = counts_of_one(m, questions)
        rows = np.concatenate(list(by_tasks.values()))
        net = rows[..., 1] - rows[..., 0]
        flat = rows.reshape(len(rows), -1)
        for numbers, votes in ((flat, "counts"), (net, "net")):
            absolute, squared = largest(numbers[:, None] - numbers)
            charged = vote_sensitivity(questions, votes, "replace_one")
            assert absolute == 2 * questions <= charged.absolute
            assert squared <= charged.squared
            if questions >= 4:  # else one row of a file may change more
                assert (absolute, squared) == charged
            absent = largest(numbers)
            assert absent == (questions, questions)
            assert max(questions, 2) == vote_sensitivity(questions, votes, "add_remove").absolute
        same = [tables[..., 1] - tables[..., 0] for tables in by_tasks.values()]
        public = max(largest(numbers[:, None] - numbers) for numbers in same)
        assert public == vote_sensitivity(questions, "public", "replace_one")


def test_no_row_of_a_file_changes_more_than_is_charged():
    """Files of three rows of two people: one row there or not, or any other row in its place."""
    kinds = list(itertools.product("uvw", range(2), range(2)))  # name, task, label

    def net_of(rows, most):
        person, group, side = zip(*rows, strict=True)
        times = np.ones(len(rows), int)
        counts = bounded_counts(person, np.array(group), np.array(side), times, 2, most)
        return tuple(counts[:, 1] - counts[:, 0])

    for most in (1, 2):
        replaced = (0, 0)
        present = (0, 0)
        for before in itertools.product(kinds, repeat=2):
            nets = np.array([net_of((*before, last), most) for last in kinds])
            first = np.array([net_of((last, *before), most) for last in kinds])
            for table in (nets, first):
                replaced = max(replaced, largest(table[:, None] - table))
                present = max(present, largest(table - np.array(net_of(before, most))))
        # Attained: less would be too little.
        assert replaced == ONE_NET_ROW["replace_one"]
        assert present == ONE_NET_ROW["add_remove"]


@pytest.mark.parametrize("questions", [5, 9])
def test_opposite_answers_to_many_tasks_change_as_much_as_is_charged(questions):
    opposite = np.full((1, questions), 2)
    assert largest(opposite) == vote_sensitivity(questions, "net", "replace_one")
    assert largest(opposite) == vote_sensitivity(questions, "public", "replace_one")
    both_counts = np.ones((1, 2 * questions), int)
    assert largest(both_counts) == vote_sensitivity(questions, "counts", "replace_one")


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("votes", ["counts", "net", "public"])
def test_noise_is_as_wide_as_is_stated(votes, delta):
    n, m, reps = 40, 10, 4000
    model = pl.crowd.models.DawidSkene(n=n, m=m, questions=4)
    people = pl.simulate_data(model, seed=1, replications=reps)
    mechanism = pl.crowd.NoisyVotes(
        n=n, m=m, questions=4, person=1.0, person_delta=delta, votes=votes
    )
    release = pl.simulate_release(mechanism, people, seed=2)
    noise = release.votes - people.data.answers.sum(axis=1, dtype=int)
    ratio = noise.var() / release.variance
    bound = Z * np.sqrt(5 / noise.size)  # tails as heavy as Laplace's
    print(f"n={noise.size}, variance ratio {ratio:.3f}, bound 1 ± {bound:.3f}, α=1e-6")
    assert abs(ratio - 1) < bound
    assert abs(ratio / 4 - 1) > bound  # the control: twice the sensitivity
    assert abs(noise.mean()) < Z * np.sqrt(release.variance / noise.size)
    correlation = np.corrcoef(noise[:, 0], people.data.answers[:, :, 0].sum(axis=1))[0, 1]
    assert abs(correlation) < Z / np.sqrt(reps)
    answered = (people.data.answers != 0).sum(axis=1)
    if votes == "public":
        assert (release.answered == answered).all()
    else:
        assert release.answered.mean() == pytest.approx(answered.mean(), abs=2)


def test_what_protecting_who_labelled_what_costs():
    """Nothing, where differences are released; twice the variance of pure noise on counts."""

    def variance(votes, delta=0.0, questions=8):
        mechanism = pl.crowd.NoisyVotes(
            n=9, m=20, person=1.0, person_delta=delta, questions=questions, votes=votes
        )
        return mechanism.variance

    assert variance("net") == variance("public")
    assert variance("counts") == pytest.approx(2 * variance("net"))
    for votes in ("counts", "net"):
        assert variance(votes, 1e-6) == pytest.approx(variance("public", 1e-6))


def test_votes_err_as_often_as_exact_laws_say():
    """The law of right minus wrong answers, convolved with that of the noise."""
    n, m, reps = 15, 6, 6000
    model = pl.crowd.models.DawidSkene(n=n, m=m, ability_low=0.8, ability_high=0.8)
    people = pl.simulate_data(model, seed=1, replications=reps)
    mechanism = pl.crowd.NoisyVotes(
        n=n, m=m, person=2.0, person_delta=1e-4, votes="net", neighbours_are="add_remove"
    )
    release = pl.simulate_release(mechanism, people, seed=2)
    wrong = pl.crowd.MajorityVote(n=n, m=m).fit(release).labels != people.truth.labels
    noise = np.arange(-200, 201)
    law = np.convolve(net_votes(np.full(n, 0.8)), gaussian_pmf(noise, mechanism.width))
    at_zero = len(law) // 2
    exact = law[:at_zero].sum() + law[at_zero] / 2
    plain = net_votes(np.full(n, 0.8))[:n].sum()
    bound = Z * wrong.mean(axis=1).std() / np.sqrt(reps)
    print(f"n={reps}, error {wrong.mean():.4f}, exact {exact:.4f} ± {bound:.4f}")
    assert abs(wrong.mean() - exact) < bound
    assert abs(wrong.mean() - plain) > bound  # the control: without noise


def test_with_a_curator_more_questions_help():
    """The opposite of what holds where nobody is trusted."""
    errors = []
    for questions in (1, 5, 20):
        model = pl.crowd.models.DawidSkene(n=150, m=20, questions=questions)
        people = pl.simulate_data(model, seed=1, replications=300)
        mechanism = pl.crowd.NoisyVotes(
            n=150, m=20, person=1.0, person_delta=1e-6, questions=questions, votes="net"
        )
        release = pl.simulate_release(mechanism, people, seed=2)
        labels = pl.crowd.MajorityVote(n=150, m=20).fit(release).labels
        errors.append((labels != people.truth.labels).mean())
    print(errors)
    assert errors[0] > errors[1] + 0.03 > errors[2] + 0.06


def test_mixture_knows_the_noise():
    """It learns that most labels are 1, and how sure each is; its mean ability is unbiased."""
    n, m, reps = 300, 100, 200
    model = pl.crowd.models.DawidSkene(n=n, m=m, label_prior=0.85)
    people = pl.simulate_data(model, seed=1, replications=reps)
    mechanism = pl.crowd.NoisyVotes(n=n, m=m, person=0.7, person_delta=1e-6)
    release = pl.simulate_release(mechanism, people, seed=2)
    truth = people.truth.labels
    majority = pl.crowd.MajorityVote(n=n, m=m).fit(release)
    learned = pl.crowd.VoteMixture(n=n, m=m).fit(release)
    half = pl.crowd.VoteMixture(n=n, m=m, share="half").fit(release)
    assert (half.labels == majority.labels).all()
    gain = (majority.labels != truth).mean(axis=1) - (learned.labels != truth).mean(axis=1)
    assert gain.mean() > Z * gain.std() / np.sqrt(reps)
    sure = (learned.posterior > 0.7) & (learned.posterior < 0.8)
    number = np.count_nonzero(sure)
    share = truth[sure].mean()
    mean = learned.posterior[sure].mean()
    bound = 0.02 + Z * 0.5 / np.sqrt(number)
    print(f"n={number}, share of ones {share:.3f}, posterior {mean:.3f} ± {bound:.3f}")
    assert abs(share - mean) < bound
    crowd = people.truth.abilities.mean(axis=1)
    assert abs((learned.abilities.mean(axis=1) - crowd).mean()) < 0.01
    assert abs((majority.abilities.mean(axis=1) - crowd).mean()) > 0.01  # the control: unaware


def test_a_fit_does_not_depend_on_other_replications():
    model = pl.crowd.models.DawidSkene(n=60, m=8)
    people = pl.simulate_data(model, seed=1, replications=20)
    release = pl.simulate_release(pl.crowd.NoisyVotes(n=60, m=8, person=0.5), people, seed=2)
    estimator = pl.crowd.VoteMixture(n=60, m=8)
    together = estimator.fit(release)
    first = type(release)(
        release.votes[:3], release.answered[:3], release.variance, release.workers
    )
    alone = estimator.fit(first)
    assert (alone.posterior == together.posterior[:3]).all()
    assert (alone.iterations == together.iterations[:3]).all()


def test_guarantee_says_what_is_protected():
    private = pl.crowd.NoisyVotes(n=9, m=5, person=1.0)
    assert private.promise().trust == "curator" and private.promise().epsilon == 1.0
    public = pl.crowd.NoisyVotes(n=9, m=5, person=1.0, person_delta=1e-6, votes="public")
    assert "which tasks a worker answered" in public.promise().public
    assert public.promise().rho == public.noise.budget
    absent = pl.crowd.NoisyVotes(n=9, m=5, person=1.0, neighbours_are="add_remove")
    assert absent.promise().relation == "there_or_not"


def test_budgets_that_cannot_be_answers_not_charged_and_answers_not_released():
    with pytest.raises(InvalidInput, match="wider than"):
        pl.crowd.NoisyVotes(n=5, m=10, person=1e-12)
    with pytest.raises(InvalidInput, match="must be 1 to 10"):
        pl.crowd.NoisyVotes(n=5, m=10, person=1.0, questions=11)
    people = pl.simulate_data(pl.crowd.models.DawidSkene(n=20, m=6), seed=1)
    with pytest.raises(InvalidInput, match="gave 6 answers"):
        pl.simulate_release(pl.crowd.NoisyVotes(n=20, m=6, person=1.0, questions=2), people)
    release = pl.simulate_release(pl.crowd.NoisyVotes(n=20, m=6, person=1.0), people)
    with pytest.raises(InvalidInput, match="releases votes on tasks and no answers"):
        release.answers  # noqa: B018
