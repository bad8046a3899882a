"""Levels of an unknown: nothing is asked of a part where it cannot exist, at neither end of any
range.
"""

import math

import pytest

from pipeline.advice.answer import answer
from pipeline.advice.axis import Axis
from pipeline.advice.certificate import certify
from pipeline.advice.levels import possible, rungs
from pipeline.advice.question import read
from pipeline.advice.search import find
from pipeline.advice.simulation import Simulator
from pipeline.advice.targets import advice_of
from pipeline.identity.registry import problem
from pipeline.study.parameters import InvalidInput, fields

MIXED = {
    "problem": "ranking",
    "m": 5,
    "epsilon": 2.0,
    "profile": "0.34:0.3, 0.66:1",
    "mechanism": "randomized_response",
    "target": "kendall<=0.2",
}
CLASSES = {
    "problem": "clustering",
    "N": 6,
    "epsilon": 3.0,
    "w": 2,
    "alpha": "0.1, 0.45, 0.45",
    "b": "0.9, 0.1; 0.9, 0.1; 0.8, 0.1",
    "mechanism": "max_sense",
    "target": "misclassified<=0.2",
}
SIZES = {  # problem -> what a question needs besides the unknown and the mechanism
    "ranking": {"m": 6, "L": 100, "epsilon": 1.0, "target": "kendall<=0.2"},
    "response": {"m": 6, "n": 100, "epsilon_user": 5.0, "target": "kendall<=0.2"},
    "clustering": {
        "N": 8,
        "U": 100,
        "epsilon": 1.0,
        "w": 4,
        "alpha": "0.3, 0.7",
        "b": "0.9, 0.1; 0.2, 0.8",
        "target": "misclassified<=0.2",
    },
    "crowd": {"m": 6, "n": 20, "epsilon": 1.0, "target": "label_error<=0.2"},
}


def refusing(taken):
    """A function that refuses all levels but those for which `taken` is true."""
    return lambda level: None if taken(level) else InvalidInput("n", level, f"not {level:g}")


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("low, high", [(1, 10**6), (7, 300), (1000, 10**6), (1, 1000)])
def test_the_range_is_found_by_asking(whole, low, high):
    """Both ends, wherever they are, with a number of questions that grows with the logarithm only."""
    calls = []

    def refusal(level):
        calls.append(level)
        return refusing(lambda one: low <= one <= high)(level)

    found = possible(1, 1000, 10**6, whole, refusal)
    assert found.low == pytest.approx(low, rel=1e-4) and found.high == pytest.approx(high, rel=1e-4)
    assert low <= found.low <= found.high <= high
    assert (found.below is None) == (low == 1) and (found.above is None) == (high == 10**6)
    assert len(calls) < 250 and all(1 <= level <= 10**6 for level in calls)


def test_single_levels_that_are_refused_lie_below_the_range():
    """Largest remainders leave a part empty at 6 of 5, 7, 8, ….

    Where nothing is taken, the start says why.
    """
    found = possible(1, 5, 10**6, True, refusing(lambda level: level == 5 or level >= 7))
    assert (found.low, found.below) == (7, "not 4")
    with pytest.raises(InvalidInput, match="not 1000"):
        possible(1, 1000, 10**6, True, refusing(lambda level: False))
    assert [*rungs(1, 8, True)] == [1, 2, 4, 8] and [*rungs(3, 3, True)] == [3]


@pytest.mark.parametrize("request_, parameter, least", [(MIXED, "L", 2), (CLASSES, "U", 7)])
def test_the_least_number_of_people_fills_every_group(request_, parameter, least):
    """As exhaustive trial of all numbers says; one fewer is refused by the parts."""
    question = read(request_)
    assert question.parameter == parameter and question.limits.low == least
    taken = [level for level in range(1, 200) if question.refusal(level) is None]
    assert taken[-1] == 199 and {*range(least, 200)} <= {*taken} and least - 1 not in taken
    assert "raise its share" in question.limits.below


@pytest.mark.parametrize("request_", [MIXED, CLASSES])
def test_people_are_advised_for_mixed_budgets_and_classes(request_):
    """Was refused, as costs were looked up for one user.

    The stress cases, which change classes, can be made, too.
    """
    simulator = Simulator(read(request_))
    given = certify(simulator, find(simulator))
    question = simulator.question
    assert given.targets_shown and given.level >= question.limits.low
    assert all(measured.target.misses(measured.mean) == 0 for measured in given.measured)
    cases = question.advice.stress(question.parts(given.level).model)
    assert cases
    for changes in cases.values():
        changed = question.known(given.level, **changes)
        changed.parts(changed.values["mechanism"])


def questions():
    """The question of every mechanism of every problem with every unknown that its parts have."""
    for name, sizes in SIZES.items():
        for mechanism, cls in (
            (one, problem(name).part("mechanism", one)) for one in problem(name).mechanisms
        ):
            declared = fields(cls)
            budgets = {"epsilon", "epsilon_user", "person"} & {*declared}
            single = {"w": 1} if "w" in declared and declared["w"].metadata["high"] == 1 else {}
            for word, unknown in advice_of(problem(name)).unknowns.items():
                known = {**sizes, **single}
                if unknown.parameter in budgets or not budgets:
                    known = {key: known[key] for key in known if not key.startswith("epsilon")}
                elif budgets == {"person"}:
                    known = {key: known[key] for key in known if not key.startswith("epsilon")}
                    known["person"] = 1.0
                known.pop(unknown.parameter, None)
                try:
                    yield read({"problem": name, "mechanism": mechanism, "unknown": word, **known})
                except InvalidInput as error:
                    assert f"mechanism={mechanism} has no" in str(error), error


def test_every_level_that_an_axis_gives_can_be_made():
    """Of every mechanism of every problem, for every unknown, in both directions, at and beyond
    both ends.
    """
    count = 0
    for question in questions():
        count += 1
        for better in (1, -1):
            axis = Axis(question, better)
            ends = [axis.position(axis.worst), axis.position(axis.best)]
            for position in (-math.inf, *ends, sum(ends) / 2, math.inf):
                for level in (
                    axis.level(position),
                    axis.advisable(position),
                    *axis.levels(*ends, 5),
                ):
                    assert question.refusal(level) is None, (question.values, level)
                    assert question.unknown.low <= level <= question.unknown.high
            for level in (axis.worst, axis.best, axis.advisable(sum(ends) / 2)):
                following = axis.after(level)
                assert (following is None) == (level == axis.best)
                assert following is None or axis.position(following) > axis.position(level)
                assert following is None or question.refusal(following) is None
    print(f"{count} questions")
    assert count > 40


def test_an_end_that_a_part_sets_is_said():
    """Multi-MaxSense asks ⌈ε⌉ questions unless told otherwise, of disjoint sets: five fit into ten
    items.
    """
    question = read(
        {
            "problem": "clustering",
            "N": 10,
            "U": 50,
            "w": 5,
            "b": "0.9, 0.1",
            "mechanism": "multi_max_sense",
            "unknown": "epsilon",
            "target": "misclassified<=0.01",
        }
    )
    assert question.limits.high == pytest.approx(5, rel=1e-4) and question.limits.high <= 5
    why = (
        "out of reach at any epsilon that is possible: .* at epsilon = 5; beyond: 6 disjoint "
        "sets of 2 items"
    )
    with pytest.raises(InvalidInput, match=why):
        answer(question)
