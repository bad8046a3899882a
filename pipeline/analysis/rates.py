"""Rate exponents: weighted log–log regression of means on the parameters of the grid."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import scipy
import xarray as xr
from scipy import special

from pipeline.analysis.estimate import Estimate, aligned, floored
from pipeline.study.arrays import Array, Floats

Labels = tuple[str | float, ...]  # of a cell along the dimensions of the groups


@dataclasses.dataclass(frozen=True)
class Rate:
    """A fitted power law: mean = constant · Π predictor^exponent.

    `exponents` by predictor; `constants` by level of the groups (the key is the tuple
    of labels, `()` without groups); `chi2` = Σ (residual/mcse)² on `dof` degrees of
    freedom and `inflation` = √max(1, chi2/dof), Birge's ratio (both NaN without Monte
    Carlo error); `scatter`, the relative misfit of a cell beyond its Monte Carlo error
    (0.03: the law holds to 3 %), which is part of the intervals; `n` cells used and
    `dropped` cells without a usable mean and error.
    """

    exponents: dict[str, Estimate]
    constants: dict[Labels, Estimate]
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
        return (
            f"{fitted} (n={self.n}, chi2/dof={self.chi2:.3g}/{self.dof}, "
            f"scatter={self.scatter:.2g})"
        )


def fit_rate(
    mean: xr.DataArray,
    mcse: xr.DataArray | float,
    /,
    *,
    groups: tuple[str, ...] = (),
    confidence: float = 0.95,
    **predictors: xr.DataArray,
) -> Rate:
    """Exponents of a power law through the cells of `mean`.

    They are fitted by weighted least squares of logarithms. log mean = log constant +
    Σ_k exponent_k · log predictor_k + noise of variance (mcse/mean)² + scatter² (delta
    method); t quantiles on dof. If χ² > dof without scatter, the law does not fit
    within the Monte Carlo error, and scatter solves χ² = dof (Paule–Mandel), which
    widens the intervals. Multiplying the covariance by χ²/dof instead (Birge) covers
    too rarely when the errors are unequal: the most precise cells keep all the weight
    though their misfit is no smaller. With `groups`, dimensions of `mean`, each level
    has its own constant and the exponents are common.

    95 % intervals of 4 to 8 cells cover in 94 % of cases or more if the errors are
    alike, or grow up to tenfold along the predictor. They cover less often, in 58 to 90
    % of cases, where a few cells have a 25th of the error of the others and the law
    misses by more than the error of these few: the others hardly show by how much.

    `mean`, `mcse` and the positive `predictors` are matched by label and repeated over
    missing dimensions. Dropped and counted: cells where something is not finite or not
    positive (the mcse may be 0: it is then raised to the smallest positive one; if all
    are 0 the scatter alone sets the error). Exponents that the cells do not determine
    are NaN; with no more cells than determined parameters the intervals are infinite.
    Raises ValueError for predictors that are not numbers or not over the dimensions of
    `mean`. Source: Paule, Mandel, J. Research of the National Bureau of Standards 87
    (1982) 377; Birge, Physical Review 40 (1932) 207.
    """
    arrays = aligned(mean, mcse, *predictors.values())
    cells = _usable_cells(*arrays, groups=groups)
    levels: list[Labels] = [()]
    if groups:
        levels = sorted(set(cells.labels))
    design = _design(cells, levels)
    y = np.log(cells.mean)
    s = floored(cells.mcse / cells.mean)
    chi2 = math.nan
    if (s > 0).any():
        chi2 = _least_squares(design, y, s).chi2
    scatter = _scatter(design, y, s)
    fit = _least_squares(design, y, np.sqrt(s**2 + scatter**2))
    inflation = math.inf
    if fit.dof:
        inflation = math.sqrt(max(chi2 / fit.dof, 1.0))
    quantile = float(special.stdtrit(max(fit.dof, 1), 0.5 + confidence / 2))
    coefficients = zip(fit.values, fit.variances, strict=True)
    estimates = [_estimate(value, variance, quantile) for value, variance in coefficients]
    exponents = estimates[: len(predictors)]
    constants = [_exponential(log) for log in estimates[len(predictors) :]]
    return Rate(
        exponents=dict(zip(predictors, exponents, strict=True)),
        constants=dict(zip(levels, constants, strict=True)),
        chi2=chi2,
        dof=fit.dof,
        inflation=inflation,
        scatter=scatter,
        n=cells.mean.size,
        dropped=cells.dropped,
    )


class _Cells(NamedTuple):
    """Cells with a usable mean and error.

    mean, mcse: (cells,). predictors: (predictors, cells). labels: of the groups.
    """

    mean: Floats
    mcse: Floats
    predictors: Floats
    labels: list[Labels]
    dropped: int


def _usable_cells(
    mean: xr.DataArray,
    mcse: xr.DataArray,
    *predictors: xr.DataArray,
    groups: tuple[str, ...],
) -> _Cells:
    """Cells with a usable mean, error and predictors, of arrays of one shape."""
    y = mean.values.ravel()
    s = mcse.values.ravel()
    x = np.array([predictor.values.ravel() for predictor in predictors])
    x = x.reshape(len(predictors), y.size)
    usable = (y > 0) & np.isfinite(y) & (s >= 0) & np.isfinite(s)
    usable &= np.all((x > 0) & np.isfinite(x), axis=0)
    labels: list[Labels] = [() for _ in range(int(usable.sum()))]
    if groups:
        columns = [_levels_of_cells(mean, group)[usable].tolist() for group in groups]
        labels = list(zip(*columns, strict=True))
    return _Cells(y[usable], s[usable], x[:, usable], labels, int((~usable).sum()))


def _levels_of_cells(mean: xr.DataArray, axis: str) -> Array:
    """(cells,) level of an axis in every cell."""
    levels = mean[axis].broadcast_like(mean)
    return levels.transpose(*mean.dims).values.ravel()


def _design(cells: _Cells, levels: list[Labels]) -> Floats:
    """(cells, parameters): logarithms of the predictors, and indicators.

    There is an indicator for each level of the groups.
    """
    indicators = np.zeros((len(levels), cells.mean.size))
    for row, level in enumerate(levels):
        indicators[row] = [labels == level for labels in cells.labels]
    return np.concatenate([np.log(cells.predictors), indicators]).T


def _scatter(design: Floats, y: Floats, s: Floats) -> float:
    """Additional standard deviation with which χ² is at most its degrees of freedom."""
    unweighted = _least_squares(design, y, np.ones_like(y))
    if not unweighted.dof or unweighted.chi2 == 0:
        return 0.0
    if not (s > 0).any():
        return math.sqrt(unweighted.chi2 / unweighted.dof)

    def excess(variance: float) -> float:
        return _least_squares(design, y, np.sqrt(s**2 + variance)).chi2 - unweighted.dof

    if excess(0) <= 0:
        return 0.0
    most = 2 * unweighted.chi2 / unweighted.dof  # there χ² is at most dof/2
    return math.sqrt(scipy.optimize.brentq(excess, 0, most, xtol=1e-9 * most))


class _Fit(NamedTuple):
    """Coefficients and their variances (parameters,), NaN and ∞ for what the design
    leaves open.

    Χ² and its dof.
    """

    values: Floats
    variances: Floats
    chi2: float
    dof: int


def _least_squares(design: Floats, y: Floats, s: Floats) -> _Fit:
    """Weighted least squares by the singular value decomposition.

    Design (cells, parameters), y and s (cells,).
    """
    weight = 1 / np.where(s > 0, s, 1)  # all zero where a law without noise fits perfectly
    weighted = design * weight[:, None]
    scale = np.sqrt((weighted**2).sum(0))
    scale[scale == 0] = 1
    # so that vt has the null space
    padding = np.zeros((max(0, scale.size - y.size), scale.size))
    padded = np.concatenate([weighted / scale, padding])
    u, singular, vt = np.linalg.svd(padded, full_matrices=False)
    rank = int((singular > 1e-9 * max(singular.max(initial=0), 1e-300)).sum())
    solved = (u[: y.size, :rank].T @ (y * weight)) / singular[:rank]
    values = vt[:rank].T @ solved / scale
    variances = ((vt[:rank] / singular[:rank, None]) ** 2).sum(0) / scale**2
    chi2 = float((((y - design @ values) * weight) ** 2).sum())
    dof = y.size - rank
    if dof:
        variances = variances * (s > 0).any()
    else:
        variances = np.full_like(variances, np.inf)
    # parameters that change along the null space
    undetermined = (np.abs(vt[rank:]) > 1e-7).any(0)
    values = np.where(undetermined, np.nan, values)
    variances = np.where(undetermined, np.inf, variances)
    return _Fit(values, variances, chi2, dof)


def _estimate(value: float, variance: float, quantile: float) -> Estimate:
    """A coefficient with its interval. quantile: of Student's t."""
    error = math.sqrt(variance)
    if math.isinf(error):
        return Estimate(float(value), -math.inf, math.inf, math.inf)
    low = float(value - quantile * error)
    high = float(value + quantile * error)
    return Estimate(float(value), low, high, error)


def _exponential(log: Estimate) -> Estimate:
    """The estimate of exp of a number from that of the number.

    The standard error is by the delta method.
    """
    with np.errstate(over="ignore"):
        value = float(np.exp(log.value))
        low = float(np.exp(log.low))
        high = float(np.exp(log.high))
    return Estimate(value, low, high, value * log.standard_error)
