"""Where the metrics of inference are, for the tables of problems: nothing is imported for it."""

_NAMES = (
    "bias",
    "coverage",
    "coverage_at_once",
    "z_error",
    "rejected",
    "pairs_told_apart",
    "top_covered",
    "top_size",
    "coverage_of_all",
    "error_ratio_squared",
    "interval_width",
    "intervals_known",
    "model_error",
    "rank_coverage",
    "rank_width",
    "relative_bias",
)
INFERENCE_METRICS = {name: f"pipeline.problems.common.inference:{name}" for name in _NAMES}
OF_RANKS = ("pairs_told_apart", "rank_coverage", "rank_width", "top_covered", "top_size")
OF_NUMBERS = tuple(name for name in _NAMES if name not in OF_RANKS)  # of any estimate
