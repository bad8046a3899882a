"""
When is a plain vote better than a model of the workers?
========================================================

Dawid and Skene's method learns who is able and weighs answers by that. With much noise there is
little to learn. At which ε does it overtake a majority vote? Both see the same answers, so
differences are paired.
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing
from pipeline.analysis.summary import paired_difference

results = pl.simulate(
    pl.Study(
        "vote",
        "crowd",
        seed=1,
        replications=150,
        block=50,
        metrics=("label_error",),
        grid={"epsilon": [0.3, 0.4, 0.5, 0.7, 1], "estimator": ["dawid_skene", "majority_vote"]},
        parameters=dict(
            model="dawid_skene", n=50, m=500, mechanism="randomized_response", iterations=50_000
        ),
    )
)
gain = paired_difference(results, "label_error", "estimator", "majority_vote", "dawid_skene")
start = crossing(gain["mean"], gain["mcse"], "epsilon", 0.0)
print(
    f"the model overtakes the vote at ε = {start.value.item():.2f} [{start.low.item():.2f}, "
    f"{start.high.item():.2f}]"
)

# %%
figure, axes = plt.subplots(layout="constrained")
axes.errorbar(gain.epsilon, gain["mean"], 1.96 * gain["mcse"], fmt="o-", capsize=2)
axes.axhline(0, color="0.5", linestyle=":")
axes.set(xscale="log", xlabel="ε of one answer", ylabel="wrong labels, vote minus model")
plt.show()
