"""
Can the error be predicted without a simulation?
================================================

The sandwich formula gives the mean squared error of the debiased estimator to first order. From
which released sample mL/G(ε) on is it right?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.ratio import risk_ratio

results = pl.simulate(
    "xu/phase_transition",
    metrics=["error_l2", "sandwich_risk"],
    replications=500,
    block=500,
    grid={"m": [10], "L": [400], "x": [4, 8, 16, 32, 64, 128], "estimator": ["debiased"]},
)
ratio = risk_ratio(results, "error_l2", "sandwich_risk").squeeze()
for x in ratio.x.values:
    one = ratio.sel(x=x)
    print(
        f"ε = {one.epsilon.item():.3f}: measured over predicted {one.ratio.item():.3f} "
        f"[{one.low.item():.3f}, {one.high.item():.3f}]"
    )

# %%
figure, axes = plt.subplots(layout="constrained")
axes.errorbar(ratio.epsilon, ratio.ratio, 1.96 * ratio.mcse, fmt="o-", capsize=2)
axes.axhline(1, color="0.5", linestyle=":")
axes.set(
    xscale="log", xlabel="ε of one comparison", ylabel="mean squared error, measured over predicted"
)
plt.show()
