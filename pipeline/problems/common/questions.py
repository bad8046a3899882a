"""Who is asked what: each person gets k of P questions, by one of two designs.

`balanced`: every question is asked equally often, ± 1, and which people get
which is random. `random`: each person gets a subset of k questions, all
subsets equally likely.

Which questions a person gets depends on nobody's answers, so that it may be
public.
"""

import numpy as np

from pipeline.problems.common.deals import counted_sets
from pipeline.problems.common.subset_sums import SubsetCounts, subset_sums
from pipeline.study.arrays import Integers
from pipeline.study.parameters import InvalidInput, nearest

DESIGNS = ("balanced", "random")
FEW = 32  # answers to a question, up to which people are drawn one by one


def check_questions(key: str, questions: int | None, kinds: int, of: str) -> int:
    """Questions asked of a person, from 1 to all `kinds` of them; None is all.

    key: name of the parameter. of: what there are so many of, in words.
    Raises InvalidInput.
    """
    if questions is None:
        return kinds
    if not 1 <= questions <= kinds:
        raise InvalidInput(key, questions, f"there are {kinds:,} {of}; must be 1 to {kinds:,}")
    return questions


def check_charged(questions: int | None, charged: int, most: int | None, answers: str) -> None:
    """Raise InvalidInput where a person of some data gave more answers than are charged.

    questions: the parameter that is to blame. most: answers of the person who gave most; None where
    the data do not tell. answers: these, in words, with {most}.
    """
    if most is not None and most > charged:
        allowed = f"{answers.format(most=f'{most:,}')}, all of which cost budget"
        raise InvalidInput("questions", questions, allowed)


def times_asked(
    design: str,
    people: Integers,
    questions: int,
    kinds: int,
    reps: int,
    rng: np.random.Generator,
) -> Integers:
    """(reps, groups, kinds): how many people of each group get each question.

    people: (groups,), sizes of the groups. The sums over questions are
    people · questions. Exact in joint law, without drawing single people:
    O(reps · groups · kinds). With `balanced` both the numbers within a
    group and those of all groups together are equal, ± 1. Raises
    InvalidInput for another design.

    >>> asked = times_asked("balanced", np.array([7]), 2, 3, 1, np.random.default_rng(0))
    >>> sorted(asked[0, 0].tolist())
    [4, 5, 5]
    """
    if design not in DESIGNS:
        raise InvalidInput("design", design, nearest(design, DESIGNS))
    people = np.asarray(people, np.int64)
    if questions == kinds:
        everybody: Integers = np.broadcast_to(people[:, None], (reps, len(people), kinds))
        return everybody
    if design == "balanced":
        return _balanced(people, questions, kinds, reps, rng)
    return _random(people, questions, kinds, reps, rng)


def _balanced(
    people: Integers, questions: int, kinds: int, reps: int, rng: np.random.Generator
) -> Integers:
    """Questions dealt out one after the other, round and round, in an order of its
    own in each replication.

    A person gets k that follow each other, which are different ones, as k ≤
    P.
    """
    dealt = people * questions
    first = (np.cumsum(dealt) - dealt) % kinds
    rounds, rest = np.divmod(dealt, kinds)
    place = np.arange(kinds)
    after_first = (place - first[:, None]) % kinds
    in_order = rounds[:, None] + (after_first < rest[:, None])
    order = rng.permuted(np.tile(place, (reps, 1)), axis=1)
    return np.asarray(in_order[:, order].swapaxes(0, 1), np.int64)


def _random(
    people: Integers, questions: int, kinds: int, reps: int, rng: np.random.Generator
) -> Integers:
    rows = reps * len(people)
    if people.max(initial=0) * _cost_of_person(questions) <= FEW * kinds:
        of_rows = counted_sets(rng, np.tile(people, reps), questions, kinds)
        few: Integers = of_rows.reshape(reps, len(people), kinds)
        return few
    subsets = SubsetCounts(
        group=np.arange(rows),
        cluster=0,
        sizes=(np.full(rows, questions),),
        users=np.tile(people, reps),
    )
    (sums,) = subset_sums(rng, np.zeros((rows, kinds), np.int64), 1, [subsets])
    times: Integers = sums.reshape(reps, len(people), kinds)
    return times


def _cost_of_person(questions: int) -> int:
    """Of drawing a person's set, in questions of large sets; people of one question share words."""
    if questions == 1:
        return 1
    return max(3, questions)
