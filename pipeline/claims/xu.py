"""Claims of Xu, Sun and Cheng, private pairwise rankings."""

from pipeline.claims import xu_bounds, xu_lemmas, xu_rates

CLAIMS = (*xu_lemmas.CLAIMS, *xu_rates.CLAIMS, *xu_bounds.CLAIMS)
