"""Texts of a person's data do nothing in a spreadsheet, a terminal, a page, a figure or a bibliography."""

import csv
import io

import pandas
import pytest
from matplotlib.figure import Figure

from pipeline.reporting import page, style
from pipeline.reporting.tables import csv_of
from pipeline.study.texts import cell, visible
from pipeline.workflow.provenance import escape


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", '"=1"', "a;=1"]
)
def test_no_text_begins_a_formula(text):
    assert cell(text) != text and not cell(text).startswith(("=", "+", "-", "@"))
    assert cell(text) != cell(cell(text))  # different texts stay different


def test_numbers_stay_numbers_and_texts_can_be_read_back():
    table = pandas.DataFrame(
        {"=name": ["=1", "tea", "−2"], "mean": [-1.5, 2.0, float("nan")], "mixed": [-1, "-1", None]}
    )
    rows = [*csv.reader(io.StringIO(csv_of(table).decode()))]
    assert rows == [
        ["'=name", "mean", "mixed"],
        ["'=1", "-1.5", "-1"],
        ["tea", "2.0", "'-1"],
        ["−2", "", ""],
    ]


def test_signs_that_control_are_shown():
    harm = "a\x1b[31m\u202eb\x00\x9b\ufffe"
    assert (
        visible(harm) == r"a\x1b[31m\u202eb\x00\x9b\ufffe" and visible("é\n\t ε−½") == "é\n\t ε−½"
    )
    shown = page.rendered(
        "index.html.j2", generator=harm, studies=[], symbols={}, size=1, deletable=[]
    )
    assert visible(shown) == shown and r"\u202e" in shown


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_figure_with_such_signs_is_well_formed():
    from xml.etree import ElementTree

    figure = Figure()
    figure.text(0.5, 0.5, "a\x1b\u202e--b<&")
    with style.applied():
        svg = style.images(figure, ["svg"])["svg"]
    ElementTree.fromstring(svg)
    assert b"\x1b" not in svg and "\u202e" not in svg.decode()


def test_bibtex_counts_no_brace_of_a_title():
    assert escape("A & 5 % {b} \\x ~^") == (
        r"A \& 5 \% \textbraceleft{}b\textbraceright{} \textbackslash{}x "
        r"\textasciitilde{}\textasciicircum{}"
    )
