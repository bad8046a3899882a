"""Answers of the Rasch model, from one random byte each."""

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Booleans, Floats

_answer = function(
    __file__,
    "answer",
    """
    reps: size
    n: size
    m: size; m >= 1
    skill: f8[reps, n]
    difficulty: f8[reps, m]
    byte: u1[octets]; reps * n * m <= octets
    answers: out b1[reps, n, m]
    ties: out i8[reps * n * m]
    rest: out f8[reps * n * m]
    found: out i8[1]
""",
)


def draw_answers(
    skill: Floats, difficulty: Floats, rng: np.random.Generator, answers: Booleans
) -> None:
    """Fill in whether each person has each item right, with chance skill/(skill + difficulty).

    Exact to 2⁻⁵². skill: e^θ, (reps, n). difficulty: e^β, (reps, m).
    answers: (reps, n, m), contiguous. A random byte decides all but one
    answer in 256, a further uniform these: the same numbers as
    `common.sampling.bernoulli`. O(reps · n · m), about a nanosecond each.
    """
    reps, n = skill.shape
    m = difficulty.shape[1]
    size = reps * n * m
    words = rng.integers(0, 1 << 64, -(-size // 8), np.uint64)
    byte = words.astype("<u8", copy=False).view(np.uint8)
    ties = np.empty(size, np.int64)
    rest = np.empty(size)
    number = np.empty(1, np.int64)
    _answer(
        reps,
        n,
        m,
        np.ascontiguousarray(skill),
        np.ascontiguousarray(difficulty),
        byte,
        answers,
        ties,
        rest,
        number,
    )
    tie = ties[: number[0]]
    answers.reshape(-1)[tie] = rng.random(tie.size) < rest[: tie.size]
