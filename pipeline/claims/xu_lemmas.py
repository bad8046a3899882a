"""Claims on randomized response itself, Lemmas 1 to 3 of Xu, Sun and Cheng: exact laws, so tested as exact.

Each law says that a measured mean equals a predicted one. Its check contradicts when any cell's interval
(simultaneous over cells) leaves out the predicted value, and supports only when, besides, the cells pooled at
each ε fix the ratio to 1 within a tolerance: a few noisy replications, which agree with anything, do not.
"""

import numpy as np
import xarray as xr
from scipy import stats

from pipeline.claims.claim import (
    CONFIDENCE, CONTRADICTED, INCONCLUSIVE, SUPPORTED, Check, Claim, TooLittle, enough, equivalence, every, throughout,
)
