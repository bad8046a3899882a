"""Private item response (Rasch): the table of all parts of this problem, which lie in this package."""

from pipeline.study.problem import Problem

PROBLEM = Problem(
    name="response",
    title="Private item response (Rasch)",
    package=__name__,
    models={
        "rasch": ".model:Rasch",
        "recorded": ".recorded:RecordedResponses",
    },
    mechanisms={
        "discrete_gaussian": ".mechanisms.integer_noise:DiscreteGaussian",
        "discrete_laplace": ".mechanisms.integer_noise:DiscreteLaplace",
        "none": "pipeline.privacy.no_privacy:NoPrivacy",
        "randomized_response": ".mechanisms.randomized_response:RandomizedResponse",
    },
    estimators={
        "joint_likelihood": ".estimators.likelihood:JointLikelihood",
        "pairwise_likelihood": ".estimators.likelihood:PairwiseLikelihood",
        "spectral": ".estimators.spectral:Spectral",
        "spectral_debiased": ".estimators.spectral:SpectralDebiased",
    },
    metrics={
        "error_inf": "pipeline.problems.common.recovery:ErrorInf",
        "error_l2": "pipeline.problems.common.recovery:ErrorL2",
        "hamming_top_k": "pipeline.problems.common.recovery:HammingTopK",
        "kendall": "pipeline.problems.common.recovery:Kendall",
        "exact_top_k": "pipeline.problems.common.recovery:ExactTopK",
        "lemma_4_bound": "pipeline.problems.common.recovery:Lemma4Bound",
        "item_bound": ".metrics.cramer_rao:ItemBound",
        "error_over_bound": ".metrics.cramer_rao:ErrorOverBound",
        "noise_risk": ".metrics.noise_risk:NoiseRisk",
        "person_spent": ".metrics.privacy_loss:PersonSpent",
        "person_spent_printed": ".metrics.privacy_loss:PersonSpentPrinted",
        "count_spent": ".metrics.privacy_loss:CountSpent",
        "shortcut_epsilon_cited": ".metrics.privacy_loss:ShortcutEpsilonCited",
        "shortcut_delta_exact": ".metrics.privacy_loss:ShortcutDeltaExact",
        "shuffled_epsilon_exact": ".metrics.privacy_loss:ShuffledEpsilonExact",
        "local_budget": ".metrics.privacy_loss:LocalBudget",
        "local_budget_published": ".metrics.privacy_loss:LocalBudgetPublished",
    },
    derivations={
        "budget_from_item_noise": ".theory.rates:budget_from_item_noise",
        "conversion_of": ".theory.rates:conversion_of",
        "edge_probability": ".theory.rates:edge_probability",
        "observations": ".theory.rates:observations",
        "persons_from_density": ".theory.rates:persons_from_density",
        "persons_from_item_size": ".theory.rates:persons_from_item_size",
        "persons_from_recovery": ".theory.rates:persons_from_recovery",
        "private_size": ".theory.rates:private_size",
        "recovery_signal": ".theory.rates:recovery_signal",
    },
    claims=".claims:CLAIMS",
    release=".release_task:release",
    experiments=("nguyen",),
)
