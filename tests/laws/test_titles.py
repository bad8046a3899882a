"""Experiments that check figures or tables of a paper name them in their titles, which lists and headings show."""

import re
from pathlib import Path

import pytest
import yaml

from pipeline.problems import clustering, crowd, ranking, response

CONF = Path(__file__).parents[2] / "conf" / "experiment"
PLACE = re.compile(r"(?:Figure|Table) \d+")
PROBLEMS = (ranking, response, clustering, crowd)


def places():
    """Experiment -> figures and tables of papers that its claims are about."""
    found = {}
    for problem in PROBLEMS:
        for claim in problem.PROBLEM.all_claims():
            if of_claim := PLACE.findall(claim.source):
                found.setdefault(claim.experiment, set()).update(of_claim)
    return found


PLACES = places()


def test_most_figures_of_the_papers_are_claimed():
    assert len(PLACES) >= 12 and PLACES["xu/scenario_2"] == {"Figure 3", "Table 1"}


@pytest.mark.parametrize("experiment", sorted(PLACES))
def test_titles_name_the_figures_of_the_paper(experiment):
    title = yaml.safe_load((CONF / f"{experiment}.yaml").read_text("utf-8"))["title"]
    assert PLACES[experiment] <= set(PLACE.findall(title)), title
