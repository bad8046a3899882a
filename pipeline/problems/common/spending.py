"""How many questions a person's budget is best spent on, where nobody is trusted."""

import math

# Root of sinh y = 2y: the budget of an answer at which tanh²(y/2)/y is largest.
BEST_ANSWER = 2.1773189849653


def worth(questions: int, person: float) -> float:
    """k·tanh²(E/(2k)): unperturbed answers that k perturbed ones of a person are worth.

    To first order, of answers as likely to be one as the other.
    """
    return questions * math.tanh(person / (2 * questions)) ** 2


def best_questions(person: float) -> float:
    """max(1, E/y): questions that a person's budget is best spent on; sinh y = 2y.

    Of k questions, at E/k each, k·tanh²(E/(2k)) unperturbed ones are left
    (`worth`). Its slope in k vanishes where sinh(E/k) = 2E/k.

    >>> best_questions(10.0) > 4.5, best_questions(1.0)
    (True, 1.0)
    """
    return max(1.0, person / BEST_ANSWER)


def questions_of_survey(person: float, most: int) -> int:
    """The whole number of questions, up to `most`, that a person's budget is best spent on.

    >>> [questions_of_survey(person, 15) for person in (1, 2, 4, 8, 100)]
    [1, 1, 2, 4, 15]
    """
    below = min(math.floor(best_questions(person)), most)
    above = min(below + 1, most)
    return max((below, above), key=lambda questions: worth(questions, person))
