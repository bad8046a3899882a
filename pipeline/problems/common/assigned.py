"""Which questions each single person gets: the designs of `questions`, person by person.

Where people differ, as workers of a crowd do, sums over
people are not enough. The numbers of people of each
question have the law of `times_asked`.
"""

import numpy as np

from pipeline.study.arrays import Array, Booleans
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.slices import ByCall

from .deals import dealt_sets, drawn_sets
from .questions import DESIGNS


def assigned(
    design: str, people: int, questions: int, kinds: int, reps: int, rng: np.random.Generator
) -> Booleans:
    """(reps, people, kinds): whether a person gets a question, `questions` of them each.

    `balanced`: packs of all questions are dealt out one
    after the other, and all deals in which nobody gets a
    question twice are equally likely; then hands are given
    to people at random. So numbers of people of two
    questions differ by one at most. Where a person gets
    more than half of the questions, those are dealt that
    the person does not get. `random`: all sets of so many
    questions are equally likely, person by person. O(reps ·
    people · kinds), a fraction of a nanosecond each, and
    some nanoseconds for each question that is dealt.
    Raises InvalidInput for another design.

    >>> gets = assigned("balanced", 5, 2, 3, 1, np.random.default_rng(0))
    >>> gets.sum(axis=2).tolist(), sorted(gets.sum(axis=1)[0].tolist())
    ([[2, 2, 2, 2, 2]], [3, 3, 4])
    """
    if design not in DESIGNS:
        raise InvalidInput("design", design, nearest(design, DESIGNS))
    shape = (reps, people, kinds)
    if questions == kinds:
        return np.ones(shape, bool)
    draw = drawn_sets if design == "random" else dealt_sets
    deals_asked = 2 * questions <= kinds
    dealt = questions if deals_asked else kinds - questions
    if not isinstance(rng, ByCall):
        return draw(rng, shape, dealt, deals_asked)

    def chunk(generator: np.random.Generator, _: int) -> Array:
        return draw(generator, shape, dealt, deals_asked).reshape(-1)

    return rng.in_chunks(shape, chunk)
