"""Advice and releases by a mechanism of one's own: audited first, refused if contradicted."""

from dataclasses import dataclass

import numpy as np
import pytest

import pipeline as pl
from pipeline.advice.question import read
from pipeline.identity.registry import problem, registered
from pipeline.study.guarantee import UNPROTECTED
from pipeline.study.parameters import InvalidInput
from pipeline.workflow.advise import AdviceRequest, advise
from pipeline.workflow.own_audits import OwnAudit, audit_of_question, is_own
from pipeline.workflow.release import release

QUESTION = {
    "problem": "crowd",
    "target": "label_error<=0.2",
    "unknown": "missing",
    "n": 50,
    "m": 20,
    "epsilon": 1.0,
    "estimator": "majority_vote",
}


@dataclass(frozen=True)
class Overspent(pl.crowd.RandomizedResponse):
    """Flips with 0.2 whatever the budget."""

    def release(self, data, rng):
        """Flipped answers."""
        flipped = rng.random(data.answers.shape) < 0.2
        return pl.crowd.data.ReleasedAnswers(np.where(flipped, -data.answers, data.answers), 0.2)


@dataclass(frozen=True)
class Right(pl.crowd.RandomizedResponse):
    """The one that ships, under another name."""


@dataclass(frozen=True)
class Silent(pl.crowd.RandomizedResponse):
    """Promises nothing."""

    def promise(self):
        """Nothing."""
        return UNPROTECTED


@pytest.fixture
def crowd():
    """The problem with three mechanisms of one's own."""
    with registered():
        own = {"overspent": Overspent, "right": Right, "silent": Silent}
        pl.register("crowd", mechanisms=own)
        yield problem("crowd")


def asked(mechanism, **changes):
    return read({**QUESTION, "mechanism": mechanism, **changes})


def test_a_mechanism_that_ships_is_not_audited_again():
    assert not is_own(pl.crowd.RandomizedResponse) and is_own(Right)
    assert audit_of_question(asked("randomized_response")) is None


def test_advice_refuses_what_an_audit_contradicts(crowd):
    with pytest.raises(InvalidInput, match="an audit contradicts its promise of ε = 2") as error:
        next(advise(AdviceRequest(asked("overspent"))))
    assert "\n" not in str(error.value)


def test_a_contradiction_is_found_where_the_budget_is_unknown(crowd):
    question = {key: value for key, value in QUESTION.items() if key != "epsilon"}
    with pytest.raises(InvalidInput, match="an audit contradicts"):
        audit_of_question(read({**question, "mechanism": "overspent", "unknown": "epsilon"}))


def test_advice_says_what_the_audit_found(crowd):
    first = next(advise(AdviceRequest(asked("right"))))
    assert isinstance(first, OwnAudit) and first.audited.exact
    assert str(first) == "mechanism=right: an audit found ε = 2 kept, exactly"


def test_advice_says_that_no_audit_was_done(crowd):
    first = next(advise(AdviceRequest(asked("silent"))))
    assert first.audited is None
    assert "mechanism=silent is not audited: " in str(first) and "promises nothing" in str(first)


def test_a_release_refuses_a_mechanism_of_ones_own(crowd):
    for key in ("mechanism", "parameters.mechanism"):
        with pytest.raises(InvalidInput, match=f"{key}=right: is your own; an audit can refute"):
            release({"problem": "crowd", key: "right"})
