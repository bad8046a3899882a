"""
Do questions that depend on earlier answers save users?
=======================================================

Each user has rated one item and gives one bit, without noise. Fixed questions are drawn beforehand;
adaptive ones ask the next user about the item that is still unknown. How many users does each need?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing

items, found = [20, 40, 80], {}
for mechanism, estimator in (("one_bit", "score_clustering"), ("adaptive", "seen_clustering")):
    results = pl.simulate(
        "banerjee/adaptive",
        metrics=["recovered"],
        replications=100,
        block=50,
        grid=[
            {
                "N": items,
                "margin": [0.5, 0.7, 0.85, 1, 1.2, 1.4, 2],
                "mechanism": [mechanism],
                "estimator": [estimator],
            }
        ],
    )
    cells = pl.summarise(results).squeeze()
    found[mechanism] = crossing(cells.recovered, cells.recovered_mcse, "margin", 0.5, at=cells.U)
for N in items:
    fixed, asked = (one.sel(N=N) for one in found.values())
    ratio, error = (
        fixed.value / asked.value,
        (fixed.standard_error**2 + asked.standard_error**2) ** 0.5,
    )
    print(
        f"N = {N}: fixed questions need {ratio.item():.1f} × "
        f"[{(ratio / 2.718 ** (1.96 * error)).item():.1f}, "
        f"{(ratio * 2.718 ** (1.96 * error)).item():.1f}] the users"
    )

# %%
figure, axes = plt.subplots(layout="constrained")
for mechanism, users in found.items():
    axes.errorbar(
        items,
        users.value,
        [users.value - users.low, users.high - users.value],
        fmt="o-",
        capsize=3,
        label=mechanism,
    )
axes.set(
    xscale="log", yscale="log", xlabel="items N", ylabel="users for recovery with probability ½"
)
axes.legend()
plt.show()
