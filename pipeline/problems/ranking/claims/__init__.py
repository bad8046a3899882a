"""Claims of Xu, Sun and Cheng on private pairwise rankings."""

from . import (
    bounds,
    example,
    excess,
    figures,
    lemmas,
    mixed,
    movielens,
    personal,
    rates,
    recovery,
    sharp,
    tails,
)

CLAIMS = (
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
)
