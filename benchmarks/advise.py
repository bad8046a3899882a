"""Advice on tasks drawn by seed over all problems: is the target met, how far from the least value, how long it takes.

A task draws a problem, sizes, an unknown, a mechanism or none, and a metric; its target is what the metric's mean is at
a value of the unknown that is drawn too. What is advised is then judged with another seed, which the advice knows
nothing of: by 20,000 replications at the value, and by 10,000 on a grid of values below it in steps of 2 %, paired, of
which the least that meets the target is compared with what is advised. Whole numbers are in steps of 1 at least.
Beside it stands the first answer's boundary, over the one that the search found, where the atlas has one.
`python -m benchmarks advise 12` runs the first 12 of the 60 tasks, `python -m benchmarks.advise 22 26` those numbers.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.advice.answer import Answer, answer
from pipeline.advice.atlas import NotInAtlas
from pipeline.advice.first import first
from pipeline.advice.question import Question, read
from pipeline.advice.simulation import Simulator
from pipeline.study.parameters import InvalidInput

TASKS, SEED, FRESH = 60, 19, 10**6
JUDGED, GRID, PILOT = 20_000, 10_000, 400
STEP, STEPS = 1.02, 16
SIZES = {  # problem -> word or parameter -> values, or ends of a range with uniform logarithms, of whole numbers if so
    "ranking": {"items": (4, 20), "people": (30, 3000), "epsilon": (0.2, 3.0)},
    "response": {"items": (4, 12), "people": (100, 1000), "epsilon": (2.0, 60.0), "missing": (0.1, 0.7)},
    "clustering": {"items": (6, 30), "people": (1000, 30_000), "epsilon": (0.3, 3.0), "w": (2, 6),
                   "b": ["0.9, 0.1", "0.8, 0.3"]},
    "crowd": {"items": (10, 60), "people": (10, 100), "epsilon": (0.3, 3.0), "missing": (0.1, 0.7)},
}
UNKNOWNS = ("epsilon", "people", "missing")
METRICS = {"ranking": ["kendall<=", "error_l2<=", "exact_top_k>="], "response": ["kendall<=", "error_l2<="],
           "clustering": ["misclassified<=", "recovered>="], "crowd": ["label_error<=", "label_recovered>="]}
MECHANISMS = {"ranking": [None, "laplace"], "response": ["discrete_gaussian", "discrete_laplace"],
              "clustering": ["max_sense", "pairwise_preference"], "crowd": [None]}
DULL = {"kendall": (0.02, 0.4), "misclassified": (0.02, 0.35), "label_error": (0.01, 0.35), "error_l2": (0.02, 1.5),
        "exact_top_k": (0.2, 0.9), "recovered": (0.2, 0.9), "label_recovered": (0.2, 0.9)}  # targets outside are dull


def tasks(numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Tasks as requests; each with a seed of its own, its number."""
    for number in numbers:
        rng = np.random.default_rng([SEED, number])
        problem = list(SIZES)[number % len(SIZES)]
        while (request := drawn(problem, rng, number)) is None:
            pass
        yield request


def drawn(problem: str, rng: np.random.Generator, seed: int) -> dict[str, Any] | None:
    """A task; None where its target would be met by a guess, or hardly by anybody."""
    values = {name: within(rng, law) for name, law in SIZES[problem].items()}
    word = str(rng.choice([one for one in UNKNOWNS if one in values]))
    metric = METRICS[problem][rng.integers(len(METRICS[problem]))]
    mechanism = MECHANISMS[problem][rng.integers(len(MECHANISMS[problem]))]
    if word != "missing" and rng.random() < 0.5:
        values.pop("missing", None)
    low, high = DULL[metric[:-2]]
    level = values.pop(word)
    request = {"problem": problem, **values, "mechanism": mechanism, "unknown": word, "seed": seed}
    question = read({**request, "target": f"{metric}{high}"})
    level = 1 - level if question.unknown.left else level
    mean = float(np.nanmean(Simulator(replace(question, seed=FRESH)).sample([level], PILOT).values))
    request["target"] = f"{metric}{mean:.2g}"
    return request if low <= float(f"{mean:.2g}") <= high else None


def within(rng: np.random.Generator, law: Any) -> Any:
    """One of the values, or a number, whole or with two digits."""
    if isinstance(law, list):
        return law[rng.integers(len(law))]
    value = np.exp(rng.uniform(*np.log(law)))
    return round(value) if isinstance(law[0], int) else float(f"{value:.2g}")


def judged(found: Answer) -> tuple[bool, float]:
    """Whether all targets are met at the value, and the value over the least of the grid, 1 or more; by a fresh seed.

    Of shares that are missing, the shares that are given are compared.
    """
    question, level = replace(found.question, seed=FRESH + found.question.seed), found.certificate.level
    if not meets(question, level, JUDGED):
        return False, 1.0
    up = (found.better == "more") != question.unknown.left
    levels = list(grid(question, level, up))
    good, bad = 0, len(levels)
    while bad - good > 1:  # by bisection, on the same replications
        middle = (good + bad) // 2
        good, bad = (middle, bad) if meets(question, levels[middle], GRID) else (good, middle)
    ratio = level / levels[good]
    return True, ratio if up else 1 / ratio


def grid(question: Question, level: float, up: bool) -> Iterator[float]:
    """The level, and levels at which less and less is learned."""
    last = None
    for k in range(STEPS):
        one = level * (1 / STEP if up else STEP) ** k
        if question.whole:
            one = min(round(one), last - 1) if up and last else max(round(one), last + 1) if last else round(one)
        if question.unknown.low <= one <= question.unknown.high:
            yield one
            last = one


def meets(question: Question, level: float, reps: int) -> bool:
    """Whether the means of replications meet all targets, the same ones at every level."""
    return all(one.mean() <= 0 for one in Simulator(question).excess([level], reps))


def first_answer(found: Answer) -> tuple[float, bool | None]:
    """The atlas's boundary of the mechanism that is advised, over the one that was found, and whether that is in its
    band; NaN and None without one."""
    question = found.question
    try:
        early = first(replace(question, chosen=question.chosen | {"mechanism"})).record()
    except NotInAtlas:
        return np.nan, None
    inside = (early["low"] or -np.inf) <= found.boundary <= (early["high"] or np.inf)
    return early["boundary"] / found.boundary, inside


def cpu_seconds() -> float:
    """CPU time so far, of this process and of those that it started and that ended."""
    return sum(os.times()[:4])


def shown(request: Mapping[str, Any]) -> str:
    """A task in one line."""
    return " ".join(f"{key}={value}" for key, value in request.items() if key != "seed" and value is not None)


def main(count: int = TASKS) -> None:
    """Run the first tasks."""
    run(range(count))


def run(numbers: Iterable[int]) -> None:
    """Print a line for each task, and shares and times of all."""
    rows = list[tuple[bool, bool, float, float]]()
    with threadpool_limits(1):
        for request in tasks(numbers):
            start, busy = time.perf_counter(), cpu_seconds()
            try:
                found = answer(request)
            except InvalidInput as error:
                rows.append((False, False, np.nan, cpu_seconds() - busy))
                print(f"{request['seed']}: {shown(request)}: no answer, {error}", flush=True)
                continue
            seconds, cpu = time.perf_counter() - start, cpu_seconds() - busy
            met, ratio = judged(found)
            rows.append((found.certified, met, ratio, cpu))
            early, inside = first_answer(found)
            print(f"{request['seed']}: {shown(request)}: {found.value:g}, "
                  f"{'certified' if found.certified else 'NOT certified'}, {'met' if met else 'NOT met'}, "
                  f"{ratio:.3f} x the least, {cpu:.1f} s of CPU, {seconds:.1f} s; first answer "
                  + ("none" if inside is None else f"{early:.3f} x, {'in' if inside else 'NOT in'} its band"),
                  flush=True)
    certified, met, ratio, cpu = np.array(rows, float).T
    given = certified == 1
    print(f"{len(rows)} tasks, {given.sum():.0f} certified; target met in {met[given].mean():.1%} of these; at most "
          f"1.15 x the least in {(ratio[given] <= 1.15).mean():.1%}, median {np.median(ratio[given]):.2f}, greatest "
          f"{ratio[given].max():.2f}; seconds of CPU: median {np.median(cpu):.0f}, greatest {cpu.max():.0f}")


if __name__ == "__main__":
    run(map(int, sys.argv[1:]))
