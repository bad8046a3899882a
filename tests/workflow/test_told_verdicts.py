"""What is told of verdicts: whole, once more in a second run, summed up, and not sixteen times."""

import io

import pytest

from pipeline.analysis import tolerances
from pipeline.workflow import told_verdicts
from pipeline.workflow.events import Judged, NotTestedAlike
from pipeline.workflow.lines import lines_of
from pipeline.workflow.narration import MOST_LETTERS, Narration
from pipeline.workflow.told_verdicts import Told, kept, told

LONG = "-0.1 [-0.2, -0.0], " + "claimed so and so; " * 20


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_verdicts_and_their_order_are_those_of_the_analysis():
    assert told_verdicts.VERDICTS == tolerances.VERDICTS


def printed(verdicts):
    return [line for event in told(verdicts) for line in lines_of(event)]


def test_the_worst_is_last_and_several_studies_are_summed_up():
    lines = printed([Told("s", "a", "contradicted", "9"), Told("t", "b", "supported", "1")])
    assert [line.split()[:2] for line in lines[:2]] == [["supported", "b:"], ["✗", "contradicted"]]
    assert lines[2:] == [
        "  s: 1 contradicted",
        "  t: 1 supported",
        "2 claims: 1 supported, 1 contradicted",
    ]


def test_one_claim_is_not_summed_up():
    assert len(printed([Told("s", "a", "supported", "1")])) == 1


def test_claims_that_lack_the_same_are_one_line():
    rows = [Told("s", f"x.{k}", "not tested", "is about MovieLens") for k in range(16)]
    first, total = printed([*rows, Told("s", "y", "not tested", "needs m=10")])[::2]
    assert first == "  not tested    16 claims: each is about MovieLens: x.0, x.1 and 14 more"
    assert total == "17 claims: 17 not tested"
    assert not any(isinstance(event, NotTestedAlike) for event in told(rows[:2]))


@pytest.mark.parametrize(("stream", "is_whole"), [(io.StringIO(), True), (Terminal(), False)])
def test_a_line_is_cut_on_a_terminal_only(stream, is_whole):
    Narration(stream, io.StringIO())(Judged("s", "a", "supported", LONG))
    line = stream.getvalue().removesuffix("\n")
    assert line.endswith(LONG) == is_whole
    assert is_whole or len(line) <= MOST_LETTERS


def test_what_contradicts_is_whole_on_a_terminal():
    stream = Terminal()
    Narration(stream, io.StringIO())(Judged("s", "a", "contradicted", LONG))
    assert LONG in stream.getvalue()


def test_a_report_that_is_kept_tells_its_verdicts_again(tmp_path):
    table = 'section,id,verdict,text\ns,a,supported,"\'-0.5 [-0.6, -0.4], claimed −½"\n'
    (tmp_path / "verdicts.csv").write_text(table, encoding="utf-8")
    assert kept(tmp_path) == [Told("s", "a", "supported", "-0.5 [-0.6, -0.4], claimed −½")]
    assert kept(tmp_path / "elsewhere") == []
