"""What a person can change, by enumeration; audits of the release: calibrations hold, what was published fails."""

import itertools
import math

import numpy as np
import pytest

from pipeline.privacy.accounting import gaussian_rho
from pipeline.problems.response.theory import cuts
from pipeline.problems.response.theory import sensitivity as privacy
from pipeline.study.parameters import InvalidInput
from tests.helpers.known_responses import random_graphs

ALPHAS = [1.01, 1.5, 2.0, 3.7, 8.0, 40.0]
MISSING = 2


def contributions(m, answers=(0, 1)):
    """(rows, m, m): what each possible row adds to Y, straight from A_i A_j X_i (1 − X_j), i ≠ j."""
    rows = np.array(list(itertools.product(answers, repeat=m)))
    there, one = (rows != MISSING).astype(int), np.where(rows == 1, 1, 0)
    added = (there * one)[:, :, None] * (there * (1 - one))[:, None, :]
    added[:, range(m), range(m)] = 0
    return added


def changes(m, neighbours, answers=(0, 1), graph=None):
    """(pairs, entries): all differences that neighbours make in what is released."""
    added = contributions(m, answers) if graph is None else contributions(m, answers) * graph
    added = added.reshape(len(added), -1)
    if neighbours == "add_remove":
        return added
    return (added[:, None] - added[None]).reshape(-1, added.shape[1])


CASES = [(m, (0, 1)) for m in range(2, 8)] + [(m, (0, 1, MISSING)) for m in range(2, 6)]


@pytest.mark.parametrize("neighbours", privacy.ROWS)
@pytest.mark.parametrize("m, answers", CASES)
def test_sensitivities_are_exact(m, answers, neighbours):
    """Over all pairs of rows, with missing answers too; these add nothing to the worst case."""
    change = changes(m, neighbours, answers)
    assert privacy.squared_sensitivity(m, neighbours) == (change**2).sum(axis=1).max()
    assert privacy.l1_sensitivity(m, neighbours) == np.abs(change).sum(axis=1).max()
    assert np.abs(change).max() == 1  # in every entry
    assert privacy.released_entries(m) == m * (m - 1)


@pytest.mark.parametrize("neighbours", privacy.ROWS)
def test_sensitivities_on_a_graph_are_exact(neighbours):
    for m, answers in [(2, (0, 1)), (4, (0, 1, MISSING)), (6, (0, 1))]:
        for graph in random_graphs(m, 12, m):
            change = changes(m, neighbours, answers, graph)
            assert (
                privacy.squared_sensitivity(m, neighbours, graph) == (change**2).sum(axis=1).max()
            )
            assert privacy.l1_sensitivity(m, neighbours, graph) == np.abs(change).sum(axis=1).max()
            assert privacy.charged_sensitivity("paper", m, neighbours, graph) == graph.sum()


def some_answers(m, questions):
    """Rows of which so many answers at most are there."""
    rows = np.array(list(itertools.product((0, 1, MISSING), repeat=m)))
    return (rows != MISSING).sum(axis=1) <= questions


@pytest.mark.parametrize("m, questions", [(3, 2), (4, 2), (4, 3), (5, 3), (5, 4)])
def test_sensitivities_of_some_questions_are_exact(m, questions):
    """Over all pairs of rows, whoever answered what: protected, and public."""
    few = some_answers(m, questions)
    added = contributions(m, (0, 1, MISSING))[few].reshape(few.sum(), -1)
    rows = np.array(list(itertools.product((0, 1, MISSING), repeat=m)))[few]
    which = ((rows != MISSING) << np.arange(m)).sum(axis=1)
    same_items = which[:, None] == which
    change = np.abs(added[:, None] - added[None])
    replaced = privacy.squared_sensitivity(m, "replace_one", None, questions)
    assert replaced == 2 * (questions**2 // 4)
    for norm in (change.sum(axis=2), (change**2).sum(axis=2)):
        assert norm.max() == replaced  # who answered what is protected
        assert norm[same_items].max() == replaced  # or public
    present = privacy.squared_sensitivity(m, "add_remove", None, questions)
    assert added.sum(axis=1).max() == present == questions**2 // 4
    named = privacy.named_sensitivity(m, "replace_one", None, questions)
    assert named == (replaced, 2 * replaced)
    # The control: who is charged for all items is charged for too much, for fewer for too little.
    assert privacy.squared_sensitivity(m, "replace_one") > replaced
    assert privacy.squared_sensitivity(m, "replace_one", None, questions - 1) < replaced


def test_some_questions_on_a_graph_are_charged_enough():
    few = some_answers(5, 3)
    for graph in random_graphs(5, 12, 3):
        added = (contributions(5, (0, 1, MISSING))[few] * graph).reshape(few.sum(), -1)
        change = np.abs(added[:, None] - added[None]).sum(axis=2).max()
        charged = privacy.charged_sensitivity("tight", 5, "replace_one", graph, 3)
        assert change <= charged <= 4


def test_all_pairs_are_the_complete_graph():
    for m in range(2, 17):
        full = 1 - np.eye(m, dtype=int)
        assert cuts.largest_cut(m) == cuts.largest_cut(m, full) == m * m // 4
        assert privacy.released_entries(m) == privacy.released_entries(m, full)
        assert cuts.cut_bound(full) == m * m // 4  # the bound is tight there


def test_calibrations():
    for m in (2, 5, 25, 100):
        half = m * m // 4
        rho = 0.5 * 0.7**2  # ½ε*² at ε* = 0.7
        assert privacy.noise_variance(rho, "paper", m, "replace_one") == pytest.approx(
            m * (m - 1) / 0.49
        )
        assert privacy.noise_variance(rho, "tight", m, "replace_one") == pytest.approx(
            2 * half / 0.49
        )
        assert privacy.noise_variance(rho, "tight", m, "add_remove") == pytest.approx(half / 0.49)
        assert privacy.laplace_scale(0.5, "paper", m, "add_remove") == 2 * m * (m - 1)
        assert privacy.laplace_scale(0.5, "tight", m, "replace_one") == 4 * half
        assert privacy.printed_variance(0.7, m) == pytest.approx(math.sqrt(m * (m - 1)) / 0.49)
    graphs = random_graphs(6, 5, 1)
    assert privacy.noise_variance([0.1] * 5, "tight", 6, "add_remove", graphs).shape == (5,)
    tight = privacy.charged_sensitivity("tight", 6, "replace_one", graphs)
    assert (tight <= privacy.charged_sensitivity("paper", 6, "replace_one", graphs)).all()


def divergence(alpha, shift, variance):
    """D_α(Z + shift ‖ Z) in nats, summed term by term from the definition."""
    reach = math.ceil(12 * math.sqrt(variance)) + 60
    y = np.arange(-reach, reach + 1) + round(alpha * shift)
    far = np.arange(-reach, reach + 1)
    total = math.fsum(np.exp(-(far**2.0) / (2 * variance)))
    terms = np.exp(
        -(alpha * (y - shift) ** 2.0 + (1 - alpha) * y**2.0) / (2 * variance)
        - alpha * (alpha - 1) * shift**2 / (2 * variance)
    )  # scaled, or large α overflows
    return alpha * shift**2 / (2 * variance) + math.log(math.fsum(terms) / total) / (alpha - 1)


def worst_divergence(change, alpha, variance):
    """Largest divergence over neighbours: the sum over entries of the divergences of their shifts."""
    one = {int(shift): divergence(alpha, int(shift), variance) for shift in np.unique(change)}
    return sum(one[shift] * (change == shift) for shift in one).sum(axis=1).max()


@pytest.mark.parametrize("neighbours", privacy.ROWS)
@pytest.mark.parametrize("m, answers", CASES)
def test_rényi_audit_of_the_release(m, answers, neighbours):
    """Worst neighbours of all: ρα is kept at every α; the tight calibration uses it up, the paper's does not."""
    change = changes(m, neighbours, answers)
    for star in (0.1, 1.0):
        rho = star**2 / 2
        tight = privacy.noise_variance(rho, "tight", m, neighbours)
        paper = privacy.noise_variance(rho, "paper", m, neighbours)
        assert gaussian_rho(privacy.squared_sensitivity(m, neighbours), tight) == pytest.approx(rho)
        for alpha in ALPHAS:
            spent = worst_divergence(change, alpha, tight) / (rho * alpha)
            assert (0.999 if tight > 1 else 0.9) < spent <= 1 + 1e-9
            assert worst_divergence(change, alpha, paper) <= spent * rho * alpha * (1 + 1e-9)
        assert worst_divergence(change, 2.0, 0.98 * tight) > rho * 2  # control: a little less noise


def test_noise_for_one_relation_is_too_little_for_the_other():
    for m in range(2, 8):
        variance = privacy.noise_variance(0.02, "tight", m, "add_remove")
        assert worst_divergence(changes(m, "replace_one"), 2.0, variance) == pytest.approx(
            2 * 0.02 * 2, rel=1e-6
        )


@pytest.mark.parametrize("m", range(2, 8))
def test_the_printed_variance_of_lemma_4_1_is_not_private(m):
    """√(m(m−1))/ε*² spends more than ½ε*², by the factor that the docstring states."""
    change = changes(m, "replace_one")
    for star in (0.1, 0.5):
        variance, claimed = privacy.printed_variance(star, m), star**2 / 2
        factor = 2 * (m * m // 4) / math.sqrt(m * (m - 1))
        for alpha in (1.5, 2.0, 8.0):
            assert worst_divergence(change, alpha, variance) == pytest.approx(
                factor * claimed * alpha, rel=1e-3
            )
        assert factor > 1.2


def test_rényi_audit_on_a_public_graph():
    for graph in random_graphs(6, 8, 3):
        for neighbours in privacy.ROWS:
            change = changes(6, neighbours, graph=graph)
            variance = privacy.noise_variance(0.02, "tight", 6, neighbours, graph)
            spent = max(
                worst_divergence(change, alpha, variance) / (0.02 * alpha) for alpha in ALPHAS
            )
            assert 0.999 < spent <= 1 + 1e-9


def test_laplace_audit():
    """Largest log ratio of the released vector: the sum over entries of max_y (|y| − |y − shift|)/scale."""
    y = np.arange(-30, 31)

    def worst(m, neighbours, scale):
        change = changes(m, neighbours)
        loss = {s: max(np.abs(y) - np.abs(y - s)) / scale for s in (-1, 0, 1)}
        return sum(loss[s] * (change == s) for s in loss).sum(axis=1).max()

    for m, neighbours in itertools.product(range(2, 7), privacy.ROWS):
        tight, paper = (
            privacy.laplace_scale(0.8, kind, m, neighbours) for kind in ("tight", "paper")
        )
        assert worst(m, neighbours, tight) == pytest.approx(0.8) and worst(
            m, neighbours, paper
        ) <= 0.8 * (1 + 1e-12)
    assert (
        worst(6, "replace_one", privacy.laplace_scale(0.8, "tight", 6, "add_remove")) > 1.5
    )  # control


def test_randomized_response_audit():
    """All pairs of rows and releases: ε is reached, by opposite rows, and never passed."""
    for m, epsilon in itertools.product(range(1, 6), (0.3, 2.0)):
        rows = np.array(list(itertools.product((0, 1), repeat=m)))
        flip = 1 / (1 + math.exp(privacy.response_budget(epsilon, m)))
        flipped = (rows[:, None] != rows).sum(axis=2)
        law = np.log(flip) * flipped + np.log1p(-flip) * (m - flipped)  # (row, release)
        assert np.abs(law[:, None] - law).max() == pytest.approx(epsilon)


def published(responses, noise, lambd=1.0):
    """Noisy measurements and chain of the supplement's construct_markov_chain_private; responses: items × persons.

    noise: iterator over the integers that its sampler gives, in the order of its calls.
    """
    m = len(responses)
    counts = responses @ (1 - responses).T
    np.fill_diagonal(counts, 0)
    for i, j in itertools.product(range(m), repeat=2):
        if j != i and counts[i, j] != 0:
            counts[i, j] = max(1, counts[i, j] + next(noise))
    regular = np.where((counts != 0) | (counts.T != 0), counts + lambd, counts)
    np.fill_diagonal(regular, 0)
    chain = regular / (regular.sum(axis=1).max() + 1)
    return counts, chain + np.diag(1 - chain.sum(axis=1))


def published_outputs(persons):
    """Everything that the published procedure can release of these persons, for noise in −3 … 3 and two extremes."""
    responses = np.array(persons).T
    noisy = int((responses @ (1 - responses).T).astype(bool).sum())
    return [
        published(responses, iter(noise))
        for noise in itertools.product([*range(-3, 4), -(10**6), 10**6], repeat=noisy)
    ]


def test_the_published_procedure_is_not_private():
    """Noise only where Y_ij ≠ 0: neighbours whose releases cannot be told to be of the other, infinite divergence.

    Even the estimate gives the person away: the fixed chain of two items ranks them by the one who answers differently.
    """
    shared = [(1, 1), (0, 0), (1, 1)]
    first, second = published_outputs([*shared, (1, 0)]), published_outputs([*shared, (0, 1)])
    for one, other in ((first, second), (second, first)):
        zeros = {tuple((counts == 0).ravel()) for counts, _ in one}
        assert len(zeros) == 1 and not zeros & {tuple((counts == 0).ravel()) for counts, _ in other}
        supports = [{chain.tobytes() for _, chain in released} for released in (one, other)]
        assert not supports[0] & supports[1]  # probability > 0 under one, 0 under the other
    ranked = [
        {bool(chain[0, 1] > chain[1, 0]) for _, chain in released} for released in (first, second)
    ]
    assert ranked == [
        {True},
        {False},
    ]  # π_0 P_01 = π_1 P_10: the sign of β̂_0 − β̂_1, whatever the noise


def test_noise_on_every_entry_passes_where_the_published_procedure_fails():
    """The same neighbours: with noise in both entries every release is possible under both, and ρα holds."""
    change = np.array([[1, -1]])  # entries (0, 1) and (1, 0)
    variance = privacy.noise_variance(0.125, "tight", 2, "replace_one")
    for alpha in ALPHAS:
        assert worst_divergence(change, alpha, variance) <= 0.125 * alpha * (1 + 1e-12)


SQUARE = np.array([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: privacy.squared_sensitivity(4, "replace"),
            "^neighbours=replace: did you mean 'replace_one'",
        ),
        (lambda: privacy.l1_sensitivity(4, "swap"), "^neighbours=swap"),
        (
            lambda: privacy.charged_sensitivity("thight", 4, "add_remove"),
            "^calibration=thight: did you mean 'tight'",
        ),
        (lambda: privacy.charged_sensitivity("paper", 4, "both"), "^neighbours=both"),
        (lambda: privacy.squared_sensitivity(1, "add_remove"), "^m=1"),
        (lambda: privacy.released_entries(2.5), "^m=2.5"),
        (lambda: cuts.largest_cut(3, SQUARE), "^graph=.*with m=3"),
        (lambda: cuts.largest_cut(2, 2 * SQUARE), "^graph=.*0 and 1"),
        (lambda: cuts.largest_cut(2, np.triu(SQUARE)), "^graph=.*symmetric"),
        (lambda: cuts.largest_cut(2, np.eye(2)), "^graph=.*diagonal"),
        (lambda: privacy.released_entries(2, np.zeros((2, 2))), "^graph=.*an edge"),
        (lambda: privacy.noise_variance(0, "paper", 4, "add_remove"), "^rho=0"),
        (lambda: privacy.laplace_scale(-1, "paper", 4, "add_remove"), "^epsilon=-1"),
        (lambda: privacy.printed_variance(math.nan, 4), "^epsilon_star=nan"),
        (lambda: privacy.response_budget(0, 4), "^epsilon=0"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)
