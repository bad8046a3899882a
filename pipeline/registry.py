"""Names that a config may use, and the code behind them. A config can name nothing else.

Targets are texts "module:attribute", imported on first use: a command that simulates nothing starts
without SciPy. `register` adds a name from outside, for a paper that lives in another package.
"""

from importlib import import_module
from typing import Any

from pipeline.parameters import InvalidInput, nearest

NAMES: dict[str, dict[str, str]] = {
    "model": {
        "btl": "pipeline.models.btl:BTL",
        "rasch": "pipeline.models.rasch:Rasch",
        "recorded": "pipeline.models.recorded:Recorded",
        "recorded_responses": "pipeline.models.recorded_responses:RecordedResponses",
    },
    "mechanism": {
        "discrete_gaussian": "pipeline.mechanisms.rasch:DiscreteGaussian",
        "discrete_laplace": "pipeline.mechanisms.rasch:DiscreteLaplace",
        "laplace": "pipeline.mechanisms.laplace:Laplace",
        "none": "pipeline.mechanisms.none:NoPrivacy",
        "randomized_response": "pipeline.mechanisms.randomized_response:RandomizedResponse",
        "randomized_responses": "pipeline.mechanisms.rasch:RandomizedResponses",
    },
    "estimator": {
        "debiased": "pipeline.estimators.btl:Debiased",
        "joint_likelihood": "pipeline.estimators.rasch_likelihood:JointLikelihood",
        "likelihood": "pipeline.estimators.btl_likelihood:Likelihood",
        "pairwise_likelihood": "pipeline.estimators.rasch_likelihood:PairwiseLikelihood",
        "plug_in": "pipeline.estimators.btl:PlugIn",
        "rank_centrality": "pipeline.estimators.btl_spectral:RankCentrality",
        "spectral": "pipeline.estimators.rasch_spectral:Spectral",
        "spectral_debiased": "pipeline.estimators.rasch_spectral:SpectralDebiased",
        "weighted": "pipeline.estimators.btl:Weighted",
    },
    "metric": {
        "error_inf": "pipeline.metrics.ranking:ErrorInf",
        "error_l2": "pipeline.metrics.ranking:ErrorL2",
        "hamming_top_k": "pipeline.metrics.ranking:HammingTopK",
        "kendall": "pipeline.metrics.ranking:Kendall",
        "sandwich_risk": "pipeline.metrics.btl:SandwichRisk",
        "cramer_rao_risk": "pipeline.metrics.btl:CramerRaoRisk",
        "minimax_bound": "pipeline.metrics.btl:MinimaxBound",
        "lean_true": "pipeline.metrics.btl:LeanTrue",
        "lean_true_squared": "pipeline.metrics.btl:LeanTrueSquared",
        "lean_released": "pipeline.metrics.btl:LeanReleased",
        "lean_debiased": "pipeline.metrics.btl:LeanDebiased",
        "error_debiased_squared": "pipeline.metrics.btl:ErrorDebiasedSquared",
        "estimate_sum": "pipeline.metrics.btl:EstimateSum",
        "log_condition": "pipeline.metrics.btl:LogCondition",
        "information": "pipeline.metrics.btl:Information",
        "mean_gain": "pipeline.metrics.btl:MeanGain",
        "exact_top_k": "pipeline.metrics.ranking:ExactTopK",
        "lemma_4_bound": "pipeline.metrics.ranking:Lemma4Bound",
        "excess_risk": "pipeline.metrics.btl_ranking:ExcessRisk",
        "kendall_predicted": "pipeline.metrics.btl_ranking:KendallPredicted",
        "lean_next": "pipeline.metrics.btl_ranking:LeanNext",
        "lean_two_apart": "pipeline.metrics.btl_ranking:LeanTwoApart",
        "share_coin_flips": "pipeline.metrics.recorded:ShareCoinFlips",
        "share_two_ratings": "pipeline.metrics.recorded:ShareTwoRatings",
        "share_one_rating": "pipeline.metrics.recorded:ShareOneRating",
    },
    "derivation": {
        "budget_from_x": "pipeline.theory.btl:budget_from_x",
        "epsilon_user": "pipeline.theory.btl:epsilon_user",
        "users_from_size": "pipeline.theory.btl:users_from_size",
        "scheme_budget": "pipeline.theory.btl:scheme_budget",
        "matched_budget": "pipeline.theory.btl:matched_budget",
        "mean_gain": "pipeline.theory.btl:mean_gain",
        "information_share": "pipeline.theory.btl:information_share",
        "signal": "pipeline.theory.btl_ranking:signal",
        "signal_over_log": "pipeline.theory.btl_ranking:signal_over_log",
        "size": "pipeline.theory.btl_ranking:size",
        "users_from_signal": "pipeline.theory.btl_ranking:users_from_signal",
        "conversion_of": "pipeline.theory.rasch:conversion_of",
        "edge_probability": "pipeline.theory.rasch:edge_probability",
        "observations": "pipeline.theory.rasch:observations",
        "persons_from_private_size": "pipeline.theory.rasch:persons_from_private_size",
        "persons_from_recovery": "pipeline.theory.rasch:persons_from_recovery",
        "private_size": "pipeline.theory.rasch:private_size",
        "recovery_signal": "pipeline.theory.rasch:recovery_signal",
    },
    "claims": {
        "nguyen": "pipeline.claims.nguyen:CLAIMS",
        "xu": "pipeline.claims.xu:CLAIMS",
    },
}


def register(kind: str, name: str, target: str) -> None:
    """Add a name: target is "module:attribute", importable wherever the study runs."""
    NAMES[kind][name] = target


def lookup(kind: str, name: Any, key: str | None = None) -> Any:
    """The class, function or table behind a name; InvalidInput (with the nearest name) if there is none."""
    if not isinstance(name, str) or name not in NAMES[kind]:
        raise InvalidInput(key or kind, name, f"no such {kind}; {nearest(name, NAMES[kind])}")
    module, attribute = NAMES[kind][name].split(":")
    return getattr(import_module(module), attribute)
