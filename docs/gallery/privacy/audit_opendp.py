"""
Does OpenDP's geometric noise keep its promise?
===============================================

A wrapper gives an audit what it needs: any callable of a data set and a number of samples. OpenDP
draws from the operating system, so that nothing can be replayed, and samples decide.
"""

import matplotlib.pyplot as plt
import numpy as np
import opendp.prelude as dp

import pipeline as pl

dp.enable_features("contrib")
space = dp.atom_domain(T=int), dp.absolute_distance(T=int)


def released(bits, samples, scale=1.0):
    count = dp.m.make_geometric(*space, scale=scale)
    return np.array([count(int(np.sum(bits))) for _ in range(samples)])


def half_the_noise(bits, samples):
    return released(bits, samples, scale=0.5)


pair, lower = ([0, 1, 1], [0, 1, 0]), []
for mechanism in (released, half_the_noise):
    audited = pl.audit(mechanism, pair, epsilon=1.0, samples=20_000, repeats=0)
    lower.append(audited.epsilon_lower)
    print(f"{mechanism.__name__}: {audited.verdict}, ε between {lower[-1]:.3f} and ∞")

# %%
figure, axes = plt.subplots(layout="constrained")
axes.barh(["released", "half the noise"], lower, height=0.5)
axes.axvline(1.0, color="k", linestyle=":", label="promised")
axes.set(xlabel="ε, certified lower bound")
axes.legend()
plt.show()
