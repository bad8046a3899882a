"""What `task=advise` asks of item responses, and where it starts."""

from pipeline.study.advice import Advice, Unknown

ADVICE = Advice(
    unknowns={
        "epsilon": Unknown("epsilon_user", "privacy budget of all responses of a person", 1e-2, 2000, 5.0),
        "people": Unknown("n", "persons", 2, 1e7, 1000),
        "items": Unknown("m", "items", 3, 200, 20, helps=None),
        "missing": Unknown("p", "share of the responses that are missing", 1e-3, 1, 0.5, left=True),
    },
    parameters={"model": "rasch", "mechanism": "discrete_gaussian"},
    estimators=("spectral_debiased", "pairwise_likelihood"),
    recorded={"model": "recorded", "other_ratings": True},
    derive={"n": "file_persons", "m": "file_items"},
)
