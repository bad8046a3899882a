"""Control variates on the scenarios of Xu, Sun and Cheng: variance per CPU-second, plain over
controlled.

Cells of xu/scenario_1 to _3 with ε ≥ 0.5, each with and without the control metrics. The controls'
cost counts, and so does that of the reduction. ∞ where the controls leave nothing but rounding.
"""

import time
from dataclasses import replace

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from pipeline.analysis.control_variates import controlled
from pipeline.analysis.summary import summarise
from pipeline.cli.compose import compose
from pipeline.storage.datasets import describe
from pipeline.study.study import Study
from pipeline.workflow.config import read_experiment

REPS, ROUNDS = 2000, 3
NOISE = ("noise_control", "noise_control_squared", "spread_control", "spread_control_fourth")
SCENARIOS = {
    "xu/scenario_1": NOISE,
    "xu/scenario_2": NOISE,
    "xu/scenario_3": ("kendall_control", "top_k_control"),
}
LEAST = 0.5  # ε


def timed(study: Study, labels: dict[str, object]) -> tuple[dict[str, np.ndarray], float]:
    """Values of one unit, and its CPU-seconds, the best of some rounds."""
    best = np.inf
    for _ in range(ROUNDS):
        start = time.process_time()
        values = study.simulate(labels, 0)
        best = min(best, time.process_time() - start)
    return values, best


def gains(name: str) -> dict[str, np.ndarray]:
    """Metric -> (cells, 2): variance, and variance times CPU-seconds, plain over controlled."""
    study = replace(
        read_experiment(compose([f"experiment={name}"])[0]).study, replications=REPS, block=REPS
    )
    helped = replace(study, metrics=(*study.metrics, *SCENARIOS[name]))
    cells = [one for one in study.grid if study.values(one)["epsilon"] >= LEAST]
    plain = np.array([timed(study, one)[1] for one in cells])
    made = [timed(helped, one) for one in cells]
    stacked = {
        name: np.stack([values[name] for values, _ in made]) for name in (*helped.metrics, "status")
    }
    results = xr.Dataset(
        {
            name: (("cell", "replication"), values, describe(helped, name))
            for name, values in stacked.items()
        }
    )
    start = time.process_time()
    found = controlled(results)
    seconds = np.array([one for _, one in made]) + (time.process_time() - start) / len(cells)
    usual, ratios = summarise(results[[*study.metrics, "status"]]), {}
    for metric in study.metrics:
        variance = (usual[f"{metric}_mcse"] / found[f"{metric}_controlled_mcse"]).values ** 2
        variance = np.where(variance < 1e12, variance, np.inf)
        ratios[metric] = np.stack([variance, variance * plain / seconds], axis=1)
    return ratios


def main() -> None:
    """Print medians and the least gain, of each scenario and metric, and of all."""
    total: list[float] = []
    with threadpool_limits(1):
        for name in SCENARIOS:
            for metric, found in gains(name).items():
                variance, per_second = found.T
                total += per_second.tolist()
                print(
                    f"{name} {metric:14s} {len(found):3d} cells: variance "
                    f"{np.median(variance):6.1f} times smaller (least {variance.min():.2f}), per "
                    f"CPU-second {np.median(per_second):6.1f} (least {per_second.min():.2f})",
                    flush=True,
                )
    print(
        f"all: per CPU-second {np.median(total):.1f} in median, least {min(total):.2f}; "
        f"{np.mean(np.array(total) >= 10):.0%} of the cells and metrics at 10 or more"
    )


if __name__ == "__main__":
    main()
