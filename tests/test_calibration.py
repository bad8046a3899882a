"""The calibration of verdicts: rates, coverage and power of made-up seeds, and one real seed that is not run twice."""

import dataclasses
import json
import math
import re
from concurrent.futures import Executor, Future

import numpy as np
import pytest
from scipy import stats

from calibration import __main__ as command
from calibration import seeds, table
from pipeline.analysis.claims import Claim, NegativeControl, NotSimulated, SimulatedControl
from pipeline.analysis.measures import Measure, normal
from pipeline.analysis.tolerances import AtLeast, AtMost, Within

SEEDS = 400


def claim(tolerance):
    return Claim(
        id="toy",
        statement="v is 1.",
        source="here",
        experiment="toy/toy",
        why="",
        conditions="",
        measure=Measure("v", lambda results: None),
        tolerance=tolerance,
        control=NegativeControl("v doubled", lambda results: results),
    )


def records(truth, tolerance, shorter=1.0, seeds=SEEDS):
    """Normal estimates of a number, with 99 % intervals; `shorter` makes these too short."""
    drawn = truth + 0.1 * np.random.default_rng(1).standard_normal(seeds)
    found = []
    for value in drawn.tolist():
        one = normal(value, 0.1 / shorter, 0.99)
        found.append(
            {
                "claims": {
                    "toy": {
                        "verdict": tolerance.verdict(one),
                        "control": "contradicted",
                        "sound": True,
                        "estimates": {"": {"": [one.value, one.low, one.high, one.standard_error]}},
                    }
                }
            }
        )
    return found


def columns(truth, tolerance, shorter=1.0, seeds=SEEDS):
    return dict(
        zip(
            table.COLUMNS,
            table.row(claim(tolerance), records(truth, tolerance, shorter, seeds)),
            strict=True,
        )
    )


def count(text):
    return int(text.split("/")[0])


def test_intervals_that_are_right_too_short_and_too_long():
    """The mean over the seeds, which stands for the truth, is nearer by a factor √(1 − 1/n): nothing at n = 2,000."""
    n = 2000
    right, short, long = (columns(1, Within(1, 0.5), shorter, n) for shorter in (1, 2, 0.5))
    least, most = stats.binom.ppf([5e-7, 1 - 5e-7], n, 0.99)
    print(
        f"covered: n={n} statistic={right['covered']} bounds={least:g} to {most:g} alpha=1e-06; "
        f"controls {short['covered']}, {long['covered']}"
    )
    assert (
        least <= count(right["covered"]) <= most < count(long["covered"])
        and count(short["covered"]) < least
    )
    assert right["truth"] == "yes" and right["verdicts"].split("/")[1] == "0"
    assert right["controls"] == f"{n}/0/0"


def test_wrong_verdicts_are_counted_where_the_truth_is_known():
    outside, border = columns(1.7, Within(1, 0.5), shorter=20), columns(1.5, Within(1, 0.5))
    supported, contradicted, _ = map(int, outside["verdicts"].split("/"))
    assert outside["truth"] == "no" and contradicted > 0.9 * SEEDS
    assert supported > 0 and border["truth"] == "border"
    row = f"| {' | '.join(outside.values())} |"
    assert f"Wrong: {supported} of {SEEDS} verdicts" in table.in_short(row)


def test_power_is_half_an_interval_and_a_quantile_beyond():
    found = columns(0, AtMost(1))["power"]
    expected = 1 + 0.1 * (stats.norm.ppf(0.995) + stats.norm.ppf(0.9))
    assert found.startswith("above ") and float(found[6:]) == pytest.approx(expected, abs=0.03)


def test_power_of_a_ratio_far_from_its_bound():
    """An error of 10 % is one of 10 % at the bound, too: not one of 20, a tenth of what was found."""
    generator = np.random.default_rng(1)
    values = 200 * np.exp(0.1 * generator.standard_normal(SEEDS))
    halves = 0.1 * stats.norm.ppf(0.995) * generator.uniform(0.8, 1.2, SEEDS)
    some = [
        {
            "claims": {
                "toy": {
                    "verdict": "supported",
                    "control": "contradicted",
                    "sound": True,
                    "estimates": {
                        "": {
                            "": [
                                value,
                                value * math.exp(-half),
                                value * math.exp(half),
                                0.1 * value,
                            ]
                        }
                    },
                }
            }
        }
        for value, half in zip(values.tolist(), halves.tolist(), strict=True)
    ]
    found = dict(zip(table.COLUMNS, table.row(claim(AtLeast(1)), some), strict=True))["power"]
    expected = math.exp(-halves.mean() - 0.1 * stats.norm.ppf(0.9))
    assert float(found.removeprefix("below ")) == pytest.approx(expected, abs=0.03)


def test_nothing_determined_says_nothing():
    undecided = {
        "verdict": "inconclusive",
        "control": "inconclusive",
        "sound": False,
        "estimates": {"": {"": [1.0, -math.inf, math.inf, math.inf]}},
    }
    found = table.row(claim(AtMost(1)), [{"claims": {"toy": undecided}}])
    assert found[2:] == [
        "border",
        "0/0/1",
        "0/0/1",
        "–",
        "1/1",
        "–",
        "–",
    ]


def test_an_infinite_interval_hides_no_value():
    """Where only skewed samples had finite intervals, their mean would be far from that of all."""
    some = records(1, Within(1, 0.5))
    for record in some[2:]:
        record["claims"]["toy"]["estimates"][""][""][1:3] = [-math.inf, math.inf]
    some[0]["claims"]["toy"]["estimates"][""][""][0] = some[1]["claims"]["toy"]["estimates"][""][
        ""
    ][0] = 1.6
    found = dict(zip(table.COLUMNS, table.row(claim(Within(1, 0.5)), some), strict=True))
    assert found["truth"] == "yes" and found["power"] == "–"


def test_a_cell_that_some_seeds_lack_says_no_truth():
    some = records(1.7, Within(1, 0.5))
    some[0]["claims"]["toy"]["estimates"] = {}
    found = dict(zip(table.COLUMNS, table.row(claim(Within(1, 0.5)), some), strict=True))
    assert found["truth"] == "border"


def test_a_control_counts_also_where_the_claim_is_undecided():
    some = records(1, Within(1, 0.5))
    for number, record in enumerate(some):
        one = record["claims"]["toy"]
        one["verdict"] = "inconclusive"
        if number < 30:
            one |= {"control": "supported" if number < 10 else "inconclusive", "sound": False}
    found = dict(zip(table.COLUMNS, table.row(claim(Within(1, 0.5)), some), strict=True))
    assert found["verdicts"] == f"0/0/{SEEDS}"
    assert found["controls"] == f"{SEEDS - 30}/10/20"


def test_tables_of_other_experiments_stay():
    made = {"code": "1", "replications": 20, "size": "quick"}
    one = {
        "toy/a": table.Found(
            (claim(AtMost(1)),), [record | made for record in records(0, AtMost(1))], []
        )
    }
    page = table.document({"toy/b": one["toy/a"]}, table.document(one))
    assert (
        page.count("`toy`") == 2
        and "## toy/a, 400 seeds of 20 replications, small grid, code 1\n" in page
    )
    replaced = table.document(
        {"toy/a": one["toy/a"]._replace(records=one["toy/a"].records[:30])}, page
    )
    assert "## toy/a, 30 seeds" in replaced and replaced.count("`toy`") == 2
    assert table.document({}, page) == page
    five_cells = r"((?:\| [^|]*){5})\| [^|]*"
    without = re.sub(f"^{five_cells}", r"\1", page, flags=re.M)  # as an older page has its tables
    assert "wrong worlds |" not in without and table.document({}, without).count("`toy`") == 2
    assert [row[0] for row in table.rows_of(without)] == ["`toy`"] * 2


def test_wrong_worlds_have_their_own_column_which_may_be_run_alone():
    """Verdicts of 10 seeds: 7 as they must be, 2 the other way, 1 undecided."""
    words = ["contradicted"] * 7 + ["supported"] * 2 + ["inconclusive"]
    worlds = [
        {"claims": {"toy": {"verdict": word, "right": word == "contradicted"}}} for word in words
    ]
    one = dataclasses.replace(
        claim(AtMost(1)), simulated=SimulatedControl("twice ε", lambda parts: parts)
    )
    made = {"code": "1", "replications": 20, "size": "quick"}
    seeds = [record | made for record in records(0, AtMost(1))]
    page = table.document({"toy/a": table.Found((one,), seeds, [])})
    both = table.document({"toy/a": table.Found((one,), seeds, worlds)})
    assert table.document({"toy/a": table.Found((one,), [], worlds)}, page) == both
    assert [row[table.WORLD] for row in map(table.rows_of, (page, both)) for row in row] == [
        "–",
        "7/2/1",
    ]
    assert (
        "Of 10 wrong worlds of 1 claims, 7 were judged as they must be and 2 the other way." in both
    )
    none = dataclasses.replace(one, simulated=NotSimulated("an exact number"))
    assert table.world(none, worlds) == "none"


def test_rows_of_more_seeds_stay_where_few_are_run_again():
    """But not that of a claim that is new, or says something else; the heading tells both."""
    older, newer, other = (
        dataclasses.replace(claim(AtMost(1)), id=name) for name in ("older", "newer", "other")
    )
    made = {"replications": 20, "size": "quick"}
    many = [
        {
            **one,
            "claims": dict.fromkeys(("older", "other"), one["claims"]["toy"]),
            "code": "1",
            **made,
        }
        for one in records(0, AtMost(1))
    ]
    page = table.document({"toy/a": table.Found((older, other), many, [])})
    few = [
        {
            **one,
            "claims": dict.fromkeys(("older", "newer", "other"), one["claims"]["toy"]),
            "code": "2",
            **made,
        }
        for one in records(0, AtMost(1))[:5]
    ]
    changed = dataclasses.replace(other, tolerance=AtMost(2))
    again = table.document({"toy/a": table.Found((older, newer, changed), few, [])}, page)
    verdicts = [row[table.VERDICTS] for row in table.rows_of(again)]
    assert verdicts == [f"{SEEDS}/0/0", "5/0/0", "5/0/0"]
    heading = f"## toy/a, {SEEDS} seeds of 20 replications, small grid, code 1"
    assert (
        f"{heading}; rows of fewer seeds: 5 seeds of 20 replications, small grid, code 2\n" in again
    )
    assert table.document({"toy/a": table.Found((older, newer, changed), few, [])}, again) == again
    enough = [{**few[0], "seed": number} for number in range(table.FEWEST)]
    whole = table.document({"toy/a": table.Found((older, newer, changed), enough, [])}, again)
    assert "## toy/a, 20 seeds of 20 replications, small grid, code 2\n" in whole


def test_an_identity_is_named():
    one = dataclasses.replace(claim(Within(1, 0.5)), by_construction=True)
    assert table.row(one, records(1, Within(1, 0.5)))[2] == "yes, identity"


def test_all_tables_in_short():
    """Counted again from the rows; of two claims one is undecided, and one has intervals that are too short."""
    rows = [
        table.row(claim(Within(1, 0.5)), records(1, Within(1, 0.5), shorter))
        for shorter in (0.1, 2)
    ]
    assert rows[0][3] == f"0/0/{SEEDS}"
    tables = "\n".join(
        f"| {' | '.join([f'`{name}`', *row[1:]])} |" for name, row in zip("ab", rows, strict=True)
    )
    hit = sum(count(row[table.COLUMNS.index("covered")]) for row in rows)
    assert table.in_short(tables) == (
        f"**In short**: 2 claims. Wrong: 0 of {SEEDS} verdicts on claims whose truth is known, 0 of {2 * SEEDS} on "
        "controls. Of 0 wrong worlds of 0 claims, 0 were judged as they must be and 0 the other way. "
        f"Covered: {hit} of {2 * SEEDS}; too few for 99 %, at a level of 1 % over all claims: `b`. "
        "Spread beyond chance: `b`. Undecided in more than half of the seeds: `a`."
    )


def test_the_spread_over_the_error_that_is_reported():
    low, high = np.sqrt(stats.chi2.ppf([5e-7, 1 - 5e-7], SEEDS - 1) / (SEEDS - 1))
    for shorter in (0.5, 1.0, 2.0):  # the first and the last are each other's control
        middle, least, most = map(
            float, re.findall(r"[\d.]+", columns(1, Within(1, 0.5), shorter)["spread"])
        )
        print(
            f"spread over error: n={SEEDS} statistic={middle} bounds={low * shorter:.3f} to {high * shorter:.3f} "
            "alpha=1e-06"
        )
        assert low * shorter < middle == least == most < high * shorter


class HereAndNow(Executor):
    """Does what is submitted in this process: a process of its own would load the program anew."""

    def __init__(self, *_):
        pass

    def submit(self, act, *given):
        done = Future()
        done.set_result(act(*given))
        return done


def test_a_seed_is_run_once_and_again_for_another_tolerance(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(command, "ProcessPoolExecutor", HereAndNow)
        assert command.main(["xu/example_1", "seeds=2", "workers=1"]) == 0
    path = seeds.path_of("xu/example_1", seeds.CLAIMS)
    assert {*seeds.FOLDER.glob("*.jsonl")} == {path, seeds.path_of("xu/example_1", seeds.WORLDS)}
    lines = path.read_text().splitlines()
    assert len(lines) == 2 and "xu.example_1" in (seeds.FOLDER / "table.md").read_text()
    path.write_text(lines[0] + "\n" + lines[1][:-5])  # cut off
    assert command.main(["xu/example_1", "seeds=2", "workers=1"]) == 0
    assert "1 of 4 to do" in capsys.readouterr().out
    for key, other in (
        ("claimed", {"xu.example_1": "at most 9"}),
        ("asked", "another grid"),
        ("code", "other code"),
        ("replications", 50),
        ("block", 50),
        ("size", "paper"),
    ):
        path.write_text(json.dumps(json.loads(lines[0]) | {key: other}) + "\n")
        assert (
            list(
                seeds.records(
                    "xu/example_1", seeds.by_experiment()["xu/example_1"][1], seeds.CLAIMS
                )
            )
            == []
        )
    path.write_text(lines[0] + "\n")
    assert (
        len(
            list(
                seeds.records(
                    "xu/example_1", seeds.by_experiment()["xu/example_1"][1], seeds.CLAIMS
                )
            )
        )
        == 1
    )


@pytest.mark.parametrize("word", ["nowhere", "seeds=x", "colour=2"])
def test_a_word_that_says_nothing_is_one_line(word, capsys):
    assert command.main([word]) == 2 and capsys.readouterr().err.startswith("error: " + word)


def test_experiments_that_are_judged_whole_are_there():
    assert {*seeds.by_experiment()} >= seeds.WHOLE_WORLDS > seeds.WHOLE
    sizes = {
        of: seeds.size_of("banerjee/shapes", of)["size"] for of in (seeds.CLAIMS, seeds.WORLDS)
    }
    assert sizes == {seeds.CLAIMS: "quick", seeds.WORLDS: "paper"}
