"""Claims of Nguyen and Zhang on what mechanisms spend: exact audits, decided without Monte Carlo error."""

import numpy as np
import xarray as xr

from pipeline.claims.claim import Claim, at_least, at_most, equivalence, every, throughout
from pipeline.claims.evidence import enough, named
from pipeline.reduce.summary import REPLICATION
from pipeline.theory.accounting import shuffling_limit

DELTA = 1e-4  # of the experiments, as in the paper
ROUNDING = 1e-6
COARSE = 1e-3  # of noise on integers: its variance falls short of σ² by this much at σ² = 0.6
MECHANISMS = {"discrete_gaussian": "discrete Gaussian", "discrete_laplace": "discrete Laplace"}
_PRIVACY = dict(m=3, epsilon_user=3)
_SHUFFLING = dict(n=2, epsilon_user=3)


def _values(column, within=None):
    """Cells as estimates by label: what all replications agree on, else their range."""
    mean, low, high = column.mean(REPLICATION), column.min(REPLICATION), column.max(REPLICATION)
    cells = xr.Dataset(dict(value=mean, low=low, high=high, error=xr.zeros_like(mean))).reset_coords(drop=True)
    return named(cells if within is None else cells.where(within), "value", "low", "high", "error")


def _audit(metric, decide, aim=1.0, **levels):
    """Check of an audit in every cell of `levels`."""

    def check(results):
        data = enough(results, metric, **_PRIVACY, **levels)
        return throughout(_values(data[metric]), lambda found, cell: decide(found, f"share at {cell}:"), aim)

    return check


def _times(metric, factor):
    return lambda r: r.assign({metric: r[metric] * factor(r)})


def _full(found, what):
    return equivalence(found, 1, ROUNDING, what)


def _kept(found, what):
    return at_most(found, 1 + ROUNDING, what)


def _spent(found, what):
    return at_most(found, 1 + COARSE, what)


def _tight(results):
    return every(*(_audit("person_spent", lambda found, what: equivalence(found, 1, COARSE, what),
                          mechanism=mechanism, calibration="tight")(results) for mechanism in MECHANISMS))


def _sound(results):
    data = enough(results, "local_budget", "shuffled_epsilon_exact", **_SHUFFLING)
    amplified = (data["local_budget"] > data["epsilon_user"] * (1 + ROUNDING)).all(REPLICATION)
    spent = _values(data["shuffled_epsilon_exact"] / data["epsilon_user"], amplified)
    return throughout(spent, lambda found, cell: _kept(found, f"exact ε over the theorem's at {cell}:"), 0)


def _published(results):
    data = enough(results, "local_budget", "local_budget_published", **_SHUFFLING)
    part = _values(data["local_budget_published"] / data["local_budget"])
    return throughout(part, lambda found, cell: _full(found, f"published over allowed ε0 at {cell}:"), 1)


def _range(results):
    data = enough(results, "local_budget", **_SHUFFLING)
    below = data["epsilon_user"] < xr.apply_ufunc(shuffling_limit, data["n"], DELTA)
    gain = data["local_budget"] / data["epsilon_user"]
    return every(
        throughout(_values(gain, below), lambda found, cell: at_least(found, 1 + ROUNDING, f"ε0/ε at {cell}:"), np.inf),
        throughout(_values(gain, ~below), lambda found, cell: _full(found, f"ε0/ε at {cell}:"), 1))


_ABOUT = dict(experiment="nguyen/privacy", why="A number, no estimate: divergences of whole laws, at six orders.")
_GRID = "m = 2 to 100, ε = 0.1 to 7.5 at δ = 1e-4. All cells."
_ROWS = " The entries that one row can change are counted over all pairs of rows."


def _count_claim(mechanism, lemma, noise, budget):
    return Claim(
        id=f"nguyen.{lemma}",
        statement=f"A count that one person changes by up to Δ, with {noise}, is {budget}, and spends all of it.",
        source=f"Nguyen and Zhang, supplement, L{lemma[1:].replace('_', ' ', 1).replace('_', '.')}",
        estimand="largest privacy loss over the declared one: Rényi divergence over its order, or log ratio",
        tolerance=f"1 ± {ROUNDING:g} in every cell",
        conditions=_GRID + " Here the count is of all right answers, and Δ = m.",
        check=_audit("count_spent", _full, mechanism=mechanism, calibration="tight"),
        twin="noise of a tenth less variance",
        twin_data=_times("count_spent", lambda r: 1 / 0.9),
        **_ABOUT,
    )


CLAIMS = (
    _count_claim("discrete_gaussian", "lemma_3_2", "discrete Gaussian noise of variance Δ²/ε²", "½ε²-CDP"),
    _count_claim("discrete_laplace", "lemma_4_2", "discrete Laplace noise of scale Δ/ε", "ε-DP"),
    Claim(
        id="nguyen.lemma_4_1",
        statement="As printed: noise of variance √(m(m−1))/ε*² on every measurement is ½ε*²-CDP.",
        source="Nguyen and Zhang, Lemma 4.1",
        estimand="what this noise spends on the worst replacement of a person's row, over ½ε*²",
        tolerance="at most 1 in every cell",
        conditions=_GRID + _ROWS + " Does not hold: √(m(m−1)) belongs to the standard deviation. The two claims that "
                                   "follow are of the corrected variance.",
        check=_audit("person_spent_printed", _kept, aim=0, mechanism="discrete_gaussian", calibration="tight"),
        twin="noise of a tenth less variance",
        twin_data=_times("person_spent_printed", lambda r: 1 / 0.9),
        **_ABOUT,
    ),
    Claim(
        id="nguyen.lemma_4_1.corrected",
        statement="Corrected: noise of variance m(m−1)/ε*² on every measurement is ½ε*²-CDP.",
        source="Nguyen and Zhang, Lemma 4.1, with the variance that its proof gives",
        estimand="what the released noise spends on the worst replacement of a person's row, over ½ε*²",
        tolerance="at most 1.001 in every cell",
        conditions=_GRID + _ROWS + " calibration: paper. But for m = 2 it spends about half: see the next claim.",
        check=_audit("person_spent", _spent, aim=0, mechanism="discrete_gaussian", calibration="paper"),
        twin="noise of a tenth less variance",
        twin_data=_times("person_spent", lambda r: 1 / 0.9),
        **_ABOUT,
    ),
    Claim(
        id="nguyen.lemma_4_1.tight",
        statement="Noise for 2⌊m²/4⌋ entries, which is what a row can change, spends the declared budget and no more.",
        source="sharpens Lemma 4.1 of Nguyen and Zhang, which charges all m(m−1) entries",
        estimand="what the released noise spends on the worst replacement of a person's row, over what is declared",
        tolerance="1 ± 0.001 in every cell, for either mechanism",
        conditions=_GRID + _ROWS + " calibration: tight. The variance of noise on integers is its σ² to 0.1 % "
                                   "here.",
        check=_tight,
        twin="rows charged as if they came or went, and were not replaced",
        twin_data=_times("person_spent", lambda r: 2),
        **_ABOUT,
    ),
    Claim(
        id="nguyen.lemma_4_3.cited",
        statement="By the conversion that the paper cites, ρ = ε²/(4 log(1/δ)) suffices for (ε, δ)-DP.",
        source="Nguyen and Zhang, supplement, below Lemma 4.3",
        estimand="ρ + √(4ρ log(1/δ)) over ε",
        tolerance="at most 1 in every cell",
        conditions=_GRID + " Does not hold: the shortcut drops ρ, and the ε cited for 5 is 5.68. The next claim is of "
                           "the exact account.",
        check=_audit("shortcut_epsilon_cited", _kept, aim=0, mechanism="discrete_gaussian", calibration="tight"),
        twin="budgets twice what they are",
        twin_data=_times("shortcut_epsilon_cited", lambda r: 2),
        **_ABOUT,
    ),
    Claim(
        id="nguyen.lemma_4_3.exact",
        statement="By an exact account ρ = ε²/(4 log(1/δ)) suffices all the same, at δ = 1e-4 and ε up to 7.5.",
        source="against the lemma cited: exact account of Gaussian noise, Balle and Wang (2018)",
        estimand="exact δ at ε over δ",
        tolerance="at most 1 in every cell",
        conditions=_GRID + " Continuous Gaussian noise of that ρ. At ε = 7.5 it is 0.99, and above 1 from 7.53 on.",
        check=_audit("shortcut_delta_exact", _kept, aim=0, mechanism="discrete_gaussian", calibration="tight"),
        twin="δ twice what it is",
        twin_data=_times("shortcut_delta_exact", lambda r: 2),
        **_ABOUT,
    ),
)

_REPORTS = dict(experiment="nguyen/shuffling", why="A number, no estimate.")
_PERSONS = "n = 100 to 10,000, ε = 0.01 to 7.5 at δ = 1e-4."

CLAIMS += (
    Claim(
        id="nguyen.shuffling",
        statement="Reports of budget ε0 in random order are (ε, δ)-DP for the ε of the theorem.",
        source="Nguyen and Zhang, supplement, Lemma 4.1 (Feldman, McMillan and Talwar, Theorem III.1)",
        estimand="exact ε at δ over the theorem's, of reports that are one binary answer each",
        tolerance="at most 1 in every cell",
        conditions=_PERSONS + " Cells where shuffling is charged. Binary answers are one kind of report, so this can "
                              "refute and not prove. They cost a fifth of the theorem's ε or less.",
        check=_sound,
        twin="reports that are not shuffled",
        twin_data=lambda r: r.assign(shuffled_epsilon_exact=r["local_budget"]),
        **_REPORTS,
    ),
    Claim(
        id="nguyen.shuffling.range",
        statement="Shuffling lets a report tell more than ε only where ε is below log(n/(16 log(2/δ))): with 158 "
                  "persons or fewer nowhere.",
        source="the range of the same theorem; with 200 persons ε = 0.23, with 1,000 ε = 1.84",
        estimand="ε0/ε: above 1 below the limit, 1 beyond it",
        tolerance=f"above 1; 1 ± {ROUNDING:g}, in every cell",
        conditions=_PERSONS + " All cells. The experiments of the paper have ε up to 7.5, mostly beyond the range.",
        check=_range,
        twin="persons ten times as many as there are",
        twin_data=lambda r: r.assign_coords(n=10 * r["n"]),
        **_REPORTS,
    ),
    Claim(
        id="nguyen.shuffling.published",
        statement="The published search finds the largest budget of a report that (ε, δ) allows.",
        source="Nguyen and Zhang, supplement, find_effective_epsilon0_rr",
        estimand="ε0 of the search over the ε0 that is known to be allowed",
        tolerance=f"1 ± {ROUNDING:g} in every cell",
        conditions=_PERSONS + " All cells. Does not hold: beyond the range it stays at the limit, where ε0 = ε needs "
                              "no theorem. With 200 persons and ε = 7.5 it is 0.23, so that the paper's randomized "
                              "response is noisier than it need be; ours has ε0 = ε there.",
        check=_published,
        twin="half of what the search finds",
        twin_data=lambda r: r.assign(local_budget_published=r["local_budget_published"] / 2),
        **_REPORTS,
    ),
)
