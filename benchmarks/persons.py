"""Advice to persons on 60 drawn questions, against a fine grid of questions and budgets.

Question number k is of the k-th kind, a problem, whom one trusts and an unknown, over and over;
its sizes, its metric and its target are drawn by seed. A target is what a drawn level of the
unknown reaches in the mean; of numbers of questions, which are few, what lies halfway from the
number before it, as nobody can show that a number meets what it just reaches. What is advised is
judged by studies, as in `benchmarks.advise`: by 20,000 fresh replications at the value, and by the
least value at which any mechanism of that trust, asking any number of questions, meets the target.

`python -m benchmarks persons` runs what is left of the 60, `python -m benchmarks persons 12` what
is left of the first 12, and `python -m benchmarks.persons 22 26` the questions of these numbers. A
line for each is added to `outputs/benchmarks/persons.jsonl`, so that what was stopped goes on
there.
"""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.advise import DULL, FRESH, JUDGED, METRICS, PILOT, cpu_seconds, task_of, within
from benchmarks.exhaustive import Optimum, Task, excess, exists, line
from pipeline.advice.question import Question, read
from pipeline.advice.ways import Certified, Way, certified_ways, most_questions, plans_of, with_plan
from pipeline.study.advice import Plan
from pipeline.study.arrays import Floats
from pipeline.study.guarantee import CURATOR, NOBODY, SHUFFLER
from pipeline.study.parameters import InvalidInput

SEED = 45
COUNT = 60
SAVED = Path("outputs") / "benchmarks" / "persons.jsonl"
TRIES = 200  # draws of a question, of which the first that is neither dull nor flat is asked
STEEP = 0.3  # by which the logarithm of an odds, or of an error, changes from half a level to it
SCREENED = 400  # replications that rule out what is surely worse
JUDGED_LEAST = 1000  # replications of each level of the fine grid
BAR = 1.15  # times the least
LEVELS = np.exp(np.arange(-3, 2) * 0.1)  # of the fine grid, in times the value
NARROW = np.exp(np.arange(-2, 3) * 0.04)  # the same around the least, at the second look
PRECISE = 0.015  # relative error of the least, as far as LONGEST replications of a level allow
LONGEST = 10_000
ENOUGH = 6  # numbers of questions in turn that surely miss, after which no more are tried
EVERY = 12  # numbers of questions up to which each is in the grid
STEP = 1.25  # of larger ones

SIZES: Mapping[str, Mapping[str, Any]] = {
    "ranking": {"items": (4, 8), "people": (40, 400), "person": (0.7, 5.0)},
    "response": {"items": (4, 8), "people": (150, 800), "person": (1.0, 8.0)},
    "clustering": {
        "items": (6, 10),
        "people": (60, 1500),
        "person": (0.7, 4.0),
        "w": (3, 5),
        "b": ["0.9, 0.1", "0.9, 0.2"],
    },
    "crowd": {"items": (5, 12), "people": (20, 150), "person": (0.7, 5.0)},
}
UNKNOWNS = ("people", "person", "questions")
WITHOUT = (("clustering", SHUFFLER, "people"), ("clustering", SHUFFLER, "person"))
NO_QUESTIONS = (("clustering", SHUFFLER, "questions"), ("clustering", CURATOR, "questions"))


@dataclass(frozen=True)
class Kind:
    """What is asked of whom: a problem, whom one trusts, and an unknown."""

    problem: str
    trust: str
    unknown: str


@dataclass(frozen=True)
class Judged:
    """One question and what studies say of its answer.

    value: as advised; None where there is no answer, and `why` says so. ratio: value over the
    least of the grid; error: its standard error, relative. spare: of questions, by how many the
    value exceeds the least.
    """

    number: int
    question: str
    value: float | None
    mechanism: str
    questions: int | None
    certified: bool
    met: bool
    ratio: float
    error: float
    spare: int
    cpu: float
    why: str = ""

    @property
    def near(self) -> bool:
        """Whether the value is near enough to the least; one question more is."""
        return self.ratio <= BAR or self.spare in (-1, 1)


def kinds() -> list[Kind]:
    """All kinds that there are: a clustering has no shuffler, and its curator asks nothing."""
    missing = {*WITHOUT, *NO_QUESTIONS}
    found = []
    for unknown in UNKNOWNS:
        for trust in (NOBODY, SHUFFLER, CURATOR):
            found.extend(
                Kind(problem, trust, unknown)
                for problem in SIZES
                if (problem, trust, unknown) not in missing
            )
    return found


def drawn(number: int) -> dict[str, Any]:
    """The request of a question, by its number; with a target that is neither dull nor flat."""
    rng = np.random.default_rng([SEED, number])
    every = kinds()
    kind = every[number % len(every)]
    for _ in range(TRIES):
        request = _draw(kind, rng, number)
        if request is not None:
            return request
    raise RuntimeError(f"no question of {kind}")


def _draw(kind: Kind, rng: np.random.Generator, number: int) -> dict[str, Any] | None:
    """A question of a kind; None where its target would be dull, or flat."""
    values = {name: within(rng, law) for name, law in SIZES[kind.problem].items()}
    metrics = METRICS[kind.problem]
    metric = metrics[rng.integers(len(metrics))]
    if "top_k" in metric:
        values["K"] = int(rng.integers(1, 3))
    level = values.pop(kind.unknown, None)
    request = {"problem": kind.problem, **values, "unknown": kind.unknown, "trust": kind.trust}
    request["seed"] = number
    low, high = DULL[metric[:-2]]
    question = read({**request, "target": f"{metric}{high}"})
    plans = plans_of(question)
    plan = plans[rng.integers(len(plans))]
    questions = None
    if kind.unknown == "questions":
        ((planned, _),) = _grid_of(question, [plan])
        limits = planned.limits
        level = within(rng, (int(limits.low), int(limits.high)))
    else:
        budget = values.get("person", level)
        questions = _usual(question, plan, budget)
    try:
        task = task_of(with_plan(question, plan, questions))
    except InvalidInput:
        return None
    target = _target(task, level, number)
    if target is None or not low <= target <= high:
        return None
    return {**request, "target": f"{metric}{target}"}


def _usual(question: Question, plan: Plan, budget: float) -> int | None:
    """A usual number of questions: some of a budget of 2.2 nats each, or all."""
    most = most_questions(question, plan)
    if most is None or plan.trust != NOBODY:
        return most
    fewest = 1
    if question.problem.name == "response" and "estimator" not in plan.parameters:
        fewest = 2  # of which a pair is made
    return min(most, max(fewest, round(budget / 2.2)))


def _target(task: Task, level: float, seed: int) -> float | None:
    """The mean at a level, or halfway to it, with two digits; None where it hardly changes from
    half of it, or from the number of questions before it.
    """
    before = level / 2
    counts_questions = task.parameter in ("questions", "Q")
    if task.whole:
        before = max(1, round(level) - 1) if counts_questions else level // 2
    if before == level or not exists(task, before) or not exists(task, level):
        return None
    values = excess(task, [before, level], PILOT, FRESH + seed)
    means = np.nanmean(values, axis=1) * task.sign + task.target
    if not (means > 0).all():
        return None
    change = abs(math.log(means[1] / means[0]))
    if task.metric != "error_l2":
        if not (means < 1).all():
            return None
        change = abs(math.log(means[1] / (1 - means[1]) / means[0] * (1 - means[0])))
    if change < STEEP:
        return None
    mean = means[1]
    if counts_questions:
        mean = _halfway(means, task.metric != "error_l2")
    return float(f"{mean:.2g}")


def _halfway(means: Floats, is_share: bool) -> float:
    """The middle of two means, of the logarithms of errors, or of the odds of shares."""
    if not is_share:
        return math.sqrt(means[0] * means[1])
    odds = means / (1 - means)
    middle = math.sqrt(odds[0] * odds[1])
    return middle / (1 + middle)


def _grid_of(question: Question, plans: Iterable[Any]) -> Iterator[tuple[Question, int | None]]:
    """The question in every way to keep the promise: each mechanism, each number of questions."""
    name = question.advice.parameter_of("questions")
    for plan in plans:
        if question.parameter == name:
            numbers: Sequence[int | None] = [None]
        else:
            numbers = numbers_up_to(most_questions(question, plan))
        for number in numbers:
            try:
                yield with_plan(question, plan, number), number
            except InvalidInput:  # such as one item, of which no pair is made
                continue


def numbers_up_to(most: int | None) -> list[int | None]:
    """Numbers of questions of the grid: each of the first ones, then in steps of a factor.

    >>> numbers_up_to(20)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 19, 20]
    """
    if most is None:
        return [None]
    numbers: list[int | None] = [*range(1, min(most, EVERY) + 1)]
    larger = EVERY * STEP
    while larger < most:
        numbers.append(round(larger))
        larger *= STEP
    if most > EVERY:
        numbers.append(most)
    return numbers


def least_of_grid(question: Question, value: float, seed: int) -> tuple[float, float]:
    """The least level at which any way of the grid meets the target, and its relative error.

    Ways that surely miss the target at the value need more, and are left out. The way that
    needs least is looked at again, on replications of its own: the least of many estimates
    would be too small.
    """
    best: tuple[Optimum, Task] | None = None
    for plan in plans_of(question):
        missing = 0
        for planned, _ in _grid_of(question, [plan]):
            task = task_of(planned)
            if missing == ENOUGH or not exists(task, value):
                continue
            if _surely_misses(task, value, seed):
                missing += 1 if plan.trust == NOBODY else 0  # whose error rises with their number
                continue
            missing = 0
            found = line(task, _levels(task, value), JUDGED_LEAST, seed + 1)
            if found.better > 0 and (best is None or found.level < best[0].level):
                best = found, task
    if best is None:
        return math.inf, 0.0
    found, task = best
    wanted = JUDGED_LEAST * (found.error / PRECISE) ** 2
    reps = round(min(max(wanted, JUDGED_LEAST), LONGEST))
    again = line(task, _levels(task, found.level, NARROW), reps, seed + 2)
    least = again.level
    if question.whole:
        least = math.ceil(least)
    return least, again.error


def _surely_misses(task: Task, value: float, seed: int) -> bool:
    """Whether a few replications show that the target is missed at a value."""
    screened = excess(task, [value], SCREENED, seed)[0]
    return bool(np.nanmean(screened) > 3 * np.nanstd(screened) / math.sqrt(SCREENED))


def _levels(task: Task, value: float, factors: Floats = LEVELS) -> list[float]:
    """Levels of the fine grid around a value, at which the parts can be made."""
    levels = [value * factor for factor in factors]
    if task.whole:
        levels = sorted({max(1, round(level)) for level in levels})
    return [level for level in levels if exists(task, level)]


def nearest_questions(question: Question, value: float, better: int, seed: int) -> float:
    """The least number of questions at which any mechanism meets the target, or the greatest."""
    best = value
    for plan in plans_of(question):
        for planned, _ in _grid_of(question, [plan]):
            meeting = _meeting(planned, plan, int(value), seed)
            best = min([best, *meeting]) if better > 0 else max([best, *meeting])
    return float(best)


def _meeting(planned: Question, plan: Plan, value: int, seed: int) -> list[int]:
    """Numbers of questions at which a mechanism meets the target, on replications of their own."""
    limits = planned.limits
    numbers = {n for n in numbers_up_to(int(limits.high)) if n is not None}
    meeting = list[int]()
    missing = 0
    for number in sorted({*numbers, value}):
        if number < limits.low or missing == ENOUGH:
            continue
        values = excess(task_of(planned), [number], JUDGED_LEAST * 2, seed)
        mean = np.nanmean(values)
        error = np.nanstd(values) / math.sqrt(values.shape[1])
        is_sure = abs(mean) > 3 * error
        if not is_sure:
            mean = np.nanmean(excess(task_of(planned), [number], JUDGED, seed + 1))
        if mean <= 0:
            meeting.append(number)
        surely_misses = is_sure and mean > 0
        missing = missing + 1 if surely_misses and plan.trust == NOBODY else 0
    return meeting


def judged(number: int, request: Mapping[str, Any]) -> Judged:
    """Ask a question, and judge its answer by studies on replications of their own."""
    question = read(request)
    busy = cpu_seconds()
    (row,) = certified_ways(question)
    cpu = round(cpu_seconds() - busy, 2)
    text = shown(request)
    if isinstance(row, Way):
        return Judged(
            number, text, None, row.mechanism, None, False, False, math.nan, 0.0, 0, cpu, row.why
        )
    assert isinstance(row, Certified) and row.way.reached is not None
    seed = FRESH + number
    values = excess(task_of(row.question), [row.level], JUDGED, seed)
    met = bool(np.nanmean(values) <= 0)
    spare = 0
    error = 0.0
    if question.parameter == question.advice.parameter_of("questions"):
        better = row.way.reached.axis.better
        least = nearest_questions(question, row.level, better, seed + 1)
        ratio = max(row.level / least, least / row.level)
        spare = round(row.level - least)
    else:
        least, error = least_of_grid(question, row.level, seed + 1)
        ratio = row.level / least
    mechanism = row.way.mechanism
    asked = row.way.questions
    return Judged(
        number,
        text,
        row.value,
        mechanism,
        asked,
        row.certificate.targets_shown,
        met,
        ratio,
        error,
        spare,
        cpu,
    )


def shown(request: Mapping[str, Any]) -> str:
    """A question in one line."""
    return " ".join(f"{key}={value}" for key, value in request.items() if key != "seed")


def saved(path: Path = SAVED) -> dict[int, Judged]:
    """What was judged before, by number."""
    if not path.is_file():
        return {}
    rows = [Judged(**json.loads(text)) for text in path.read_text("utf-8").splitlines()]
    return {row.number: row for row in rows}


def run(numbers: Iterable[int], path: Path = SAVED) -> None:
    """Judge what is not judged yet, print a line for each question, and shares of all."""
    wanted = [*numbers]
    before = saved(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):
        for number in wanted:
            if number not in before:
                before[number] = judged(number, drawn(number))
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(asdict(before[number]))}\n")
            print(_line(before[number]), flush=True)
    print(_summary([before[number] for number in wanted]))


def _line(row: Judged) -> str:
    """One question's line."""
    if row.value is None:
        return f"{row.number}: {row.question}: no answer, {row.mechanism} {row.why}"
    certified = "certified" if row.certified else "NOT certified"
    met = "met" if row.met else "NOT met"
    asked = "" if row.questions is None else f", {row.questions} questions each"
    return (
        f"{row.number}: {row.question}: {row.value:g} ({row.mechanism}{asked}), {certified}, {met},"
        f" {row.ratio:.3f} ± {row.error:.3f} x the least; {row.cpu:.1f} s of CPU"
    )


def _summary(rows: Sequence[Judged]) -> str:
    """All questions in one line."""
    answered = [row for row in rows if row.value is not None]
    if not answered:
        return f"{len(rows)} questions, none answered"
    ratios = np.array([row.ratio for row in answered])
    cpu = np.array([row.cpu for row in answered])
    certified = sum(row.certified for row in answered)
    met = sum(row.met for row in answered)
    near = sum(row.near for row in answered)
    return (
        f"{len(rows)} questions, {len(answered)} answered, {certified} certified, {met} met on "
        f"{JUDGED:,} fresh replications; over the least of the grid: median "
        f"{np.median(ratios):.3f}, greatest {ratios.max():.3f}, {near} within {BAR} or one question"
        f"; seconds of CPU: median {np.median(cpu):.1f}, all {cpu.sum():.0f}"
    )


def main(count: int = COUNT) -> None:
    """Judge what is left of the first questions."""
    run(range(count))


if __name__ == "__main__":
    run(map(int, sys.argv[1:]))
