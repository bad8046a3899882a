"""Functions of a design are, for a study, functions of the design's parameters."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest

from pipeline.study.designs import of_design
from pipeline.study.parameters import arguments, kinds_of


@dataclass(frozen=True)
class Survey:
    people: Annotated[int, "people who are asked"]
    questions: int = 1
    cost: float = 2.0


@of_design("people questions", questions=3)
def spent(rate: float, design: Survey) -> float:
    """What the survey costs."""
    return rate * design.people * design.questions * design.cost


@of_design()
def answers(design: Survey) -> int:
    """How many answers there are."""
    return design.people * design.questions


def test_parameters_stand_in_place_of_the_design():
    assert [*inspect.signature(spent).parameters] == ["rate", "people", "questions"]
    assert spent(1.0, 10) == spent(rate=1.0, people=10, questions=3) == 60.0
    assert spent(1.0, 10, 1) == 20.0 and spent.__doc__ == "What the survey costs."
    with pytest.raises(TypeError, match="missing a required argument: 'people'"):
        spent(1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'cost'"):
        spent(1.0, 10, cost=1.0)


def test_without_names_all_fields_have_their_own_defaults():
    assert [*inspect.signature(answers).parameters] == ["people", "questions", "cost"]
    assert answers(4) == 4 and answers(4, questions=5) == 20


def test_a_study_reads_types_and_meanings():
    declared = arguments(spent)
    assert [kinds_of(declared[name]) for name in declared] == [("float",), ("int",), ("int",)]
    assert declared["people"].metadata["meaning"] == "people who are asked"
