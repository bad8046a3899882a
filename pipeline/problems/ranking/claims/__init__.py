"""Claims on private pairwise rankings: of Xu, Sun and Cheng, and on promises of a person."""

from . import (
    bounds,
    central,
    example,
    excess,
    figures,
    inference,
    lemmas,
    links,
    mixed,
    movielens,
    person,
    personal,
    rates,
    recovery,
    sharp,
    tails,
)

CLAIMS = (
    *inference.CLAIMS,
    *lemmas.CLAIMS,
    *example.CLAIMS,
    *excess.CLAIMS,
    *bounds.CLAIMS,
    *rates.CLAIMS,
    *recovery.CLAIMS,
    *figures.CLAIMS,
    *movielens.CLAIMS,
    *personal.CLAIMS,
    *sharp.CLAIMS,
    *mixed.CLAIMS,
    *tails.CLAIMS,
    *links.CLAIMS,
    *person.CLAIMS,
    *central.CLAIMS,
)
