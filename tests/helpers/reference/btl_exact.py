"""The regularised fit of eq. (3) of Xu, Sun and Cheng to 30 digits: Newton's method in decimals."""

from decimal import Decimal, localcontext

import numpy as np

DIGITS = 60


def fit(mean, share, items, ridge, start):
    """argmin of Σ n [log(1 + e^d) − z̄ d] + λ‖θ‖², (items,).

    mean z̄, share n: (pairs,), in the order of `numpy.triu_indices(items, 1)`. start: (items,).
    """
    with localcontext() as context:
        context.prec = DIGITS
        theta = [Decimal(float(value)) for value in start]
        pairs = [
            (i, j, Decimal(float(z)), Decimal(float(n)))
            for i, j, z, n in zip(*np.triu_indices(items, 1), mean, share, strict=True)
        ]
        for _ in range(200):
            step = _solved(*_slopes(theta, pairs, Decimal(float(ridge))))
            reach = max(step) - min(step)
            length = Decimal(1) if reach <= 1 else (1 + reach).ln() / reach  # cannot overshoot
            theta = [value + length * change for value, change in zip(theta, step, strict=True)]
            if reach < Decimal("1e-30"):
                return np.array([float(value) for value in theta])
    raise ArithmeticError("no minimum found")


def _slopes(theta, pairs, ridge):
    """Gradient and Hessian."""
    items = range(len(theta))
    gradient = [2 * ridge * value for value in theta]
    hessian = [[2 * ridge * (i == j) for j in items] for i in items]
    for i, j, mean, share in pairs:
        chance = 1 / (1 + (theta[j] - theta[i]).exp())
        slope, weight = share * (chance - mean), share * chance * (1 - chance)
        gradient[i] += slope
        gradient[j] -= slope
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            hessian[a][b] += sign * weight
    return gradient, hessian


def _solved(gradient, hessian):
    """The Newton step, by elimination."""
    rows = [[*row, -value] for row, value in zip(hessian, gradient, strict=True)]
    for k in range(len(rows)):
        pivot = max(range(k, len(rows)), key=lambda r: abs(rows[r][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for r in range(len(rows)):
            if r != k:
                factor = rows[r][k] / rows[k][k]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(rows)]
