"""
How many users until the best items are found?
==============================================

Ten items lie a tenth of a logit apart. How many users does it take to find the five best ones with
probability one half, at each ε?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing

results = pl.simulate(
    "xu/recovery",
    grid={"m": [10], "spacing": [0.1], "signal": [0.5, 1, 2, 4, 8, 16, 32]},
    metrics=["exact_top_k"],
    replications=500,
    block=500,
)
cells = pl.summarise(results).squeeze()
users = crossing(cells.exact_top_k, cells.exact_top_k_mcse, "signal", 0.5, at=cells.L)
for epsilon, one in users.groupby("epsilon"):
    print(
        f"ε = {epsilon:4}: {one.value.item():7,.0f} users [{one.low.item():,.0f}, "
        f"{one.high.item():,.0f}]"
    )

# %%
figure, axes = plt.subplots(layout="constrained")
for epsilon in cells.epsilon.values:
    curve = cells.sel(epsilon=epsilon)
    axes.errorbar(
        curve.L,
        curve.exact_top_k,
        1.96 * curve.exact_top_k_mcse,
        fmt="o-",
        capsize=2,
        label=f"ε = {epsilon}",
    )
axes.axhline(0.5, color="0.5", linestyle=":")
axes.set(xscale="log", xlabel="users", ylabel="probability that the top five are found")
axes.legend()
plt.show()
