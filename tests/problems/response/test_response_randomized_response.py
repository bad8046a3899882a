"""Randomized response: law of the flips, budgets before and after shuffling, and privacy by enumeration."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.response.data.recorded import RecordedResponses
from pipeline.problems.response.mechanisms import randomized_response
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.releases import FlippedResponses
from pipeline.study.parameters import DataFile
from pipeline.study.study import build
from tests.helpers.checks import ALPHA, counts_agree, mean_agrees
from tests.helpers.known_responses import REPS, Known, of_rows, off_diagonal, rng


def vector_law(row, flip):
    """(2^m,): of the flipped row, in the order of `itertools.product`."""
    out = np.array(list(itertools.product((0, 1), repeat=len(row))))
    return np.where(out != np.array(row), flip, 1 - flip).prod(axis=1)


def test_flips_have_their_law_jointly():
    """Three responses of a person, ε/3 each: all eight rows, all eight outcomes."""
    noisy, flip = RandomizedResponse(n=1, m=3, epsilon_user=3.6), 1 / (1 + math.exp(1.2))
    for seed, row in enumerate(itertools.product((0, 1), repeat=3)):
        release = noisy.release(of_rows([row], REPS), rng(seed))
        assert type(release) is FlippedResponses and release.observed is None
        assert release.epsilon == pytest.approx(1.2)
        found = np.bincount(release.answers[:, 0] @ [4, 2, 1], minlength=8)
        assert counts_agree(found, vector_law(row, flip), f"row {row}")
        assert not counts_agree(
            found, vector_law(row, 0.9 * flip), "negative control: flips 10 % too rare"
        )
        assert not counts_agree(
            found, vector_law(row, 1 / (1 + math.exp(3.6))), "control: ε for each response"
        )
        assert not counts_agree(
            found, vector_law([1 - row[0], *row[1:]], flip), "negative control: the neighbour"
        )


@pytest.mark.parametrize("flip", [0.0, 2**-13, 0.3, 127.5 / 256, 0.5])
def test_flips_are_finer_than_bytes(flip):
    n = 4_000_000
    hits = int(randomized_response.draw_flips((4, n // 4), flip, rng(3)).sum())

    def agrees(probability):
        return (
            stats.binom.ppf(ALPHA / 2, n, probability)
            <= hits
            <= stats.binom.isf(ALPHA / 2, n, probability)
        )

    assert agrees(flip) and (flip in (0, 0.5) or not agrees(math.floor(256 * flip) / 256))


@pytest.mark.parametrize("m", [2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_a_row_composes_to_the_budget(m, epsilon):
    """Worst ratio of the law of the released row, over all pairs of rows and outcomes, at the object's own flips."""
    noisy = RandomizedResponse(n=1, m=m, epsilon_user=epsilon)
    each = noisy.release(of_rows([(0,) * m]), rng()).epsilon
    law = np.log(
        [vector_law(row, 1 / (1 + math.exp(each))) for row in itertools.product((0, 1), repeat=m)]
    )
    assert np.abs(law[:, None] - law).max() == pytest.approx(epsilon)
    one = [(law[a] - law[b]).max() for a, b in ((0, 1), (0, 2 ** (m - 1)))]
    assert one == pytest.approx([epsilon / m] * 2)
    assert noisy.spent() == {
        "all responses of a person": epsilon,
        "one response": pytest.approx(epsilon / m),
    }


def test_missing_responses_stay_missing():
    observed = rng(1).random((400, 30, 4)) < 0.6
    data = Known(observed & (rng(2).random(observed.shape) < 0.5), observed)
    noisy = RandomizedResponse(n=30, m=4, epsilon_user=2.0, p=0.6)
    release = noisy.release(data, rng(3))
    assert (release.observed == observed).all() and not release.answers[~observed].any()
    flipped = (release.answers != data.answers)[observed]
    assert mean_agrees(flipped, 1 / (1 + math.exp(0.5)), "flips") and not mean_agrees(
        flipped, 0.36, "negative control"
    )
    assert data.answers[observed].mean() == pytest.approx(
        0.5, abs=0.02
    )  # the data are as they were


SHUFFLED = dict(n=1000, m=4, epsilon_user=0.5, shuffled=True)
AT = "all responses of a person, ε at δ = 0.0001"


def test_shuffling_allows_a_larger_local_budget():
    noisy = RandomizedResponse(**SHUFFLED)
    local, limit = noisy.local_epsilon, math.log(1000 / (16 * math.log(2 / 1e-4)))
    amplified = math.log1p(
        math.tanh(local / 2)
        * (8 * math.sqrt(math.exp(local) * math.log(4e4) / 1000) + 8 * math.exp(local) / 1000)
    )
    assert noisy.unamplified is None and 0.5 < local <= limit and amplified <= 0.5 * (1 + 1e-9)
    assert noisy.spent() == {
        AT: pytest.approx(amplified),
        "all responses of a person, before shuffling": local,
        "one response": pytest.approx(local / 4),
    }
    assert noisy.release(Known(np.zeros((1, 1000, 4), bool)), rng()).epsilon == pytest.approx(
        local / 4
    )


@pytest.mark.parametrize(
    "changes, reason",
    [
        (dict(shuffled=False), "not shuffled"),
        (dict(n=100), "needs at least 159 persons"),
        (dict(epsilon_user=3.0), "only up to"),
        (dict(n=165, epsilon_user=0.03), "smaller local budget"),
        (dict(p=0.9), "where responses are missing"),
    ],
)
def test_where_amplification_does_not_apply_it_is_not_charged(changes, reason):
    noisy = RandomizedResponse(**(SHUFFLED | changes))
    assert reason in noisy.unamplified and "\n" not in noisy.unamplified
    assert noisy.local_epsilon == noisy.epsilon_user
    assert noisy.spent() == {
        "all responses of a person": noisy.epsilon_user,
        "one response": noisy.epsilon_user / 4,
    }
    data = Known(np.zeros((2, noisy.n, 4), bool))
    assert noisy.release(data, rng()).epsilon == pytest.approx(noisy.epsilon_user / 4)


def test_missing_answers_of_a_file_are_not_amplified(tmp_path):
    """What is spent and what is released agree, and the remark says why; a complete file is amplified."""
    rows = rng(1).choice(["0", "1", "NA"], (1000, 4), p=[0.45, 0.45, 0.1])
    rows[:2] = "1"
    text = "a,b,c,d\n" + "".join(",".join(row) + "\n" for row in rows)
    for name, gaps in (("gaps.csv", True), ("whole.csv", False)):
        path = tmp_path / name
        path.write_text(text if gaps else text.replace("NA", "0"))
        values = SHUFFLED | dict(data_path=DataFile.at(str(path), "data.path"))
        model, noisy = build(RecordedResponses, values), build(RandomizedResponse, values)
        data = model.simulate(model.truth(rng(1), 2, rng(2)), rng(3))
        release = noisy.release(data, rng(4))
        assert noisy.spent()["one response"] == pytest.approx(release.epsilon)
        assert (release.epsilon == pytest.approx(0.5 / 4)) == gaps
        assert ("where responses are missing" in (noisy.remark(model) or "")) == gaps
    with pytest.raises(ValueError, match="though p is 1 and data_path has none"):
        nothing = np.zeros((1, 1000, 4), bool)
        RandomizedResponse(**SHUFFLED).release(Known(nothing, nothing), rng())


def test_reports_leave_in_random_order_where_that_is_charged(monkeypatch):
    answers = np.zeros((20_000, 60, 2), bool)
    answers[:, 0] = True
    with monkeypatch.context() as patch:
        patch.setattr(
            randomized_response, "draw_flips", lambda shape, flip, rng: np.zeros(shape, bool)
        )
        for shuffled in (True, False):
            noisy = RandomizedResponse(n=60, m=2, epsilon_user=0.1, shuffled=shuffled, delta=0.3)
            assert (noisy.unamplified is None) == shuffled
            release = noisy.release(Known(answers), rng(1)).answers
            assert (release.sum(axis=1) == 1).all() and (release[:, :, 0] == release[:, :, 1]).all()
            place = np.bincount(release[:, :, 0].argmax(axis=1), minlength=60)
            assert shuffled == counts_agree(
                place, np.full(60, 1 / 60), f"place, shuffled {shuffled}"
            )


def test_two_persons_leave_in_any_order(monkeypatch):
    """One after the other in the data, they are any distance apart in the release: no order is kept."""
    n = 60
    answers = np.zeros((20_000, n, 2), bool)
    answers[:, [0, 1], 0] = True
    answers[:, 0, 1] = True  # whose second answer tells the first of them from the other
    monkeypatch.setattr(
        randomized_response, "draw_flips", lambda shape, flip, rng: np.zeros(shape, bool)
    )
    noisy = RandomizedResponse(n=n, m=2, epsilon_user=0.1, shuffled=True, delta=0.3)
    release = noisy.release(Known(answers), rng(1)).answers
    first, other = release[:, :, 1], release[:, :, 0] & ~release[:, :, 1]
    apart = np.bincount((other.argmax(axis=1) - first.argmax(axis=1)) % n, minlength=n)
    assert apart[0] == 0 and counts_agree(apart[1:], np.full(n - 1, 1 / (n - 1)), "distance")


def test_shuffled_reports_are_private_by_enumeration():
    """Exact δ, at the ε that is stated, of 400 shuffled reports of two responses; opposite rows of one person.

    All others answer as he does in one of the rows. Then reports of one right answer are alike, whichever it is, and
    the numbers of reports with 0, 1 and 2 right answers are sufficient. The negative control leaves them in order.
    """
    noisy = RandomizedResponse(n=400, m=2, epsilon_user=0.5, shuffled=True, delta=0.01)
    epsilon, each = (
        noisy.spent()["all responses of a person, ε at δ = 0.01"],
        noisy.spent()["one response"],
    )
    assert noisy.unamplified is None and epsilon <= 0.5 * (1 + 1e-9)
    own = np.array(
        [
            vector_law(row, 1 / (1 + math.exp(each))) @ np.eye(3)[[0, 1, 1, 2]]
            for row in ((0, 0), (1, 1))
        ]
    )
    none, some = np.meshgrid(np.arange(400), np.arange(400), indexing="ij")
    others = stats.multinomial.pmf(
        np.stack([none, some, np.maximum(399 - none - some, 0)], axis=-1), 399, own[0]
    )
    law = np.zeros((2, 401, 401))
    for person, (zero, one, two) in enumerate(own):
        law[person, 1:, :-1] += zero * others
        law[person, :-1, 1:] += one * others
        law[person, :-1, :-1] += two * others
    assert law.sum(axis=(1, 2)) == pytest.approx([1, 1])

    def delta(laws):
        return max(np.maximum(laws[a] - math.exp(epsilon) * laws[1 - a], 0).sum() for a in (0, 1))

    print(
        f"local {noisy.local_epsilon:.3g}, δ={delta(law):.3g}, in order {delta(own):.3g}, stated 0.01"
    )
    assert delta(law) <= 0.01 < 0.1 < delta(own)


@pytest.mark.parametrize("p", [1.0, 0.7])
def test_debiased_differences_are_unbiased_end_to_end(p):
    model = Rasch(n=40, m=4, p=p)
    data = model.simulate(model.truth(rng(1), 20_000, rng(0)), rng(2))
    release = RandomizedResponse(n=40, m=4, epsilon_user=4.0, p=p).release(data, rng(3))
    raw = data.differences()
    for i, j in off_diagonal(4):
        assert mean_agrees((release.differences(debiased=True) - raw)[:, i, j], 0, f"entry {i, j}")
        assert not mean_agrees(
            (release.differences() - raw)[:, i, j], 0, "negative control: as they are"
        )
