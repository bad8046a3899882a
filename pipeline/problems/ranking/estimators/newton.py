"""Regularised M-estimator of the Bradley–Terry–Luce model: safe-guarded Newton, compiled.

Xu, Sun and Cheng, eq. (3): minimise Σ_{i<j} [z̄_ij(θ_j−θ_i) +
log(1+e^{θ_i−θ_j})] + λ‖θ‖² over θ in R^m. The data enter only through the
scores s_i = Σ_{j≠i} z̄_ij. The gradient is Σ_{j≠i} σ(θ_i−θ_j) − s_i + 2λθ_i
and the Hessian (Lemma S5) is 2λI plus the Laplacian of the complete graph
with edge weights σ(θ_i−θ_j)σ(θ_j−θ_i). The minimiser sums to 0 (Lemma 3),
so all computations are in that subspace.

Why it is fast and converges: * with u = e^θ, σ(θ_i−θ_j) = u_i/(u_i+u_j): gradient and
Hessian take a division for each pair, no exponential; * that Laplacian is well
conditioned after diagonal scaling, so two or three steps of conjugate gradients
replace a factorisation (truncated Newton; Dembo, Eisenstat and Steihaug 1982); *
|ℓ'''| ≤ ℓ'' for the logistic loss (Bach 2010; Sun and Tran-Dinh 2019), so along a
step p of range r = max p − min p the objective decreases up to t = log(1+r)/r at
least, and for r ≤ 1 up to t = 1; * it is compiled, `newton.c`: replications side by
side, or, with many items, items.
"""

import numpy as np

from pipeline.kernels.loader import function
from pipeline.problems.common.pairwise_newton import USABLE, Minimum
from pipeline.study.arrays import Floats, Numbers

MANY = 160  # items from which one replication is solved at a time (measured)
_scores = function(
    __file__,
    "pair_scores",
    """
    m: size; m >= 1
    reps: size
    mean: f8[reps, m * (m - 1) // 2]
    scores: out f8[reps, m]
""",
)
_minimise = function(
    __file__,
    "minimise",
    """
    many: size
    m: size; m >= 1
    usable: size
    rows: i8[usable] below reps
    scores: f8[reps, m]
    ridge: f8[reps]
    tolerance: f8
    limit: size; limit >= 1
    theta: out f8[reps, m]
    converged: out u1[reps]
    iterations: out i8[reps]
    gradient_norm: out f8[reps]
""",
)


def scores(mean: Floats, m: int) -> Floats:
    """Scores s_i = Σ_{j≠i} z̄_ij with z̄_ji = 1 − z̄_ij, the sufficient statistic of eq. (3).

    mean (rep, pair), any reals, pairs in the order of `np.triu_indices(m,
    1)` -> (rep, item). A non-finite entry makes its replication non-finite.
    O(rep · m²).
    """
    reps = len(mean)
    rows = np.ascontiguousarray(mean, float).reshape(reps, m * (m - 1) // 2)
    sums = np.empty((reps, m))
    _scores(m, reps, rows, sums)
    return sums


def minimise(
    scores: Floats, ridge: Numbers, tolerance: float = 1e-8, iterations: int = 100
) -> Minimum:
    """Minimiser of eq. (3) for every replication, each independent of the others in the batch.

    scores (rep, item), any reals, of which only the deviations from the row
    mean, (m−1)/2, matter; ridge: λ ≥ 0, scalar or (rep,).

    Converged: gradient norm ≤ max(tolerance, 4·eps·(‖s‖ + (m/4 + 2λ)‖θ‖)),
    where the second term is the rounding of the gradient itself, which only
    matters for scores or θ above about 1e6; and θ is within about 1e-6·(1 +
    its range) of the minimiser, by the least curvature of the objective or
    by the next Newton step. The second matters where hardly a ridge holds
    θ, as of separable data at λ < 1e-4: there it goes on, and what the
    rounding of the scores hides is not converged. Never raises or warns
    about data. Not converged, too: non-finite or unusable input (NaN); λ =
    0 with scores that no θ matches to within the tolerance, separable data
    for one (stops at once); `iterations` reached. O(m²) per iteration,
    usually 3 to 10; temporary memory 4m² bytes, 32m² below `MANY` items.
    """
    scores = np.ascontiguousarray(scores, float)
    reps, m = scores.shape
    ridge = np.array(np.broadcast_to(ridge, reps), float)
    theta = np.full((reps, m), np.nan)
    norm = np.full(reps, np.nan)
    converged = np.zeros(reps, np.uint8)
    steps = np.zeros(reps, np.int64)
    regular = (ridge == 0) | ((ridge > 1 / USABLE) & (ridge < USABLE))
    usable = np.flatnonzero(regular & (np.abs(scores) < USABLE).all(1))
    _minimise(
        MANY,
        m,
        usable.size,
        usable,
        scores,
        ridge,
        tolerance,
        iterations,
        theta,
        converged,
        steps,
        norm,
    )
    return Minimum(theta, converged.view(bool), steps, norm)
