"""Rows of the tables in docs/papers.md, by the name in their first column."""

import re

from tests.helpers.engine import ROOT

TEXT = (ROOT / "docs/papers.md").read_text()
NUMBER = (
    r"(?<![\w.])(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e-?\d+|·10\^?[⁻⁰¹²³⁴⁵⁶⁷⁸⁹\d]+|[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"
)
PLACE = r"(?:Theorem|Lemma|Corollary|Figure|Table|eq\.|§|Appendix)s? ?\(?[\d.]+\)?(?:(?:,| and| to) \(?[\d.]+\)?)*"
ROW = dict(re.findall(r"^\| ([A-Z]\d+) (\|.*)$", TEXT, re.M))


def rows(letter):
    """Names of the rows of a paper, in order; no name twice."""
    found = re.findall(rf"^\| ({letter}\d+) \|", TEXT, re.M)
    assert len(set(found)) == len(found)
    return found


def numbers(text):
    """Numbers of three signs or more, and shorter ones that stand behind "name = " with that name.

    Not those in `code`, and not the numbers of theorems, sections and the like.
    """
    text = re.sub(rf"`[^`]*`|{PLACE}", "", text)
    return {number for number in re.findall(NUMBER, text) if len(number) > 2} | {
        one[0] for one in re.finditer(rf"\S+ = −?({NUMBER})", text) if len(one[1]) <= 2
    }


def check_row(name, texts):
    """Assert that the row has each of these texts, of which there must be one, and no `numbers` besides.

    The first two cells, where and what the paper has, may have others.
    """
    assert texts and [text for text in texts if text not in ROW[name]] == [], name
    assert (
        numbers(" | ".join(ROW[name].split(" | ")[2:])) - set().union(*map(numbers, texts)) == set()
    ), name


def check_text(*passages):
    """Assert that the document has each of these passages, wherever its lines break."""
    text = " ".join(TEXT.split())
    assert passages and [passage for passage in passages if passage not in text] == []


def named_claims(paper):
    """Identifiers of claims of a paper anywhere in the document; those that end in … are left out."""
    return set(re.findall(rf"`({paper}\.[\w.]+)`", TEXT))
