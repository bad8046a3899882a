"""
How fast may ε shrink while users are added?
============================================

More users allow a smaller ε for each. Three rules have ε = 1 at 100 users and let it fall like
log(mL)/√(mL), like 1/√(mL), or like 1/(√(mL) log(mL)). With which of them does the error still
fall?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.rates import fit_rate

results = pl.simulate(
    "xu/scenario_2", grid={"m": [10]}, metrics=["error_l2"], replications=1000, block=1000
)
cells = pl.summarise(results).squeeze()
for rule in cells.scheme.values:
    curve = cells.sel(scheme=rule)
    rate = fit_rate(curve.error_l2, curve.error_l2_mcse, L=curve.L)
    print(f"{rule:12} the error is proportional to L^{rate.exponents['L']}")

# %% ``critical`` divides: a little more budget, and learning goes on for ever; a little less, and
# new users only make up for the privacy that all users gained.

figure, axes = plt.subplots(layout="constrained")
for rule in cells.scheme.values:
    curve = cells.sel(scheme=rule)
    axes.errorbar(
        curve.L, curve.error_l2, 1.96 * curve.error_l2_mcse, fmt="o-", capsize=2, label=rule
    )
axes.set(xscale="log", xlabel="users L", ylabel="error of the preferences, logits")
axes.legend()
plt.show()
