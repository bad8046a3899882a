"""What every claim says of its power is true on ideal data: of each part, in each cell, at the values as printed."""

import math
import re
from decimal import Decimal
from statistics import NormalDist

import pytest
from scipy import stats

from pipeline.analysis.claims import CONTRADICTED
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.shares import binomial
from pipeline.analysis.tolerances import AtLeast, AtMost, NoException, Within
from tests.problems.test_claims_in_parts import CLAIMS, DATA
from tests.problems.test_tolerances_of_claims import NUMBER, number

Z = NormalDist().inv_cdf(0.9)
SIDES = {"below": -1, "above": 1}


def printed(text):
    """Side -> the number that is said, in the form A or A ± B."""
    found = re.findall(
        rf"(below|above) {NUMBER}(?: ([+−]) {NUMBER})?", text.partition(" would be contradicted")[0]
    )
    return {
        word: float(_exact(one) + _exact(more or "0") * (-1 if sign == "−" else 1))
        for word, one, sign, more in found
    }


def _exact(text):
    return Decimal(repr(number(text)))


def contradicted(one, tolerance, side, value):
    """Whether nine of ten estimates as precise as this one contradict if the truth is just beyond the value."""
    value += side * 2e-12 * max(abs(value), abs(tolerance.target), 1e-12)
    if isinstance(tolerance, NoException):
        n = math.log(0.01) / math.log(1 - one.high)
        return 1 - (1 - value) ** n >= 0.9
    if share := binomial(one, 0.99):
        n, interval = share
        chance = sum(
            stats.binom.pmf(k, n, value)
            for k in range(n + 1)
            if tolerance.verdict(Estimate(k / n, *interval(k))) == CONTRADICTED
        )
        return chance >= 0.9
    below, above = one.value - one.low, one.high - one.value
    if (
        min(tolerance.target, one.low) > 0
        and math.isclose(one.low * one.high, one.value**2, rel_tol=1e-9)
        and above
    ):
        tenth = value * math.exp(-side * Z * one.standard_error / one.value)
        below, above = below * tenth / one.value, above * tenth / one.value
    else:
        tenth = value - side * Z * one.standard_error
    return tolerance.verdict(Estimate(tenth, tenth - below, tenth + above)) == CONTRADICTED


def false_of(check):
    """Parts and cells of which a sentence is missing or says too much."""
    said = check.detected.split("; ")
    wrong = (
        [f"{len(said)} entries for {len(check.parts)} parts"]
        if len(said) != len(check.parts)
        else []
    )
    for (part, cells, tolerance), text in zip(check.parts, said, strict=False):
        ends = printed(text)
        if (
            not text.startswith(part)
            or ends.keys() != sides(tolerance)
            or any(
                name not in cells
                for name in re.findall(r"the least precise: (.+)\)$", text)
                if " and " not in name
            )
        ):
            wrong.append(f"{part}: {text}")
        wrong += [
            f"{part}: {cell}: {text}"
            for cell, one in cells.items()
            for word, value in ends.items()
            if math.isfinite(one.high - one.low)
            and not contradicted(one, tolerance, SIDES[word], value)
        ]
    return wrong


def sides(tolerance):
    return (
        {"below"}
        if isinstance(tolerance, AtLeast)
        else {"above"}
        if isinstance(tolerance, (AtMost, NoException))
        else {"below", "above"}
    )


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_claim_says_it_detects(name):
    claim = CLAIMS[name]
    check = claim.decision(claim.measure.compute(DATA[name.partition(".")[0]](claim)))
    print(check.detected)
    assert not false_of(check)


@pytest.mark.parametrize("wrong", ["0.9 or above 1", "0.98 or above 1.02", "1 or above 1.1"])
def test_a_sentence_that_says_too_much_is_seen(wrong):
    """The negative control: rounded inwards, or of the most precise cell alone."""

    class Said:
        detected = f"In each of the 2 cells, a true value below {wrong} would be contradicted"
        parts = (
            (
                "",
                {"m=1": Estimate(1, 1, 1, 0.0), "m=2": Estimate(1, 0.99, 1.01, 0.01)},
                Within(1, 1e-6),
            ),
        )

    assert false_of(Said)
    Said.detected = Said.detected.replace(wrong, "0.97 or above 1.03")
    assert not false_of(Said)
