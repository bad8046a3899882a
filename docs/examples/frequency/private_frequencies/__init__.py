"""Private frequency estimation under local differential privacy: everything of this problem is in
this package.
"""

from pipeline.study.problem import Problem

PROBLEM = Problem(
    name="frequency",
    title="Private frequencies (local differential privacy)",
    package=__name__,
    paper=(
        "Wang, Blocki, Li and Jha, Locally Differentially Private Protocols for Frequency "
        "Estimation, 2017; Ye and Barg, Optimal Schemes for Discrete Distribution Estimation "
        "under Locally Differential Privacy, 2018"
    ),
    models={"people": ".model:People"},
    mechanisms={
        "none": "pipeline.privacy.no_privacy:NoPrivacy",
        "randomized_response": ".mechanisms:RandomizedResponse",
        "symmetric_unary": ".mechanisms:SymmetricUnary",
        "optimised_unary": ".mechanisms:OptimisedUnary",
        "local_hashing": ".mechanisms:LocalHashing",
        "subset_selection": ".mechanisms:SubsetSelection",
    },
    estimators={
        "unbiased": ".estimators:Unbiased",
        "normalised": ".estimators:Normalised",
        "projected": ".estimators:Projected",
    },
    metrics={
        "error_squared": ".metrics:ErrorSquared",
        "error_largest": ".metrics:ErrorLargest",
        "total_variation": ".metrics:TotalVariation",
        "error_absent": ".metrics:ErrorAbsent",
        "support_held": ".metrics:SupportHeld",
        "support_absent": ".metrics:SupportAbsent",
        "risk": ".yardsticks:Risk",
        "variance_absent": ".yardsticks:VarianceAbsent",
        "minimax_risk": ".yardsticks:MinimaxRisk",
        "error_over_unary": ".yardsticks:ErrorOverUnary",
        "absent_over_unary": ".yardsticks:AbsentOverUnary",
        "projection_bound": ".yardsticks:ProjectionBound",
    },
    derivations={
        "epsilon_from_odds": ".derivations:epsilon_from_odds",
        "epsilon_from_share": ".derivations:epsilon_from_share",
        "odds": ".derivations:odds",
        "crossover_share": ".derivations:crossover_share",
        "total_crossover_share": ".derivations:total_crossover_share",
    },
    claims=".claims:CLAIMS",
    advice=".advice:ADVICE",
    experiments=("frequency",),
)
