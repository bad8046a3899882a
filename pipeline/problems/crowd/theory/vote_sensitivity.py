"""What one worker can change in the votes on tasks."""

from pipeline.privacy.published_counts import CHANGED, count_sensitivity
from pipeline.privacy.sensitivities import Sensitivity

VOTES = ("counts", "net", "public")
# What one row can change in differences where rows carry names, as `ONE_ROW` in counts:
# of its four changes all may fall on one task.
ONE_NET_ROW = {"replace_one": Sensitivity(4, 16), "add_remove": Sensitivity(2, 4)}


def vote_sensitivity(questions: int, votes: str, neighbours_are: str) -> Sensitivity:
    """Largest change of the numbers that get noise, if one worker's answers to k tasks change.

    votes: `counts` are answers for each label:
    `count_sensitivity`, as releases of files with names
    charge. `net` are answers for label 1 less those for
    label 0, d: k other answers to the same tasks change k
    of them by 2, which is the largest change: 2k in
    absolute values and 4k in squares. Other tasks change 2k
    by 1. An absent worker changes k by 1. Rows that carry
    names are charged at least what one row can change.
    `public` are the same differences where who labelled
    what is known: answers are replaced, tasks stay, and
    nobody is absent. Attained.

    >>> vote_sensitivity(5, "net", "replace_one")
    Sensitivity(absolute=10, squared=20)
    """
    if votes == "counts":
        return count_sensitivity(questions, True, neighbours_are)
    if votes == "public":
        return Sensitivity(2 * questions, 4 * questions)
    changed = CHANGED[neighbours_are]
    row = ONE_NET_ROW[neighbours_are]
    return Sensitivity(
        max(changed * questions, row.absolute), max(changed**2 * questions, row.squared)
    )
