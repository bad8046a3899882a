"""Who is asked what: joint laws of the two designs, against people drawn one by one."""

import collections
import itertools

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.common import questions as questions_module
from pipeline.problems.common.questions import check_questions, times_asked
from pipeline.study.parameters import InvalidInput

ALPHA = 1e-6


def law_of_random(people, questions, kinds):
    """Exact law of how often each question is asked, by enumeration of all subsets."""
    law = {(0,) * kinds: 1.0}
    subsets = list(itertools.combinations(range(kinds), questions))
    for _ in range(people):
        after = collections.defaultdict(float)
        for counts, chance in law.items():
            for subset in subsets:
                more = tuple(count + (k in subset) for k, count in enumerate(counts))
                after[more] += chance / len(subsets)
        law = after
    return law


def p_value(drawn, law):
    """Of a chi-square test of drawn rows against a law."""
    seen = collections.Counter(map(tuple, drawn.tolist()))
    assert set(seen) <= set(law)
    expected = np.array([law[counts] for counts in sorted(law)]) * len(drawn)
    observed = np.array([seen[counts] for counts in sorted(law)])
    statistic = ((observed - expected) ** 2 / expected).sum()
    return statistic, len(law) - 1, stats.chi2.sf(statistic, len(law) - 1)


@pytest.mark.parametrize("few", [0, questions_module.FEW])  # sums of people, and one by one
@pytest.mark.parametrize(
    "people, questions, kinds", [(3, 2, 3), (4, 2, 3), (3, 2, 4), (2, 3, 5), (4, 1, 3)]
)
def test_random_subsets_have_their_joint_law(people, questions, kinds, few, monkeypatch):
    monkeypatch.setattr(questions_module, "FEW", few)
    reps = 20_000
    rng = np.random.default_rng(5)
    drawn = times_asked("random", np.array([people]), questions, kinds, reps, rng)[:, 0]
    law = law_of_random(people, questions, kinds)
    statistic, freedom, chance = p_value(drawn, law)
    print(f"n={reps}, chi-square {statistic:.1f} at {freedom}, p={chance:.2g}, α={ALPHA}")
    assert chance > ALPHA
    if questions == 1:
        return
    # The control: people who may get one question twice have the same means and another law.
    twice = rng.multinomial(people * questions, np.full(kinds, 1 / kinds), reps)
    inside = np.array([tuple(row) in law for row in twice.tolist()])
    assert not inside.all() or p_value(twice, law)[2] < ALPHA


@pytest.mark.parametrize("people", [[7], [5, 8, 1], [100, 33]])
@pytest.mark.parametrize("questions, kinds", [(1, 6), (4, 6), (5, 21)])
def test_balanced_is_equal_up_to_one(people, questions, kinds):
    asked = times_asked(
        "balanced", np.array(people), questions, kinds, 50, np.random.default_rng(1)
    )
    assert (asked.sum(axis=2) == np.array(people) * questions).all()
    assert (np.ptp(asked, axis=2) <= 1).all()
    assert (np.ptp(asked.sum(axis=1), axis=1) <= 1).all()
    random = times_asked(
        "random", np.array(people) + 50, questions, kinds, 50, np.random.default_rng(1)
    )
    assert (np.ptp(random, axis=2) > 1).any()  # the control


def test_balanced_favours_no_question():
    reps, kinds = 30_000, 5
    asked = times_asked("balanced", np.array([4]), 2, kinds, reps, np.random.default_rng(2))
    more = (asked[:, 0] == 2).sum(axis=0)  # 8 = 5 + 3: three of five are asked twice
    statistic = ((more - 0.6 * reps) ** 2 / (0.6 * reps)).sum()
    chance = stats.chi2.sf(statistic, kinds - 1)
    print(f"n={reps}, chi-square {statistic:.1f}, p={chance:.2g}, α={ALPHA}")
    assert chance > ALPHA
    assert more.sum() == 3 * reps


def test_all_questions_are_everybodys():
    for design in ("balanced", "random"):
        asked = times_asked(design, np.array([3, 4]), 6, 6, 2, np.random.default_rng(0))
        assert (asked == np.array([3, 4])[:, None]).all()


def test_impossible_numbers_of_questions_are_refused():
    assert check_questions("questions", None, 10, "pairs") == 10
    for questions in (0, 11):
        with pytest.raises(InvalidInput, match="there are 10 pairs; must be 1 to 10"):
            check_questions("questions", questions, 10, "pairs")
    with pytest.raises(InvalidInput, match="balanced"):
        times_asked("balancd", np.array([3]), 1, 2, 1, np.random.default_rng(0))
