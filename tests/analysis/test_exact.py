"""Exact laws: one cell can contradict, only all cells together can support."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import ndtri

from pipeline.analysis.claims import (
    CONTRADICTED,
    INCONCLUSIVE,
    SUPPORTED,
    Claim,
    NegativeControl,
    judge,
)
from pipeline.analysis.exact import EACH_CELL, FALSE_ALARM, TOGETHER, exact_law, law_ratios
from pipeline.analysis.measures import measure, spending

REPS = 4000


@pytest.fixture
def data(sealed):
    noise = 1 + 0.05 * np.random.default_rng(0).standard_normal((2, 3, REPS))
    return sealed(dict(arm=["a", "b"], L=[1, 2, 4]), v=noise, expected=np.ones_like(noise))


def verdict(data, margin=0.01, by=("arm",), each=0.0):
    law = measure("v over its expectation")(
        lambda results: law_ratios(results, "v", "expected", 1, *by)
    )
    claim = Claim(
        id="toy",
        statement="v is 1.",
        source="here",
        experiment="toy",
        measure=law,
        why="",
        conditions="",
        tolerance=exact_law(margin, each),
        control=NegativeControl("v doubled", lambda r: r.assign(v=2 * r["v"])),
    )
    judgement = judge(claim, data)
    assert judgement.control.verdict == CONTRADICTED
    return judgement.check.verdict


def test_a_law_that_holds_is_supported_where_the_cells_fix_it(data):
    assert verdict(data) == SUPPORTED
    assert (
        verdict(data, margin=1e-4) == INCONCLUSIVE
    )  # the cells together are less precise than that


def test_one_cell_that_breaks_the_law_contradicts_it(data):
    broken = data.assign(
        v=data["v"].where((data["arm"] == "a") | (data["L"] > 1), 1.03 * data["v"])
    )
    assert verdict(broken, margin=0.5) == CONTRADICTED
    assert verdict(broken, margin=0.5, each=0.02) == CONTRADICTED  # the interval is 1.03 ± 0.004
    assert verdict(broken, margin=0.5, each=0.04) == SUPPORTED


def test_intervals_of_cells_and_of_all_together(data):
    ratios = law_ratios(data, "v", "expected", 1, "arm")
    assert [*ratios[TOGETHER]] == ["arm=a", "arm=b"] and len(ratios[EACH_CELL]) == 6
    one, cells = ratios[TOGETHER]["arm=a"], [ratios[EACH_CELL][f"arm=a, L={L}"] for L in (1, 2, 4)]
    weights = np.array([cell.standard_error**-2 for cell in cells])
    assert one.value == pytest.approx(weights @ [cell.value for cell in cells] / weights.sum())
    assert one.standard_error == pytest.approx(weights.sum() ** -0.5)
    assert one.high - one.value == pytest.approx(ndtri(1 - 0.01 / 2 / 2) * one.standard_error)
    assert cells[0].high - cells[0].value == pytest.approx(
        ndtri(1 - 1e-6 / 6 / 2) * cells[0].standard_error, rel=0.005
    )
    reach = max(max(abs(one.low - 1), abs(one.high - 1)) for one in ratios[TOGETHER].values())
    assert (
        verdict(data, margin=1.01 * reach) == SUPPORTED
        and verdict(data, margin=0.99 * reach) == INCONCLUSIVE
    )


def test_skewed_cells_are_widened_as_their_tail_asks(sealed):
    """z'²(1 − 2az') = z², a = |γ|/(3√n), by another solver."""
    v = np.random.default_rng(3).chisquare(5, (1, 1, REPS)) / 5
    (cell,) = law_ratios(
        sealed(dict(arm=["a"], L=[1]), v=v, expected=np.ones_like(v)), "v", "expected", 1
    )[EACH_CELL].values()
    z, a = ndtri(1 - FALSE_ALARM / 2), abs(stats.skew(v, axis=None)) / (3 * REPS**0.5)
    wider = optimize.brentq(lambda x: x**2 * (1 - 2 * a * x) - z**2, z, 1 / (3 * a))
    error = v.std(ddof=1) / REPS**0.5
    quantile = stats.t.isf(FALSE_ALARM / 2, REPS - 1) * wider / z
    assert (cell.high - cell.value) / error == pytest.approx(quantile, rel=1e-4)
    assert wider > 1.02 * z


@pytest.mark.parametrize("reps, cells, decided", [(100, 30_000, False), (4000, 3, True)])
def test_skewed_cells_that_follow_the_law_are_not_denied(sealed, reps, cells, decided):
    """Squares of normal variables: intervals by t alone deny one cell of some thousands, far above 1e-6."""
    v = np.random.default_rng(reps).standard_normal((1, cells, reps)) ** 2
    data = sealed(dict(arm=["a"], L=list(range(cells))), v=v, expected=np.ones_like(v))
    ratio, error = v.mean(axis=2)[0], v.std(axis=2, ddof=1)[0] / np.sqrt(reps)
    alone = int((abs(ratio - 1) > -ndtri(FALSE_ALARM / 2) * error).sum())
    found = law_ratios(data, "v", "expected", 1)[EACH_CELL].values()
    denied = sum(not cell.covers(1) for cell in found)
    print(f"skewed cells: n={cells} statistic={denied} bound=0 alpha=1e-06; by t alone {alone}")
    assert denied == 0 and (alone > 0 or decided)
    assert np.isfinite([cell.high for cell in found]).all() == decided


def test_a_skewed_law_that_is_broken_is_denied(sealed):
    v = np.random.default_rng(1).standard_normal((2, 3, REPS)) ** 2
    assert (
        verdict(sealed(dict(arm=["a", "b"], L=[1, 2, 4]), v=v, expected=np.full_like(v, 0.8)))
        == CONTRADICTED
    )


@pytest.mark.parametrize("share", [1.0, 0.01])
def test_a_look_has_its_share_of_the_false_alarms(share, sealed):
    """Three cells of values that lie on both sides alike: t intervals at 10⁻⁶ · share / 3 each."""
    half = stats.norm.ppf((np.arange(REPS // 2) + 0.5) / (REPS // 2)) / 10
    v = 1 + np.tile(np.concatenate([half, -half]), (3, 1))
    data = sealed(dict(L=[1, 2, 4]), v=v, expected=np.ones_like(v))
    with spending(share):
        cells = law_ratios(data, "v", "expected", 1, "L")[EACH_CELL].values()
    reach = stats.t.isf(1e-6 * share / 3 / 2, REPS - 1) * v[0].std(ddof=1) / REPS**0.5
    assert [(cell.high - cell.low) / 2 for cell in cells] == pytest.approx([reach] * 3, rel=1e-3)
