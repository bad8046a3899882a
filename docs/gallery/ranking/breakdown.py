"""
How small may ε be before a ranking is lost?
============================================

L users compare all pairs of 10 items, and each comparison is flipped with probability 1/(1 + e^ε).
At which ε is the root mean square error of the estimated preferences half a logit?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing

results = pl.simulate(
    "xu/phase_transition",
    grid={"m": [10], "L": [100, 400, 1600], "estimator": ["debiased"]},
    metrics=["error_l2"],
    replications=500,
    block=500,
)
cells = pl.summarise(results).squeeze()
boundary = crossing(cells.error_l2, cells.error_l2_mcse, "x", 0.5, at=cells.epsilon)
for users, one in boundary.groupby("L"):
    print(
        f"{users:5} users: ε = {one.value.item():.3f} [{one.low.item():.3f}, {one.high.item():.3f}]"
    )

# %% Sixteen times the users allow a quarter of the budget: the boundary lies at ε proportional to
# 1/√(mL).

figure, axes = plt.subplots(layout="constrained")
for users in cells.L.values:
    curve = cells.sel(L=users)
    axes.errorbar(
        curve.epsilon,
        curve.error_l2,
        1.96 * curve.error_l2_mcse,
        fmt="o-",
        capsize=2,
        label=f"{users} users",
    )
axes.axhline(0.5, color="0.5", linestyle=":")
axes.set(
    xscale="log",
    yscale="log",
    xlabel="ε of one comparison",
    ylabel="error of the preferences, logits",
)
axes.legend()
plt.show()
