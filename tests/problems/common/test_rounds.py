"""A person's budget that several releases share: against enumeration, and against dp-accounting."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_distribution import (
    from_discrete_gaussian_mechanism,
    from_discrete_laplace_mechanism,
    from_privacy_parameters,
)

import pipeline as pl
from pipeline.advice.question import read
from pipeline.advice.ways import plans_of, with_plan
from pipeline.auditing.parts import promised
from pipeline.identity.registry import problem
from pipeline.problems.clustering.data import release as rating_release
from pipeline.problems.ranking.mechanisms.sums import ProtectedCounts, ProtectedScores
from pipeline.problems.response.mechanisms.noisy_differences import DiscreteGaussian
from pipeline.study.parameters import InvalidInput

ROUNDS = 3
DELTA = 1e-3
RANKING = {"m": 4, "L": 60, "questions": 2}
CROWD = {"m": 6, "n": 60, "questions": 2}
RESPONSE = {"m": 6, "n": 60, "questions": 2}
CLUSTERING = {"N": 12, "w": 4, "U": 60}
LOCAL = {
    "ranking": pl.ranking.RandomizedResponse(**RANKING, person=1.0),
    "ranking, Laplace": pl.ranking.Laplace(**RANKING, person=1.0),
    "crowd": pl.crowd.RandomizedResponse(**CROWD, person=1.0),
    "response": pl.response.RandomizedResponse(**RESPONSE, person=1.0),
    "clustering": pl.clustering.MaxSense(**CLUSTERING, Q=2, person=1.0),
    "clustering, pairs": pl.clustering.PairwisePreference(**CLUSTERING, Q=2, person=1.0),
    "clustering, disjoint sets": pl.clustering.MultiMaxSense(**CLUSTERING, Q=2, person=1.0),
}
CURATOR = {
    "counts": pl.ranking.NoisyCounts(**RANKING, person=1.0),
    "scores": pl.ranking.NoisyScores(**RANKING, person=1.0),
    "votes": pl.crowd.NoisyVotes(**CROWD, person=1.0),
    "differences": pl.response.CuratorDifferences(m=6, questions=2, person=1.0),
    "co-occurrences": pl.clustering.NoisyCoOccurrences(N=12, w=2, U=60, person=1.0),
}
SHUFFLED = {
    "ranking": pl.ranking.ShuffledResponse(**RANKING, person=1.0),
    "crowd": pl.crowd.ShuffledResponse(**CROWD, person=1.0),
    "response": pl.response.ShuffledResponse(**RESPONSE, person=1.0),
}
ALL = {
    **{f"local {name}": mechanism for name, mechanism in LOCAL.items()},
    **CURATOR,
    **{f"shuffled {name}": mechanism for name, mechanism in SHUFFLED.items()},
}


def enumerated_delta(person, answer, answers):
    """δ at ε = person of all outputs of so many flipped bits, all of which differ."""
    kept = 1 / (1 + math.exp(-answer))
    total = 0.0
    for output in itertools.product((0, 1), repeat=answers):
        ones = sum(output)
        under_true = kept ** (answers - ones) * (1 - kept) ** ones
        under_other = kept**ones * (1 - kept) ** (answers - ones)
        total += max(0.0, under_true - math.exp(person) * under_other)
    return total


@pytest.mark.parametrize("name", LOCAL)
def test_local_answers_of_all_rounds_compose(name):
    pure = replace(LOCAL[name], rounds=ROUNDS)
    assert pure.answer_epsilon == pytest.approx(1 / 6)
    at_delta = replace(LOCAL[name], rounds=ROUNDS, person_delta=DELTA)
    answer = at_delta.answer_epsilon
    assert enumerated_delta(1.0, answer, 6) == pytest.approx(DELTA, rel=1e-9)
    assert enumerated_delta(1.0, answer, 6) <= DELTA * (1 + 1e-12)
    peer = from_privacy_parameters(
        DifferentialPrivacyParameters(answer), value_discretization_interval=answer
    )
    theirs = peer.self_compose(6).get_delta_for_epsilon(1.0)
    assert theirs == pytest.approx(DELTA, abs=1e-9)
    # The control: a budget that forgets the other rounds.
    forgetful = replace(at_delta, rounds=1).answer_epsilon
    assert enumerated_delta(1.0, forgetful, 6) > 100 * DELTA


@pytest.mark.parametrize("name", CURATOR)
def test_noise_of_all_rounds_spends_the_budget(name):
    pure = replace(CURATOR[name], rounds=ROUNDS)
    width, charge = width_and_charge(pure)
    spent = laplace_epsilon(width, charge * ROUNDS)
    assert spent == pytest.approx(1.0, rel=1e-4)
    gaussian = replace(pure, person_delta=DELTA)
    width, charge = width_and_charge(gaussian)
    spent = gaussian_epsilon(width, charge * ROUNDS)
    print(f"{name}: ε = {spent:.4f} at δ = {DELTA:g}, bound 1")
    assert 0.8 < spent <= 1.0
    # The control: noise that forgets the other rounds.
    width, _ = width_and_charge(replace(gaussian, rounds=1))
    assert gaussian_epsilon(width, charge * ROUNDS) > 1.5
    width, _ = width_and_charge(replace(pure, rounds=1))
    assert laplace_epsilon(width, charge * ROUNDS) > 1.5


def width_and_charge(mechanism):
    if isinstance(mechanism, pl.response.CuratorDifferences):
        return mechanism.noise_width, mechanism._charged()
    return mechanism.width, mechanism.charge


def laplace_epsilon(scale, entries):
    """ε at δ = 1e-12 of so many counts that differ by one."""
    peer = from_discrete_laplace_mechanism(1 / scale, value_discretization_interval=1 / scale)
    return peer.self_compose(entries).get_epsilon_for_delta(1e-12)


def gaussian_epsilon(variance, entries):
    """The same at δ, with discrete Gaussian noise."""
    peer = from_discrete_gaussian_mechanism(math.sqrt(variance), value_discretization_interval=1e-3)
    return peer.self_compose(entries).get_epsilon_for_delta(DELTA)


def test_the_law_of_the_noise_itself_composes_exactly():
    noisy = DiscreteGaussian(
        m=6, questions=2, person=1.0, delta=DELTA, conversion="exact", rounds=ROUNDS
    )
    spent = gaussian_epsilon(noisy.noise_width, noisy._charged() * ROUNDS)
    assert 0.99 < spent <= 1.003  # the peer's grid rounds losses up
    assert noisy.rho == pytest.approx(replace(noisy, rounds=1).rho)


@pytest.mark.parametrize("name", SHUFFLED)
def test_shuffled_answers_of_all_rounds_compose(name):
    mechanism = replace(SHUFFLED[name], rounds=2, person_delta=0.05)
    alone = replace(mechanism, rounds=1)
    assert mechanism.reports == alone.reports >= 20
    answer = mechanism.answer_epsilon
    entries = 2 * mechanism.answers
    assert delta_of_sums(answer, mechanism.reports, entries) <= 0.05
    # The control: the budget of one round.
    assert delta_of_sums(alone.answer_epsilon, mechanism.reports, entries) > 0.075


def delta_of_sums(answer, reports, entries):
    """δ at ε = 1 of so many independent numbers of ones, each of a person and of others who have
    half of them a one: all outcomes enumerated.
    """
    flip = 1 / (1 + math.exp(answer))
    others = np.array([1.0])
    for k in range(reports - 1):
        chance = flip if k % 2 else 1 - flip
        others = np.convolve(others, [1 - chance, chance])
    if_zero = np.convolve(others, [1 - flip, flip])
    if_one = np.convolve(others, [flip, 1 - flip])
    joint_zero = np.array([1.0])
    joint_one = np.array([1.0])
    for _ in range(entries):
        joint_zero = np.outer(joint_zero, if_zero).ravel()
        joint_one = np.outer(joint_one, if_one).ravel()
    return float(np.maximum(joint_one - math.e * joint_zero, 0).sum())


@pytest.mark.parametrize("name", ALL)
def test_a_promise_and_its_attacks_cover_all_rounds(name):
    alone = ALL[name]
    mechanism = replace(alone, rounds=ROUNDS)
    promise = mechanism.promise()
    assert promise.rounds == ROUNDS
    assert promise.epsilon == pytest.approx(1.0)
    assert promise.composition.startswith("3 rounds share the budget")
    assert "in each of 3 rounds" in promise.amounts()
    assert promise.answers == alone.promise().answers
    person = mechanism.attacks()["person"]
    assert person.epsilon == pytest.approx(1.0)
    assert "rounds" not in alone.promise().composition + alone.promise().amounts()
    with pytest.raises(InvalidInput, match="an audit sees one release"):
        promised(promise)


@pytest.mark.parametrize(
    "name", ["local ranking", "local clustering", "counts", "votes", "differences"]
)
def test_more_rounds_give_an_attacker_no_more(name):
    """The best attack on all rounds finds no more than one on one bit of the whole budget; an
    attack on one round only, the control, finds much less.
    """
    mechanism = replace(ALL[name], rounds=ROUNDS)
    person = mechanism.attacks()["person"]
    of_one_release = replace(ALL[name], person=1 / ROUNDS).attacks()["person"]
    assert of_one_release.power(0.05) < person.power(0.05) <= math.e * 0.05
    if not name.startswith("local"):
        gaussian = replace(mechanism, person_delta=DELTA)
        in_one = replace(gaussian, rounds=1)
        in_all = gaussian.attacks()["person"].epsilon
        assert in_all == pytest.approx(in_one.attacks()["person"].epsilon)
        assert in_all <= 1 + 1e-9
        rho = gaussian.promise().rho
        assert rho == pytest.approx(in_one.promise().rho)


def test_releases_take_rounds_as_their_simulations_do():
    for kind, simulated in ((ProtectedCounts, "counts"), (ProtectedScores, "scores")):
        for delta in (0.0, DELTA):
            study = replace(CURATOR[simulated], rounds=12, person_delta=delta)
            release = kind(person=1.0, person_delta=delta, rounds=12)
            assert release.width(4, 2) == study.width
            assert release.noise == study.noise


def test_a_release_of_ratings_takes_rounds_as_its_simulation_does():
    study = replace(CURATOR["co-occurrences"], rounds=12)
    settings = {"person": 1.0, "rounds": 12}
    release = rating_release._mechanism(pl.clustering.NoisyCoOccurrences, settings, 12, 2)
    assert release.width == study.width > 10 * CURATOR["co-occurrences"].width
    promise = rating_release.promise(release)
    assert promise.rounds == 12
    assert "12 rounds share the budget, ε/12 each" in promise.composition


def test_disjoint_sets_are_as_many_as_one_round_can_pay():
    """Q is ⌈ε⌉ of what one round has; a record changes 2w bits of each at most."""
    sets = pl.clustering.MultiMaxSense(N=40, w=1, U=60, person=12.0, rounds=4, theta=0.1)
    assert sets.answers == 3
    assert sets.composed_answers == 2 * 4
    assert sets.answer_epsilon == pytest.approx(12 / 8)
    paper = pl.clustering.MultiMaxSense(N=40, w=4, U=60, epsilon=2.0, rounds=3)
    assert paper.promise().epsilon == pytest.approx(6.0)


def test_a_shuffled_person_has_one_round():
    with pytest.raises(InvalidInput, match="rounds"):
        pl.response.RandomizedResponse(n=500, m=4, person=1.0, shuffled=True, rounds=2)
    with pytest.raises(InvalidInput, match="rounds"):
        pl.ranking.NoisyCounts(**RANKING, person=1.0, rounds=0)
    with pytest.raises(InvalidInput, match="12 answers"):
        pl.ranking.RandomizedResponse(**RANKING, person=1.0, epsilon=0.5, rounds=6)


SIZES = {"clustering": {"w": 3, "b": "0.9, 0.1"}}
METRICS = {
    "ranking": "kendall",
    "crowd": "label_error",
    "response": "kendall",
    "clustering": "misclassified",
}


@pytest.mark.parametrize("name", METRICS)
def test_advice_says_in_how_many_rounds_people_are_asked(name):
    request = {"problem": name, "target": f"{METRICS[name]}<=0.1", "person": 1, "rounds": 12}
    request |= {"items": 6, **SIZES.get(name, {})}
    question = read({**request, "person_delta": 1e-6} if name != "response" else request)
    plans = plans_of(question)
    assert len(plans) >= 3
    for plan in plans:
        planned = with_plan(question, plan, 2)
        parts = planned.parts(1000)
        assert parts.mechanism.rounds == 12
        assert parts.mechanism.promise().epsilon == pytest.approx(1.0)
        sentence = question.advice.survey(parts.model, parts.mechanism)
        assert sentence.startswith("in each of 12 rounds, each of 1,000")
        once = question.advice.survey(parts.model, replace(parts.mechanism, rounds=1))
        assert once.startswith("each of 1,000")


def test_predictions_know_the_rounds():
    crowd = problem("crowd").load(problem("crowd").advice).predicted["label_error"]
    once = crowd(n=100, m=10, person=1 / 12, questions=2)
    assert crowd(n=100, m=10, person=1.0, questions=2, rounds=12) == pytest.approx(once)
    errors = problem("response").load(problem("response").advice).predicted["error_l2"]
    for mechanism, estimator in (
        ("randomized_response", "spectral_debiased"),
        ("randomized_response", "item_shares"),
        ("discrete_laplace", "spectral_debiased"),
    ):
        whole = errors(mechanism, estimator, n=500, m=6, person=12.0, rounds=12)
        assert whole == pytest.approx(errors(mechanism, estimator, n=500, m=6, person=1.0))
        assert whole > 1.1 * errors(mechanism, estimator, n=500, m=6, person=12.0)
    recovered = problem("clustering").load(problem("clustering").advice).predicted["recovered"]
    sizes = {"N": 20, "w": 5, "b": "0.9, 0.1"}
    for mechanism, questions, users in (
        ("max_sense", 2, 20_000),
        ("pairwise_preference", 2, 20_000),
        ("multi_max_sense", 2, 20_000),
        ("noisy_co_occurrences", None, 100),
    ):
        parts = (mechanism, "spectral_clustering", users)
        whole = recovered(*parts, **sizes, Q=questions, person=12.0, rounds=12)
        assert whole == pytest.approx(recovered(*parts, **sizes, Q=questions, person=1.0))
        assert whole < recovered(*parts, **sizes, Q=questions, person=12.0)
