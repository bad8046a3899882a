"""Claims of Banerjee, Hegde and Massoulié on private item clustering, by experiment."""

from . import (
    adaptive,
    distortion,
    information,
    lemmas,
    maxsense,
    pairs,
    persons,
    privacy,
    rich_scarce,
    separability,
    several_questions,
)

CLAIMS = (
    *privacy.CLAIMS,
    *lemmas.CLAIMS,
    *information.CLAIMS,
    *maxsense.CLAIMS,
    *rich_scarce.CLAIMS,
    *pairs.CLAIMS,
    *several_questions.CLAIMS,
    *separability.CLAIMS,
    *distortion.CLAIMS,
    *adaptive.CLAIMS,
    *persons.CLAIMS,
)
