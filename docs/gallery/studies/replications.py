"""
How many replications are enough?
=================================

An error of a ranking is to be known to within a half-width of 0.005 logits. How many replications
does that take, and how well do a few hundred of them already tell?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import pipeline as pl

results = pl.simulate(
    "xu/scenario_2",
    grid={"m": [10], "L": [400], "scheme": ["critical"]},
    metrics=["error_l2"],
    replications=4000,
    block=1000,
)
values, wanted = results.error_l2.values.ravel(), 0.005
for n in (100, 400, 4000):
    spread = values[:n].std(ddof=1)
    low, high = (spread * np.sqrt((n - 1) / stats.chi2.ppf(p, n - 1)) for p in (0.975, 0.025))
    need, least, most = ((1.96 * s / wanted) ** 2 for s in (spread, low, high))
    print(f"judged by {n:5,}: {need:,.0f} replications [{least:,.0f}, {most:,.0f}]")

# %%
counts = np.arange(20, len(values) + 1, 20)
means = np.cumsum(values)[counts - 1] / counts
half = 1.96 * np.array([values[:n].std(ddof=1) for n in counts]) / np.sqrt(counts)
figure, axes = plt.subplots(layout="constrained")
axes.plot(counts, means)
axes.fill_between(counts, means - half, means + half, alpha=0.3)
axes.set(xscale="log", xlabel="replications", ylabel="mean error, logits")
plt.show()
