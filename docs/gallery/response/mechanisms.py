"""
Gaussian noise, Laplace noise, or flipped answers?
==================================================

A person's answers to ten items may cost ε in all. Noise on counts needs somebody who is trusted to
count; flipped answers need nobody. How large is the error of the difficulties with each?
"""

import matplotlib.pyplot as plt

import pipeline as pl

persons, epsilon = 2000, [1, 2.5, 5, 10]
common = dict(model="rasch", m=10, n=persons)
cells = {}
for mechanism, estimator in (
    ("discrete_gaussian", "spectral"),
    ("discrete_laplace", "spectral"),
    ("randomized_response", "spectral_debiased"),
):
    results = pl.simulate(
        pl.Study(
            "mechanisms",
            "response",
            seed=1,
            replications=60,
            block=20,
            metrics=("error_l2",),
            grid={"epsilon_user": epsilon},
            parameters=dict(common, mechanism=mechanism, estimator=estimator),
        )
    )
    cells[mechanism] = pl.summarise(results)
    last = cells[mechanism].sel(epsilon_user=5)
    print(
        f"{mechanism:20} at ε = 5: {last.error_l2.item():.3f} ± "
        f"{1.96 * last.error_l2_mcse.item():.3f} logits"
    )

# %%
figure, axes = plt.subplots(layout="constrained")
for mechanism, curve in cells.items():
    axes.errorbar(
        epsilon, curve.error_l2, 1.96 * curve.error_l2_mcse, fmt="o-", capsize=2, label=mechanism
    )
axes.set(
    xscale="log",
    yscale="log",
    xlabel="ε of all answers of a person",
    ylabel="error of the difficulties, logits",
)
axes.legend()
plt.show()
