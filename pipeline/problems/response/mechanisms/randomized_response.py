"""Randomized response on answers, each by its own person, with or without shuffling."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.privacy import accounting
from pipeline.privacy.attacks import Bound, FlippedBits, ShuffledBit
from pipeline.privacy.composition import answer_budget, person_budget
from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.common.person import PERSON_DELTA, ROUNDS, over_answers
from pipeline.study.arrays import Booleans
from pipeline.study.disclosure import Attack
from pipeline.study.guarantee import NOBODY, ONE_PERSON, SHUFFLER, Guarantee
from pipeline.study.parameters import DataFile, InvalidInput, parameter
from pipeline.study.parts import BaseMechanism

from ..data.recorded import all_observed
from ..model import CountedPersons, Responses
from ..questions import (
    EPSILON_USER,
    PERSON,
    QUESTIONS,
    budget_of_person,
    check_charge,
    items_of_person,
)
from ..releases import FlippedResponses
from ..theory.sensitivity import response_budget


@dataclass(frozen=True)
class RandomizedResponse(BaseMechanism):
    """Every response is flipped with probability 1/(1 + e^{ε0/k}) before it leaves its person.

    A person answers all m items, or k = `questions` of them. Pure ε-LDP per person,
    ε0 = ε, or (ε, δ) at δ = `person_delta` > 0: then a response has the largest
    budget at which k of them compose to that, exactly (`privacy.composition`), in
    place of ε/k. Answers of all `rounds` compose, k in each. With `shuffled` the reports leave in
    random order, and ε0 > ε where amplification by shuffling is known to allow it:
    then all reports together are (ε, δ)-DP. Elsewhere ε0 stays ε, and `unamplified`
    says why. Amplification needs complete responses, also those of a file: a
    pattern of missing answers, or items of one's own, would make reports
    distinguishable.
    Source: Nguyen and Zhang, supplement, Lemma 4.1 (Feldman, McMillan and Talwar,
    2022, Theorem III.1).
    """

    n: int = parameter("persons", unit="persons", low=1)
    m: int = parameter("items", unit="items", low=2)
    epsilon_user: float | None = EPSILON_USER
    p: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)
    shuffled: bool = parameter("charge the amplification by shuffling", default=False)
    delta: float = parameter(
        "δ of the (ε, δ)-guarantee when shuffled", default=1e-4, above=0, below=1
    )
    data_path: DataFile | None = parameter(
        "file of the responses, whose missing answers rule out amplification", default=None
    )
    other_ratings: bool = parameter(
        "accept ratings that are not MovieLens's ml-latest-small", default=False
    )
    questions: int | None = QUESTIONS
    person: float | None = PERSON
    person_delta: float = PERSON_DELTA
    rounds: int = ROUNDS

    # Its former name: streams, and so numbers, stay.
    stream_label: ClassVar[str] = "randomized_responses"
    guarantee: ClassVar[Guarantee] = Guarantee(
        trust=NOBODY,
        unit=ONE_PERSON,
        protects="all responses of one person",
        neighbours="one person's answers replaced by others",
        public="the number of persons, and who answered what",
        budget="pure ε-LDP for all responses of a person, or (ε, δ)-LDP at δ = person_delta; "
        "shuffled, (ε, δ)-DP",
        composition="each of the k responses of a person costs ε/k, or what composes exactly at "
        "δ = person_delta",
    )
    accepts: ClassVar[type] = Responses
    releases: ClassVar[type] = FlippedResponses
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.person_epsilon  # raises InvalidInput
        _ = self.answers  # raises InvalidInput
        if self.shuffled and self.person_delta > 0:
            allowed = (
                "composes answers of a person who is not hidden among others; with shuffled=true "
            )
            raise InvalidInput("person_delta", self.person_delta, f"{allowed}give delta instead")
        if self.shuffled and self.rounds > 1:
            allowed = "shuffled=true composes no rounds: must be 1, or use "
            raise InvalidInput("rounds", self.rounds, f"{allowed}mechanism=shuffled_response")

    @cached_property
    def person_epsilon(self) -> float:
        """Budget of all responses of a person, nats."""
        return budget_of_person(self.epsilon_user, self.person)

    @property
    def answers(self) -> int:
        """Items that each person answers, k."""
        return items_of_person(self.questions, self.m)

    @property
    def composed_answers(self) -> int:
        """Answers of a person in all rounds, whose budgets compose."""
        return self.answers * self.rounds

    @property
    def answer_epsilon(self) -> float:
        """Budget of one response, nats."""
        if self.person_delta > 0:
            return answer_budget(self.local_epsilon, self.composed_answers, self.person_delta)
        return float(response_budget(self.local_epsilon, self.composed_answers))

    @cached_property
    def _account(self) -> tuple[float, str | None]:
        """(ε0, None), or (ε, why shuffling amplifies nothing)."""
        epsilon = self.person_epsilon
        if not self.shuffled:
            return epsilon, "reports are not shuffled"
        if self.answers < self.m:
            reason = (
                "amplification by shuffling does not apply where each person answers items of "
                f"their own; the local budget is epsilon itself, {epsilon:g}"
            )
            return epsilon, reason
        if self.p < 1 or not all_observed(self.data_path, self.other_ratings):
            reason = (
                "amplification by shuffling does not apply where responses are missing; the "
                f"local budget is epsilon itself, {epsilon:g}"
            )
            return epsilon, reason
        return accounting.local_budget(epsilon, self.n, self.delta)

    @property
    def local_epsilon(self) -> float:
        """ε0, budget of a person's report: more than ε where shuffling is known to amplify."""
        return self._account[0]

    @property
    def unamplified(self) -> str | None:
        """Why ε0 is no more than ε, in a line; None where it is more."""
        return self._account[1]

    def remark(self, model: object) -> str | None:
        """For readers of the account: why shuffling, if wanted, allows no larger ε0; else None."""
        if not self.shuffled:
            return None
        return self.unamplified

    def release(self, data: Responses, rng: np.random.Generator) -> FlippedResponses:
        """Flipped responses of a block, (reps, n, m); rows in random order where that is charged.

        O(reps · n · m); O(reps · m²), whatever n, where persons are counted. Raises
        ValueError where shuffling is charged and the data have missing answers, and
        InvalidInput where persons answered more items than are charged.
        """
        if self.questions is not None:
            check_charge(self.questions, self.answers, data.most_answers or data.items)
        epsilon = self.answer_epsilon
        flip = float(flip_probability(epsilon))
        if isinstance(data, CountedPersons):
            return data.release_flipped(rng, flip, epsilon)
        observed = data.observed
        shuffle = self.unamplified is None
        if shuffle and observed is not None:
            raise ValueError(
                "shuffled reports have missing answers, though p is 1 and data_path has none"
            )
        flips = draw_flips(data.answers.shape, flip, rng)
        answers = data.answers ^ flips
        if observed is not None:
            answers &= observed
        if shuffle:
            reps, n, _ = answers.shape
            order = rng.permuted(np.tile(np.arange(n), (reps, 1)), axis=1)
            answers = answers[np.arange(reps)[:, None], order]
        return FlippedResponses(answers, observed, epsilon)

    def stated(self) -> Guarantee:
        """That of local reports, or of shuffled ones where shuffling is charged."""
        if self.unamplified is None:
            return replace(
                self.guarantee, trust=SHUFFLER, budget="(ε, δ)-DP for all responses of a person"
            )
        kind = "pure ε-LDP" if self.person_delta == 0 else "(ε, δ)-LDP"
        stated = replace(self.guarantee, budget=f"{kind} for all responses of a person")
        return over_answers(stated, self.rounds)

    def promise(self) -> Guarantee:
        """The guarantee in numbers."""
        promised = replace(super().promise(), answers=self.answers)
        if self.person_delta == 0:
            return promised
        spent = person_budget(self.answer_epsilon, self.composed_answers, self.person_delta)
        return replace(promised, epsilon=spent, delta=self.person_delta)

    def spent(self) -> dict[str, float]:
        """Budgets of a person and of one response.

        Before and, where that amplifies, after shuffling.
        """
        local = self.local_epsilon
        if self.person_delta > 0:
            answer = self.answer_epsilon
            spent = person_budget(answer, self.composed_answers, self.person_delta)
            person = f"all responses of a person, ε at δ = {self.person_delta:g}"
            return {person: spent, "one response": answer}
        if self.unamplified is not None:
            answer = local / self.composed_answers
            return {"all responses of a person": local, "one response": answer}
        shuffled = float(accounting.shuffled_epsilon(local, self.n, self.delta))
        return {
            f"all responses of a person, ε at δ = {self.delta:g}": shuffled,
            "all responses of a person, before shuffling": local,
            "one response": local / self.answers,
        }

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one response and on all of a person; shuffled, bounds of both."""
        each = self.answer_epsilon
        if self.unamplified is None:
            spent = float(accounting.shuffled_epsilon(self.local_epsilon, self.n, self.delta))
            answer = ShuffledBit(each, self.answers, self.n - 1)
            return {"answer": answer, "person": Bound(spent, self.delta)}
        person = FlippedBits(each, self.composed_answers)
        return {"answer": FlippedBits(each, 1), "person": person}

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 2 * self.n * self.m

    def memory(self) -> float:
        """Bytes of one replication: random bytes, which are flipped, and numbers of persons."""
        return 3 * self.n * self.m + 16 * self.n

    def together(self) -> int:
        """Replications after which no random word of 32 bits is left over."""
        return 4 // math.gcd(4, self.n * self.m)


def draw_flips(shape: tuple[int, ...], flip: float, rng: np.random.Generator) -> Booleans:
    """Bernoulli draws of probability `flip`, exact to 2⁻⁵³.

    A random byte decides all but one draw in 256, a uniform
    these. `common.sampling.bernoulli` has the same law from other
    random numbers: using it here would change every result.
    """
    whole, rest = divmod(256 * flip, 1)
    byte = rng.integers(0, 256, shape, np.uint8)
    flipped = byte < np.uint8(whole)
    tie = np.flatnonzero(byte == np.uint8(whole))
    flipped.reshape(-1)[tie] = rng.random(tie.size) < rest
    return flipped
