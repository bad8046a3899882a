"""Rate exponents: weighted log–log regression of Monte Carlo means on the parameters of the grid."""

import dataclasses
import math

import numpy as np
import xarray as xr
from scipy import optimize, stats

from pipeline.reduce.estimate import Estimate, aligned, floored


@dataclasses.dataclass(frozen=True)
class Rate:
    """A fitted power law: mean = constant · Π predictor^exponent.

    `exponents` by predictor; `constants` by level of the groups (the key is the tuple of labels, `()`
    without groups); `chi2` = Σ (residual/mcse)² on `dof` degrees of freedom and `inflation` =
    √max(1, chi2/dof), Birge's ratio (both NaN without Monte Carlo error); `scatter`, the relative misfit of a
    cell beyond its Monte Carlo error (0.03: the law holds to 3 %), which is part of the intervals; `n` cells
    used and `dropped` cells without a usable mean and error.
    """

    exponents: dict[str, Estimate]
    constants: dict[tuple, Estimate]
    chi2: float
    dof: int
    inflation: float
    scatter: float
    n: int
    dropped: int

    @property
    def constant(self) -> Estimate:
        """The constant of a fit without groups."""
        return self.constants[()]

    def __str__(self) -> str:
        fitted = ", ".join(f"{name}^{exponent}" for name, exponent in self.exponents.items())
        return f"{fitted} (n={self.n}, chi2/dof={self.chi2:.3g}/{self.dof}, scatter={self.scatter:.2g})"


def fit_rate(
    mean: xr.DataArray,
    mcse: xr.DataArray | float,
    /,
    *,
    groups: tuple[str, ...] = (),
    confidence: float = 0.95,
    **predictors: xr.DataArray,
) -> Rate:
    """Exponents of a power law through the cells of `mean`, by weighted least squares of logarithms.

    log mean = log constant + Σ_k exponent_k · log predictor_k + noise of variance (mcse/mean)² + scatter²
    (delta method); t quantiles on dof. If χ² > dof without scatter, the law does not fit within the Monte
    Carlo error, and scatter solves χ² = dof (Paule–Mandel), which widens the intervals. Multiplying the
    covariance by χ²/dof instead (Birge) covers too rarely when the errors are unequal: the most precise cells
    keep all the weight though their misfit is no smaller. With `groups`, dimensions of `mean`, each level has
    its own constant and the exponents are common.

    `mean`, `mcse` and the positive `predictors` are matched by label and repeated over missing dimensions.
    Dropped and counted: cells where something is not finite or not positive (the mcse may be 0: it is then
    raised to the smallest positive one; if all are 0 the scatter alone sets the error). Exponents that the
    cells do not determine are NaN; with no more cells than determined parameters the intervals are infinite.
    Raises ValueError for predictors that are not numbers or not over the dimensions of `mean`.
    Source: Paule, Mandel, J. Research of the National Bureau of Standards 87 (1982) 377; Birge, Physical
    Review 40 (1932) 207.
    """
    mean, mcse, *columns = aligned(mean, mcse, *predictors.values())
    y, s = mean.values.ravel(), mcse.values.ravel()
    x = np.array([column.values.ravel() for column in columns]).reshape(len(columns), y.size)
    keep = (y > 0) & np.isfinite(y) & (s >= 0) & np.isfinite(s) & np.all((x > 0) & np.isfinite(x), axis=0)
    labels = [np.broadcast_to(mean[d].values.reshape([-1 if d == e else 1 for e in mean.dims]), mean.shape)
              for d in groups]
    level = list(zip(*(label.ravel()[keep].tolist() for label in labels), strict=True)) or [()] * keep.sum()
    levels = sorted(set(level)) if groups else [()]
    y, s, x = y[keep], s[keep] / y[keep], x[:, keep]
    indicators = np.array([[key == one for key in level] for one in levels]).reshape(len(levels), y.size)
    design, y, s = np.concatenate([np.log(x), indicators]).T, np.log(y), floored(s)
    chi2 = _least_squares(design, y, s)[2] if (s > 0).any() else math.nan
    scatter = _scatter(design, y, s)
    values, variances, _, dof = _least_squares(design, y, np.sqrt(s**2 + scatter**2))
    inflation = math.sqrt(max(chi2 / dof, 1.0)) if dof else math.inf
    quantile = stats.t.ppf(0.5 + confidence / 2, max(dof, 1))
    estimates = [_estimate(v, e, quantile) for v, e in zip(values, variances, strict=True)]
    constants = [_exponential(e) for e in estimates[len(columns):]]
    return Rate(
        exponents=dict(zip(predictors, estimates[: len(columns)], strict=True)),
        constants=dict(zip(levels, constants, strict=True)),
        chi2=chi2, dof=dof, inflation=inflation, scatter=scatter,
        n=int(keep.sum()), dropped=int((~keep).sum()),
    )


def _scatter(design, y, s):
    """Additional standard deviation with which χ² is at most its degrees of freedom."""
    _, _, squares, dof = _least_squares(design, y, np.ones_like(y))
    if not dof or squares == 0:
        return 0.0
    if not (s > 0).any():
        return math.sqrt(squares / dof)

    def excess(variance):
        return _least_squares(design, y, np.sqrt(s**2 + variance))[2] - dof

    if excess(0) <= 0:
        return 0.0
    most = 2 * squares / dof  # there χ² is at most dof/2
    return math.sqrt(optimize.brentq(excess, 0, most, xtol=1e-9 * most))


def _least_squares(design, y, s):
    """Coefficients, their variances, χ² and dof; NaN and ∞ for what the design leaves open."""
    weight = 1 / np.where(s > 0, s, 1)  # all zero where a law without noise fits perfectly
    weighted = design * weight[:, None]
    scale = np.sqrt((weighted**2).sum(0))
    scale[scale == 0] = 1
    padding = np.zeros((max(0, scale.size - y.size), scale.size))  # so that vt has the null space
    u, singular, vt = np.linalg.svd(np.concatenate([weighted / scale, padding]), full_matrices=False)
    rank = int((singular > 1e-9 * max(singular.max(initial=0), 1e-300)).sum())
    solved = (u[: y.size, :rank].T @ (y * weight)) / singular[:rank]
    values = vt[:rank].T @ solved / scale
    variances = ((vt[:rank] / singular[:rank, None]) ** 2).sum(0) / scale**2
    chi2 = float((((y - design @ values) * weight) ** 2).sum())
    dof = y.size - rank
    variances = variances * (s > 0).any() if dof else np.full_like(variances, np.inf)
    open_ = (np.abs(vt[rank:]) > 1e-7).any(0)  # parameters that move along the null space
    return np.where(open_, np.nan, values), np.where(open_, np.inf, variances), chi2, dof


def _estimate(value, variance, quantile):
    error = math.sqrt(variance)
    if math.isinf(error):
        return Estimate(float(value), -math.inf, math.inf, math.inf)
    return Estimate(float(value), float(value - quantile * error), float(value + quantile * error), error)


def _exponential(log):
    """The same estimate off the logarithmic scale (standard error by the delta method)."""
    with np.errstate(over="ignore"):
        value, low, high = (float(np.exp(end)) for end in (log.value, log.low, log.high))
    return Estimate(value, low, high, value * log.standard_error)
