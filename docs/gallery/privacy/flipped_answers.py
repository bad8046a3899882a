"""
What does randomized response do to an answer?
==============================================

An answer is flipped with probability 1/(1 + e^ε). How many released answers of perfect workers are
wrong, at each ε?
"""

import matplotlib.pyplot as plt
import numpy as np

import pipeline as pl
from pipeline.privacy.randomized_response_laws import flip_probability

results = pl.simulate(
    "wang/privacy",
    grid={"ability_low": [1.0]},
    metrics=["answers_wrong"],
    replications=200,
    block=100,
)
cells = pl.summarise(results).squeeze()
for epsilon in cells.epsilon.values:
    one = cells.sel(epsilon=epsilon)
    print(
        f"ε = {epsilon:3}: {one.answers_wrong.item():.4f} ± "
        f"{1.96 * one.answers_wrong_mcse.item():.4f} measured, {flip_probability(epsilon):.4f} by "
        "the formula"
    )

# %%
line = np.geomspace(0.1, 8, 100)
figure, axes = plt.subplots(layout="constrained")
axes.plot(line, flip_probability(line), "k:", label="1/(1 + e^ε)")
axes.errorbar(
    cells.epsilon,
    cells.answers_wrong,
    1.96 * cells.answers_wrong_mcse,
    fmt="o",
    capsize=2,
    label="measured",
)
axes.set(xscale="log", xlabel="ε of one answer", ylabel="share of wrong released answers")
axes.legend()
plt.show()
