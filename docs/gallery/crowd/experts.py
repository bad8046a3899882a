"""
Can six experts among fifty spammers be found?
==============================================

Six of 50 workers are always right, the others guess. A majority vote cannot tell them apart; the
model may. What share of the labels is wrong with each?
"""

import matplotlib.pyplot as plt

import pipeline as pl

results = pl.simulate(
    "wang/experts",
    metrics=["label_error", "oracle_error"],
    replications=60,
    block=20,
    grid={"expert_exponent": [0.45], "n": [50], "epsilon": [1, 1.4, 1.75, 2.5, 4]},
)
cells = pl.summarise(results).squeeze()
for name in cells.estimator.values:
    one = cells.sel(estimator=name, epsilon=1.75)
    print(
        f"{name:14} at ε = 1.75: {one.label_error.item():.3f} ± "
        f"{1.96 * one.label_error_mcse.item():.3f} wrong"
    )

# %%
# The oracle knows who the experts are: what is above its curve is the price of not knowing.

figure, axes = plt.subplots(layout="constrained")
for name in cells.estimator.values:
    curve = cells.sel(estimator=name)
    axes.errorbar(
        curve.epsilon,
        curve.label_error,
        1.96 * curve.label_error_mcse,
        fmt="o-",
        capsize=2,
        label=name,
    )
axes.plot(curve.epsilon, curve.oracle_error, "k:", label="oracle")
axes.set(xscale="log", xlabel="ε of one answer", ylabel="share of wrong labels")
axes.legend()
plt.show()
