"""Advice on 48 drawn questions over all problems, against exhaustive search: met, certified, how
far from the least.

A question is a row of `ROWS`: problem, mechanism or none, unknown, and what else is asked, such as
mixed budgets or classes of users; together they name every mechanism, every unknown, and both
directions. Its sizes and its metric are drawn by seed, and its target is what the metric's mean is
at a level of the unknown that is drawn, too. What is advised is judged by `exhaustive`, which
shares no code with the search: by 20,000 fresh replications at the value, and by the level where
the means of a fine grid pass the target. Where several mechanisms are compared, each is searched.

`python -m benchmarks advise 12` runs the first 12, `python -m benchmarks.advise 22 26` the
questions of these numbers.
"""

import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.exhaustive import Optimum, Task, excess, exists, optimum
from pipeline.advice.answer import Answer, answer
from pipeline.advice.question import Question, read
from pipeline.study.parameters import InvalidInput
from pipeline.study.untyped import Json

SEED, FRESH = 37, 10**6
JUDGED, PILOT = 20_000, 400
GRIDS = (400, 4000)  # replications of each level of the coarse grid, and of the fine one
TRIES = 200  # draws of a question, of which the first that is neither dull nor flat is asked
# Of a share's range, or of the logarithm, by which a mean must change between half a level and
# twice it.
STEEP = 0.12
ALIKE = 0.05  # of the logarithm, within which two mechanisms are as good as each other

SIZES: dict[
    str, dict[str, Any]
] = {  # problem -> word or parameter -> values, or ends of a range on a logarithmic axis
    "ranking": {"items": (5, 14), "people": (30, 1500), "epsilon": (0.3, 3.0)},
    "response": {
        "items": (5, 12),
        "people": (100, 800),
        "epsilon": (2.0, 40.0),
        "missing": (0.1, 0.6),
    },
    "clustering": {
        "items": (6, 20),
        "people": (600, 20_000),
        "epsilon": (0.5, 3.0),
        "questions": (2, 5),
        "w": (3, 6),
        "b": ["0.9, 0.1", "0.8, 0.3"],
    },
    "crowd": {"items": (6, 40), "people": (10, 80), "epsilon": (0.4, 3.0), "missing": (0.1, 0.6)},
}
METRICS = {
    "ranking": ["kendall<=", "error_l2<=", "exact_top_k>=", "hamming_top_k<="],
    "response": ["kendall<=", "error_l2<=", "exact_top_k>="],
    "clustering": ["misclassified<=", "recovered>="],
    "crowd": ["label_error<=", "label_recovered>="],
}
DULL = {
    "kendall": (0.03, 0.4),
    "misclassified": (0.03, 0.35),
    "label_error": (0.02, 0.35),
    "error_l2": (0.03, 1.5),
    "exact_top_k": (0.2, 0.9),
    "hamming_top_k": (0.05, 0.6),
    "recovered": (0.2, 0.9),
    "label_recovered": (0.2, 0.9),
}  # targets outside are dull
PROFILE = {"profile": "0.34:0.3, 0.66:1"}
TWO = {"alpha": "0.4, 0.6", "b": "0.9, 0.1; 0.7, 0.2"}
THREE = {"alpha": "0.1, 0.3, 0.6", "b": "0.9, 0.1; 0.2, 0.6; 0.8, 0.2"}
SINGLE = {"w": 1}
PERSON = {"person": (0.3, 3.0)}
WITHOUT_EPSILON = (
    "none",
    "one_bit",
    "adaptive",
    "average_one_bit",
    "noisy_counts",
    "noisy_scores",
    "shuffled_response",
    "noisy_votes",
    "noisy_co_occurrences",
)


@dataclass(frozen=True)
class Row:
    """A kind of question. mechanism: None where all are compared.

    Metrics, laws: in place of the problem's.
    """

    problem: str
    mechanism: str | None
    unknown: str
    more: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    laws: Mapping[str, Any] = field(default_factory=dict)


ROWS = (
    Row("ranking", "randomized_response", "epsilon", PROFILE),
    Row("response", "discrete_gaussian", "epsilon"),
    Row("clustering", "max_sense", "people", TWO),
    Row("crowd", "randomized_response", "epsilon"),
    Row("ranking", "randomized_response", "people", PROFILE),
    Row("response", None, "people"),
    Row("clustering", "pairwise_preference", "epsilon", TWO),
    Row("crowd", "randomized_response", "missing"),
    Row("ranking", None, "items", metrics=("exact_top_k>=", "hamming_top_k<=")),
    Row("response", "randomized_response", "epsilon"),
    Row("clustering", "multi_max_sense", "questions"),
    Row("crowd", "randomized_response", "items", metrics=("label_recovered>=",)),
    Row("ranking", "laplace", "epsilon"),
    Row("response", "discrete_laplace", "missing"),
    Row("clustering", "adaptive_one_bit", "epsilon", SINGLE),
    Row("crowd", "randomized_response", "people"),
    Row("ranking", "laplace", "people", {"profile": "0.2:0.1, 0.3:0.5, 0.5:1"}),
    Row("response", "discrete_gaussian", "items", metrics=("error_l2<=", "exact_top_k>=")),
    Row("clustering", None, "people", TWO),
    Row("crowd", "none", "people"),
    Row("ranking", "none", "people"),
    Row("response", "discrete_laplace", "people"),
    Row("clustering", "pairwise_preference", "people", THREE),
    Row("crowd", "randomized_response", "epsilon", {"ability_law": "beta"}),
    Row("ranking", None, "epsilon", PROFILE),
    Row("response", "none", "people"),
    Row("clustering", "max_sense", "items", metrics=("misclassified<=",)),
    Row("ranking", "laplace", "items", PROFILE, ("exact_top_k>=",)),
    Row("clustering", "multi_max_sense", "epsilon", TWO),
    Row("response", "randomized_response", "items", metrics=("kendall<=", "error_l2<=")),
    Row("clustering", "one_bit", "people", SINGLE),
    Row("ranking", "randomized_response", "items", metrics=("kendall<=", "error_l2<=")),
    Row("clustering", "adaptive", "people", SINGLE),
    Row("response", "discrete_gaussian", "missing"),
    Row("clustering", "average_one_bit", "people", SINGLE),
    Row("ranking", None, "people", PROFILE),
    Row("clustering", "none", "people", laws={"people": (12, 60), "b": ["0.7, 0.4", "0.8, 0.3"]}),
    Row("response", None, "epsilon"),
    Row("clustering", "multi_max_sense", "people"),
    Row("clustering", None, "epsilon", TWO),
    Row("ranking", "noisy_counts", "people", laws=PERSON),
    Row("ranking", "noisy_scores", "person", laws=PERSON),
    Row("ranking", "shuffled_response", "people", laws=PERSON),
    Row("response", "noisy_differences", "people"),
    Row("response", "shuffled_response", "people", laws=PERSON),
    Row("crowd", "noisy_votes", "people", laws=PERSON),
    Row("crowd", "shuffled_response", "people", laws=PERSON),
    Row("clustering", "noisy_co_occurrences", "people", laws=PERSON),
)


@dataclass(frozen=True)
class Judgement:
    """What exhaustive search says of an answer. ratio: value over the least, see `Optimum.over`.

    Its standard error.

    best: whether the mechanism is the best of those compared, None where only one was asked for.
    """

    met: bool
    ratio: float
    error: float
    best: bool | None


def drawn(number: int) -> dict[str, Any]:
    """The request of a question, by its number; with a target that is neither dull nor flat."""
    rng = np.random.default_rng([SEED, number])
    row = ROWS[number]
    for _ in range(TRIES):
        request = _draw(row, rng, number)
        if request is not None:
            return request
    raise RuntimeError(f"no question of row {number}")


def _draw(row: Row, rng: np.random.Generator, number: int) -> dict[str, Any] | None:
    """A question of a row; None where its target would be met by a guess, or hardly by anybody, or
    anywhere.
    """
    laws = {**SIZES[row.problem], **row.laws}
    values = {name: within(rng, law) for name, law in laws.items() if name not in row.more}
    metrics = row.metrics or METRICS[row.problem]
    metric = metrics[rng.integers(len(metrics))]
    level = values.pop(row.unknown)
    if row.unknown != "missing":
        values.pop("missing", None)
    if row.mechanism != "multi_max_sense":
        values.pop("questions", None)
    if row.mechanism in WITHOUT_EPSILON:
        values.pop("epsilon", None)
    if "top_k" in metric:
        values["K"] = int(rng.integers(1, 4))
    if row.problem != "clustering":
        values.pop("w", None)
    request = {"problem": row.problem, **values, **row.more, "unknown": row.unknown, "seed": number}
    if row.mechanism is not None:
        request["mechanism"] = row.mechanism
    return _with_target(request, metric, level)


def _with_target(request: dict[str, Any], metric: str, level: float) -> dict[str, Any] | None:
    """The request with the mean of a metric at a level as its target."""
    low, high = DULL[metric[:-2]]
    try:
        task = task_of(read({**request, "target": f"{metric}{high}"}))
    except InvalidInput:
        return None
    level = 1 - level if request["unknown"] == "missing" else level
    around = [round(level * factor) if task.whole else level * factor for factor in (0.5, 1, 2)]
    if request["unknown"] == "missing":
        around = [level * 0.6, level, min(1.0, level * 1.6)]
    if not all(exists(task, one) for one in around):
        return None
    means = np.nanmean(excess(task, around, PILOT, FRESH), axis=1) * task.sign + task.target
    target = float(f"{means[1]:.2g}")
    change = (
        abs(means[2] - means[0]) if metric[:-2] != "error_l2" else abs(np.log(means[2] / means[0]))
    )
    if not low <= target <= high or change < STEEP:
        return None
    return {**request, "target": f"{metric}{target}"}


def within(rng: np.random.Generator, law: list[Json] | tuple[float, float]) -> Json:
    """One of the values, or a number, whole or with two digits."""
    if isinstance(law, list):
        return law[rng.integers(len(law))]
    value = np.exp(rng.uniform(*np.log(law)))
    return round(value) if isinstance(law[0], int) else float(f"{value:.2g}")


def task_of(question: Question) -> Task:
    """What a question asks, as exhaustive search takes it."""
    (target,) = question.targets
    parameters = {
        name: value for name, value in question.values.items() if name != question.parameter
    }
    return Task(
        question.problem.name,
        parameters,
        question.parameter,
        question.whole,
        target.metric,
        target.relation,
        target.value,
    )


def judged(found: Answer, fresh: int = JUDGED, reps: tuple[int, int] = GRIDS) -> Judgement:
    """What exhaustive search, by a seed of its own, says of an answer. fresh: replications at the
    value.
    """
    task = task_of(found.question)
    level = found.certificate.level
    seed = FRESH + found.question.seed
    values = excess(task, [level], fresh, seed)
    met = float(np.nanmean(values)) <= 0
    least = optimum(task, level, seed + 1, reps)
    if least is None:
        return Judgement(met, np.nan, np.nan, None)
    return Judgement(
        met, least.over(level, task.whole), least.error, _is_best(found, least, seed, reps)
    )


def _is_best(found: Answer, least: Optimum, seed: int, reps: tuple[int, int]) -> bool | None:
    """Whether no other mechanism that was compared reaches farther, by more than `ALIKE`."""
    if len(found.mechanisms) < 2:
        return None
    for row in found.mechanisms:
        if row.mechanism == found.question.values["mechanism"] or row.boundary is None:
            continue
        task = task_of(found.question.using(row.mechanism))
        task = replace(task, parameters={**task.parameters, "estimator": row.estimator})
        near = 1 - row.boundary if found.question.unknown.left else row.boundary
        rival = optimum(task, near, seed, reps)
        if rival is not None and least.better * np.log(rival.level / least.level) < -ALIKE:
            return False
    return True


def cpu_seconds() -> float:
    """CPU time so far, of this process and of those that it started and that ended."""
    return sum(os.times()[:4])


def shown(request: Mapping[str, Any]) -> str:
    """A question in one line."""
    return " ".join(f"{key}={value}" for key, value in request.items() if key != "seed")


def main(count: int = len(ROWS)) -> None:
    """Run the first questions."""
    run(range(count))


def run(numbers: Iterable[int]) -> None:
    """Print a line for each question, and shares and times of all."""
    rows = list[tuple[bool, Judgement, float]]()
    unanswered = 0
    with threadpool_limits(1):
        for number in numbers:
            request = drawn(number)
            busy = cpu_seconds()
            start = time.perf_counter()
            try:
                found = answer(request)
            except InvalidInput as error:
                unanswered += 1
                print(f"{number}: {shown(request)}: no answer, {error}", flush=True)
                continue
            cpu, seconds = cpu_seconds() - busy, time.perf_counter() - start
            judgement = judged(found)
            rows.append((found.certified, judgement, cpu))
            _print(request, found, judgement, cpu, seconds)
    _summary(rows, unanswered)


def _print(
    request: Mapping[str, Any], found: Answer, judgement: Judgement, cpu: float, seconds: float
) -> None:
    """One question's line."""
    certified = "certified" if found.certified else "NOT certified"
    met = "met" if judgement.met else "NOT met"
    best = {None: "", True: ", best mechanism", False: ", NOT the best mechanism"}[judgement.best]
    print(
        f"{request['seed']}: {shown(request)}: {found.value:g} ({found.better}, "
        f"{found.beyond:.2f} x its boundary), {certified}, {met}, {judgement.ratio:.3f} ± "
        f"{judgement.error:.3f} x the least{best}; {cpu:.1f} s of CPU, {seconds:.1f} s",
        flush=True,
    )


def _summary(rows: list[tuple[bool, Judgement, float]], unanswered: int) -> None:
    """All questions in one line."""
    certified = np.array([row[0] for row in rows])
    met = np.array([row[1].met for row in rows])
    ratio = np.array([row[1].ratio for row in rows])
    cpu = np.array([row[2] for row in rows])
    best = [row[1].best for row in rows if row[1].best is not None]
    known = ratio[np.isfinite(ratio)]
    print(
        f"{len(rows) + unanswered} questions, {unanswered} without an answer, {certified.sum()} "
        f"certified; target met in {met[certified].mean():.1%} of these; over the least: median "
        f"{np.median(known):.3f}, greatest {known.max():.3f}; the best mechanism in {sum(best)} "
        f"of {len(best)}; seconds of CPU: median {np.median(cpu):.1f}, greatest {cpu.max():.1f}, "
        f"all {cpu.sum():.0f}"
    )


if __name__ == "__main__":
    run(map(int, sys.argv[1:]))
