"""
How much is shuffling worth?
============================

If answers arrive in random order, each may be flipped less. With ε0 for a single answer, what do n
shuffled answers spend at δ = 1e-4? A theorem gives an upper bound, the exact law of the count of
ones a lower one: there is no simulation here, and the truth for any report of that budget lies
between the two curves.
"""

import matplotlib.pyplot as plt
import numpy as np

from pipeline.privacy.accounting import shuffled_epsilon
from pipeline.problems.response.theory.privacy_loss import shuffled_exact_epsilon

local, persons, delta = 1.0, [500, 1000, 3000, 10_000], 1e-4
exact = np.array([shuffled_exact_epsilon(local, n, delta) for n in persons])
proven = np.array([float(shuffled_epsilon(local, n, delta)) for n in persons])
for n, low, high in zip(persons, exact, proven, strict=True):
    print(f"{n:6,} persons: ε between {low:.3f} and {high:.3f}, in place of {local}")

# %%
figure, axes = plt.subplots(layout="constrained")
axes.fill_between(persons, exact, proven, alpha=0.2)
axes.plot(persons, proven, "s-", label="upper bound, any report")
axes.plot(persons, exact, "o-", label="exact, binary answers")
axes.axhline(local, color="0.5", linestyle=":")
axes.set(xscale="log", yscale="log", xlabel="persons", ylabel="ε of all shuffled answers")
axes.legend()
plt.show()
