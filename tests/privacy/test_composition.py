"""Budgets of many answers of one person: against enumeration, and against dp-accounting."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters

from pipeline.privacy.composition import answer_budget, composed_delta, person_budget
from pipeline.study.parameters import InvalidInput


def enumerated_delta(person, answer, answers, changed=None):
    """δ of all outputs of k flipped bits, of which `changed` differ between the neighbours."""
    kept = 1 / (1 + math.exp(-answer))
    changed = answers if changed is None else changed
    total = 0.0
    for output in itertools.product((0, 1), repeat=answers):
        under_true = math.prod(1 - kept if bit else kept for bit in output)
        flipped = [1 - bit if k < changed else bit for k, bit in enumerate(output)]
        under_other = math.prod(1 - kept if bit else kept for bit in flipped)
        total += max(0.0, under_true - math.exp(person) * under_other)
    return total


@pytest.mark.parametrize("answers", [1, 2, 3, 7, 10])
@pytest.mark.parametrize("answer", [0.05, 0.5, 1.7])
def test_delta_is_that_of_all_outputs(answers, answer):
    for share in (0.0, 0.3, 0.7, 0.95, 1.0):
        person = share * answers * answer
        ours = composed_delta(person, answer, answers)
        assert ours == pytest.approx(enumerated_delta(person, answer, answers), abs=1e-14)
    # Controls: one answer less, and one that does not change, are protected better.
    person = 0.3 * answers * answer
    fewer = composed_delta(person, answer, answers - 1) if answers > 1 else 0.0
    assert fewer < composed_delta(person, answer, answers)
    unchanged = enumerated_delta(person, answer, answers, answers - 1)
    assert unchanged < composed_delta(person, answer, answers)


def test_delta_agrees_with_dp_accounting():
    """100 drawn cases; the peer's grid of losses is that of the answers, so that it rounds none."""
    rng = np.random.default_rng(11)
    largest = 0.0
    for _ in range(100):
        answers = int(rng.integers(1, 120))
        answer = float(np.exp(rng.uniform(np.log(0.02), np.log(3))))
        person = float(rng.uniform(0, 1)) * answers * answer
        promise = DifferentialPrivacyParameters(answer)
        peer = from_privacy_parameters(promise, value_discretization_interval=answer)
        theirs = peer.self_compose(answers).get_delta_for_epsilon(person)
        ours = composed_delta(person, answer, answers)
        largest = max(largest, abs(theirs - ours))
    print(f"n=100, largest difference {largest:.1e}, bound 1e-9")
    assert largest < 1e-9


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("answers", [1, 2, 45, 780])
@pytest.mark.parametrize("person", [0.1, 1.0, 8.0])
def test_budget_of_an_answer_is_the_largest(person, answers, delta):
    answer = answer_budget(person, answers, delta)
    assert answer >= person / answers
    assert composed_delta(person, answer, answers) <= delta
    assert composed_delta(person, answer * (1 + 1e-9), answers) > delta * (1 - 1e-6)
    assert composed_delta(person, answer * 1.01, answers) > delta  # the control
    again = person_budget(answer, answers, delta)
    assert again == pytest.approx(person, rel=1e-9, abs=1e-9)


def test_pure_budgets_are_shared_out():
    assert answer_budget(1.0, 8) == 0.125
    assert person_budget(0.125, 8) == 1.0
    assert person_budget(0.001, 2, delta=0.01) == 0.0


@pytest.mark.parametrize(
    "call, key",
    [
        (lambda: answer_budget(0.0, 3), "person"),
        (lambda: answer_budget(math.nan, 3), "person"),
        (lambda: answer_budget(1.0, 0), "answers"),
        (lambda: answer_budget(1.0, 3, 1.0), "person_delta"),
        (lambda: person_budget(-1.0, 3), "answer"),
        (lambda: composed_delta(-1.0, 1.0, 3), "person"),
    ],
)
def test_bad_budgets_are_refused(call, key):
    with pytest.raises(InvalidInput, match=key):
        call()
