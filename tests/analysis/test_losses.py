"""Lost replications: verdicts hold whatever their values would be, and say so where these could change them."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from pipeline.analysis.claims import (
    CONTRADICTED,
    INCONCLUSIVE,
    SUPPORTED,
    Claim,
    NegativeControl,
    judge,
)
from pipeline.analysis.controls import scaled
from pipeline.analysis.losses import bounded
from pipeline.analysis.measures import (
    difference,
    exponent,
    labelled,
    mean_cells,
    measure,
    measure_every_cell,
    ratio_cells,
    share_above,
)
from pipeline.analysis.metric_classes import reads_estimate
from pipeline.analysis.selection import InsufficientEvidence, LostReplications, select
from pipeline.analysis.tolerances import AtMost, NoException, Within
from pipeline.study.status import FAILED, NOT_CONVERGED, OK

SIZES = [10, 20, 40]
REPS = 400
LOST = 3  # of every cell with mechanism b
RANGE = {"least": 0.0, "most": 1.0}
WORDS = dict(
    id="toy",
    statement="A statement.",
    source="this file",
    experiment="toy/toy",
    why="so",
    conditions="all",
)


def results(status=NOT_CONVERGED, lost=LOST, ends=RANGE, seed=1, study=None, reps=REPS):
    """A metric v in [0, 1], of mean 2/n and less at mechanism b, and w: of the first replications v is not known."""
    rng = np.random.default_rng(seed)
    means = 2 / np.array(SIZES)[:, None, None] * np.array([1.0, 0.8])[None, :, None]
    values = rng.beta(4 * means, 4 * (1 - means), (3, 2, reps))
    state = np.ones(values.shape, "int8")
    state[:, 1, :lost] = status
    dims = ("n", "mechanism", "replication")
    data = xr.Dataset(
        {
            "v": (dims, values, ends),
            "w": (dims, 2 * means + 0 * values, RANGE),
            "status": (dims, state),
        },
        {"n": SIZES, "mechanism": ["a", "b"]},
    )
    return data.assign_attrs(study=json.dumps(study)) if study else data


def data_of(source, *variables):
    return select(source, *variables, min_levels=dict(n=3, mechanism=2))


def means(source):
    return mean_cells(data_of(source, "v"), "v")


def less(source):
    return labelled(
        difference(data_of(source, "v"), "v", "mechanism", "b", "a"), "mean", error="mcse"
    )


def ratios(source):
    return ratio_cells(data_of(source, "v", "w"), "v", "w", power=1)


def exponents(source):
    data = data_of(source, "v")
    return {"": exponent(data, "v", ("mechanism",), n=data["n"])}


def completed(source, values):
    """Results in which the lost replications have these values, (cells, lost)."""
    data = source.copy(deep=True)
    data["v"].values[:, 1, :LOST] = values
    return data.assign(status=xr.ones_like(data["status"]))


def left(source):
    """Results without the lost replications."""
    return source.assign(status=source["status"].where(source["status"] == OK, 0))


@pytest.mark.parametrize(
    "compute, slack", [(means, 1e-9), (less, 1e-9), (ratios, 1e-9), (exponents, 0.05)]
)
def test_intervals_contain_those_of_all_values_that_lost_replications_can_have(compute, slack):
    """Vertices of the box and points within; negative control: the replications that are left, by themselves.

    slack: as a share of the interval, where what is measured is no sum of means.
    """
    source = results()
    found, known = bounded(compute, source), compute(left(source))
    rng = np.random.default_rng(2)
    points = [rng.integers(0, 2, (3, 1)) + np.zeros((3, LOST)) for _ in range(20)]
    points += [rng.uniform(size=(3, LOST)) for _ in range(20)]
    outside = 0
    for point in points:
        full = compute(completed(source, point))
        for label, one in found.items():
            moved = full[label].value - known[label].value
            margin = slack * (one.high - one.low)
            assert (
                one.low - margin <= known[label].low + moved
                and known[label].high + moved <= one.high + margin
            )
            outside += abs(moved) > margin
    print(f"{compute.__name__}: n={len(points) * len(found)} outside when ignored: {outside}")
    assert outside > 0
    assert [label for label, one in found.items() if one.lost] == [
        label for label in found if "mechanism=a" not in label
    ]


def test_means_move_exactly_as_far_as_they_can():
    source = results()
    found, known = (
        bounded(means, source)["n=10, mechanism=b"],
        means(left(source))["n=10, mechanism=b"],
    )
    ends = [means(completed(source, end))["n=10, mechanism=b"].value for end in (0, 1)]
    assert found.value == pytest.approx(sum(ends) / 2) and ends[1] - ends[0] == pytest.approx(
        LOST / REPS
    )
    assert found.low == pytest.approx(known.low + ends[0] - known.value)
    assert found.high == pytest.approx(known.high + ends[1] - known.value)
    assert found.lost == LOST


def test_means_are_covered_though_large_values_are_lost():
    """One replication in ten whose value is above 0.8 is lost. Negative control: intervals of those that are left."""
    cells, reps, rng = 60, 4000, np.random.default_rng(3)
    values = rng.beta(2, 1, (cells, reps))
    status = np.where(
        (values > 0.8) & (rng.uniform(size=values.shape) < 0.1), NOT_CONVERGED, OK
    ).astype("int8")
    source = xr.Dataset(
        {
            "v": (("cell", "replication"), values, RANGE),
            "status": (("cell", "replication"), status),
        },
        {"cell": np.arange(cells)},
    )

    def compute(data):
        return mean_cells(
            select(data, "v", min_levels=dict(cell=1)), "v", error_share=cells
        )  # 99 % each

    missed, ignoring = (
        sum(not one.covers(2 / 3) for one in found.values())
        for found in (bounded(compute, source), compute(left(source)))
    )
    bound = int(stats.binom.isf(1e-6, cells, 0.01))
    print(f"missed: n={cells} statistic={missed} bound={bound} alpha=1e-06; control {ignoring}")
    assert missed <= bound < ignoring


def test_cells_that_no_estimate_reads_together_are_counted_together():
    """Two measurements for all sixty cells, and some to see what is read, in place of two for each."""
    rng = np.random.default_rng(4)
    values, status = rng.uniform(size=(60, 200)), np.ones((60, 200), "int8")
    status[:, 7] = NOT_CONVERGED
    source = xr.Dataset(
        {
            "v": (("cell", "replication"), values, RANGE),
            "status": (("cell", "replication"), status),
        },
        {"cell": np.arange(60)},
    )
    calls = []

    def each(data):
        calls.append(1)
        return mean_cells(select(data, "v", min_levels=dict(cell=1)), "v")

    def alone(data):
        return {key: one for key, one in each(data).items() if key == "cell=9"}

    def together(data):
        chosen = select(data, "v", min_levels=dict(cell=1))
        return {
            "all": share_above(
                chosen, "v", chosen["v"].mean() + 0 * chosen["v"].isel(replication=0)
            )
        }

    found = bounded(each, source)
    assert len(calls) < 40 and {one.lost for one in found.values()} == {1}
    one_by_one = bounded(
        each, source.assign(status=source["status"].where(source["cell"] == 9, OK))
    )
    assert found["cell=9"] == one_by_one["cell=9"] == bounded(alone, source)["cell=9"]
    larger = xr.concat(
        [source, source.assign_coords(cell=source["cell"] + 60)],
        "cell",
        data_vars="minimal",
        combine_attrs="override",
    )
    with pytest.raises(LostReplications, match="lost in 120 cells that one estimate reads"):
        bounded(together, larger)


def test_nothing_changes_without_losses():
    source = results(lost=0)
    assert bounded(means, source) == means(source)


@pytest.mark.parametrize("status", [NOT_CONVERGED, FAILED])
def test_a_metric_without_a_range_stays_undecided(status):
    for ends in ({}, {"least": 0.0}, {"most": 1.0}):
        with pytest.raises(
            LostReplications, match="9 of them, of a metric without a least and a greatest value"
        ):
            bounded(means, results(status, ends=ends))


def claim(compute, tolerance, decorate=measure_every_cell, make=scaled("v", 0.1)):  # noqa: B008
    return Claim(
        measure=decorate("a mean")(compute),
        tolerance=tolerance,
        control=NegativeControl("wrong", make),
        **WORDS,
    )


def test_few_losses_decide_and_many_do_not():
    """Means of mechanism b lie at 0.16, 0.08 and 0.04; each lost replication of 400 moves them by 1/400 at most."""
    near = claim(means, AtMost(0.3))
    few = judge(near, results())
    assert (
        few.check.verdict == SUPPORTED and few.check.estimate.lost == 0
    )  # the worst cell has none
    some = claim(
        lambda source: {key: one for key, one in means(source).items() if "mechanism=b" in key},
        AtMost(0.25),
    )
    assert judge(some, results()).check.text.endswith(
        "whatever the values of 3 lost replications would be"
    )
    assert judge(some, results(lost=80)).check.verdict == INCONCLUSIVE
    assert judge(claim(means, AtMost(0.1)), results()).check.verdict == CONTRADICTED


def test_controls_are_judged_with_losses_too():
    """Though a control, here one that forgets the ranges, is made of numbers that are not all known."""
    one = claim(
        means, Within(0.1, 0.15), make=lambda data: data.assign(v=(3 * data["v"]).drop_attrs())
    )
    judgement = judge(one, results())
    assert (judgement.check.verdict, judgement.control.verdict) == (SUPPORTED, CONTRADICTED)


def test_a_lost_replication_may_be_the_exception():
    def above(source):
        data = data_of(source, "v")
        return share_above(data, "v", xr.full_like(data["v"].isel(replication=0, drop=True), 0.999))

    one = claim(above, NoException(0.05), measure)
    assert judge(one, results(lost=0)).check.verdict == SUPPORTED
    judgement = judge(one, results())
    assert judgement.check.verdict == INCONCLUSIVE and judgement.check.estimate.low == 0


STUDY = {"problem": "crowd", "name": "toy", "parameters": {}}


def test_a_fit_that_did_not_converge_is_no_loss_to_a_metric_that_does_not_read_it():
    source = results(study=STUDY, ends={}).rename(v="wisdom")
    assert not reads_estimate(source.attrs, "wisdom") and reads_estimate(
        source.attrs, "label_error"
    )

    def wisdom(data):
        return mean_cells(data_of(data, "wisdom"), "wisdom")

    found = bounded(wisdom, source)
    everything = wisdom(source.assign(status=xr.ones_like(source["status"])))
    assert found == everything
    with pytest.raises(LostReplications):  # its value is not there, whatever it reads
        bounded(wisdom, results(FAILED, study=STUDY, ends={}).rename(v="wisdom"))


@pytest.mark.parametrize("study", [None, {"problem": "nowhere"}, {"problem": "crowd"}])
def test_a_metric_that_is_not_known_reads_the_estimate(study):
    assert reads_estimate(results(study=study).attrs, "toy_metric")


def test_pairs_of_which_both_are_lost_count():
    """Estimators on the same data often fail together, and then no pair shows what one of them lost.

    Negative control: what is lost at one of the levels alone moves the difference half as far.
    """
    source = results(lost=100)
    alone = bounded(less, source)["n=10"]
    source["status"].values[:, 0, :100] = NOT_CONVERGED
    both = bounded(less, source)["n=10"]
    print(f"one {alone}, both {both}")
    assert (alone.lost, both.lost) == (100, 200)
    assert both.high - both.low > 1.6 * (alone.high - alone.low) > 0.3


def test_a_cell_that_lost_everything_is_not_left_out():
    """It left the claim, which was then supported by the other cells. Negative control: with some of it known."""
    cells = measure_every_cell("mean")(means)
    control = NegativeControl("too large", scaled("v", 9))
    claim = Claim(**WORDS, measure=cells, tolerance=AtMost(0.95), control=control)
    for lost, verdict in ((REPS // 2, SUPPORTED), (REPS, INCONCLUSIVE)):
        for status in (NOT_CONVERGED, FAILED):
            source = results()
            source["status"].values[1, 1, :lost] = status
            check = judge(claim, source).check
            assert check.verdict == verdict, check.text
    assert check.text == "all replications of a cell failed or did not converge"


def test_losses_of_one_cell_do_not_excuse_few_replications_of_another():
    """A cell needs 100 replications of its own, however many another one lost."""
    source = results(lost=REPS // 2)
    source["status"].values[0, 0, 50:] = 0
    with pytest.raises(InsufficientEvidence, match="^a cell has 50 replications, 100 are needed"):
        bounded(means, source)


def test_a_cell_that_only_lost_values_bring_or_take_is_undecided():
    """Cells by what was measured: one that is there, or not, as the lost values are, has no interval."""

    def small(source):
        every = means(source)
        return {label: every[label] for label in every if every[label].value < 0.1}

    found, known = bounded(small, results(lost=60)), small(left(results(lost=60)))
    print(*found.items(), sep="\n")
    assert known.keys() == found.keys() == {f"n={cell}" for cell in (
        "20, mechanism=b", "40, mechanism=a", "40, mechanism=b")}  # fmt: skip
    assert found["n=40, mechanism=a"].high < 0.1
    assert np.isinf(found["n=40, mechanism=b"].high)
