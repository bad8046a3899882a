"""
From how many persons on is privacy nearly free?
================================================

Discrete Gaussian noise on counts of pairs of ten items protects all answers of a person with ε = 1,
δ = 1e-4. How many persons does it take until noise no more than doubles the squared error over the
bound without privacy?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing

results = pl.simulate(
    "nguyen/price",
    grid={"m": [10], "item_noise": [10], "item_size": [10, 30, 100, 300, 1000]},
    metrics=["error_over_bound"],
    replications=100,
    block=20,
)
cells = pl.summarise(results).squeeze()
private = cells.sel(mechanism="discrete_gaussian")
persons = crossing(
    private.error_over_bound, private.error_over_bound_mcse, "item_size", 2.0, at=private.n
)
print(
    f"{persons.value.item():,.0f} persons [{persons.low.item():,.0f}, {persons.high.item():,.0f}]"
)

# %%
figure, axes = plt.subplots(layout="constrained")
for name in cells.mechanism.values:
    curve = cells.sel(mechanism=name)
    axes.errorbar(
        curve.n,
        curve.error_over_bound,
        1.96 * curve.error_over_bound_mcse,
        fmt="o-",
        capsize=2,
        label=name,
    )
axes.axhline(2, color="0.5", linestyle=":")
axes.set(
    xscale="log",
    yscale="log",
    xlabel="persons",
    ylabel="squared error over the bound without privacy",
)
axes.legend()
plt.show()
