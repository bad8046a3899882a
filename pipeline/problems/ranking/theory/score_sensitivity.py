"""What one person's comparisons can change in the scores of items, wins minus
losses.
"""

from pipeline.privacy.sensitivities import Sensitivity


def score_sensitivity(m: int, questions: int) -> Sensitivity:
    """Largest change of the scores s_i = wins − losses, if one person's k
    comparisons are replaced.

    The scores of one person are d_i, how often he prefers item i less how often he
    prefers another to it; those of a neighbour may be −d, so that changes are at
    most twice as large as d in any norm, and that is attained. With all pairs d is
    largest for an order of the items, d_i = m + 1 − 2i: Σ|d_i| = ⌊m²/2⌋ and Σd_i² =
    m(m²−1)/3, as Σd_i² is convex in each comparison. Of k pairs Σ|d_i| is at most
    2k, which pairs between two halves attain. Σd_i² = Σ (d_i − d_j) over his
    comparisons, and a difference is at most k + 1, and at most 2(m − 1): the bound
    is min(k(k+1), 2k(m−1), m(m²−1)/3), attained for k < m by pairs with one item in
    common and for all pairs. Which pairs he compares may change as well.

    >>> score_sensitivity(3, 3)
    Sensitivity(absolute=8, squared=32)
    """
    whole_order = m * (m * m - 1) // 3
    squared = min(questions * (questions + 1), 2 * questions * (m - 1), whole_order)
    absolute = min(2 * questions, m * m // 2)
    return Sensitivity(2 * absolute, 4 * squared)


def listed_score_sensitivity(
    m: int, questions: int, named: bool, neighbours_are: str
) -> Sensitivity:
    """What neighbours can change in scores that are made of a list of comparisons.

    Where the list names people, neighbours differ in all comparisons of a person
    (`score_sensitivity`; half of it where they are there or not), or in any one
    row, whatever name stands in it: see `published_counts.CountNoise`. A row less
    of a person takes one comparison away and lets another one in at most, so that
    scores change by twice e_i − e_j at most; a row that is replaced by another
    person's does so twice, by 8 in absolute values and 32 in squares, if all four
    are of one pair. Where it does not, they differ in one comparison.

    >>> listed_score_sensitivity(4, 1, True, "replace_one")
    Sensitivity(absolute=8, squared=32)
    >>> listed_score_sensitivity(4, 6, True, "replace_one")
    Sensitivity(absolute=16, squared=80)
    """
    person = score_sensitivity(m, questions)
    row = Sensitivity(8, 32)
    if neighbours_are == "add_remove":
        person = Sensitivity(person.absolute // 2, person.squared // 4)
        row = Sensitivity(4, 8)
    if not named:
        return person
    return Sensitivity(max(person.absolute, row.absolute), max(person.squared, row.squared))
