"""Claims judged at looks: what the looks may err, and that the peeking rule errs more often by far."""

import itertools
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy import stats

from pipeline.analysis import claims
from pipeline.analysis.claims import (
    CONTRADICTED,
    INCONCLUSIVE,
    NOT_TESTED,
    SUPPORTED,
    Claim,
    NegativeControl,
)
from pipeline.analysis.intervals import half_width, more_may_follow, skewed_mean
from pipeline.analysis.looks import SKEWED, AtLooks, Ends, complete, judge
from pipeline.analysis.measures import (
    CONFIDENCE,
    confidence_for,
    mean_cells,
    mean_over_cells,
    measure,
    measure_every_cell,
    of_look,
    share,
    share_of_exceptions,
    spending,
)
from pipeline.analysis.selection import select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtMost, NoException, Within
from pipeline.study.until import FUNCTIONS, Until

BLOCK, MOST = 50, 2000
STUDIES = 20_000  # synthetic ones
STUDY = json.dumps({"block": BLOCK})


@measure_every_cell("mean")
def mean(results):
    return mean_cells(select(results, "x", min_levels=dict(cell=1)), "x")


def shifted(by):
    return NegativeControl("x and a number", lambda results: results.assign(x=results["x"] + by))


def claim(tolerance, **changes):
    """A claim on the mean of x in every cell."""
    return Claim(
        **{
            "id": "a",
            "statement": "",
            "source": "",
            "experiment": "",
            "why": "",
            "conditions": "",
            "measure": mean,
            "tolerance": tolerance,
            "control": shifted(9),
        }
        | changes
    )


@pytest.fixture
def data(sealed):
    """Function that makes results of a study that stops when claims are decided: cells with these means."""

    def make(*means, spread=1.0, replications=MOST, seed=1, **until):
        noise = np.random.default_rng(seed).standard_normal((len(means), replications))
        made = sealed({"cell": np.arange(len(means))}, x=np.array(means)[:, None] + spread * noise)
        asked = json.dumps(asdict(Until(**{"most": MOST} | until)))
        return made.assign_attrs(study=STUDY, until=asked, cells=len(means))

    return make


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shares_of_all_looks_are_the_whole_error(name):
    for most, block, least in itertools.product((100, 2000, 20_000), (50, 100), (2, 100, 300)):
        looks = Until(name, least, most).looks(block)
        ends = [look.replications for look in looks]
        assert (
            ends == sorted(set(ends)) and ends[-1] == most and not any(end % block for end in ends)
        )
        first = min(-(-least // block) * block, most)
        assert ends[0] >= first if name == "obrien_fleming" else ends[0] == first
        assert looks[0].share >= 1e-4
        assert (
            sum(look.share for look in looks) == pytest.approx(1)
            and min(look.share for look in looks) >= 0
        )
        assert all(b <= 2 * a or b - a == block for a, b in itertools.pairwise(ends))


def test_spending_functions_are_those_of_lan_and_demets():
    time = np.linspace(0.05, 1, 20)
    z = stats.norm.isf((1 - CONFIDENCE) / 2)
    late = 2 * stats.norm.sf(z / np.sqrt(time)) / (1 - CONFIDENCE)  # α₁*(t)/α
    assert [Until("obrien_fleming").spent(t) for t in time] == pytest.approx(late, rel=1e-6)
    even = np.log(1 + (np.e - 1) * time)  # α₂*(t)/α
    assert [Until("pocock").spent(t) for t in time] == pytest.approx(even, rel=1e-12)
    assert Until().spent(0.0) == Until("obrien_fleming").spent(0.0) == 0.0


def missed(looks, confidences, seed):
    """(STUDIES, looks) whether the interval of a normal mean misses it at a look."""
    rng, ends = np.random.default_rng(seed), [look.replications for look in looks]
    sums = np.cumsum(
        rng.standard_normal((STUDIES, len(ends))) * np.sqrt(np.diff(ends, prepend=0)), axis=1
    )
    return np.abs(sums) / np.sqrt(ends) > stats.norm.isf((1 - np.array(confidences)) / 2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_over_all_looks_is_the_promised_one_and_peeking_fails(name, covered):
    looks = Until(name, most=MOST).looks(BLOCK)

    def confidence(look):
        with spending(look.share):
            return confidence_for()

    misses = missed(looks, [confidence(look) for look in looks], seed=3)
    for look, found in zip(
        looks, misses.T, strict=True
    ):  # of all together their sum is but a bound
        share = (1 - CONFIDENCE) * look.share
        assert covered(
            ~found, 1 - share, f"no miss after {look.replications}, {name}", alpha=1e-6 / len(looks)
        )
    assert covered(
        ~misses.any(axis=1), nominal=CONFIDENCE, what=f"no miss at any look, {name}", most=1.0
    )
    peeked = ~missed(looks, [CONFIDENCE] * len(looks), seed=3).any(axis=1)
    assert not covered(peeked, nominal=CONFIDENCE, what="the same, peeking", most=1.0)


def test_the_intervals_of_each_look_get_its_share(data):
    """Those of the data, of the control and of what a claim reads; negative control: the share of the first look."""
    given = []

    @measure_every_cell("mean")
    def recorded(results):
        given.append((results.sizes["replication"], of_look()))
        return mean.compute(results)

    undecided = claim(Within(0, 1e-3), measure=recorded)
    ended(data(0.0, 0.0), undecided)
    shares = {look.replications: look.share for look in LOOKS}
    assert {size for size, _ in given} == shares.keys() and len(given) > len(LOOKS)
    assert given == [(size, shares[size]) for size, _ in given]
    assert given != [(size, LOOKS[0].share) for size, _ in given]


def missed_by_skewed(draws, studies, conservative, seed=5):
    """Share of studies in which an interval of a mean misses it at a look, of skewed values with mean 0.

    conservative: whether only the last look decides on means of skewed values, as in `AtLooks`.
    """
    looks, generator = Until(least=2, most=MOST).looks(1), np.random.default_rng(seed)
    sums, done, misses = np.zeros((3, studies)), 0, np.zeros(studies, bool)
    for look in looks:
        n = look.replications
        values = draws(generator, (studies, n - done))
        sums += [(values**k).sum(axis=1) for k in (1, 2, 3)]
        done, mean = n, sums[0] / n
        m2 = sums[1] - n * mean**2
        m3 = sums[2] - 3 * mean * sums[1] + 2 * n * mean**3
        with more_may_follow(conservative and look is not looks[-1]):
            low, high = skewed_mean(
                mean, m2, m3, np.full(studies, n), 1 - (1 - CONFIDENCE) * look.share
            )
        misses |= (low > 0) | (high < 0)
    return misses


@pytest.mark.parametrize(
    "draws",
    [
        lambda generator, shape: generator.lognormal(size=shape) - np.exp(0.5),
        lambda generator, shape: generator.chisquare(1, shape) - 1,
    ],
    ids=["lognormal", "square of a normal"],
)
def test_means_of_skewed_values_keep_the_promise_over_all_looks(draws, covered):
    """From two values on; negative control: intervals as of a fixed number at every look."""
    studies = 3000
    assert covered(
        ~missed_by_skewed(draws, studies, True), CONFIDENCE, "no miss at any look, skewed", most=1.0
    )
    assert not covered(
        ~missed_by_skewed(draws, studies, False), CONFIDENCE, "the same, decided early", most=1.0
    )


def missed_over_cells(studies, is_wide, cells=3, sigma=1.5, seed=5):
    """(studies,) whether the interval of a mean over cells misses it at a look; lognormal values."""
    looks = Until(most=MOST).looks(BLOCK)
    generator = np.random.default_rng(seed)
    sums, done, misses = np.zeros((3, studies, cells)), 0, np.zeros(studies, bool)
    for look in looks:
        n = look.replications
        values = generator.lognormal(0, sigma, (studies, cells, n - done)) - np.exp(sigma**2 / 2)
        sums += [(values**k).sum(axis=-1) for k in (1, 2, 3)]
        done, mean = n, sums[0] / n
        m2 = sums[1] - n * mean**2
        m3 = sums[2] - 3 * mean * sums[1] + 2 * n * mean**3
        error = np.sqrt((m2 / n / (n - 1)).sum(axis=1)) / cells
        lean = np.abs(m3 / n**3).sum(axis=1) / (m2 / n**2).sum(axis=1) ** 1.5
        with more_may_follow(is_wide and look is not looks[-1]):
            confidence = 1 - (1 - CONFIDENCE) * look.share
            half = half_width(error, lean if is_wide else 0 * lean, confidence)
        misses |= np.abs(mean.mean(axis=1)) > half
    return misses


def test_means_over_few_cells_of_very_skewed_values_keep_the_promise(covered):
    """Negative control: the normal interval, as of a fixed number, at every look."""
    studies = 800
    assert covered(
        ~missed_over_cells(studies, True), CONFIDENCE, "no miss at any look, over cells", most=1.0
    )
    assert not covered(
        ~missed_over_cells(studies, False), CONFIDENCE, "normal intervals over cells", most=1.0
    )


def test_a_mean_over_cells_of_skewed_values_waits_for_the_last_look_which_says_so(data):
    @measure("mean over cells")
    def over_cells(results):
        summary = summarise(select(results, "x", min_levels=dict(cell=1)))
        return mean_over_cells(summary["x"], summary["x_mcse"])

    results = data(0.0, 0.0, 0.0, spread=2.0)
    skewed = results.assign(x=np.exp(results["x"]))
    far = claim(AtMost(50.0), measure=over_cells)
    plain = judge(far, results).check
    assert plain.text.startswith("after 100 replications") and "skewed" not in plain.text
    late = judge(far, skewed).check
    assert late.verdict == SUPPORTED and late.text.startswith("after 2,000 replications (look 10")
    assert late.text.endswith(SKEWED)
    as_fixed = claims.judge(far, skewed.drop_attrs()).check
    assert as_fixed.estimate.high < late.estimate.high and SKEWED not in as_fixed.text


def test_means_of_skewed_or_few_values_wait_for_the_last_look(data):
    results = data(0.0)
    skewed = results.assign(x=np.exp(results["x"]))
    far = claim(AtMost(50.0))
    assert judge(far, results).check.text.startswith("after 100 replications")
    waits = judge(far, skewed).check
    assert waits.verdict == SUPPORTED and int(waits.text.split()[1].replace(",", "")) > 500
    few = claim(
        AtMost(50.0),
        measure=measure_every_cell("mean")(
            lambda results: mean_cells(select(results, "x", min_levels=dict(cell=1), least=2), "x")
        ),
    )
    start = data(0.0, least=2)
    start = start.assign_attrs(study=json.dumps({"block": 2}))
    assert int(judge(few, start).check.text.split()[1]) >= 30


def test_the_last_look_decides_on_the_most_skewed_values(data):
    """As a fixed number does: a claim on them is not lost."""
    results = data(0.0, spread=1.5)
    skewed = results.assign(x=np.exp(results["x"]))
    check = judge(claim(AtMost(50.0)), skewed).check
    assert check.verdict == SUPPORTED and check.text.startswith(
        "after 2,000 replications (look 10 of 10"
    )
    assert check.text.endswith(SKEWED)
    assert not judge(claim(AtMost(50.0)), results).check.text.endswith(SKEWED)


def test_every_interval_is_wider_within_a_look(data, sealed):
    few = data(0.5, 0.4, spread=0.1, replications=200)
    flags = few["x"] > 0.4

    def widths():
        shares = (
            share(flags),
            share_of_exceptions(flags, few["status"] > 0),
            share_of_exceptions(few["x"] > 9, few["status"] > 0),
        )
        return [one.high - one.low for one in (*mean.compute(few).values(), *shares)]

    wide = widths()
    with spending(0.01):
        assert all(a > b for a, b in zip(widths(), wide, strict=True))
    assert widths() == wide and confidence_for() == CONFIDENCE


def test_a_claim_is_decided_at_the_first_look_that_is_certain(data):
    results = data(0.0, 0.1)
    one = judge(claim(AtMost(0.9)), results)
    assert one.check.verdict == SUPPORTED and one.sound
    assert one.check.text.startswith(
        "after 100 replications (look 1 of 10, error probability 0.00082): "
    )
    changed = results.assign(
        x=results["x"].where(np.arange(MOST) < 100, 9.0)
    )  # later ones do not change it
    assert judge(claim(AtMost(0.9)), changed).check == one.check
    later = judge(claim(AtMost(0.3)), results)
    assert later.check.text.startswith("after 100 to ")  # a look for each cell
    number = int(later.check.text.split()[3])
    assert later.check.verdict == SUPPORTED and 100 < number < MOST
    before = [look for look in Until(most=MOST).looks(BLOCK) if look.replications < number]
    for look in before:
        with spending(look.share):
            assert (
                claims.judge(
                    claim(AtMost(0.3)), results.isel(replication=slice(look.replications))
                ).check.verdict
                == INCONCLUSIVE
            )
    assert judge(claim(Within(-0.5, 0.1)), results).check.verdict == CONTRADICTED
    open_one = judge(claim(AtMost(0.1)), results)
    assert open_one.check.verdict == INCONCLUSIVE and " to 10 of 10, " in open_one.check.text
    plain = results.drop_attrs()
    assert judge(later.claim, plain) == claims.judge(later.claim, plain)


def test_the_confidence_is_that_of_the_look_that_spent_most(data):
    """Of two cells that are decided at different looks, the one whose interval may err more often."""
    check = judge(claim(AtMost(0.3)), data(0.0, 0.1)).check
    first, last = (
        int(word)
        for word in check.text.removeprefix("after ").split(" replications")[0].split(" to ")
    )
    shares = [
        look.share for look in Until(most=MOST).looks(BLOCK) if look.replications in (first, last)
    ]
    assert len(set(shares)) == 2 and check.confidence == pytest.approx(
        1 - (1 - CONFIDENCE) * max(shares), abs=1e-12
    )


def test_a_verdict_waits_for_its_control(data):
    early, late = (judge(claim(AtMost(1.5), control=shifted(by)), data(0.0)) for by in (9, 1.6))
    assert (
        early.check.text.startswith("after 100 ")
        and early.check.verdict == late.check.verdict == SUPPORTED
    )
    assert late.sound and "(look 1 of 10, its control at look " in late.check.text


def test_what_is_not_complete_is_no_look(data):
    results = data(0.0, 0.1)
    status = results["status"].copy()
    status[1, 149:] = 0
    assert complete(results) == MOST and complete(results.assign(status=status)) == 149
    reached = "after 100 replications (look 1 of 10, "  # the second look, after 200, is not reached
    assert judge(claim(AtMost(0.3)), results.assign(status=status)).check.text.startswith(reached)
    status[1] = 0
    outside = results.assign(status=status)
    assert (
        complete(outside.assign_attrs(cells=1)) == MOST and complete(outside) == 0
    )  # a cell of the grid, or none
    one = judge(claim(AtMost(0.3)), outside)
    assert one.check.verdict == INCONCLUSIVE and "the first look is after 100" in one.check.text


def test_what_is_not_tested_says_so_at_the_first_look(data):
    results = data(0.0).rename(x="y")
    assert judge(claim(AtMost(0.3)), results).check.verdict == NOT_TESTED


def test_power_of_no_exception_is_that_of_its_confidence(data):
    @measure("share above 9")
    def above(results):
        return share_of_exceptions(results["x"] > 9, results["status"] > 0)

    one = judge(claim(NoException(0.1), measure=above), data(0.0))
    assert one.check.verdict == SUPPORTED and one.check.confidence > CONFIDENCE
    shown = one.check.detected
    assert "above 0.0228 would" in shown  # 1 − 0.1^(1/100)
    assert replace(one.check, confidence=CONFIDENCE).detected != shown


@measure("mean of the first cell")
def of_first(results):
    (one,) = mean_cells(select(results, "x", at=dict(cell=0)), "x").values()
    return one


LOOKS = Until(most=MOST).looks(BLOCK)


def ended(results, *claims, looks=LOOKS):
    """Where cells end, and for which claim they went on."""
    found = Ends(claims, looks, (results.sizes["cell"],))
    while not found.over:
        assert found.known(results, np.ones(results.sizes["cell"], bool))
        found.look(results)
    return found


def test_a_cell_ends_when_all_that_reads_it_is_decided(data):
    results = data(0.0, -0.5, 0.25)
    cells, first = claim(AtMost(0.5)), claim(Within(0, 0.1), measure=of_first)
    found = ended(results, cells, first)
    assert found.ends[0] > found.ends[2] > found.ends[1] == 100 and found.by.tolist() == [1, -1, 0]
    assert all(one.certain and one.check.verdict == SUPPORTED for one in found.claims)
    assert ended(results, cells).ends.tolist()[1:] == found.ends.tolist()[1:]
    for k, end in enumerate(
        found.ends
    ):  # alone, it would have ended there, too: no interval knows of the others' ends
        assert found.claims[0].decided[f"cell={k}"] <= [look.replications for look in LOOKS].index(
            end
        )


def test_what_comes_after_the_end_of_a_cell_changes_nothing(data):
    results = data(0.0, 0.1, 0.25)
    wanted = claim(AtMost(0.5)), claim(Within(0, 0.1), measure=of_first)
    found = ended(results, *wanted)
    counts = np.arange(MOST) < found.ends[:, None]
    other = results.assign(x=results["x"].where(counts, 99.0))
    shorter = results.where(counts).assign(status=results["status"].where(counts, 0))
    for changed in (other, shorter):
        again = ended(changed, *wanted)
        assert again.ends.tolist() == found.ends.tolist() and again.by.tolist() == found.by.tolist()
        assert [one.judgement() for one in again.claims] == [
            one.judgement() for one in found.claims
        ]
    stopped = json.loads(results.attrs["until"]) | {"stops": [(int(end), "") for end in found.ends]}
    sealed = shorter.isel(replication=slice(max(found.ends))).assign_attrs(
        until=json.dumps(stopped)
    )
    assert complete(sealed) == max(found.ends)
    assert [judge(one, sealed) for one in wanted] == [one.judgement() for one in found.claims]
    status = sealed["status"].copy()
    status[1, found.ends[1] - 1] = 0
    assert complete(sealed.assign(status=status)) == found.ends[1] - 1


def test_all_cells_go_on_while_a_control_or_a_claim_is_not_measured(data):
    results = data(0.0, 0.1)
    assert min(ended(results, claim(AtMost(1.5), control=shifted(1.55))).ends) > 100
    late = claim(
        AtMost(1.5),
        measure=measure_every_cell("mean")(
            lambda results: mean_cells(
                select(results, "x", min_levels=dict(cell=1), least=300), "x"
            )
        ),
    )
    assert min(ended(results, late).ends) >= 300
    without = NegativeControl("no x", lambda results: results.drop_vars("x"))
    assert min(ended(results, replace(late, control=without)).ends) == MOST
    mixing = claim(
        AtMost(1.5),
        control=NegativeControl(
            "x of the last cell",
            lambda results: results.assign(
                x=results["x"].isel(cell=[-1, -1]).variable + 0 * results["x"]
            ),
        ),
    )
    found = ended(results, mixing)  # its control is never rejected
    assert found.ends.tolist() == [MOST, MOST] and not found.claims[0].sound


def coarse(factor):
    """Measure of the mean of e^x whose grid leaves it open by a factor."""

    @measure_every_cell("mean of e^x")
    def compute(results):
        cells = mean.compute(results.assign(x=np.exp(results["x"] / 10)))
        return {
            name: replace(
                one,
                low=one.low / factor,
                high=one.high * factor,
                finest=(one.value / factor, one.value * factor),
            )
            for name, one in cells.items()
        }

    return compute


def test_what_the_levels_leave_open_needs_no_more_replications(data):
    """One cell is far from the tolerance's end, at another no number of replications decides; it says so, and ends."""
    results = data(0.0, 1.5)
    wanted = claim(AtMost(1.2), measure=coarse(1.1))
    found = ended(results, wanted)
    assert found.ends.tolist()[0] == 100 and found.ends[1] < MOST
    (one,) = found.claims
    assert one.certain and one.check.verdict == INCONCLUSIVE and one.check.open_for_good
    assert (
        "the levels of the grid leave this open, whatever the number of replications: add levels"
        in one.check.text
    )
    assert judge(wanted, results) == one.judgement()
    fine = ended(results, claim(AtMost(1.2), measure=coarse(1.0001)))
    assert fine.ends[1] > 100 and not fine.claims[0].check.open_for_good


def test_parts_of_a_cell_are_decided_together_and_others_as_a_whole(data):
    @measure("the mean, twice")
    def both(results):
        cells = mean.compute(results)
        return {"here": cells, "there": cells}

    tolerance = {"here": AtMost(0.9), "there": AtMost(0.3)}
    one = AtLooks(claim(tolerance, measure=both), LOOKS)
    results = data(0.0, 0.2)
    for look in LOOKS[:4]:
        one.look(results.isel(replication=slice(look.replications)))
    assert one.decided.keys() == {"cell=0"} and one.check.verdict == INCONCLUSIVE

    @measure("the mean, and the largest")
    def other(results):
        cells = mean.compute(results)
        return {"here": cells, "there": max(cells.values(), key=lambda cell: cell.value)}

    two = AtLooks(claim(tolerance, measure=other), LOOKS)
    for look in LOOKS[:4]:
        two.look(results.isel(replication=slice(look.replications)))
    assert not two.decided and two.check.verdict == INCONCLUSIVE
    with pytest.raises(ValueError, match="must return the parts here, there"):
        AtLooks(claim(tolerance), LOOKS).look(results.isel(replication=slice(100)))
