"""Rows of the tables in docs/papers.md, by the name in their first column."""

import re

from engine import ROOT

TEXT = (ROOT / "docs/papers.md").read_text()
ROW = {name: line for name, line in re.findall(r"^\| ([A-Z]\d+) (\|.*)$", TEXT, re.M)}


def rows(letter):
    """Names of the rows of a paper, in order; no name twice."""
    found = re.findall(rf"^\| ({letter}\d+) \|", TEXT, re.M)
    assert len(set(found)) == len(found)
    return found


def check_row(name, numbers):
    """Assert that the row has each of these texts, of which there must be one."""
    assert numbers and [number for number in numbers if number not in ROW[name]] == [], name


def check_text(*passages):
    """Assert that the document has each of these passages, wherever its lines break."""
    text = " ".join(TEXT.split())
    assert passages and [passage for passage in passages if passage not in text] == []


def named_claims(paper):
    """Identifiers of claims of a paper anywhere in the document; those that end in … are left out."""
    return {name for name in re.findall(rf"`({paper}\.[\w.]+)`", TEXT)}
