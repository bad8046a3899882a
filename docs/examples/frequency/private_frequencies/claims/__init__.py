"""Claims of Wang et al. (2017), Ye and Barg (2018), and what lies between them."""

from . import crossover, minimax, privacy, projection, variances

CLAIMS = (
    *privacy.CLAIMS,
    *variances.CLAIMS,
    *crossover.CLAIMS,
    *minimax.CLAIMS,
    *projection.CLAIMS,
)
