"""Claim on Example 1 of Xu, Sun and Cheng: released comparisons are no comparisons of any BTL model."""

from pipeline.claims.claim import CONFIDENCE, Claim, at_most, equivalence, every
from pipeline.claims.evidence import average, enough, share
from pipeline.reduce.summary import moments

_TOLERANCE = 0.003


def _example_1(results):
    """Check of both probabilities, and that the second is below what the first implies in a BTL model."""
    data = enough(results, "lean_next", "lean_two_apart", m=1, L=1)
    odds = data["lean_next"] / (1 - data["lean_next"])
    data["implied"] = odds**2 / (1 + odds**2)
    near, far, gap = (
        average(*moments(values)[:2], share(1 / 3))
        for values in (data["lean_next"], data["lean_two_apart"], data["lean_two_apart"] - data["implied"]))
    return every(equivalence(near, 5 / 9, _TOLERANCE, "wins over the next item"),
                 equivalence(far, 3 / 5, _TOLERANCE, "wins over the item two below"),
                 at_most(gap, -0.005, "wins over the item two below, less what a BTL model implies"))


def _raw(results):
    return results.assign({name: 0.5 + 3 * (results[name] - 0.5) for name in ("lean_next", "lean_two_apart")})


CLAIMS = (
    Claim(
        id="xu.example_1",
        statement="Of three items log 2 apart, released comparisons are won with probability 5/9 against the next and "
                  "3/5 against the last: in a BTL model the first would make the second 25/41.",
        source="Xu, Sun and Cheng, Example 1 (which prints these as probabilities of the worse item's win)",
        experiment="xu/example_1",
        estimand="mean share of released wins of the better item, one and two ranks apart, and the latter less "
                 "o²/(1 + o²), o the odds one rank apart",
        tolerance=f"5/9 ± {_TOLERANCE:g}, 3/5 ± {_TOLERANCE:g}, at most −0.005",
        why="25/41 − 3/5 = 0.0098; shares over 1,000 users and 4,000 replications are known to ±0.001.",
        conditions=f"θ* = (−log 2, 0, log 2), flipping probability 1/3, which is ε = log 2. Intervals at "
                   f"{CONFIDENCE:g} together.",
        check=_example_1,
        twin="raw comparisons, which nobody flipped: 2/3 and 4/5",
        twin_data=_raw,
    ),
)
