"""Claims on how sure difficulties are: from noisy counts and from flipped responses."""

from pipeline.analysis.claims import SimulatedControl
from pipeline.problems.common.changes import in_secret, replaced_part, with_parameters
from pipeline.problems.common.claims.inference import (
    REVERSED,
    Setting,
    Threshold,
    always,
    attenuation,
    begins,
    even_the_bootstrap,
    honest,
    ignorant,
    ranks_hold,
)

from ..estimators.likelihood import PairwiseLikelihood
from ..estimators.spectral import Spectral, SpectralDebiased

COUNTS = "inference/response_counts"
FLIPS = "inference/response_flips"
_SOURCE = "sandwich with one step of Newton's method, `response.theory.inference`; not in the paper"
_OF_COUNTS = Setting(
    COUNTS,
    dict(estimator=2, questions=3, n=2, person=3),
    "m = 5, n = 2,000 and 8,000 persons who answer 2, 3 or all items, noisy counts at 0.3, 1 and "
    "4 nats a person, δ = 10⁻⁶; spectral and pairwise likelihood.",
    _SOURCE,
)
_OF_FLIPS = Setting(
    FLIPS,
    dict(n=2, person=3),
    "m = 5, n = 1,000 and 4,000 persons who answer all items, 5 to 20 nats a person.",
    _SOURCE,
)
_SMALL = Setting(
    FLIPS,
    dict(n=2, person=1),
    "m = 5, n = 1,000 and 4,000 persons who answer all items, 5 nats a person.",
    _SOURCE,
    lambda cells: cells["person"] <= 5,
)
_AROUND = Setting(
    "inference/response_threshold",
    dict(n=4, person=4),
    "m = 5, n = 125 to 2,000 persons who answer all items; half of the releases have intervals, "
    "located with `refine`.",
    "debiased counts of pairs, of which both responses are flipped: tanh²(ε/2) against 1/√n; not "
    "in the paper",
)
_BEGINS = Threshold("intervals_known", 0.5, "person", "n", attenuation(5))
_JOINT = Setting(
    "inference/bootstrap_response",
    dict(n=1),
    "m = 3, n = 4,000 and 8,000 persons who answer all items, 20 nats a person, 200 releases drawn "
    "again.",
    "Neyman and Scott (1948): not consistent; parametric bootstrap, `problems.common.bootstrap`",
    lambda cells: cells["n"] >= 4000,
)
_CONSISTENT = SimulatedControl(
    "pairwise likelihood, which is consistent, with as much of the bootstrap",
    replaced_part("estimator", lambda part: PairwiseLikelihood(m=part.m, bootstrap=part.bootstrap)),
)
_MORE_NOISE = SimulatedControl(
    "noise as at a tenth of the budget, of which the release does not tell",
    in_secret(with_parameters("mechanism", person=lambda person: person / 10)),
)
_CARELESS = SimulatedControl(
    "an estimator that ignores the flips",
    replaced_part("estimator", lambda part: Spectral(m=part.m)),
)
_CAREFUL = SimulatedControl(
    "an estimator that knows of the flips",
    replaced_part("estimator", lambda part: SpectralDebiased(m=part.m)),
)

CLAIMS = (
    honest("response.counts", "difficulties", _OF_COUNTS, {}, _MORE_NOISE),
    ranks_hold("response.counts", "items", _OF_COUNTS, {}, REVERSED),
    honest(
        "response.flips",
        "difficulties",
        _OF_FLIPS,
        dict(estimator="spectral_debiased"),
        _CARELESS,
    ),
    begins(
        "response",
        "Difficulties begin to have intervals at a budget at which tanh(ε/2) of a response falls "
        "with the fourth root of the number of persons.",
        _AROUND,
        _BEGINS,
        always("n", 500, "persons"),
        exponent=-0.25,
        why="to first order where hardly a response is right for another reason than chance, "
        "tanh(ε/2) ≪ 1",
    ),
    even_the_bootstrap(_JOINT, dict(estimator="joint_likelihood"), _CONSISTENT),
    ignorant("response.flips", "difficulties", _SMALL, dict(estimator="spectral"), _CAREFUL),
)
