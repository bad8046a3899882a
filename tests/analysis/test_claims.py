"""Judging claims: the worst cell, several parts, the five verdicts, and the negative control."""

import itertools

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.claims import (
    CONTRADICTED,
    IDENTITY,
    INCONCLUSIVE,
    NOT_REFUTED,
    NOT_TESTED,
    SUPPORTED,
    TOO_WEAK,
    VERDICTS,
    Check,
    Claim,
    InsufficientEvidence,
    NegativeControl,
    NotTested,
    PositiveControl,
    every,
    judge,
)
from pipeline.analysis.controls import (
    exchanged,
    first_level,
    replaced,
    reversed_along,
    scaled,
    shifted_along,
)
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import measure, measure_every_cell
from pipeline.analysis.selection import RecordedData
from pipeline.analysis.tolerances import AtLeast, AtMost, Within, beside

DATA = xr.Dataset({"v": ("L", [1.0, 2.0, 4.0])}, {"L": [1, 2, 3]})
WORDS = dict(
    id="toy",
    statement="A statement.",
    source="this file",
    experiment="toy/toy",
    why="so",
    conditions="all",
)


def interval(low, high):
    return Estimate((low + high) / 2, low, high)


def around_mean(results):
    mean = float(results["v"].mean())
    return interval(mean - 0.1, mean + 0.1)


AT_LEAST_1, A_TENTH = AtLeast(1), scaled("v", 0.1)


def claim(compute=around_mean, tolerance=AT_LEAST_1, make=A_TENTH, decorate=measure, **changes):
    return Claim(
        measure=decorate("a number")(compute),
        tolerance=tolerance,
        control=NegativeControl("wrong data", make),
        **WORDS | changes,
    )


def test_a_claim_is_judged_on_the_data_and_on_its_negative_control():
    judgement = judge(claim(), DATA)
    assert (judgement.check.verdict, judgement.control.verdict) == (SUPPORTED, CONTRADICTED)
    assert judgement.check.text == "2.33 [2.23, 2.43], tolerated at least 1"
    assert (judgement.claim.estimand, judgement.claim.claimed) == ("a number", "at least 1")


def test_a_claim_is_judged_at_the_level_of_its_constant():
    """Of two estimators the one of the experiment; the other one alone would contradict it."""

    def smallest(results):
        mean = float(results["v"].mean("L").min())
        return interval(mean - 0.1, mean + 0.1)

    both = xr.concat([DATA, DATA / 10], "estimator").assign_coords(estimator=["mean", "tenth"])
    about_mean = claim(smallest).judged_at({"estimator": "mean"})
    judgement = judge(about_mean, both)
    assert judgement.verdict == SUPPORTED
    assert judgement.check.text.startswith("at estimator=mean: 2.33")
    assert judge(claim(smallest), both).verdict == CONTRADICTED  # all levels together
    assert judge(claim(smallest).judged_at({"estimator": "tenth"}), both).verdict == CONTRADICTED
    missing = judge(claim(smallest).judged_at({"estimator": "median"}), both)
    assert (missing.verdict, missing.text) == (NOT_TESTED, "needs estimator=median")


@pytest.mark.parametrize(
    "factor, verdict, sound", [(0.5, SUPPORTED, True), (1.0, CONTRADICTED, False)]
)
def test_a_claim_that_is_contradicted_is_judged_on_its_positive_control(factor, verdict, sound):
    positive = PositiveControl("data in which it would hold", scaled("v", factor))
    judgement = judge(claim(tolerance=AtMost(2), make=scaled("v", 3), positive=positive), DATA)
    assert (judgement.check.verdict, judgement.control.verdict, judgement.sound) == (
        CONTRADICTED,
        verdict,
        sound,
    )
    held = judge(claim(tolerance=AtMost(3), make=scaled("v", 3), positive=positive), DATA)
    assert (held.check.verdict, held.control.verdict, held.sound) == (SUPPORTED, CONTRADICTED, True)
    assert not judge(
        claim(tolerance=AtMost(3), make=scaled("v", 1)), DATA
    ).sound  # too weak a control


@pytest.mark.parametrize(
    "tolerance, verdict", [(AtMost(3), NOT_REFUTED), (AtMost(2), CONTRADICTED)]
)
def test_a_bound_that_can_only_be_refuted_is_not_supported(tolerance, verdict):
    assert judge(claim(tolerance=tolerance, only_refutable=True), DATA).check.verdict == verdict


@pytest.mark.parametrize("tolerance, verdict", [(AtMost(3), IDENTITY), (AtMost(2), CONTRADICTED)])
def test_what_holds_by_construction_is_an_identity(tolerance, verdict):
    one = claim(tolerance=tolerance, by_construction=True, make=scaled("v", 3))
    assert judge(one, DATA).verdict == judge(one, DATA).check.verdict == verdict
    with pytest.raises(ValueError, match="toy must be by_construction or only_refutable"):
        claim(by_construction=True, only_refutable=True)


@pytest.mark.parametrize(
    "changes, held",
    [
        ({}, SUPPORTED),
        (dict(by_construction=True), IDENTITY),
        (dict(only_refutable=True), NOT_REFUTED),
    ],
)
@pytest.mark.parametrize("factor, verdict", [(0.1, None), (1.0, TOO_WEAK), (0.43, TOO_WEAK)])
def test_a_check_that_does_not_reject_its_control_is_too_weak(changes, held, factor, verdict):
    """A factor of 0.1 makes the claim false, 1 changes nothing, and 0.43 leaves the control undecided."""
    judgement = judge(claim(make=scaled("v", factor), **changes), DATA)
    assert judgement.check.verdict == held and judgement.verdict == (verdict or held)
    weak = f"{held}, but the check is too weak: its control (wrong data) is {judgement.control.verdict}; "
    assert judgement.text == (weak if verdict else "") + judgement.check.text


def test_a_contradiction_stays_one_though_its_control_is_not_decided_as_it_must_be():
    positive = PositiveControl("data in which it would hold", scaled("v", 1))
    judgement = judge(claim(tolerance=AtMost(2), positive=positive), DATA)
    assert judgement.verdict == CONTRADICTED
    assert judgement.text.startswith(
        "contradicted, but the check is too weak: its control (data in which it would"
    )


@pytest.mark.parametrize(
    "reason, verdict",
    [(InsufficientEvidence("too few"), INCONCLUSIVE), (NotTested("no such level"), NOT_TESTED)],
)
def test_without_evidence_the_reason_is_said_and_there_is_no_control(reason, verdict):
    def compute(results):
        raise reason

    judgement = judge(claim(compute, make=lambda r: 1 / 0), DATA)
    assert judgement.check == judgement.control == Check(verdict, None, str(reason))


def test_a_control_that_takes_the_evidence_away_rejects_nothing():
    def compute(results):
        if "v" not in results:
            raise NotTested("needs v")
        return around_mean(results)

    judgement = judge(claim(compute, make=lambda r: r.drop_vars("v")), DATA)
    assert (judgement.check.verdict, judgement.control.verdict) == (SUPPORTED, NOT_TESTED)


def test_a_claim_on_real_data_is_not_tested_on_others():
    judgement = judge(claim(recorded=RecordedData({"sha256:a": "films"}, "data.path")), DATA)
    assert judgement.check.verdict == NOT_TESTED and "films" in judgement.check.text


CELLS = {"a": interval(0.9, 1.1), "b": interval(1.1, 1.3), "c": interval(0.7, 1.25)}


@pytest.mark.parametrize(
    "tolerance, verdict, cell",
    [
        (Within(1, 0.5), SUPPORTED, "b"),
        (AtMost(2), SUPPORTED, "b"),
        (AtLeast(0.5), SUPPORTED, "c"),
        (AtMost(1.05), CONTRADICTED, "b"),
        (AtMost(1.2), INCONCLUSIVE, "b"),
        (AtLeast(1), INCONCLUSIVE, "c"),
        (AtMost(2, worst="smallest"), SUPPORTED, "c"),
        (AtMost(2, worst="farthest"), SUPPORTED, "c"),
        (Within(1.2, 0.1), INCONCLUSIVE, "c"),
    ],
)
def test_the_worst_cell_is_reported(tolerance, verdict, cell):
    one = claim(lambda results: CELLS, tolerance, decorate=measure_every_cell)
    check = judge(one, DATA).check
    assert (check.verdict, check.estimate) == (verdict, CELLS[cell])
    assert f"at {cell} (the worst of 3 cells), {beside(tolerance)}" in check.text
    assert one.claimed == f"{tolerance} in every cell (simultaneous intervals)"


def test_without_a_cell_a_claim_is_not_tested():
    assert (
        judge(claim(lambda results: {}, decorate=measure_every_cell), DATA).check.verdict
        == NOT_TESTED
    )


def test_the_data_may_leave_an_estimate_open():
    check = judge(claim(lambda results: interval(-np.inf, np.inf)), DATA).check
    assert check.verdict == INCONCLUSIVE and check.text.endswith("the data do not determine it")


def test_each_part_has_its_tolerance():
    parts = {"slope": interval(-0.6, -0.4), "cells": CELLS}
    one = claim(lambda results: parts, {"slope": Within(-0.5, 0.2), "cells": AtMost(1.05)})
    check = judge(one, DATA).check
    assert (check.verdict, check.estimate) == (CONTRADICTED, CELLS["b"])
    assert check.text.startswith(
        "slope: -0.50 [-0.60, -0.40], claimed −½, tolerated ± 0.2; cells: 1.20"
    )
    assert one.claimed == "slope: −½ ± 0.2; cells: at most 1.05"
    assert (
        judge(
            claim(lambda results: parts, {"slope": Within(-0.5, 0.2), "cells": AtMost(2)}), DATA
        ).check.estimate
        == parts["slope"]
    )


def test_the_power_of_each_part_is_said():
    """Of the part that does not decide as well, and of the least precise of all cells; not of a part without data."""
    cells = {"m=2": interval(0.9, 1), "m=3": interval(0.5, 1.1)}
    parts = {"slope": interval(-0.6, -0.4), "cells": cells, "open": Estimate(1, -np.inf, np.inf)}
    tolerances = {"slope": Within(-0.5, 0.2), "cells": AtMost(2), "open": AtMost(2)}
    slope, in_cells = judge(claim(lambda results: parts, tolerances), DATA).check.detected.split(
        "; "
    )
    assert slope.startswith("slope: a true value below −0.85 or above −0.15 would be contradicted")
    assert in_cells.startswith(
        "cells: in each of the 2 cells, a true value above 2.4"
    ) and in_cells.endswith("m=3)")
    assert judge(claim(lambda results: cells["m=2"]), DATA).check.detected.startswith(
        "A true value below 0.9"
    )
    assert Check(NOT_TESTED, None, "no data").detected == ""


@pytest.mark.parametrize(
    "tolerance", [{"slope": AtMost(1)}, {"slope": AtMost(1), "cells": AtMost(1), "x": AtMost(1)}]
)
def test_parts_and_tolerances_belong_together(tolerance):
    with pytest.raises(ValueError, match="must return the parts slope"):
        judge(claim(lambda results: {"slope": interval(0, 1), "cells": CELLS}, tolerance), DATA)


@pytest.mark.parametrize("verdicts", [*itertools.product(VERDICTS, repeat=3)])
def test_of_several_checks_the_first_worst_counts(verdicts):
    check = every(*(Check(v, Estimate(i, i, i), f"part {i}") for i, v in enumerate(verdicts)))
    worst = max(verdicts, key=VERDICTS.index)
    assert (check.verdict, check.estimate.value) == (worst, verdicts.index(worst))
    assert check.text == "part 0; part 1; part 2"


@pytest.mark.parametrize(
    "make, values",
    [
        (scaled("v", 2), [2, 4, 8]),
        (scaled("v", lambda r: r["L"]), [1, 4, 12]),
        (reversed_along("v", "L"), [4, 2, 1]),
        (shifted_along("v", "L", 2), [4, 1, 2]),
        (first_level("v", "L"), [1, 1, 1]),
        (replaced("v", "w"), [7, 8, 9]),
    ],
)
def test_negative_controls_in_common_use(make, values):
    data = DATA.assign(w=("L", [7.0, 8.0, 9.0]))
    assert make(data)["v"].values.tolist() == values and data["v"].values.tolist() == [1, 2, 4]


def test_exchanged_levels():
    data = xr.Dataset({"v": ("arm", [1, 2, 3])}, {"arm": ["a", "b", "c"]})
    assert exchanged("arm", "a", "c")(data)["v"].sel(arm=["a", "b", "c"]).values.tolist() == [
        3,
        2,
        1,
    ]
