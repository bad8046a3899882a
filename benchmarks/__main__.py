"""`python -m benchmarks [name ...]`: run the named benchmarks, or every one that is present.

A number after `advise`, or a benchmark of audits, is how much of it is run: `advise 12`.
"""

import importlib
import importlib.util
import itertools
import sys

from benchmarks import rows

NAMES = {
    "bars": "kernels against their bars: yardsticks, fits, samplers; paired runs",
    "suite": (
        "the paper's five scenarios on two workers, against joblib with L-BFGS-B or NumPy Newton"
    ),
    "startup": "seconds from the command to its first unit, and to nothing to do",
    "suites": "whole suites on two workers, report included; takes half an hour",
    "cost": "seconds against size, with orders in theory; draws the figure of the documentation",
    "estimator": "regularised BTL fits: batched Newton, NumPy Newton, L-BFGS-B",
    "sweep": "a whole sweep on two workers, against joblib; its overhead",
    "noise": "noise on the integers: seeded samplers, OpenDP's, the published ones",
    "rasch": "spectral fits of the Rasch model: batched, as published, NumPy's solver",
    "blocks": "samplers of the block model: against the generator alone, and a dense transcription",
    "coverage": "coverage of 95 % intervals in 60 drawn cells, and what standard errors cost",
    "quantiles": "quantiles of 10⁸ values, merged block by block in bounded memory",
    "crowd": "Dawid–Skene on crowds: batched, NumPy loops, crowd-kit",
    "arithmetic": (
        "one arithmetic for all machines: what two types of processor refuse, and its cost"
    ),
    "code": (
        "the check that a number knows its code: fingerprints, and reference units of many workers"
    ),
    "rare": (
        "errors of 1e-9 to 10 % by tilted laws: against exact tails, and plain replications at 1e-5"
    ),
    "control_variates": (
        "variance per CPU-second with control variates, on the scenarios of Xu, Sun and Cheng"
    ),
    "precision": (
        "stopping at a half-width: coverage of the final interval, replications against an oracle's"
    ),
    "until": (
        "stopping when claims are decided: errors over all looks, replications against fixed "
        "numbers"
    ),
    "boundaries": (
        "boundaries found in rounds against the uniform grid, on four surfaces with known truth"
    ),
    "scheduler": "efficiency on 480 and 1,000 simulated workers, also where one is 20 times slower",
    "driver": "CPU time of the driver for a bundle, with up to 480 real workers",
    "advise": (
        "advice on 40 drawn questions against exhaustive search: targets met, distance from the "
        "least, seconds"
    ),
    "persons": (
        "advice to persons on 60 drawn questions, by trust: certified, met, against a fine grid of "
        "questions and budgets"
    ),
    "accounts": (
        "accounts and attacks against dp-accounting and riskcal, on 1,000 drawn cases of each kind"
    ),
    "designs": "drawing answers where people are asked some questions, over where they are asked all",
    "planted_faults": "audits of 78 faults in nine right mechanisms: how many are found",
    "false_alarms": "1,000 audits of right mechanisms at 99.9 %: false alarms",
    "bad_inputs": "200 drawn mistakes of a newcomer: is each answered by one helpful line?",
    "falsification": (
        "1,000 checks each of archives with .1, 1, 5 and 10 % of false units: how many are refused"
    ),
    "histograms": "certified bounds of audits beside a tester by histograms, at equal samples",
    "auditorium": "the same beside testers of dp_auditorium, which must be on PYTHONPATH",
    "slices": "memory of units of 500 items and 2,000 replications, for every problem",
    "memory": "peak memory of the driver against the number of units planned",
}
# Those that may be followed by how much of them is run.
COUNTED = (
    "accounts",
    "advise",
    "persons",
    "planted_faults",
    "false_alarms",
    "bad_inputs",
    "falsification",
    "histograms",
)


def main(arguments: list[str]) -> int:
    """Run `main()` of each named module; an unknown name prints the known ones and returns 2."""
    present = {
        name: text for name, text in NAMES.items() if importlib.util.find_spec(f"benchmarks.{name}")
    }
    counts = {
        name: int(text)
        for name, text in itertools.pairwise(arguments)
        if name in COUNTED and text.isdecimal() and int(text)
    }
    arguments = [
        one
        for before, one in itertools.pairwise(["", *arguments])
        if before not in counts or not one.isdecimal()
    ]
    if unknown := [name for name in arguments if name not in present]:
        print(
            f"unknown: {', '.join(unknown)}; usage: python -m benchmarks [name ...], from",
            file=sys.stderr,
        )
        print(
            *(f"  {name:10s} {text}" for name, text in present.items()), sep="\n", file=sys.stderr
        )
        return 2
    for name in arguments or present:
        print(f"== {name}: {present[name]}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main(
            *([counts[name]] if name in counts else [])
        )
    if rows.ROWS:
        print("== the table of bars", rows.HEAD, *rows.ROWS, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
