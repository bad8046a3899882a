"""
Does pure-ldp's unary encoding keep its promise?
================================================

Each person sends a bit for every possible answer. The program sees what one person sends, with two
answers that differ, and how often.
"""

import matplotlib.pyplot as plt
import numpy as np
from pure_ldp.frequency_oracles.unary_encoding import UEClient

import pipeline as pl


def sent(answer, samples, epsilon=1.0):
    client = UEClient(epsilon, d=4, use_oue=True)
    return np.array([client.privatise(answer) for _ in range(samples)])


def with_twice_the_budget(answer, samples):
    return sent(answer, samples, epsilon=2.0)


pair, lower = (1, 2), []
for mechanism in (sent, with_twice_the_budget):
    audited = pl.audit(mechanism, pair, epsilon=1.0, samples=20_000, repeats=0)
    lower.append(audited.epsilon_lower)
    print(f"{mechanism.__name__}: {audited.verdict}, ε between {lower[-1]:.3f} and ∞")

# %%
figure, axes = plt.subplots(layout="constrained")
axes.barh(["ε = 1", "ε = 2"], lower, height=0.5)
axes.axvline(1.0, color="k", linestyle=":", label="promised")
axes.set(xlabel="ε, certified lower bound")
axes.legend()
plt.show()
