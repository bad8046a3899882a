"""What it costs to draw answers where each person is asked some questions, over where all are
asked: medians, least and greatest ratio of paired runs, of processor time.

Both runs draw the truth and all that a release needs, with as many people and entries (pairs,
items, or workers and tasks): flipped wins of rankings, who has one item right and another wrong of
responses, answers of crowds. Rankings are sums over people, as are responses to two items or fewer:
their cost does not grow with people. Workers of a crowd differ, so that each is drawn. `bar` is 2
at most.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.problems.crowd.model import DawidSkene
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.model import BTL
from pipeline.problems.response.model import Rasch

ROUNDS = 7
REPLICATIONS = 200
BAR = 2.0
Run = Callable[[], object]


def cases() -> Iterator[tuple[str, Run, Run]]:
    """Name, a run in which everybody is asked everything, and one with a design."""
    for design in ("balanced", "random"):
        for people, items, questions in ((1000, 10, 1), (10_000, 20, 5)):
            name = f"ranking, L = {people}, m = {items}, {questions} questions, {design}"
            some = BTL(m=items, L=people, questions=questions, design=design)
            yield name, _compared(BTL(m=items, L=people), None), _compared(some, questions)
        for people, items, questions in ((1000, 10, 2), (1000, 20, 5)):
            name = f"response, n = {people}, m = {items}, {questions} questions, {design}"
            designed = Rasch(n=people, m=items, questions=questions, design=design)
            yield name, _counted(Rasch(n=people, m=items)), _counted(designed)
        for people, items, questions in ((200, 50, 5), (100, 20, 10), (1000, 200, 20)):
            name = f"crowd, n = {people}, m = {items}, {questions} questions, {design}"
            asked = DawidSkene(n=people, m=items, questions=questions, design=design)
            yield name, _drawn(DawidSkene(n=people, m=items)), _drawn(asked)


def _drawn(model: BTL | DawidSkene) -> Run:
    """Truth and data of a block."""

    def run() -> object:
        rng = np.random.default_rng(1)
        return model.simulate(model.truth(rng, REPLICATIONS, rng), rng)

    return run


def _counted(model: Rasch) -> Run:
    """The same, and the counts of pairs of items, as answers are drawn when these are asked for."""

    def run() -> object:
        rng = np.random.default_rng(1)
        data = model.simulate(model.truth(rng, REPLICATIONS, rng), rng)
        return data.differences()

    return run


def _compared(model: BTL, questions: int | None) -> Run:
    """The same, and the release that draws counts."""
    mechanism = RandomizedResponse(m=model.m, L=model.L, epsilon=1.0, questions=questions)
    drawn = _drawn(model)

    def run() -> object:
        return mechanism.release(drawn(), np.random.default_rng(2))

    return run


def _seconds(run: Run) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def main() -> None:
    """Time all cases; one line each."""
    with threadpool_limits(1):
        for name, everything, some in cases():
            pairs = [(_seconds(everything), _seconds(some)) for _ in range(ROUNDS)]
            ratios = sorted(part / whole for whole, part in pairs[1:])
            middle = float(np.median(ratios))
            verdict = "met" if middle <= BAR else "MISSED"
            print(
                f"{name}: {middle:.2f} × [{ratios[0]:.2f}, {ratios[-1]:.2f}], bar {BAR:g} {verdict}",
                flush=True,
            )


if __name__ == "__main__":
    main()
