"""Law: a newcomer's mistake is answered by one helpful line, and a misspelt name by the right one.

Forty of the 200 mistakes of `python -m benchmarks bad_inputs`: those that start no simulation.
"""

import dataclasses

import pytest

from benchmarks import bad_inputs
from benchmarks.bad_inputs import Answer, Mistake

FEW = 40
SIMULATED = ("own part", "own file")


def drawn():
    some = [one for one in bad_inputs.mistakes(80, seed=5) if one.kind not in SIMULATED]
    return some[:FEW]


def test_forty_mistakes_are_answered_by_one_helpful_line(capsys):
    shares = bad_inputs.measured(drawn())
    said = capsys.readouterr().out
    print(shares, said)
    assert shares.mistakes == FEW == shares.helpful, said
    assert shares.suggested >= bad_inputs.BAR * shares.misspelt > 10, said


MISTAKE = Mistake("key", ("replicatons=3",), says=("replicatons",), meant="replications")
HELPFUL = Answer(2, "", "error: replicatons=3: did you mean 'replications'? allowed: …\n")


@pytest.mark.parametrize(
    "changes, fault",
    [
        ({"code": 0}, "exit code 0"),
        ({"err": "Traceback (most recent call last):\n  …\nKeyError: 3\n"}, "traceback"),
        ({"err": "error: no such key\n"}, "does not say replicatons"),
        ({"err": HELPFUL.err + "error: and another thing\n"}, "2 lines"),
        ({"err": ""}, "0 lines"),
        ({"out": "starting\n"}, "prints before it refuses"),
        ({"err": "error: replicatons " + "x" * 600}, "619 characters"),
    ],
)
def test_an_answer_that_is_not_one_helpful_line_is_seen(changes, fault):
    assert bad_inputs.faults(MISTAKE, HELPFUL) == []
    assert fault in bad_inputs.faults(MISTAKE, dataclasses.replace(HELPFUL, **changes))


def test_only_the_name_that_was_meant_counts_as_suggested():
    assert bad_inputs.is_suggested(MISTAKE, HELPFUL)
    other = dataclasses.replace(HELPFUL, err="error: replicatons=3: did you mean 'repair'?\n")
    assert not bad_inputs.is_suggested(MISTAKE, other)


def test_what_is_typed_is_drawn_by_its_seed():
    first = [one.typed for one in bad_inputs.mistakes(200)]
    assert first == [one.typed for one in bad_inputs.mistakes(200)]
    assert first != [one.typed for one in bad_inputs.mistakes(200, seed=1)]
    assert len({one.kind for one in bad_inputs.mistakes(200)}) >= 20
