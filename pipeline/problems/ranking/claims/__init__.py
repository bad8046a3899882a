"""Claims of Xu, Sun and Cheng on private pairwise rankings."""

from . import bounds, example, excess, figures, lemmas, movielens, personal, rates, recovery, sharp

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
)
