"""Noise for the release of real data: OpenDP's vetted samplers, never
seeded, never NumPy's.

For simulation use `pipeline.privacy.integer_noise`: a thousand times
faster, but its draws can be predicted.
Sources: OpenDP, `make_gaussian` and `make_laplace`; Canonne, Kamath and
Steinke (2020), Algorithms 1–3.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from pipeline.privacy.integer_laws import positive
from pipeline.study.arrays import Array, Integers
from pipeline.study.parameters import InvalidInput

if TYPE_CHECKING:
    import opendp.mod

SLACK = 1e-12  # relative margin by which noise is wider than asked for


def release(
    counts: Array,
    *refused: object,
    variance: float | None = None,
    scale: float | None = None,
    **seeds: object,
) -> Integers:
    """Every entry of an integer array plus its own noise; int64 of the same
    shape.

    variance: σ² of the discrete Gaussian N_Z(0, σ²); or scale: of the
    discrete Laplace; exactly one of the two. Sums saturate at the limits of
    int64. The privacy budget of a call: `spent`. 10 µs an entry. Raises
    `InvalidInput` for other counts, variances and scales, for any other
    argument, such as a seed, and if OpenDP, 0.14 or later, is not installed
    (the extra `release`).
    """
    allowed = "noise for real data takes no seed and no generator; give variance= or scale="
    for value in refused:
        raise InvalidInput("seed", value, allowed)
    for name, value in seeds.items():
        raise InvalidInput(name, value, allowed)
    counts = np.asarray(counts)
    if counts.dtype.kind not in "iu" or (
        counts.size and int(counts.max()) > np.iinfo(np.int64).max
    ):
        raise InvalidInput("counts", counts.dtype, "must be whole numbers within int64")
    noisy = _measurement(variance, scale)(counts.astype(np.int64).ravel().tolist())
    return np.array(noisy, dtype=np.int64).reshape(counts.shape)


def within_budget(
    law: str, parameter: float, sensitivity: float, budget: float
) -> dict[str, float]:
    """The noise, as arguments of `release` and `spent`, a little wider than
    asked for.

    So rounding never spends more. law: variance or scale, whose value is
    `parameter`; sensitivity and budget as in `spent`. Raises
    ArithmeticError where more than the budget would be spent, and what
    `spent` raises.
    """
    width = parameter * (1 + SLACK)
    noise = {law: width}
    if not spent(sensitivity, **noise) <= budget:
        raise ArithmeticError(f"noise of {law} {width} spends more than {budget}")
    return noise


def spent(
    sensitivity: float, *, variance: float | None = None, scale: float | None = None
) -> float:
    """Budget of one `release`, by OpenDP's own map, which rounds up; nats.

    With `variance`: ρ = Δ²/(2σ²) of zero-concentrated privacy, for counts
    whose change between neighbours has a Euclidean norm of at most
    Δ = sensitivity. With `scale`: ε = Δ/scale of pure privacy, Δ in the
    norm of absolute values. Raises `InvalidInput` for a sensitivity,
    variance or scale that is not positive and finite, and without OpenDP.
    """
    value: float = _measurement(variance, scale).map(float(positive("sensitivity", sensitivity)))
    return value


def _measurement(variance: float | None, scale: float | None) -> "opendp.mod.Measurement":
    if (variance is None) == (scale is None):
        raise InvalidInput(
            "variance, scale",
            (variance, scale),
            "give exactly one: variance for discrete Gaussian noise, scale for discrete Laplace",
        )
    if scale is None:
        width = math.sqrt(positive("variance", variance))
    else:
        width = float(positive("scale", scale))
    try:  # these parts only: opendp.prelude imports scikit-learn, which takes seconds
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_gaussian, make_laplace
        from opendp.metrics import l1_distance, l2_distance
        from opendp.mod import enable_features
    except ImportError:
        raise InvalidInput(
            "opendp",
            None,
            "noise for real data needs this package: pip install opendp (or make release)",
        ) from None
    enable_features("contrib")  # OpenDP requires this for all measurements
    domain = vector_domain(atom_domain(T="i64"))
    if scale is None:
        return make_gaussian(domain, l2_distance(T="f64"), width)
    return make_laplace(domain, l1_distance(T="f64"), width)
