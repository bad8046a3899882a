"""
Do all sizes follow one curve?
==============================

The theory has the error depend on m items, L users and a small budget ε through ε√(mL) only. Which
exponent α lets the curves of all sizes fall on one another as functions of ε(mL)^α?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.collapse import collapse_exponent

results = pl.simulate(
    "xu/phase_transition",
    metrics=["error_l2"],
    replications=500,
    block=500,
    grid={"m": [10, 20], "L": [100, 400, 1600], "x": [2, 4, 8, 11, 16], "estimator": ["debiased"]},
)
cells = pl.summarise(results).squeeze()
size = cells.m * cells.L
alpha = collapse_exponent(
    cells.error_l2, cells.error_l2_mcse, cells.epsilon, size, ("m", "L"), bounds=(0.2, 0.8)
)
print(f"α = {alpha}")

# %%
figure, both = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for axes, power, label in zip(both, (0, 0.5), ("ε", "ε√(mL)"), strict=True):
    for m in cells.m.values:
        for users in cells.L.values:
            curve = cells.sel(m=m, L=users)
            axes.errorbar(
                curve.epsilon * (m * users) ** power,
                curve.error_l2,
                1.96 * curve.error_l2_mcse,
                fmt=".-",
                label=f"m = {m}, L = {users}",
            )
    axes.set(xscale="log", xlabel=label)
both[0].set_ylabel("error of the preferences, logits")
both[0].legend(fontsize="small")
plt.show()
