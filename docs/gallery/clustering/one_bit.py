"""
How much can one private bit tell?
==================================

A user has rated one of N items and answers one question with ε. How many bits does the answer tell
about the clusters? The best of all questions is found by trying them; no private answer at all can
pass the upper bound. Both are exact.
"""

import matplotlib.pyplot as plt
import numpy as np

from pipeline.problems.clustering.theory.information import best_information, contraction

items, epsilon = np.array([2, 4, 8, 16, 32]), 1.0
best = np.array([best_information(int(N), 1, epsilon) for N in items])
bound = np.array([float(contraction(int(N), 1, epsilon)) for N in items])
for N, low, high in zip(items, best, bound, strict=True):
    print(f"N = {N:3}: between {low:.5f} bits (the best question) and {high:.5f} bits (the bound)")

# %% N labels are N bits, so a single answer tells a share of order 1/N² of what is asked: so many
# users are needed.

figure, axes = plt.subplots(layout="constrained")
axes.fill_between(items, best, bound, alpha=0.2)
axes.plot(items, bound, "s-", label="bound for any private answer")
axes.plot(items, best, "o-", label="best question with one bit")
axes.set(xscale="log", yscale="log", xlabel="items N", ylabel="information of one answer, bits")
axes.legend()
plt.show()
