"""Claims of Banerjee, Hegde and Massoulié on private item clustering, by experiment."""

from . import (
    adaptive,
    distortion,
    eigenvalues,
    fano,
    inference,
    information,
    lemmas,
    maxsense,
    pairs,
    persons,
    privacy,
    recommendations,
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
    *eigenvalues.CLAIMS,
    *several_questions.CLAIMS,
    *separability.CLAIMS,
    *distortion.CLAIMS,
    *fano.CLAIMS,
    *recommendations.CLAIMS,
    *adaptive.CLAIMS,
    *persons.CLAIMS,
    *inference.CLAIMS,
)
