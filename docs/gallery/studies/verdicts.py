"""
Do three lemmas hold?
=====================

A claim names what is measured, what it may be, and a negative control: data changed on purpose that
it must reject. What is the verdict on the lemmas about randomized response, and do their controls
fail?
"""

import matplotlib.pyplot as plt
import numpy as np

import pipeline as pl
from pipeline.analysis.ratio import risk_ratio

results = pl.simulate("xu/lemmas", size="quick")
verdicts = pl.judge(results)
for one in verdicts:
    print(f"{one.claim.id:14} {one.check.verdict:13} control: {one.control.verdict}")

# %% Lemma 1 by hand: the lean of a released comparison, by how much it is above ½, is tanh(ε/2)
# times the true one.

ratio = risk_ratio(results, "lean_released", "lean_true", power=1).sel(m=10, L=400)
for epsilon in ratio.epsilon.values:
    one = ratio.sel(epsilon=epsilon)
    print(
        f"ε = {epsilon}: {one.ratio.item():.4f} [{one.low.item():.4f}, {one.high.item():.4f}], "
        f"the lemma says {np.tanh(epsilon / 2):.4f}"
    )

# %%
line = np.geomspace(0.1, 3)
figure, axes = plt.subplots(layout="constrained")
axes.plot(line, np.tanh(line / 2), "k:", label="tanh(ε/2)")
axes.errorbar(ratio.epsilon, ratio.ratio, 1.96 * ratio.mcse, fmt="o", capsize=2, label="measured")
axes.set(xscale="log", yscale="log", xlabel="ε of one comparison", ylabel="released over true lean")
axes.legend()
plt.show()
