"""Claims as data, and the generic ways to decide one: supported, contradicted or inconclusive.

A decision compares an interval with what is claimed: inside supports, wholly outside contradicts, anything
else is inconclusive. The intervals of one claim hold together with probability CONFIDENCE: where several
decide it they share the error (Bonferroni). Too little data is never support: a check then raises
`TooLittle`, which `judge` reports as inconclusive with the reason.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import xarray as xr

from pipeline.reduce.estimate import Estimate

SUPPORTED, CONTRADICTED, INCONCLUSIVE = "supported", "contradicted", "inconclusive"
CONFIDENCE = 0.99  # of all intervals of one claim together


class TooLittle(Exception):
    """What is missing for a decision."""


@dataclass(frozen=True)
class Check:
    """One decision: the verdict, the estimate that decided (None without data), and both in words."""

    verdict: str
    estimate: Estimate | None
    text: str


@dataclass(frozen=True)
class Claim:
    """A statement that an experiment can support or contradict.

    `conditions` says where the theorem speaks and which cells are used; `why` gives the reason for
    `tolerance`. `check` decides on a sealed dataset. `twin` describes a deliberately wrong version of the
    data, which `twin_data` makes without simulating and which the check must contradict.
    """

    id: str
    statement: str
    source: str
    experiment: str
    estimand: str
    tolerance: str
    why: str
    conditions: str
    check: Callable[[xr.Dataset], Check]
    twin: str
    twin_data: Callable[[xr.Dataset], xr.Dataset]


@dataclass(frozen=True)
class Verdict:
    """A claim, the decision on the data, and the decision on the wrong twin."""

    claim: Claim
    check: Check
    twin: Check


def judge(claim: Claim, results: xr.Dataset) -> Verdict:
    """Decide a claim, and its wrong twin, on a sealed dataset (grid axes…, replication)."""

    def decide(make):
        try:
            return claim.check(make(results))
        except TooLittle as reason:
            return Check(INCONCLUSIVE, None, str(reason))

    check = decide(lambda same: same)
    return Verdict(claim, check, check if check.estimate is None else decide(claim.twin_data))


def equivalence(estimate: Estimate, target: float, tolerance: float, what: str = "estimate") -> Check:
    """Whether the interval lies inside target ± tolerance (supported) or wholly outside (contradicted)."""
    claimed = f"{target:g} ± {tolerance:g}" if tolerance else f"{target:g}"
    return _between(estimate, target - tolerance, target + tolerance, f"{what} {estimate}, claimed {claimed}")


def at_least(estimate: Estimate, bound: float, what: str = "estimate") -> Check:
    """Whether the interval lies at or above `bound` (supported) or wholly below it (contradicted)."""
    return _between(estimate, bound, math.inf, f"{what} {estimate}, claimed at least {bound:g}")


def at_most(estimate: Estimate, bound: float, what: str = "estimate") -> Check:
    """Whether the interval lies at or below `bound` (supported) or wholly above it (contradicted)."""
    return _between(estimate, -math.inf, bound, f"{what} {estimate}, claimed at most {bound:g}")


def _between(estimate, least, most, text):
    low, high = estimate.low, estimate.high
    if not all(map(math.isfinite, (estimate.value, low, high))):
        return Check(INCONCLUSIVE, estimate, f"{text}: the data do not determine it")
    verdict = (SUPPORTED if least <= low and high <= most
               else CONTRADICTED if high < least or low > most else INCONCLUSIVE)
    return Check(verdict, estimate, text)


def every(*checks: Check) -> Check:
    """All must hold: contradicted by one, supported by all. The estimate is that of the first worst check."""
    worst = _worst(checks)
    return Check(worst.verdict, worst.estimate, "; ".join(check.text for check in checks))


def throughout(cells: Mapping[str, Estimate], decide: Callable[[Estimate, str], Check], aim: float) -> Check:
    """`every` over named cells; reports the worst, among equals the farthest from `aim`."""
    if not cells:
        raise TooLittle("no cell meets the conditions")
    order = sorted(cells, key=lambda name: -abs(cells[name].value - aim))
    worst = _worst([decide(cells[name], name) for name in order])
    rank = f" (the worst of {len(order)} cells)" if len(order) > 1 else ""
    return Check(worst.verdict, worst.estimate, worst.text + rank)


def _worst(checks):
    return min(checks, key=lambda check: (CONTRADICTED, INCONCLUSIVE, SUPPORTED).index(check.verdict))
