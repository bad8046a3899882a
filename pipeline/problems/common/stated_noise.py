"""The integer noise of a mechanism, as audits are told of it."""

from pipeline.privacy.budgeted_noise import BudgetedNoise, GaussianNoise
from pipeline.study.audits import StatedNoise


def stated(noise: BudgetedNoise, width: float) -> StatedNoise:
    """Law and width of the noise. width: σ² of Gaussian noise, the scale of Laplace noise."""
    if isinstance(noise, GaussianNoise):
        return StatedNoise("gaussian", width)
    return StatedNoise("laplace", width)
