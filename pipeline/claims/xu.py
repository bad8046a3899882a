"""Claims of Xu, Sun and Cheng, private pairwise rankings."""

from pipeline.claims import (
    xu_bounds,
    xu_example,
    xu_excess,
    xu_figures,
    xu_lemmas,
    xu_movielens,
    xu_personal,
    xu_rates,
    xu_recovery,
    xu_sharp,
)

CLAIMS = (
    *xu_lemmas.CLAIMS, *xu_example.CLAIMS, *xu_excess.CLAIMS, *xu_bounds.CLAIMS, *xu_rates.CLAIMS,
    *xu_recovery.CLAIMS, *xu_figures.CLAIMS, *xu_movielens.CLAIMS, *xu_personal.CLAIMS, *xu_sharp.CLAIMS,
)
