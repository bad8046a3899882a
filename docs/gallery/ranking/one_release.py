"""
How sure is the winner of one private survey?
=============================================

A survey was released once: counts of flipped comparisons among four items, 500 users, ε = 1. By how
much does the first item lead the second, and how certain is that?
"""

import matplotlib.pyplot as plt
import numpy as np

import pipeline as pl
from pipeline.problems.ranking.theory.risk import sandwich_covariance

released = [
    287,
    301,
    322,
    268,
    289,
    262,
]  # how often the first of (0,1), (0,2), (0,3), (1,2), (1,3), (2,3) won
release = pl.ranking.FlippedWins(wins=released, users=500, epsilon=1.0, items=4)
theta = pl.ranking.Debiased(m=4).fit(release).theta
covariance = sandwich_covariance(theta[None], 1.0, 500)[0]
first, second = np.argsort(-theta)[:2]
lead = theta[first] - theta[second]
error = np.sqrt(
    covariance[first, first] + covariance[second, second] - 2 * covariance[first, second]
)
print(f"item {first} leads item {second} by {lead:.2f} ± {1.96 * error:.2f} logits")

# %%
# The same formula at ε = ∞ shows which part of the error bars is due to privacy.

plain = sandwich_covariance(theta[None], np.inf, 500)[0]
figure, axes = plt.subplots(layout="constrained")
axes.errorbar(
    range(4), theta, 1.96 * np.sqrt(np.diagonal(covariance)), fmt="o", capsize=4, label="ε = 1"
)
axes.errorbar(
    range(4),
    theta,
    1.96 * np.sqrt(np.diagonal(plain)),
    fmt="none",
    capsize=8,
    label="without privacy",
)
axes.set(xlabel="item", ylabel="preference, logits", xticks=range(4))
axes.legend()
plt.show()
