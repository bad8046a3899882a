"""When a cell needs no more replications: against a literal reading of the rule, and by its coverage."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from pipeline.analysis.intervals import mean_interval
from pipeline.analysis.moments import block_moments
from pipeline.analysis.precision import Prefix, Rule
from pipeline.analysis.ratio import risk_ratio
from pipeline.analysis.summary import paired_difference
from pipeline.study.status import FAILED, OK
from tests.helpers.engine import study

BLOCK, BLOCKS = 10, 200


def rule(precision, **changes):
    one = study(block=BLOCK, replications=BLOCK * BLOCKS, precision=precision, **changes)
    return Rule(one)


def fed(rule, values, status=None):
    """The prefix after all blocks that it wants. values: (columns, levels…, reps)."""
    status = np.full(values.shape[1:], OK, np.int8) if status is None else status
    prefix = Prefix(rule, np.ones(values.shape[1:-1], bool))
    while prefix.counted is None:
        part = slice(prefix.blocks * BLOCK, (prefix.blocks + 1) * BLOCK)
        prefix.add(values[..., part], status[..., part])
    return prefix


def test_looks_grow_by_a_tenth():
    one = rule({"error_l2": {"relative": 0.1, "least": 35}})
    looks = [one.next_look(0)]
    while looks[-1] < BLOCKS:
        looks.append(one.next_look(looks[-1]))
    assert looks[:3] == [4, 5, 6] and looks[-1] == BLOCKS and len(set(looks)) == len(looks)
    assert all(b <= max(a + 1, 1.1 * a) for a, b in zip(looks, looks[1:], strict=False))
    assert [one.next_look(n) for n in range(looks[20], looks[21])] == [looks[21]] * (
        looks[21] - looks[20]
    )


def half_width(kind, values, confidence):
    """Half-width and estimate from all values at once, by other code. values: (columns, levels, reps)."""
    dims = ("estimator", "replication")
    data = xr.Dataset(
        {name: (dims, one) for name, one in zip(("a", "b"), values, strict=False)},
        {"estimator": [0, 1]},
    ).assign(status=(dims, np.ones(values.shape[1:], np.int8)))
    if kind == "mean":
        part = block_moments(values[:1], np.ones(values.shape[1:], np.int8)).values[0]
        low, high = mean_interval(
            dict(n=part[:, 0], mean=part[:, 1], m2=part[:, 2], m3=part[:, 3]), confidence, False
        )
        return (high - low) / 2, part[:, 1]
    if kind == "ratio":
        found = risk_ratio(data, "a", "b", power=2)
        return found["mcse"].values * stats.t.ppf(
            0.5 + confidence / 2, values.shape[-1] - 1
        ), found["ratio"].values
    found = paired_difference(data, "a", "estimator", 0, 1, confidence)
    return found["mcse"].values * stats.t.ppf(0.5 + confidence / 2, values.shape[-1] - 1), found[
        "mean"
    ].values


@pytest.mark.parametrize(
    "kind, key, options",
    [
        ("mean", "error_l2", {"relative": 0.05}),
        ("mean", "error_l2", {"absolute": 0.07, "confidence": 0.99}),
        ("ratio", "error_l2 / sandwich_risk", {"relative": 0.15, "power": 2}),
        ("difference", "error_l2 across estimator", {"absolute": 0.02}),
    ],
    ids=["relative", "absolute", "ratio", "difference"],
)
def test_it_stops_at_the_first_look_that_meets_the_target(kind, key, options):
    one = rule({key: {"least": 30, **options}})
    rng = np.random.default_rng(5)
    common = rng.exponential(size=(1, 1, BLOCK * BLOCKS))
    values = (
        common
        + 0.3 * rng.exponential(size=(2, 2, BLOCK * BLOCKS))
        + [[[0.0], [0.5]], [[1.0], [1.0]]]
    )
    prefix = fed(one, values if kind == "ratio" else values[:1])
    look, met = one.least, False
    while not met and look < BLOCKS:
        half, estimate = half_width(
            kind, values[..., : look * BLOCK], options.get("confidence", 0.95)
        )
        wanted = options.get("absolute") or options["relative"] * np.abs(estimate)
        met = (half <= wanted).all()
        counted, look = look, one.next_look(look)
    assert (
        met
        and prefix.counted == counted > one.least
        and prefix.excess == pytest.approx((half / wanted).max())
    )


def test_failures_and_absent_cells():
    one = rule({"error_l2": {"relative": 0.5}})
    values, status = np.ones((1, 2, BLOCK * BLOCKS)), np.full((2, BLOCK * BLOCKS), OK, np.int8)
    values += np.random.default_rng(0).normal(size=values.shape) / 10
    assert fed(one, values).counted == 10  # the least
    status[1] = FAILED
    unknown = fed(one, np.where(status == FAILED, np.nan, values), status)
    assert (
        unknown.counted == BLOCKS and unknown.excess == math.inf
    )  # a mean of nothing is not known
    prefix = Prefix(one, np.array([True, False]))
    while prefix.counted is None:
        here = (status != FAILED).astype(np.int8)[..., :BLOCK]
        prefix.add(np.where(here, values[..., :BLOCK], np.nan), here)
    assert prefix.counted == 10  # a cell that the grid has not is not asked for


def test_equal_values_are_known_within_their_range_only():
    values = np.zeros((1, 2, BLOCK * BLOCKS))
    plain = rule({"error_l2": {"absolute": 0.1}})  # it has no range
    assert fed(plain, values).counted == BLOCKS
    ranged = rule({"kendall across estimator": {"absolute": 0.05}}, metrics=["kendall"])
    prefix = fed(ranged, values)  # both always 0: 2(1 − 0.05^(1/n)) ≤ 0.05 from n = 119 on
    assert prefix.counted == 12 and prefix.excess == pytest.approx(
        2 * (1 - 0.05 ** (1 / 120)) / 0.05
    )
    wilsons = fed(
        rule(
            {"exact_top_k": {"absolute": 0.01}},
            metrics=["exact_top_k"],
            parameters=dict(model="btl", mechanism="randomized_response", draw="conditional", K=1),
        ),
        values,
    )
    assert BLOCK * wilsons.counted >= 1.96**2 * (
        1 / 0.02 - 1
    )  # the width of an empty share is z²/(n + z²)


LAWS = {
    "normal": (lambda rng, n: rng.normal(0.5, 1, n), 0.5, False),
    "exponential": (lambda rng, n: rng.exponential(1, n), 1.0, False),
    "share": (lambda rng, n: (rng.random(n) < 0.2).astype(float), 0.2, True),
}
STUDIES, ALPHA = 1000, 1e-6


def final_interval(values, wanted, least, growth, share, naive=False, confidence=0.95):
    """The interval at the first look whose half-width is at most `wanted`; by running sums. naive: plain t."""
    n = np.arange(1, len(values) + 1)
    raw = [np.cumsum(values**k) for k in (1, 2, 3)]
    mean = raw[0] / n
    m2 = raw[1] - n * mean**2
    m3 = raw[2] - 3 * mean * raw[1] + 2 * n * mean**3
    look, looks = least, []
    while look <= len(values):
        looks.append(look)
        look = max(look + 1, math.floor(growth * look))
    at = np.array(looks) - 1
    part = dict(
        n=n[at], mean=mean[at], m2=np.maximum(m2[at], 0), m3=0 * m3[at] if naive else m3[at]
    )
    low, high = mean_interval(part, confidence, share and not naive)
    first = np.argmax((high - low) / 2 <= wanted)
    return low[first], high[first]


@pytest.mark.parametrize("name", LAWS)
def test_the_final_interval_covers(name):
    """Nominal 95 %, 94 to 97 % asked for. Negative controls: t intervals after every value; intervals twice as wide."""
    draw, truth, share = LAWS[name]
    width = 0.1 if name != "share" else 0.03
    rng = np.random.default_rng(20240617)
    covered = wide = peeked = 0
    for _ in range(STUDIES):
        values = draw(rng, 2_000)
        low, high = final_interval(values, width, 100, 1.1, share)
        covered += low <= truth <= high
        wide += low - (high - low) / 2 <= truth <= high + (high - low) / 2
        low, high = final_interval(values[:500], 3 * width, 2, 1.0, share, naive=True)
        peeked += low <= truth <= high
    least, most = (
        int(stats.binom.ppf(ALPHA, STUDIES, 0.94)),
        int(stats.binom.isf(ALPHA, STUDIES, 0.97)),
    )
    print(
        f"n = {STUDIES}, covered {covered}, peeking {peeked}, wide {wide}, bounds {least}, {most}, alpha = {ALPHA}"
    )
    assert least <= covered <= most < wide
    assert peeked < covered and (
        name == "normal" or peeked < least
    )  # normal values are the mildest case
