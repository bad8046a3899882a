"""Randomized response on a crowd's answers: audited by enumeration in rationals, and the sampler's law."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.model import Answers
from pipeline.problems.crowd.releases import ReleasedAnswers
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree

REPS = 100_000


def rng(seed):
    return np.random.default_rng(seed)


def record_law(record, flips, keep_missing=True):
    """{outcome: probability} of a worker's released record; missing answers stay, or become coins (control)."""
    choices = []
    for x, flip in zip(record, flips, strict=True):
        if x == 0:
            choices.append(
                {0: Fraction(1)} if keep_missing else {1: Fraction(1, 2), -1: Fraction(1, 2)}
            )
        else:
            choices.append({x: 1 - flip, -x: flip})
    return {
        out: math.prod(choice[x] for choice, x in zip(choices, out, strict=True))
        for out in itertools.product(*choices)
    }


def records(pattern):
    """All records of a worker who answered the tasks of a pattern, a tuple of bools."""
    return itertools.product(*[(1, -1) if asked else (0,) for asked in pattern])


def worst_ratio(pattern, flips, changed):
    """Largest likelihood ratio over outcomes and records of a pattern that differ in that many answers."""
    worst = Fraction(0)
    for x, y in itertools.product(records(pattern), repeat=2):
        if sum(a != b for a, b in zip(x, y, strict=True)) == changed:
            first, second = record_law(x, flips), record_law(y, flips)
            assert sum(first.values()) == 1 and first.keys() == second.keys()
            worst = max(
                [
                    worst,
                    *(
                        p / second[out] if second[out] else math.inf
                        for out, p in first.items()
                        if p
                    ),
                ]
            )
    return worst


@pytest.mark.parametrize(
    "pattern",
    [
        p
        for m in (1, 2, 3, 4)
        for p in itertools.product((True, False), repeat=m)
        if p[0] and (m < 4 or sum(p) in (2, 4))
    ],
)
@pytest.mark.parametrize("odds", [Fraction(11, 10), Fraction(50)])  # e^ε
def test_one_answer_spends_epsilon_and_a_record_of_k_spends_k_epsilon(pattern, odds):
    m, k, flip = len(pattern), sum(pattern), 1 / (1 + odds)
    assert flip_probability(math.log(odds)) == pytest.approx(float(flip), rel=1e-12)
    for changed in range(1, k + 1):
        assert worst_ratio(pattern, [flip] * m, changed) == odds**changed
    spent = RandomizedResponse(n=1, m=m, epsilon=math.log(odds)).spent()
    assert spent["one answer"] == pytest.approx(math.log(odds))
    if k == m:
        whole = spent["all answers of a worker who answers every task"]
        assert whole == pytest.approx(math.log(worst_ratio(pattern, [flip] * m, m)))
    given = RandomizedResponse(n=1, m=m, epsilon=math.log(odds), given=k).spent()
    assert given["all answers of the worker who gave most"] == pytest.approx(k * math.log(odds))
    # Negative controls.
    assert worst_ratio(pattern, [1 / (2 + odds)] * m, 1) > odds
    assert (
        worst_ratio(pattern, [(flip + Fraction(1, 2)) / 2] * m, 1) < odds
    )  # flips too often: wasted
    assert (
        worst_ratio(pattern, [Fraction(0), *[flip] * (m - 1)], 1) == math.inf
    )  # the first one is not flipped


def law_of(outcomes, found, law):
    """Counts of released records in the order of a law, and its probabilities; records outside it are counted last."""
    code = 3 ** np.arange(len(outcomes[0]))
    counts = np.bincount((found + 1) @ code, minlength=3 ** len(code))
    positions = [(np.array(out) + 1) @ code for out in outcomes]
    return [*counts[positions], counts.sum() - counts[positions].sum()], [*map(float, law), 0.0]


def test_the_sampler_has_the_law_of_the_record_whatever_the_answers():
    """One worker, three tasks, some not answered: all 27 records."""
    mechanism, flip = RandomizedResponse(n=1, m=3, epsilon=1.2), 1 / (1 + math.exp(1.2))
    for seed, record in enumerate(itertools.product((1, 0, -1), repeat=3)):
        data = Answers(np.tile(np.array(record, np.int8), (REPS, 1, 1)))
        release = mechanism.release(data, rng(seed))
        assert release.answers.dtype == np.int8 and release.flip == pytest.approx(flip, rel=1e-15)
        assert (data.answers == record).all() and release.start is None
        law = record_law(record, [flip] * 3)
        counts, probabilities = law_of(list(law), release.answers[:, 0], law.values())
        assert counts[-1] == 0 and counts_agree(counts[:-1], probabilities[:-1], f"record {record}")
        if record[2]:
            control = record_law(record, [flip, flip, 0.9 * flip])
            assert not counts_agree(
                counts[:-1], list(control.values()), "control: last flip 10 % too rare"
            )
            inverted = record_law(record, [flip, flip, 1 - flip])
            assert not counts_agree(
                counts[:-1], [inverted[out] for out in law], "control: kept and flipped exchanged"
            )


def test_flips_are_independent_over_workers():
    data = Answers(np.ones((REPS, 2, 2), np.int8))
    found = RandomizedResponse(n=2, m=2, epsilon=0.5).release(data, rng(1)).answers.reshape(REPS, 4)
    law = record_law((1,) * 4, [1 / (1 + math.exp(0.5))] * 4)
    counts, probabilities = law_of(list(law), found, law.values())
    assert counts_agree(counts[:-1], probabilities[:-1], "two workers, two tasks")
    control = (
        RandomizedResponse(n=1, m=2, epsilon=0.5)
        .release(Answers(data.answers[:, :1]), rng(1))
        .answers
    )
    counts, _ = law_of(list(law), np.repeat(control, 2, axis=1).reshape(REPS, 4), law.values())
    assert not counts_agree(counts[:-1], probabilities[:-1], "control: workers share their flips")


def test_no_privacy_is_the_answers_as_they_are():
    data = Answers(rng(1).integers(-1, 2, (2, 3, 4)).astype(np.int8), rng(2).random((2, 4)))
    release = NoPrivacy().release(data, rng(3))
    assert isinstance(release, ReleasedAnswers) and Answers.plain_release is ReleasedAnswers
    assert release.answers is data.answers and release.start is data.start and release.flip == 0
    private = RandomizedResponse(n=3, m=4, epsilon=50).release(data, rng(3))
    assert (
        private.start is data.start
        and (private.answers == data.answers).all()
        and private.flip < 1e-21
    )


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_budgets_out_of_range_are_refused(epsilon):
    with pytest.raises(InvalidInput, match="^epsilon="):
        build(RandomizedResponse, dict(n=2, m=2, epsilon=epsilon))
