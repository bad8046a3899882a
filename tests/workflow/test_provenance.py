"""What a report says of the program that wrote it."""

import subprocess

import pytest

from pipeline.identity.registry import problem, problems
from pipeline.workflow import provenance


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with one file that takes the place of the program, and a function that runs git in it."""

    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True, text=True
        )

    (tmp_path / "program.py").write_text("1")
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "program.py"))
    provenance.commit.cache_clear()
    yield git
    provenance.commit.cache_clear()


def test_the_commit_of_a_checkout(checkout, tmp_path):
    assert provenance.commit() == ""  # no repository
    checkout("init", "-q")
    provenance.commit.cache_clear()
    assert provenance.commit() == ""  # somebody else's: the program is not in it
    checkout("add", "program.py")
    checkout("commit", "-qm", "one")
    provenance.commit.cache_clear()
    assert provenance.commit() == checkout("rev-parse", "HEAD").stdout[:12]
    (tmp_path / "program.py").write_text("2")
    provenance.commit.cache_clear()
    assert provenance.commit() == checkout("rev-parse", "HEAD").stdout[:12] + "-dirty"


def test_an_entry_for_bibtex(checkout):
    entry = provenance.bibtex("A & 5 %", ["2025", "2026"])
    assert entry.startswith("@software{private_learning_pipeline,\n") and entry.endswith("\n}")
    assert (
        "  note = {A \\& 5 \\%},\n" in entry
        and "  year = {2026},\n" in entry
        and "{{The private-learning" in entry
    )
    assert entry.count("{") == entry.count("}")


def test_every_claim_that_faults_a_paper_names_a_row_that_is_there():
    rows = provenance.mistakes()
    assert len(rows) > 50 and all(len(cells) == 5 and all(cells) for cells in rows.values())
    claims = [claim for name in problems() for claim in problem(name).load(problem(name).claims)]
    assert {claim.row for claim in claims if claim.row} <= rows.keys()
    assert [claim.id for claim in claims if claim.positive and not claim.row] == []
