"""
Does diffprivlib's exponential mechanism keep its promise?
==========================================================

Its parameters are an ε, a sensitivity and the utilities of candidates. If somebody states half of
the sensitivity, an audit tells.
"""

import sys
from types import ModuleType

import matplotlib.pyplot as plt
import numpy as np

import pipeline as pl

sys.modules.setdefault("diffprivlib.models", ModuleType("models"))  # needs an old scikit-learn
from diffprivlib.mechanisms import Exponential  # noqa: E402


def chosen(utilities, samples, sensitivity=1.0):
    mechanism = Exponential(epsilon=1.0, sensitivity=sensitivity, utility=list(utilities))
    return np.array([mechanism.randomise() for _ in range(samples)])


def half_the_sensitivity(utilities, samples):
    return chosen(utilities, samples, sensitivity=0.5)


pair, lower = ([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]), []
for mechanism in (chosen, half_the_sensitivity):
    audited = pl.audit(mechanism, pair, epsilon=1.0, samples=20_000, repeats=0)
    lower.append(audited.epsilon_lower)
    print(f"{mechanism.__name__}: {audited.verdict}, ε between {lower[-1]:.3f} and ∞")

# %%
figure, axes = plt.subplots(layout="constrained")
axes.barh(["sensitivity 1", "sensitivity ½"], lower, height=0.5)
axes.axvline(1.0, color="k", linestyle=":", label="promised")
axes.set(xlabel="ε, certified lower bound")
axes.legend()
plt.show()
