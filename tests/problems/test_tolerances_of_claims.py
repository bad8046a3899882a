"""Every claim is decided by the tolerance that was stated for it in advance, in tolerances.txt, and by nothing else.

Estimates just inside and just outside of each are made from that text: a tolerance that is wider or narrower in the
code than it was stated, or that prints what it does not decide, is seen.
"""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr

from pipeline.analysis.claims import CONTRADICTED, INCONCLUSIVE, SUPPORTED
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Measure
from pipeline.identity.registry import problems
from tests.helpers.engine import ROOT
from tools.statements import shortened

CLAIMS = {claim.id: claim for one in problems().values() for claim in one.load(one.claims)}
STATED = dict(
    line.split(": ", 1)
    for line in Path(__file__).with_name("tolerances.txt").read_text("utf-8").splitlines()
)
CELLS = " in every cell (simultaneous intervals)"
NUMBER = r"(−?[\d.¼½¾⅓⅔]+(?:·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?|10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
FRACTIONS = {"¼": 0.25, "½": 0.5, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
TINY = 2e-6  # of the size of the numbers, which are printed with six digits; less where a tolerance is as narrow


def number(text):
    """A number as it is printed."""
    sign, text = (-1, text[1:]) if text[0] == "−" else (1, text)
    if text in FRACTIONS:
        return sign * FRACTIONS[text]
    mantissa, ten, power = (
        text.rpartition("10") if set(text) & set("⁻⁰¹²³⁴⁵⁶⁷⁸⁹") else (text, "", "")
    )
    return sign * float(f"{mantissa.rstrip('·') or '1'}e{power.translate(DIGITS) or '0'}")


def borders(text):
    """(least, most) of a tolerance as it is printed."""
    for pattern, ends in (
        (rf"{NUMBER} ± {NUMBER}", lambda t, m: (t - m, t + m)),
        (f"at most {NUMBER}", lambda t: (-math.inf, t)),
        (f"at least {NUMBER}", lambda t: (t, math.inf)),
        (f"exactly {NUMBER}", lambda t: (t, t)),
        (f"an interval that contains {NUMBER}", lambda t: (t, t)),
        (rf"an interval that meets {NUMBER} ± {NUMBER}", lambda t, m: (t - m, t + m)),
    ):
        if found := re.fullmatch(pattern, text):
            return ends(*map(number, found.groups()))
    raise AssertionError(f"{text}: no tolerance that is known")


def around(low, high):
    return Estimate((low + high) / 2, low, high, (high - low) / 5)


def cases(text):
    """Estimates at the borders of a tolerance as it is printed, each with the verdict that it must have."""
    if found := re.fullmatch(r"none, in enough data to exclude a share of ([\d.]+) %", text):
        share = float(found[1]) / 100
        return [
            (Estimate(0.0, 0.0, share * (1 - TINY)), SUPPORTED),
            (Estimate(0.0, 0.0, share * (1 + TINY)), INCONCLUSIVE),
            (Estimate(1e-12, 0.0, share / 2), CONTRADICTED),
        ]
    least, most = borders(text)
    step = TINY * max(1.0, *(abs(end) for end in (least, most) if math.isfinite(end)))
    step = min(step, (most - least) / 100) or step
    wide = (most - least) / 3 if math.isfinite(most - least) and most > least else 100 * step
    meets = text.startswith("an interval that")
    found = [
        (around(least + step, least + wide), SUPPORTED),
        (around(most - wide, most - step), SUPPORTED),
        (around(least - wide, least - step), CONTRADICTED),
        (around(most + step, most + wide), CONTRADICTED),
        (around(least - step, least + step), SUPPORTED if meets else INCONCLUSIVE),
        (around(most - step, most + step), SUPPORTED if meets else INCONCLUSIVE),
    ]
    if most == least:  # nothing is inside but the number itself
        found[:2] = [(Estimate(least, least, least, 0.0), SUPPORTED)]
    return [
        (one, verdict)
        for one, verdict in found
        if math.isfinite(one.low) and math.isfinite(one.high)
    ]


def parts_of(name):
    """Part -> text of its tolerance, as stated; the part of a claim of one is ""."""
    text = STATED[name].removesuffix(CELLS)
    if not isinstance(CLAIMS[name].tolerance, dict):
        return {"": text}
    starts = {part: text.index(f"{part}: ") for part in CLAIMS[name].tolerance}
    ends = [*list(starts.values())[1:], len(text) + 2]  # "; " stands between two
    return {
        part: text[start + len(part) + 2 : end - 2]
        for (part, start), end in zip(starts.items(), ends, strict=True)
    }


def decided(claim, measured):
    """The verdict on these estimates, whatever the data are."""
    fixed = replace(
        claim, measure=Measure("estimates of this test", lambda results: measured), recorded=None
    )
    return fixed.decide(xr.Dataset()).verdict


def test_tolerances_are_those_stated():
    assert {name: claim.claimed for name, claim in CLAIMS.items()} == STATED


@pytest.mark.parametrize("name", CLAIMS)
def test_estimates_just_inside_and_just_outside(name):
    claim, parts = CLAIMS[name], parts_of(name)
    inside = {part: cases(text)[0][0] for part, text in parts.items()}
    best = claim.best
    for part, text in parts.items():
        for estimate, verdict in cases(text):
            measured = (inside | {part: estimate}) if "" not in parts else estimate
            assert decided(claim, measured) == (best if verdict == SUPPORTED else verdict), (
                part,
                text,
                estimate,
            )
            if "" in parts:  # the worst of several cells decides
                assert decided(claim, {"a": inside[""], "b": estimate, "c": inside[""]}) == (
                    best if verdict == SUPPORTED else verdict
                )


@pytest.mark.parametrize(
    "text, wrong",
    [("1 ± 0.1", "1 ± 0.3"), ("at most 2", "at most 6"), ("at least ⅔", "at least ½")],
)
def test_a_tolerance_that_was_changed_is_seen(text, wrong):
    """Negative control: what is just outside of one text is not outside of another."""
    lower, upper = borders(wrong)
    assert any(
        verdict == CONTRADICTED and lower <= one.low and one.high <= upper
        for one, verdict in cases(text)
    )


@pytest.mark.parametrize(
    "text, value", [("−2.5·10⁻¹²", -2.5e-12), ("10⁻⁶", 1e-6), ("−½", -0.5), ("0.05", 0.05)]
)
def test_numbers_are_read_as_they_are_printed(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, claim in CLAIMS.items()
        if re.search("(?i)does not hold[;: w]|the statement is false", claim.conditions)
        and "mp ≳" not in claim.conditions
    ],
)
def test_a_claim_that_does_not_hold_has_a_positive_control(name):
    assert CLAIMS[name].positive and CLAIMS[name].positive.description


def test_the_page_of_calibration_is_about_these_tolerances():
    page = (ROOT / "docs/calibration.md").read_text("utf-8")
    rows = dict(
        re.findall(r"^\| `([\w.]+)` \| (.*?) \| (?:yes|no|border|–)(?:, identity)? \|", page, re.M)
    )
    assert rows and rows == {name: shortened(STATED[name]) for name in rows}
