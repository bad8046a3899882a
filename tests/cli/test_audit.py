"""`pipeline audit`: lines, JSON, exit codes, a picture."""

import json

import pytest

from pipeline.__main__ import main

CROWD = ["audit", "problem=crowd", "mechanism=randomized_response", "epsilon=1", "repeats=0"]
MINE = """
from dataclasses import dataclass
import numpy as np
import pipeline as pl
from pipeline.study.parameters import parameter

@dataclass(frozen=True)
class Mine(pl.crowd.RandomizedResponse):
    def release(self, data, rng):
        print("noise")
        flipped = rng.random(data.answers.shape) < 0.2
        return pl.crowd.data.ReleasedAnswers(np.where(flipped, -data.answers, data.answers), 0.2)

print("loaded")
pl.register("crowd", mechanisms={"mine": Mine})
"""


def test_a_right_mechanism_exits_with_0(capsys):
    assert main(CROWD) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("RandomizedResponse: not refuted; it promises ε = 2\n")
    assert "  again: pipeline task=audit problem=crowd" in printed


def test_a_promise_that_is_broken_exits_with_1(capsys):
    assert main([*CROWD, "guarantee.epsilon=1.9", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "violates" and record["guarantee"]["epsilon"] == 1.9


def test_a_mechanism_of_ones_own(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    words = ["audit", "problem=crowd", "mechanism=mine", "epsilon=1", "repeats=0"]
    assert main([*words, "--with", str(path), "--json"]) == 1
    printed = capsys.readouterr()
    record = json.loads(printed.out)  # and nothing that the file or the mechanism prints
    assert record["verdict"] == "violates" and "loaded" in printed.err


@pytest.mark.parametrize(
    "words, message",
    [
        (["audit"], "problem=null: is needed"),
        (["audit", "problem=crowds"], "did you mean 'crowd'"),
        (["audit", "problem=crowd"], "mechanism=null: is needed"),
        (["audit", "problem=crowd", "mechanism=none"], "promises nothing"),
        ([*CROWD, "epsilom=2"], "did you mean 'epsilon'"),
        ([*CROWD, "samples=many"], "must be a whole number ≥ 100"),
        ([*CROWD, "save=picture.txt"], "must be a file that ends with"),
        ([*CROWD, "outputs=o", "from=/nowhere"], "must be a folder of outputs"),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(words, message, capsys):
    assert main(words) == 2
    printed = capsys.readouterr().err
    assert message in printed and printed.count("\n") == 1


def test_the_picture_shows_what_breaks_the_promise(tmp_path, capsys):
    path = tmp_path / "picture.svg"
    assert main([*CROWD, "guarantee.epsilon=1", f"save={path}"]) == 1
    assert path.read_bytes().startswith(b"<?xml") and f"wrote {path}" in capsys.readouterr().err
