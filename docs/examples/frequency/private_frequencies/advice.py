"""What `task=advise` asks of private frequencies, and where it starts."""

from collections.abc import Mapping

from pipeline.study.advice import Advice, Unknown
from pipeline.study.untyped import OfProblem

from .theory import reports, risks


def error_squared(k: int, n: int, epsilon: float) -> float:
    """Predicted mean squared error: that of unbiased estimates with subset selection, the least.

    A search begins there.
    """
    return risks.risk(reports.subset_selection(k, epsilon), k, n)


def stress(model: OfProblem) -> Mapping[str, Mapping[str, str]]:
    """Laws other than that of the model."""
    laws = {
        "half": "nobody holds half of the values",
        "zipf": "values as frequent as 1/(v + 1)",
        "point": "all hold one value",
        "uniform": "all values as frequent",
    }
    return {case: {"law": law} for law, case in laws.items() if law != model.law}


def survey(model: OfProblem, mechanism: OfProblem) -> str:
    """Who says what, in one sentence."""
    people = f"each of {model.n:,} people says which of {model.k:,} values is theirs, once"
    return f"{people}; every answer is made private before it leaves the person"


ADVICE = Advice(
    unknowns={
        "epsilon": Unknown("epsilon", "privacy budget of a person", 1e-2, 20, 1.0),
        "people": Unknown("n", "people", 1, 1e8, 10_000),
        "items": Unknown("k", "values", 2, 1e4, 20, helps=None),
    },
    parameters={"model": "people", "mechanism": "subset_selection"},
    estimators=("unbiased",),
    predicted={"error_squared": error_squared},
    stress=stress,
    survey=survey,
    decisions={"error_squared": "sum of squared errors of the frequencies"},
)
