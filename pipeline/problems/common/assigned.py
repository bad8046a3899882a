"""Which questions each single person gets: the designs of `questions`, person by person, compiled.

Where people differ, as workers of a crowd do, sums over
people are not enough. The numbers of people of each
question have the law of `times_asked`.
"""

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Array, Booleans
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.slices import ByCall

from .questions import DESIGNS

_DECLARED = """
    bits: generator
    reps: size
    people: size; people < 2**31
    kinds: size; 1 <= kinds < 2**31
    k: size; k <= kinds
    is_asked: size; is_asked <= 1
    gets: out b1[reps, people, kinds]
"""
_draw_sets = function(__file__, "draw_sets", _DECLARED)
_deal_packs = function(__file__, "deal_packs", _DECLARED)


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
    draw = _draw_sets if design == "random" else _deal_packs
    deals_asked = 2 * questions <= kinds
    dealt = questions if deals_asked else kinds - questions

    def gets(generator: np.random.Generator) -> Booleans:
        are_asked = np.empty(shape, bool)
        draw(generator.bit_generator, *shape, dealt, int(deals_asked), are_asked)
        return are_asked

    if not isinstance(rng, ByCall):
        return gets(rng)

    def chunk(generator: np.random.Generator, _: int) -> Array:
        return gets(generator).reshape(-1)

    return rng.in_chunks(shape, chunk)
