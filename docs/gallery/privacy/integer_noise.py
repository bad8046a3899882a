"""
Is the discrete Gaussian a Gaussian?
====================================

Noise on counts must be whole numbers, or the digits after the point give something away. Is its
variance the σ² that it is named for?
"""

import matplotlib.pyplot as plt
import numpy as np

from pipeline.privacy.integer_laws import gaussian_variance
from pipeline.privacy.integer_noise import discrete_gaussian

rng, draws, asked = np.random.default_rng(1), 400_000, np.array([0.1, 0.2, 0.3, 0.5, 1.0, 2.0])
measured, error = np.empty(len(asked)), np.empty(len(asked))
for i, variance in enumerate(asked):
    squares = discrete_gaussian(rng, variance, draws).astype(float) ** 2
    measured[i], error[i] = squares.mean(), 1.96 * squares.std() / np.sqrt(draws)
    print(
        f"σ² = {variance}: {measured[i]:.4f} ± {error[i]:.4f} measured, "
        f"{gaussian_variance(variance):.4f} exact"
    )

# %% From σ² = ½ on nobody can see the difference. Below, the discrete Gaussian is narrower: most of
# its draws are 0.

line = np.geomspace(0.08, 2.5, 100)
figure, axes = plt.subplots(layout="constrained")
axes.plot(line, line, color="0.6", linestyle="--", label="σ²")
axes.plot(line, [gaussian_variance(v) for v in line], "k:", label="exact")
axes.errorbar(asked, measured, error, fmt="o", capsize=2, label="measured")
axes.set(xscale="log", yscale="log", xlabel="σ²", ylabel="variance of the draws", ylim=(0.005, 4))
axes.legend()
plt.show()
