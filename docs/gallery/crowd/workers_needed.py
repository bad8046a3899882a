"""
How many workers until 95 % of the labels are right?
====================================================

Workers are right with probabilities between ½ and 1, and each answer is flipped with ε. How many of
them must answer every task?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing

results = pl.simulate(
    pl.Study(
        "workers",
        "crowd",
        seed=1,
        replications=50,
        block=25,
        metrics=("label_error",),
        grid={"epsilon": [1, 2, 4], "n": [5, 10, 20, 40, 80]},
        parameters=dict(
            model="dawid_skene",
            m=200,
            mechanism="randomized_response",
            estimator="dawid_skene",
            iterations=20_000,
        ),
    )
)
cells = pl.summarise(results)
workers = crossing(cells.label_error, cells.label_error_mcse, "n", 0.05)
for epsilon, one in workers.groupby("epsilon"):
    print(
        f"ε = {epsilon}: {one.value.item():.0f} workers [{one.low.item():.0f}, "
        f"{one.high.item():.0f}]"
    )

# %%
figure, axes = plt.subplots(layout="constrained")
for epsilon in cells.epsilon.values:
    curve = cells.sel(epsilon=epsilon)
    axes.errorbar(
        curve.n,
        curve.label_error,
        1.96 * curve.label_error_mcse,
        fmt="o-",
        capsize=2,
        label=f"ε = {epsilon}",
    )
axes.axhline(0.05, color="0.5", linestyle=":")
axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="share of wrong labels")
axes.legend()
plt.show()
