"""What `task=advise` asks of crowds, and where it starts."""

from pipeline.study.advice import Advice, Unknown

ADVICE = Advice(
    unknowns={
        "epsilon": Unknown("epsilon", "privacy budget of one answer", 1e-3, 20, 1.0),
        "people": Unknown("n", "workers", 1, 1e7, 50),
        "items": Unknown("m", "tasks", 1, 1e6, 100, helps=None),
        "missing": Unknown("answered", "share of the answers that are missing", 1e-3, 1, 0.5, left=True),
    },
    parameters={"model": "dawid_skene", "mechanism": "randomized_response"},
    estimators=("known_flip",),
    recorded={"model": "recorded", "data_truth": None},
    derive={"n": "crowd_workers", "m": "crowd_tasks", "given": "file_answers"},
)
