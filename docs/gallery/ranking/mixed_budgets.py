"""
Users choose their own ε: which estimator should be used?
=========================================================

Ninety per cent of the users have one budget and ten per cent have eight times it. How far from the
Cramér–Rao bound is each estimator?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.ratio import risk_ratio

profiles = ["1:1", "0.5:1,0.5:4", "0.9:1,0.1:8"]
results = pl.simulate(
    "xu/personalised",
    grid={"L": [6400], "matched": ["G"], "profile": profiles},
    metrics=["error_l2", "cramer_rao_risk"],
    replications=400,
    block=400,
)
ratio = risk_ratio(results, "error_l2", "cramer_rao_risk").squeeze()
for name in ratio.estimator.values:
    one = ratio.sel(estimator=name, profile=profiles[-1])
    print(
        f"{name:11} squared error over the bound: {one.ratio.item():.2f} "
        f"[{one.low.item():.2f}, {one.high.item():.2f}]"
    )

# %% A plain mean over all users is governed by the smallest budgets. Weights tanh²(ε/2), or the
# likelihood, let the others count for what they know. A profile reads share:multiple of the budget.

figure, axes = plt.subplots(layout="constrained")
for name in ratio.estimator.values:
    curve = ratio.sel(estimator=name)
    axes.errorbar(profiles, curve.ratio, 1.96 * curve.mcse, fmt="o-", capsize=2, label=name)
axes.axhline(1, color="0.5", linestyle=":")
axes.set(
    xlabel="shares of users and multiples of their budget",
    ylabel="squared error over the Cramér–Rao bound",
    yscale="log",
)
axes.legend()
plt.show()
