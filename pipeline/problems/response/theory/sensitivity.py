"""What a person can change in the pairwise differential measurements, and what hides it.

Released: Y_ij = Σ_l A_li A_lj X_li (1 − X_lj) for i ≠ j, m(m−1)
integers, or only the 2|E| of them on the edges of a public graph. Unit
of privacy: one person's whole row, answers and which of them are
missing. Neighbours: `replace_one`, the row becomes another (Definition
1 of Nguyen and Zhang); `add_remove`, it is present or absent.

A person with ones on S and zeros on T (disjoint; the rest missing) adds
1 to the entries S × T. So two rows differ by −1, 0 or 1 in every entry,
and squared L2 and L1 distances are both the number of entries that
differ. On a graph S × T holds the edges cut between S and T: at most
the largest cut c of the graph, reached with T the complement of S, so
without missing answers. Add/remove: c. Replace one: at most c + c,
reached by the complementary row, since S × T and T × S share no entry.
With all pairs released c = ⌊m²/4⌋. The paper charges 1 for every
released entry.

A person who answers k of the items, or fewer, has S and T with at most
k items together: then c = ⌊k²/4⌋ with all pairs released, at |S| and
|T| of k/2, rounded down and up; on a graph c is at most that, and at
most the largest cut. Replace one attains c + c with all answers to the
same k items reversed: so whether who answered what is protected or
public makes no difference to what is charged.

Where rows carry names, a name that several rows have counts as
not there. One row of a name there or not then adds a row's
entries or takes a row's: a, with at most c of them, each 1. One
row replaced by another, whatever name it has, changes at most two
names so: Y by a + b, hence by at most 2c in L1, and by |a|² +
|b|² + 2ab ≤ 4c in squared L2. That is attained where two persons
gave the same row and one of them comes to have the other's name:
both are gone. All rows of a name replaced by others of that name,
or of a new one, are as above, c + c.
"""

import numpy as np

from pipeline.privacy.accounting import calibrated_variance
from pipeline.privacy.integer_laws import positive
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.study.arrays import Array, Floats, Integers
from pipeline.study.parameters import InvalidInput, nearest

from .cuts import checked_graphs, checked_items, largest_cut

CALIBRATIONS = ("paper", "tight")
# Rows that are in one of two neighbouring data sets only.
ROWS = {"replace_one": 2, "add_remove": 1}


def _rows(neighbours: str) -> int:
    if neighbours not in ROWS:
        raise InvalidInput("neighbours", neighbours, nearest(neighbours, ROWS))
    return ROWS[neighbours]


def released_entries(m: int, graph: Array | None = None) -> int | Integers:
    """Integers released: m(m−1), or 2|E| on a graph (..., m, m) -> (...)."""
    m = checked_items(m)
    if graph is None:
        return m * (m - 1)
    entries: Integers = checked_graphs(graph, m).sum(axis=(-1, -2))
    return entries


def squared_sensitivity(
    m: int, neighbours: str, graph: Array | None = None, questions: int | None = None
) -> int | Integers:
    """Squared L2 sensitivity of the release: c for `add_remove`, 2c for `replace_one`.

    Whole, scalar or (...). m: items; questions: of them that a person
    answers, at most; None is all. graph: None, or (..., m, m), where it
    is exact for m ≤ 16 and all questions, and otherwise an upper bound
    (`largest_cut`).

    >>> squared_sensitivity(10, "replace_one"), squared_sensitivity(10, "replace_one", None, 3)
    (50, 4)
    """
    return _rows(neighbours) * largest_cut(m, graph, questions)


def named_sensitivity(
    m: int, neighbours: str, graph: Array | None = None, questions: int | None = None
) -> Sensitivity:
    """What neighbours change where rows carry names.

    c in L1 and in squared L2 for `add_remove`; 2c in L1 and 4c in
    squared L2 for `replace_one`.

    m, graph: (m, m), questions: as in `squared_sensitivity`.
    """
    rows = _rows(neighbours)
    cut = int(largest_cut(m, graph, questions))
    return Sensitivity(rows * cut, rows**2 * cut)


def l1_sensitivity(m: int, neighbours: str, graph: Array | None = None) -> int | Integers:
    """L1 sensitivity of the release: the same number as `squared_sensitivity`.

    Entries differ by at most 1.
    """
    return squared_sensitivity(m, neighbours, graph)


def charged_sensitivity(
    calibration: str,
    m: int,
    neighbours: str,
    graph: Array | None = None,
    questions: int | None = None,
) -> int | Integers:
    """Squared L2, and L1, sensitivity that noise is calibrated to.

    Whole, scalar or (...) for graphs (..., m, m). `tight`: the
    exact one (or its bound). `paper`: 1 for every released entry,
    whatever the neighbours are, and whatever a person answers,
    which is what Lemma 4.1 of Nguyen and Zhang composes to, when
    corrected. Raises `InvalidInput` for other names.
    """
    if calibration not in CALIBRATIONS:
        raise InvalidInput("calibration", calibration, nearest(calibration, CALIBRATIONS))
    rows = _rows(neighbours)
    if calibration == "paper":
        return released_entries(m, graph)
    return rows * largest_cut(m, graph, questions)


def noise_variance(
    rho: float | Floats,
    calibration: str,
    m: int,
    neighbours: str,
    graph: Array | None = None,
    questions: int | None = None,
) -> Floats:
    """σ² of the discrete Gaussian on every released entry that makes the release ρ-zCDP.

    Scalar or (...). ε*²/2 for ρ is the paper's ½ε*²-CDP: then
    paper m(m−1)/ε*², tight 2⌊m²/4⌋/ε*² (replace one).
    Source: Nguyen and Zhang, Lemma 4.1, corrected.
    """
    sensitivity = charged_sensitivity(calibration, m, neighbours, graph, questions)
    variance: Floats = calibrated_variance(sensitivity, rho)
    return variance


def laplace_scale(
    epsilon: float | Floats,
    calibration: str,
    m: int,
    neighbours: str,
    graph: Array | None = None,
    questions: int | None = None,
) -> Floats:
    """Scale t of the discrete Laplace, P(z) ∝ e^{−|z|/t}, on every released entry: ε-DP.

    Scalar or (...).
    Source: Nguyen and Zhang, supplement, Lemma 4.2, composed over
    entries (paper) or by L1 sensitivity (tight).
    """
    sensitivity = charged_sensitivity(calibration, m, neighbours, graph, questions)
    scale: Floats = sensitivity / positive("epsilon", epsilon)
    return scale


def printed_variance(epsilon_star: float | Floats, m: int) -> Floats:
    """√(m(m−1))/ε*², as Lemma 4.1 prints it: a standard deviation's factor on a variance.

    For audits only. It is NOT ½ε*²-zCDP: for replaced rows it spends
    2⌊m²/4⌋/√(m(m−1)) times that, about m/2 times.
    """
    variance: Floats = np.sqrt(released_entries(m)) / positive("epsilon_star", epsilon_star) ** 2
    return variance


def response_budget(epsilon: float | Floats, m: int) -> Floats:
    """ε/m, the budget of each of a person's m responses if all together may spend ε; broadcasts.

    Exact: the opposite row reaches ε. With missing answers it
    hides the answers, not which items were answered.
    Source: Nguyen and Zhang, supplement, randomized response.
    """
    budget: Floats = positive("epsilon", epsilon) / positive("m", m)
    return budget
