"""How many questions: every number is tried, as targets may be met by some in the middle only."""

import numpy as np
import pytest

from pipeline.advice import numbers, search, ways
from pipeline.advice.axis import Axis
from pipeline.advice.certificate import certify
from pipeline.advice.question import read
from pipeline.advice.reached import Nowhere, Reached
from pipeline.advice.refusal import refusal
from pipeline.advice.simulation import Sample, Simulator
from pipeline.advice.tried import Tried
from pipeline.study.parameters import InvalidInput
from pipeline.study.status import OK

TARGET = 0.72
MOST = 15  # pairs of six items


class Stub(Simulator):
    """Replications of a share that is known for each number of questions, on shared draws."""

    shares = np.zeros(MOST)

    def sample(self, levels, reps):
        rng = np.random.default_rng([45, self.drawn])
        self.drawn += 1
        chances = self.shares[np.array(levels, int) - 1]
        values = (rng.random(reps) < chances[:, None]).astype(float)
        return Sample(values[None], np.full(values.shape, OK, np.int8))


def stub(shares):
    request = {"problem": "ranking", "m": 6, "L": 100, "person": 1.0, "K": 1}
    question = read({**request, "unknown": "questions", "target": f"exact_top_k>={TARGET}"})
    planned = ways.with_plan(question, question.advice.plans[0], None)
    simulator = Stub(planned)
    simulator.shares = np.asarray(shares, float)
    return simulator


def with_hump(first, last, inside=0.78, outside=0.66):
    shares = np.full(MOST, outside)
    shares[first - 1 : last] = inside
    return shares


@pytest.mark.parametrize(
    ("first", "last", "number", "better"),
    [(3, 3, 3, 1), (3, 5, 3, 1), (1, 5, 5, -1), (11, MOST, 11, 1), (1, MOST, 1, 1), (6, 7, 6, 1)],
)
def test_some_number_is_certified_wherever_one_meets_the_target(first, last, number, better):
    simulator = stub(with_hump(first, last))
    reached = search.find(simulator)
    certificate = certify(simulator, reached)
    assert certificate.targets_shown
    assert certificate.level == number
    assert reached.axis.better == better
    words = "1 to 15" if first == 1 and last == MOST else str(first)
    assert f"these meet the targets: {words}" in numbers.extent(reached.numbers)
    low, boundary, high = reached.shown()
    assert low <= boundary <= high
    assert number - 1 <= boundary <= number + 1


def test_a_ladder_does_not_see_the_middle():
    """The control: steps that double pass by what three questions alone reach."""
    with pytest.raises(Nowhere):
        search.bracket(stub(with_hump(3, 3)))


def test_where_none_meets_it_the_best_is_named():
    simulator = stub(with_hump(4, 4, inside=0.69, outside=0.5))
    with pytest.raises(Nowhere) as nowhere:
        search.find(simulator)
    assert not nowhere.value.met
    assert nowhere.value.last == 4
    text = str(refusal(simulator, nowhere.value))
    assert "no number of questions reaches it: the best is questions=4, with exact_top_k" in text


def test_what_only_just_reaches_the_target_is_hardly_ever_certified():
    """Of 12 searches at the border a certificate may be given in a twentieth, by chance."""
    shown = 0
    for start in range(0, 12_000, 1000):
        simulator = stub(with_hump(2, 3, inside=TARGET, outside=0.5))
        simulator.drawn = start
        try:
            shown += certify(simulator, search.find(simulator)).targets_shown
        except Nowhere:
            continue
    print(f"{shown} of 12 certified at the border, bound 6")
    assert shown <= 6  # of Binomial(12, 0.05) more have a chance of 1e-6


def test_a_number_that_is_nearer_is_shown_by_more_replications():
    """Four questions are shown at once; five, which only just meet the target, by more than 100,000."""
    shares = with_hump(1, 4, inside=0.8, outside=0.66)
    shares[4] = 0.726
    simulator = stub(shares)
    reached = search.find(simulator)
    certificate = certify(simulator, reached)
    print(f"{certificate.level} questions by {certificate.replications:,} replications")
    assert reached.axis.better == -1
    assert certificate.targets_shown
    assert certificate.level == 5


def test_mechanisms_of_which_one_cannot_ask_one_question_advise_one_way():
    """Pairs need two questions, of which any number suffices; shares of items need no more than
    one: the fewest are advised, though by themselves the second would advise the most.
    """
    sizes = {"problem": "response", "items": 4, "people": 232, "person": 1.1, "seed": 55}
    asked = {"unknown": "questions", "trust": "nobody", "target": "error_l2<=0.8"}
    (row,) = ways.certified_ways(read({**sizes, **asked}))
    assert row.certificate.targets_shown
    assert row.level == 1
    assert row.way.plan.parameters["estimator"] == "item_shares"
    (other,) = row.others
    assert other.reached.axis.better == row.way.reached.axis.better == 1
    assert other.boundary == 2


def test_the_side_is_that_of_the_best_mechanism_at_each_number():
    def reached(means):
        known = {k: Tried(k, np.array([mean]), np.ones(1), 400) for k, mean in means.items()}
        return Reached(Axis(stub(np.ones(MOST)).question, 1), [], [], (0.0, 0.0), known)

    shares, pairs = reached({1: -0.1, 2: 0.2, 3: 0.4}), reached({2: -0.1, 3: -0.05})
    assert numbers.better_side(shares.numbers) == -1
    assert numbers.better_side(pairs.numbers) == 1
    assert numbers.side_of_all([shares, pairs]) == 1
    some_miss = reached({2: -0.1, 3: 0.05})
    assert numbers.side_of_all([shares, some_miss]) == -1


@pytest.mark.parametrize(
    ("means", "better", "number"),
    [
        ([-0.1, 0.1, -0.1, -0.2, -0.3], 1, 1),  # more would do as well as one
        ([-0.1, -0.2, 0.1, 0.2, 0.3], -1, 2),
        ([-0.1, 0.1, -0.2, -0.1, 0.3], -1, 4),
        ([0.1, -0.1, 0.1, -0.2, -0.3], 1, 2),
        ([0.1, 0.2, 0.3, 0.2, 0.1], 1, None),
    ],
)
def test_the_most_are_advised_where_one_question_suffices_and_all_are_too_many(
    means, better, number
):
    known = {k: Tried(k, np.array([mean]), np.ones(1), 400) for k, mean in enumerate(means, 1)}
    assert numbers.better_side(known) == better
    assert numbers.advised(known) == number


def test_replications_of_one_number_add_up():
    rng = np.random.default_rng(45)
    values = rng.standard_normal(500)
    both = Tried.of(3, [values[:200]]).together(Tried.of(3, [values[200:]]))
    whole = Tried.of(3, [values])
    assert both.replications == whole.replications
    assert both.means == pytest.approx(whole.means)
    assert both.deviations == pytest.approx(whole.deviations)


def test_a_mechanism_that_asks_nothing_is_refused_by_the_word_of_the_unknown():
    request = {"problem": "clustering", "N": 12, "w": 4, "b": "0.9, 0.1", "U": 200, "person": 1.0}
    question = read({**request, "unknown": "questions", "target": "misclassified<=0.1"})
    curator = question.advice.plans[-1]
    with pytest.raises(InvalidInput, match="unknown=questions: mechanism=noisy_co_occurrences has"):
        ways.with_plan(question, curator, None)


def test_no_more_are_tried_where_more_questions_only_harm():
    numbers_tried = numbers._Trials(stub(with_hump(1, 3)), {})
    for number, height in enumerate([-0.1, 0.3, 0.4, 0.5], start=1):
        numbers_tried.known[number] = Tried(number, np.array([height]), np.ones(1), 400)
    assert numbers_tried.only_get_worse
    numbers_tried.known[5] = Tried(5, np.array([0.2]), np.ones(1), 400)
    assert not numbers_tried.only_get_worse
