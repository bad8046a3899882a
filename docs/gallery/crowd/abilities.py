"""
How well are the workers themselves known?
==========================================

Each of 100 workers answers m tasks. With which power of m does the largest error of an ability
fall?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.rates import fit_rate

results = pl.simulate(
    pl.Study(
        "abilities",
        "crowd",
        seed=1,
        replications=40,
        block=20,
        metrics=("ability_error_inf",),
        grid={"epsilon": [1, 2], "m": [250, 500, 1000, 2000]},
        parameters=dict(
            model="dawid_skene",
            n=100,
            ability_low=0.6,
            mechanism="randomized_response",
            estimator="dawid_skene",
            iterations=20_000,
        ),
    )
)
cells = pl.summarise(results)
rate = fit_rate(
    cells.ability_error_inf, cells.ability_error_inf_mcse, groups=("epsilon",), m=cells.m
)
print(f"the largest error is proportional to m^{rate.exponents['m']}")

# %%
figure, axes = plt.subplots(layout="constrained")
for epsilon in cells.epsilon.values:
    curve = cells.sel(epsilon=epsilon)
    axes.errorbar(
        curve.m,
        curve.ability_error_inf,
        1.96 * curve.ability_error_inf_mcse,
        fmt="o-",
        capsize=2,
        label=f"ε = {epsilon}",
    )
axes.set(xscale="log", yscale="log", xlabel="tasks m", ylabel="largest error of an ability")
axes.legend()
plt.show()
