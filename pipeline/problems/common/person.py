"""Budgets of a person: parameters that the mechanisms of all problems share."""

import math
from dataclasses import replace

from pipeline.privacy.composition import answer_budget
from pipeline.problems.common.words import Words
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.untyped import AnyField

PERSON: AnyField = parameter(
    "privacy budget of all answers of a person; null is what epsilon adds up to",
    unit="nats",
    default=None,
    above=0,
)
PERSON_DELTA: AnyField = parameter(
    "δ of a person's budget: 0 is pure, else budgets of answers compose exactly at δ",
    default=0.0,
    low=0,
    below=1,
)
ROUNDS: AnyField = parameter(
    "releases that share a person's budget, each of answers of its own; one is simulated",
    default=1,
    low=1,
)
SAME = 1e-9  # relative difference of two budgets that are said to be one


def promised(words: Words) -> AnyField:
    """The parameter `person` of mechanisms that are made for it."""
    return parameter(f"privacy budget of {words.all_answers}", unit="nats", above=0)


def check_agreement(
    epsilon: float | None, person: float | None, answers: int, person_delta: float
) -> None:
    """Raise InvalidInput where both budgets are said, and one does not follow from the other."""
    if epsilon is None or person is None:
        return
    follows = answer_budget(person, answers, person_delta)
    if math.isclose(epsilon, follows, rel_tol=SAME):
        return
    raise InvalidInput(
        "epsilon",
        epsilon,
        f"person={person:g} with {answers:,} answers of a person makes it {follows:.6g}; leave "
        "out one of both",
    )


def over_rounds(stated: Guarantee, rounds: int, each: str) -> Guarantee:
    """A guarantee of so many releases that share the budget; itself where there is one only.

    each: what one of them takes of the budget, in words.

    >>> from pipeline.study.guarantee import UNPROTECTED
    >>> over_rounds(replace(UNPROTECTED, composition="none"), 12, "as long as they take").composition
    '12 rounds share the budget, as long as they take; none'
    """
    if rounds == 1:
        return stated
    composition = f"{rounds:,} rounds share the budget, {each}; {stated.composition}"
    return replace(stated, composition=composition, rounds=rounds)


def over_answers(stated: Guarantee, rounds: int) -> Guarantee:
    """The same where answers have a budget each: those of all rounds compose."""
    return over_rounds(stated, rounds, "and all answers in them compose as if given in one")


def over_noise(stated: Guarantee, rounds: int, measure: str) -> Guarantee:
    """The same where a curator adds noise: budgets of rounds add up in a measure, ρ or ε."""
    return over_rounds(stated, rounds, f"{measure}/{rounds:,} each")


def in_each_round(people: str, guarantee: Guarantee) -> str:
    """Who is asked what, in words, in each of the rounds that share a promise.

    >>> from pipeline.study.guarantee import UNPROTECTED
    >>> in_each_round("ten people say yes", replace(UNPROTECTED, rounds=12))
    'in each of 12 rounds, ten people say yes'
    """
    if guarantee.rounds == 1:
        return people
    return f"in each of {guarantee.rounds:,} rounds, {people}"
