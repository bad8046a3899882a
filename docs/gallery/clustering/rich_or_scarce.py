"""
Users who rate much, or little: which question should be asked?
===============================================================

Pairwise-Preference asks whether a user likes two items equally; MaxSense whether the user likes any
item of a random set. Which of them needs fewer users, if users have rated a share of the items?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing

shares, margin = [0.2, 0.4, 0.8], [0.5, 0.7, 1, 1.4, 2]
found = {}
for mechanism, estimator in (
    ("max_sense", "score_clustering"),
    ("pairwise_preference", "spectral_clustering"),
):
    results = pl.simulate(
        "banerjee/rich_scarce",
        metrics=["recovered"],
        replications=50,
        block=50,
        grid=[
            {
                "N": [50],
                "share": shares,
                "margin": margin,
                "mechanism": [mechanism],
                "estimator": [estimator],
            }
        ],
    )
    cells = pl.summarise(results).squeeze()
    found[mechanism] = crossing(cells.recovered, cells.recovered_mcse, "margin", 0.5, at=cells.U)
    for share, one in found[mechanism].groupby("share"):
        print(
            f"{mechanism:20} {share:4.0%} rated: {one.value.item():10,.0f} users "
            f"[{one.low.item():,.0f}, {one.high.item():,.0f}]"
        )

# %%
figure, axes = plt.subplots(layout="constrained")
for mechanism, users in found.items():
    axes.errorbar(
        shares,
        users.value,
        [users.value - users.low, users.high - users.value],
        fmt="o-",
        capsize=3,
        label=mechanism,
    )
axes.set(
    xscale="log",
    yscale="log",
    xlabel="share of the 50 items that a user has rated",
    ylabel="users for recovery with probability ½",
)
axes.legend()
plt.show()
