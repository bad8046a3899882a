"""What `task=advise` asks of clusterings, and where it starts."""

from pipeline.study.advice import Advice, Unknown

ADVICE = Advice(
    unknowns={
        "epsilon": Unknown("epsilon", "privacy budget of a user's record", 1e-3, 20, 1.0),
        "people": Unknown("U", "users", 1, 1e9, 10_000),
        "items": Unknown("N", "items", 3, 2000, 50, helps=None),
        "questions": Unknown("Q", "questions to a user, who answers each with one private bit", 1, 1000, 2, helps=None),
    },
    parameters={"model": "block_model", "mechanism": "max_sense"},
    estimators=("score_clustering_adjusted", "spectral_clustering_adjusted", "seen_clustering"),
)
