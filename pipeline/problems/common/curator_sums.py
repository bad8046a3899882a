"""Sums to which a trusted curator adds noise: what such mechanisms share, and their releases."""

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from pipeline.privacy.budgeted_noise import BudgetedNoise, GaussianNoise, LaplaceNoise
from pipeline.privacy.published_counts import CHANGED
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.person import over_noise
from pipeline.problems.common.words import Words
from pipeline.study.abstract import Abstract
from pipeline.study.disclosure import Attack
from pipeline.study.guarantee import CURATOR, ONE_PERSON, THERE_OR_NOT, Guarantee
from pipeline.study.parameters import Checked, parameter
from pipeline.study.parts import BaseMechanism
from pipeline.study.untyped import AnyField


def changed_by_person(answers: str) -> AnyField:
    """The parameter `neighbours_are`. answers: of a person, in words."""
    return parameter(
        f"what differs between neighbours: {answers} replaced, or present or absent",
        default="replace_one",
        choices=tuple(CHANGED),
    )


def noise_within(person: float, person_delta: float, rounds: int = 1) -> BudgetedNoise:
    """Noise that spends a person's budget: discrete Laplace at δ = 0, else discrete Gaussian.

    >>> noise_within(1.0, 0.0).measure, noise_within(1.0, 1e-6).measure
    ('ε', 'ρ')
    """
    if person_delta == 0:
        return LaplaceNoise(person, rounds)
    return GaussianNoise(person, person_delta, rounds=rounds)


def noise_budget(person_delta: float, people: str) -> str:
    """The kind of that budget, in words. people: what it is that of.

    >>> noise_budget(0.0, "all answers of a worker")
    'pure ε-DP for all answers of a worker'
    """
    kind = "pure ε-DP" if person_delta == 0 else "ρ-zCDP, hence (ε, δ)-DP,"
    return f"{kind} for {people}"


def curator_guarantee(words: Words, protects: str, neighbours: str, public: str) -> Guarantee:
    """What a curator of sums guarantees. protects: after the answers of one person."""
    return Guarantee(
        trust=CURATOR,
        unit=ONE_PERSON,
        protects=f"{words.all_of_one}, {protects}",
        neighbours=neighbours,
        public=public,
        budget=f"pure ε-DP for {words.all_answers}; ρ-zCDP, hence (ε, δ)-DP, with person_delta > 0",
        composition=f"{words.all_answers} are changed at once",
    )


class PromisedNoise(Checked):
    """Base of what has integer noise; who derives from it declares these parameters."""

    person: float
    person_delta: float
    rounds: int = 1

    @property
    def noise(self) -> BudgetedNoise:
        """Law of the noise on every number, and what it spends."""
        return noise_within(self.person, self.person_delta, self.rounds)


class CuratorSums(BaseMechanism, PromisedNoise, Abstract):
    """Base of mechanisms in which a curator adds noise to sums of all answers.

    Who derives from it declares the parameters, in an order of its own. covered, absent: what the
    budget is that of, and how neighbours differ where that is there or not, in words.
    """

    neighbours_are: str

    covered: ClassVar[str]
    absent: ClassVar[str]

    @property
    @abstractmethod
    def answers(self) -> int:
        """Answers of a person."""

    @property
    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """What one person's answers can change."""

    @cached_property
    def charge(self) -> int:
        """The sensitivity that the noise hides."""
        return self.noise.charge(self.sensitivity)

    @cached_property
    def width(self) -> float:
        """Width of the noise, see `BudgetedNoise`."""
        return self.noise.width(self.charge)

    def stated(self) -> Guarantee:
        """The guarantee with this object's neighbours and kind of budget."""
        budget = noise_budget(self.person_delta, self.covered)
        stated = over_noise(replace(self.guarantee, budget=budget), self.rounds, self.noise.measure)
        if self.neighbours_are == "replace_one":
            return stated
        return replace(stated, relation=THERE_OR_NOT, neighbours=self.absent)

    def promise(self) -> Guarantee:
        """The guarantee in numbers."""
        rho = self.noise.budget * self.rounds if self.person_delta > 0 else None
        return replace(
            self.stated(),
            epsilon=self.person,
            delta=self.person_delta,
            rho=rho,
            answers=self.answers,
        )

    def spent(self) -> dict[str, float]:
        """Budget of a person, in nats; at δ = person_delta."""
        return {self.covered: self.person}

    def attacks(self) -> dict[str, Attack]:
        """What the budget allows any attack on a person; subclasses may know the best one."""
        return {"person": self.noise.bound()}

    def best_attacks(self, changed: int) -> dict[str, Attack]:
        """The best attacks on counts. changed: how many counts another answer changes, by 1 each.

        A person changes as many for each answer, or one for each where they are there or not. The
        noise may be made for more: for what one row of a file can change.
        """
        of_person = min(changed, CHANGED[self.neighbours_are]) * self.answers
        return {
            "answer": self.noise.attack(self.width, changed),
            "person": self.noise.attack(self.width, of_person * self.rounds),
        }
