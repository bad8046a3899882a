"""Claims of Nguyen and Zhang on the share p0 of pairs that are released: supplement, Figure 1."""

import numpy as np

from pipeline.claims.claim import Claim, at_least, at_most, every
from pipeline.claims.evidence import average, enough, share
from pipeline.claims.nguyen_figures import FEW, at
from pipeline.reduce.summary import summarise

_SHARES = {"own": (0.07, "the paper's own share log₂(m)/m of the pairs"), "fifth": (0.2, "a fifth of the pairs")}


def _apart(results, calibration, level, p0, confidence):
    """Difference of the mean errors at `p0` and with all pairs, for every n; level: of ε."""
    data = enough(results, "error_l2", least=FEW, n=2, p0=3, epsilon_user=2, calibration=calibration)
    cells = at(summarise(data)[["error_l2", "error_l2_mcse"]], epsilon_user=level).squeeze("epsilon_user", drop=True)
    some, every_pair = (cells.sel(p0=one, method="nearest") for one in (p0, 1.0))
    apart = some["error_l2"] - every_pair["error_l2"]
    error = np.hypot(some["error_l2_mcse"], every_pair["error_l2_mcse"])
    return {f"n={n}": average(apart.sel(n=[n]), error.sel(n=[n]), share(confidence / apart["n"].size))
            for n in apart["n"].values.tolist()}


def _check(calibration, level, p0, decide):
    def check(results):
        found = _apart(results, calibration, level, p0, 1)
        return every(*(decide(one, 0, f"p0 = {p0:g} less all pairs at {cell}") for cell, one in found.items()))

    return check


def _swapped(p0):
    """Twin data: errors at p0 and with all pairs in each other's place."""

    def change(results):
        error = results["error_l2"].copy(deep=True)
        some, every_pair = (dict(p0=float(error["p0"].sel(p0=one, method="nearest"))) for one in (p0, 1.0))
        error.loc[some], error.loc[every_pair] = results["error_l2"].sel(every_pair), results["error_l2"].sel(some)
        return results.assign(error_l2=error)

    return change


def _claims(calibration):
    about = dict(
        source="Nguyen and Zhang, supplement, Figure 1",
        experiment="nguyen/figure_p0",
        why="The statement is one of direction.",
        twin="errors at this p0 and with all pairs in each other's place",
    )
    charged = dict(paper="the paper's calibration", tight="the tight calibration, on all pairs half the noise")
    conditions = f"m = 100, n = 200 and 1,000; {charged[calibration]}."
    yield Claim(
        id=f"nguyen.figure_p0.high.{calibration}",
        statement=f"In the high-privacy regime releasing more pairs is better, with {charged[calibration]}.",
        estimand="difference of the mean ‖β̂ − β*‖₂/√m at p0 = 0.07 and with all pairs, for every n",
        tolerance="at least 0",
        conditions="ε = 0.1, " + conditions + " Below p0 = 0.2 or so: from there to all pairs it is flat.",
        check=_check(calibration, 0.1, 0.07, at_least),
        twin_data=_swapped(0.07),
        **about,
    )
    for name, (p0, said) in _SHARES.items():
        yield Claim(
            id=f"nguyen.figure_p0.low.{name}.{calibration}",
            statement=f"In the low-privacy regime releasing {said} is better than releasing all, with "
                      f"{charged[calibration]}.",
            estimand=f"difference of the mean ‖β̂ − β*‖₂/√m at p0 = {p0:g} and with all pairs, for every n",
            tolerance="at most 0",
            conditions="ε = 7.5, " + conditions + " The paper leaves n and m open; with few persons the gain is "
                                                  "larger, with many there is none.",
            check=_check(calibration, 7.5, p0, at_most),
            twin_data=_swapped(p0),
            **about,
        )


CLAIMS = tuple(claim for calibration in ("paper", "tight") for claim in _claims(calibration))
