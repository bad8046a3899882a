"""
How many persons does it take to find the hardest items?
========================================================

Ten items lie a tenth of a logit apart, without privacy. How many persons find the five hardest with
probability one half, if all answers are there, and if half of them are?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing

results = pl.simulate(
    "nguyen/top_k",
    grid={"m": [10], "spacing": [0.1], "recovery": [0.5, 1, 2, 4, 8]},
    metrics=["exact_top_k"],
    replications=200,
    block=50,
)
cells = pl.summarise(results).squeeze()
persons = crossing(cells.exact_top_k, cells.exact_top_k_mcse, "recovery", 0.5, at=cells.n)
for share, one in persons.groupby("p"):
    print(
        f"{share:4.0%} of the answers: {one.value.item():,.0f} persons "
        f"[{one.low.item():,.0f}, {one.high.item():,.0f}]"
    )

# %%
figure, axes = plt.subplots(layout="constrained")
for share in cells.p.values:
    curve = cells.sel(p=share)
    axes.errorbar(
        curve.n,
        curve.exact_top_k,
        1.96 * curve.exact_top_k_mcse,
        fmt="o-",
        capsize=2,
        label=f"{share:.0%} of the answers",
    )
axes.axhline(0.5, color="0.5", linestyle=":")
axes.set(xscale="log", xlabel="persons", ylabel="probability that the five hardest are found")
axes.legend()
plt.show()
