"""
How much ε does a budget ρ cost?
================================

Gaussian noise spends ρ (zero-concentrated privacy). Which ε is that at δ = 1e-6? The exact account
of its law lies below, two general bounds above: nothing is simulated, and the truth is the lowest
curve.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

from pipeline.privacy.accounting import bun_steinke_epsilon, zcdp_epsilon
from pipeline.privacy.gaussian_account import gaussian_delta

delta, rho = 1e-6, np.geomspace(1e-3, 1, 13)
classic, tight = bun_steinke_epsilon(rho, delta), zcdp_epsilon(rho, delta)
exact = np.array(
    [brentq(lambda epsilon, r=r: gaussian_delta(epsilon, r) - delta, 1e-9, 60) for r in rho]
)
for i in (0, 6, 12):
    print(
        f"ρ = {rho[i]:.3f}: ε between {exact[i]:.3f} (exact) and {tight[i]:.3f} (best bound from "
        f"ρ); {classic[i]:.3f} by the classic bound"
    )

# %%
figure, axes = plt.subplots(layout="constrained")
for values, style, label in (
    (classic, "s-", "ρ + √(4ρ log 1/δ)"),
    (tight, "^-", "best bound from ρ"),
    (exact, "o-", "exact, Gaussian noise"),
):
    axes.plot(rho, values, style, label=label)
axes.set(xscale="log", yscale="log", xlabel="ρ", ylabel="ε at δ = 1e-6")
axes.legend()
plt.show()
