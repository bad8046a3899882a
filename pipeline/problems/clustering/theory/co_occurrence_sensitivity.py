"""What one user's whole record can change in a matrix of co-occurrences."""

from pipeline.privacy.sensitivities import Sensitivity


def co_occurrence_sensitivity(N: int, w: int, reading: str, neighbours_are: str) -> Sensitivity:
    """Largest change of the entries of all pairs {i, j} of N items, if one record is replaced.

    A record has w ratings at most, s_i = ±1. `signed`: it adds s_i s_j to
    each of its pairs. Let two records have o items in common, all w
    otherwise: pairs that are in one record only change by 1, and those of
    common items by 2 where the product t_i t_j of t = s s' is −1. If t is
    −1 on m common items these are m(o − m), at most ⌊o²/4⌋, which is
    attained. So Σ|change| is w(w−1) − o(o−1) + 2⌊o²/4⌋, which falls in o:
    o is max(0, 2w − N). Σchange² is w(w−1) − o(o−1) + 4⌊o²/4⌋ = w(w−1) +
    2⌊o/2⌋, largest for o = w. Fewer ratings change less: one more of a
    record, of an item that the other has not, adds more pairs than it
    takes away.

    `agree`: a record adds 1 to each of its pairs with s_i s_j = 1. Let
    records have p, q ratings. Then p − o items are in the first only.
    They add most where their signs are equal: with each other, and with
    the larger part of the o common items of that sign. If x and y common
    items have the other signs in both records, t is −1 on m ≤ x + y of
    these. So at most C(p−o, 2) + C(q−o, 2) + (p−o)(o−x) + (q−o)(o−y) +
    m(o−m) entries change, by 1. That is largest for x + y = m, where the
    record with fewer items of its own has all m; m ≤ o/2 is enough. It is
    attained, and its maximum over q, o and m is what is charged, with p =
    w.

    neighbours_are: `add_remove`, a record there or not, changes w(w−1)/2
    entries by 1. O(w²) with `agree`.
    Source: ours; enumerated in a test up to N = 5.

    >>> co_occurrence_sensitivity(10, 4, "signed", "replace_one")
    Sensitivity(absolute=12, squared=16)
    """
    pairs = w * (w - 1) // 2
    if neighbours_are == "add_remove":
        return Sensitivity(pairs, pairs)
    if reading == "agree":
        changed = max(_most_agreeing(N, w, other) for other in range(w + 1))
        return Sensitivity(changed, changed)
    common = max(0, 2 * w - N)
    absolute = 2 * pairs - common * (common - 1) + 2 * (common**2 // 4)
    return Sensitivity(absolute, 2 * pairs + 2 * (w // 2))


def listed_co_occurrence_sensitivity(
    N: int, w: int, reading: str, neighbours_are: str
) -> Sensitivity:
    """What neighbours can change if records are made of a list of ratings, as a file has them.

    A record are the first w of the items that its person rated in one row;
    an item in several rows of a person counts as not rated. Neighbours
    differ in all rows of a person, see `co_occurrence_sensitivity`, or in
    any one row, whatever name stands in it. One row less of a person takes
    an item from a record, which may let the next one in, or lets in an item
    that had two rows, which may push the last one out: w − 1 entries of
    each of two items change, by 1, or of one item where w = N, since there
    is no other. One row more is the same in reverse. A row with another
    name in it is one less of one person and one more of another, who may
    change the same entries, each by 2 then. Attained.

    It exceeds what a record changes only up to w = 3 in absolute values and
    up to w = 6 in squares, where N ≥ 2w.

    >>> listed_co_occurrence_sensitivity(10, 2, "signed", "replace_one")
    Sensitivity(absolute=4, squared=8)
    """
    record = co_occurrence_sensitivity(N, w, reading, neighbours_are)
    items = 1 if w == N else 2
    entries = items * (w - 1)
    row = Sensitivity(2 * entries, 4 * entries)
    if neighbours_are == "add_remove":
        row = Sensitivity(entries, entries)
    return Sensitivity(max(record.absolute, row.absolute), max(record.squared, row.squared))


def _most_agreeing(N: int, w: int, other: int) -> int:
    """Entries of `agree` that differ at most between records of w and of `other` ≤ w ratings."""
    most = 0
    for common in range(max(0, w + other - N), other + 1):
        alone = w - common
        other_alone = other - common
        flipped = max(0, common - other_alone) // 2  # m, where m(o − m) − m(q − o) is largest
        changed = alone * (alone - 1) // 2 + alone * common
        changed += other_alone * (other_alone - 1) // 2 + other_alone * (common - flipped)
        most = max(most, changed + flipped * (common - flipped))
    return most
