"""
How many users does a clustering need?
======================================

Each user gives one private bit (MaxSense, ε = 1) about 20 rated items. How many users recover the
two clusters of all N items with probability one half?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing

results = pl.simulate(
    "banerjee/maxsense",
    metrics=["recovered"],
    replications=100,
    block=50,
    grid=[
        {
            "N": [50, 100],
            "w": [20],
            "epsilon": [1],
            "contrast": [0.8],
            "maxsense_load": [4, 6, 8, 10, 12, 16],
            "estimator": ["score_clustering", "score_clustering_adjusted"],
        }
    ],
)
cells = pl.summarise(results).squeeze()
users = crossing(cells.recovered, cells.recovered_mcse, "maxsense_load", 0.5, at=cells.U)
for name in cells.estimator.values:
    for items in cells.N.values:
        one = users.sel(N=items, estimator=name)
        print(
            f"{name:26} N = {items:3}: {one.value.item():9,.0f} users "
            f"[{one.low.item():,.0f}, {one.high.item():,.0f}]"
        )

# %%
# Adjusted scores take out how often an item was asked about, which halves the number of users.

figure, axes = plt.subplots(layout="constrained")
for name, style in zip(cells.estimator.values, ("o-", "s--"), strict=True):
    for items, colour in zip(cells.N.values, ("C0", "C1"), strict=True):
        curve = cells.sel(N=items, estimator=name)
        axes.errorbar(
            curve.U,
            curve.recovered,
            1.96 * curve.recovered_mcse,
            fmt=style,
            color=colour,
            label=f"{name}, N = {items}",
        )
axes.axhline(0.5, color="0.5", linestyle=":")
axes.set(xscale="log", xlabel="users", ylabel="probability that all items are in the right cluster")
axes.legend(fontsize="small")
plt.show()
