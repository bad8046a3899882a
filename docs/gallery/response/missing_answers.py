"""
What do missing answers cost?
=============================

Each answer of 2,000 persons to twenty items is there with probability p. The spectral estimator
uses pairs of answers, of which there are p² as many; yet with many answers from each person theory
has the error fall like 1/√p only. With which power of p does it fall here, where a person answers
four to twenty items?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.rates import fit_rate

results = pl.simulate(
    pl.Study(
        "missing",
        "response",
        seed=1,
        replications=60,
        block=20,
        metrics=("error_l2",),
        grid={"p": [0.2, 0.35, 0.6, 1]},
        parameters=dict(model="rasch", m=20, n=2000, mechanism="none", estimator="spectral"),
    )
)
cells = pl.summarise(results)
rate = fit_rate(cells.error_l2, cells.error_l2_mcse, p=cells.p)
print(f"the error is proportional to p^{rate.exponents['p']}")

# %%
figure, axes = plt.subplots(layout="constrained")
axes.errorbar(
    cells.p, cells.error_l2, 1.96 * cells.error_l2_mcse, fmt="o", capsize=2, label="measured"
)
for power in (-0.5, -1):
    axes.plot(cells.p, cells.error_l2.values[-1] * cells.p**power, ":", label=f"power {power}")
axes.set(
    xscale="log",
    yscale="log",
    xlabel="share p of answers that are there",
    ylabel="error of the difficulties, logits",
)
axes.legend()
plt.show()
