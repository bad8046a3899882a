"""Stopping at a half-width: coverage of the final interval, and replications against an oracle that
knows σ.

2,000 synthetic studies of each kind of metric stop at half-widths of 1 and 5 % by the rule that a
run follows, in blocks of a twentieth of what the oracle takes, (1.96 σ/w)² replications. Peeking
looks after every ten replications, with plain t intervals, and stops at the first that is as
narrow: the negative control.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special
from threadpoolctl import threadpool_limits

from pipeline.analysis.intervals import mean_interval
from pipeline.analysis.precision import Prefix, Rule
from pipeline.study.study import Study

STUDIES, BLOCKS, LEAST = 2000, 20, 100  # LEAST: replications in any case
WIDTHS = (0.01, 0.05)
PEEKED = 10  # replications between looks of the rule that peeks


Draw = Callable[[np.random.Generator, int], np.ndarray]


class Kind(NamedTuple):
    """A kind of target: how a config names it, its values, and what is estimated.

    draw: (generator, replications) -> (metrics, levels, replications). deviation: standard
    deviation of a replication's share in the estimate, of the influence function of a ratio;
    relative to the truth for `relative` targets.
    """

    key: str
    options: dict[str, float]
    draw: Draw
    truth: float
    deviation: float

    def width(self, share: float) -> float:
        """Half-width, relative or in the metric's unit."""
        return share * (self.options.get("relative") or self.options["absolute"])


def _paired(rng: np.random.Generator, n: int) -> np.ndarray:
    common = rng.gamma(4.0, 0.25, n)
    return np.stack(
        [common + 0.5 + 0.5 * rng.standard_normal(n), common + 0.5 * rng.standard_normal(n)]
    )[None]


def _ratio(rng: np.random.Generator, n: int) -> np.ndarray:
    yardstick = rng.gamma(9.0, 1 / 9, n)
    return np.stack([np.sqrt(yardstick * rng.chisquare(9, n) / 9), yardstick])[:, None]


def kinds() -> dict[str, Kind]:
    """Name -> kind; means and ratios to a share of the estimate, shares and differences to a
    number.
    """

    def mean(draw: Draw) -> Draw:
        return lambda rng, n: draw(rng, n)[None, None]

    return {
        "normal error": Kind(
            "error_l2", {"relative": 1}, mean(lambda rng, n: rng.normal(1, 0.4, n)), 1.0, 0.4
        ),
        "squared error, χ² of 9": Kind(
            "error_l2",
            {"relative": 1},
            mean(lambda rng, n: rng.chisquare(9, n) / 9),
            1.0,
            (2 / 9) ** 0.5,
        ),
        "exponential": Kind(
            "error_l2", {"relative": 1}, mean(lambda rng, n: rng.exponential(1, n)), 1.0, 1.0
        ),
        "share of 20 %": Kind(
            "exact_top_k",
            {"absolute": 1},
            mean(lambda rng, n: (rng.random(n) < 0.2).astype(float)),
            0.2,
            0.4,
        ),
        "share of 2 %": Kind(
            "exact_top_k",
            {"absolute": 0.3},
            mean(lambda rng, n: (rng.random(n) < 0.02).astype(float)),
            0.02,
            0.14,
        ),
        "paired difference": Kind(
            "error_l2 across estimator", {"absolute": 1}, _paired, 0.5, 0.5**0.5
        ),
        "ratio to a yardstick": Kind(
            "error_l2 / sandwich_risk",
            {"relative": 1, "power": 2},
            _ratio,
            1.0,
            ((1 + 1 / 9) * 2 / 9) ** 0.5,
        ),
    }


def rule_of(kind: Kind, width: float) -> tuple[Rule, int, float]:
    """The rule of a study with this target, its block, and the oracle's replications."""
    oracle = (special.ndtri(0.975) * kind.deviation / kind.width(width)) ** 2
    block = max(round(oracle / BLOCKS), 10)
    options = {
        name: one * width if name in ("relative", "absolute") else one
        for name, one in kind.options.items()
    }
    levels = ["debiased", "plug_in"][: 1 + ("across" in kind.key)]
    study = Study(
        "precision",
        "ranking",
        seed=1,
        replications=(2 * BLOCKS + LEAST // 10) * block,
        block=block,
        paired=("estimator",),
        grid={"epsilon": [1.0], "estimator": levels},
        metrics=("error_l2", "exact_top_k", "sandwich_risk"),
        parameters=dict(
            model="btl", mechanism="randomized_response", draw="conditional", m=5, L=20, K=1
        ),
        precision={kind.key: options},
    )
    return Rule(study), block, oracle


def reduced(kind: Kind, values: np.ndarray) -> np.ndarray:
    """Numerator and denominator of the estimate for every replication, (2, replications)."""
    if "across" in kind.key:
        values = values[:, 0] - values[:, 1]
    else:
        values = values[:, 0]
    return np.stack(
        [values[0] ** 2, values[1]] if "/" in kind.key else [values[0], np.ones(values.shape[-1])]
    )


def running(parts: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and half-widths by t and the delta method after so many replications."""
    above, below = parts
    sums = [np.cumsum(one)[at - 1] for one in (above, below, above**2, above * below, below**2)]
    ratio = sums[0] / sums[1]
    squares = np.maximum(sums[2] - 2 * ratio * sums[3] + ratio**2 * sums[4], 0)
    return ratio, special.stdtrit(at - 1, 0.975) * np.sqrt(squares * at / (at - 1)) / sums[1]


def stopped(
    kind: Kind, half: float, rule: Rule, block: int, rng: np.random.Generator
) -> tuple[bool, int, bool]:
    """Whether the final interval covers; replications that counted; whether peeking covers."""
    values = kind.draw(rng, rule.blocks * block)
    present = np.ones(values.shape[1:-1], bool)
    prefix = Prefix(rule, present)
    while prefix.counted is None:
        part = values[..., prefix.blocks * block : (prefix.blocks + 1) * block]
        prefix.add(part, np.ones(part.shape[1:], np.int8))
    n, parts = prefix.counted * block, reduced(kind, values)
    if " " in kind.key:
        (value,), (error,) = running(parts, np.array([n]))
        low, high = value - error, value + error
    else:
        apart = parts[0, :n] - parts[0, :n].mean()
        moments = {
            "n": np.array(n),
            "mean": parts[0, :n].mean(),
            "m2": (apart**2).sum(),
            "m3": (apart**3).sum(),
        }
        low, high = mean_interval(moments, 0.95, kind.key == "exact_top_k")
    at = np.arange(PEEKED, values.shape[-1], PEEKED)
    value, error = running(parts, at)
    first = int(np.argmax(error <= half * (np.abs(value) if "relative" in kind.options else 1)))
    return bool(low <= kind.truth <= high), n, bool(abs(value[first] - kind.truth) <= error[first])


def main() -> None:
    """Print coverage and replications over the oracle's for every kind and width."""
    worst = [1.0, 0.0]
    with threadpool_limits(1):
        for name, kind in kinds().items():
            for width in WIDTHS:
                start, rng = time.perf_counter(), np.random.default_rng(23)
                (rule, block, oracle), half = rule_of(kind, width), kind.width(width)
                covered, used, peeked = np.array(
                    [stopped(kind, half, rule, block, rng) for _ in range(STUDIES)]
                ).T
                used = used / oracle
                worst = [min(worst[0], covered.mean()), max(worst[1], used.mean())]
                print(
                    f"{name:24s} half-width {half:.3g}: covered {covered.mean():.1%} of "
                    f"{STUDIES:,}, replications {used.mean():.2f} times the oracle's, peeking "
                    f"covers {peeked.mean():.1%}; {time.perf_counter() - start:.0f} s",
                    flush=True,
                )
    print(f"least coverage {worst[0]:.1%}, most replications {worst[1]:.2f} times the oracle's")


if __name__ == "__main__":
    main()
