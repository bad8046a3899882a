"""What mechanisms guarantee: the record, its words and numbers, and what every shipped one states."""

import json
import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import pytest

import pipeline as pl
from pipeline.identity.registry import problems
from pipeline.problems.clustering.mechanisms.pairwise_preference import PairwisePreference
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse as OfWorkers
from pipeline.problems.ranking.mechanisms.curator import NoisyCounts, NoisyScores
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.response.mechanisms.noisy_differences import DiscreteGaussian
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse
from pipeline.study.guarantee import UNPROTECTED

WORDS = {
    "trust": "nobody",
    "unit": "answer",
    "protects": "one answer",
    "neighbours": "that answer replaced",
    "budget": "pure ε-LDP",
}
MECHANISMS = [
    (problem.name, name)
    for problem in problems().values()
    for name in sorted(problem.names("mechanism"))
]


@pytest.mark.parametrize("problem, name", MECHANISMS)
def test_every_mechanism_states_what_its_trust_asks_for(problem, name):
    guarantee = problems()[problem].part("mechanism", name).guarantee
    local_words = "LDP" in guarantee.budget or "LADP" in guarantee.budget
    assert local_words == (guarantee.trust == "nobody")
    assert (guarantee.unit == "nothing") == ("no protection" in guarantee.budget)
    assert guarantee.protected == (guarantee.trust != "everybody")
    if guarantee.unit == "answer":
        assert guarantee.composition, "what several answers of a person cost"
    printed = str(guarantee).splitlines()
    assert [line.partition(":")[0] for line in printed] == [
        aspect for aspect, _ in guarantee.rows()
    ]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"trust": "nobodi"}, "trust=nobodi: did you mean 'nobody'"),
        ({"trust": "everybody"}, "unit=answer: unit=nothing goes with trust=everybody"),
        ({"unit": "nothing"}, "unit=nothing: unit=nothing goes with trust=everybody"),
        ({"protects": " "}, "protects=: must be words"),
        ({"epsilon": -1.0}, "epsilon=-1.0: must be a number ≥ 0"),
        ({"answers": 0}, "answers=0: must be a whole number ≥ 1"),
    ],
)
def test_a_wrong_guarantee_is_one_line(changes, message):
    with pytest.raises(pl.InvalidInput) as error:
        pl.Guarantee(**{**WORDS, **changes})
    assert message in str(error.value)


@pytest.mark.parametrize(
    "mechanism, expected",
    [
        (
            Laplace(m=4, L=10, epsilon=0.5),
            dict(unit="answer", epsilon=3.0, answer_epsilon=0.5, answers=6, trust="nobody"),
        ),
        (
            Laplace(m=4, L=10, person=2.0, questions=4),
            dict(unit="person", epsilon=2.0, answer_epsilon=0.5, answers=4),
        ),
        (
            NoisyCounts(m=4, L=10, person=1.0, compared_are="public"),
            dict(trust="curator", unit="person", epsilon=1.0, rho=None, relation="replaced"),
        ),
        (
            NoisyScores(m=4, L=10, person=1.0, neighbours_are="add_remove"),
            dict(relation="there_or_not", delta=0.0),
        ),
        (
            RandomizedResponse(n=2000, m=5, epsilon_user=1.0, shuffled=True),
            dict(trust="shuffler", delta=1e-4, answers=5),
        ),
        (RandomizedResponse(n=9, m=5, epsilon_user=1.0), dict(trust="nobody", epsilon=1.0)),
        (
            OfWorkers(n=9, m=8, epsilon=0.5, given=3),
            dict(unit="answer", epsilon=1.5, answer_epsilon=0.5, answers=3),
        ),
        (
            PairwisePreference(N=9, epsilon=1.0, rated_set="public"),
            dict(unit="person", protects="how a user has rated her items"),
        ),
    ],
)
def test_an_object_promises_in_numbers(mechanism, expected):
    promise = mechanism.promise()
    assert {name: getattr(promise, name) for name in expected} == expected
    assert json.loads(json.dumps(asdict(promise)))["epsilon"] == promise.epsilon


def test_a_gaussian_curator_states_its_concentrated_budget_too():
    promise = NoisyScores(m=4, L=10, person=1.0, person_delta=1e-6).promise()
    assert promise.delta == 1e-6 and 0 < promise.rho < promise.epsilon == 1.0
    assert "(ε = 1, δ = 1e-06); ρ = " in promise.amounts()


def test_noise_made_by_its_own_law_promises_the_budget_asked_for():
    """By zCDP alone it would be ε = 1.11."""
    exact = DiscreteGaussian(m=3, epsilon_user=1.0, conversion="exact")
    assert exact.promise().epsilon == 1.0
    assert exact.attacks()["person"].epsilon > 1.1
    assert 0 < exact.promise().rho == exact.rho < 1.0


@pytest.mark.parametrize("p0", [0.5, 1.0], ids=["graphs", "all pairs"])
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_a_conversion_that_spends_more_promises_no_less(p0, epsilon):
    """The paper's shortcut at ε = 10, δ = 1e-4 spends 11.7; at ε = 1 it spends less."""
    promise = DiscreteGaussian(m=3, epsilon_user=epsilon, conversion="paper", p0=p0).promise()
    assert promise.epsilon == pytest.approx({1.0: 0.7987, 10.0: 11.697}[epsilon], abs=1e-3)


@dataclass(frozen=True)
class OfAnAnswer(pl.BaseMechanism):
    """A mechanism that says what an answer costs, and not how many answers a person gives."""

    guarantee: ClassVar[pl.Guarantee] = pl.Guarantee(**WORDS)

    def spent(self):
        """Of one answer."""
        return {"one answer": 0.5}


def test_the_cost_of_an_answer_is_not_taken_for_that_of_a_person():
    promise = OfAnAnswer().promise()
    assert promise.answer_epsilon == 0.5 and promise.epsilon is None


def test_nothing_is_protected_at_any_budget():
    assert UNPROTECTED.epsilon == math.inf and not UNPROTECTED.protected
    assert "everybody" in str(pl.unprotected("ε = ∞: as it is"))
