"""Simulated controls of claims on clusterings: each wrong world is seen by its claims."""

import os

import pytest

from pipeline.analysis.claims import NotSimulated, SimulatedControl
from pipeline.library.controls import judge_control
from pipeline.problems.clustering.claims import CLAIMS, controls

SIMULATED = {claim.id: claim for claim in CLAIMS if isinstance(claim.simulated, SimulatedControl)}
INFORMATIONS = {
    name for name, claim in SIMULATED.items() if claim.experiment == "banerjee/information"
}
FEW_RATINGS = dict(
    grid=[  # without N = 1,000, whose informations take seconds
        dict(N=[2, 4, 8, 16], w=[1], epsilon=[0.1, 1, 4]),
        dict(N=[2], w=[2], epsilon=[0.1, 1, 4]),
        dict(N=[3], w=[2, 3], epsilon=[0.1, 1, 4]),
    ]
)
QUICK = INFORMATIONS | {
    "banerjee.theorem_15",
    "banerjee.theorem_15.separability",
    "banerjee.theorem_10.adaptive",
    "banerjee.persons.curator",
    "banerjee.corollary_21",
    "banerjee.recommendations",
    "banerjee.recommendations.gain",
    "banerjee.recommendations.price",
    "banerjee.theorem_8.equal.breaks",
    "banerjee.theorem_8.equal.turned",
}
ONE_PART = dict(
    size="paper",
    grid=[  # of its grid: users are placed near the predicted boundaries
        dict(
            N=[50, 100, 200],
            theta=[0.5, 2],
            alpha=["1"],
            beta=["0.5, 0.5"],
            b=["0.9, 0.1"],
            share=[0.2],
            margin=[0.5, 0.7, 1, 1.4, 2],
            mechanism=["max_sense"],
            estimator=["score_clustering"],
        )
    ],
)
WITHOUT_MAXSENSE = dict(
    size="paper",
    grid=[
        dict(
            N=[20, 80, 320],
            margin=[0.7, 0.85, 1, 1.2, 1.4, 2, 2.8],
            mechanism=["none"],
            estimator=["seen_clustering"],
        ),
        dict(
            N=[20, 28, 40, 57, 80, 113, 160, 226, 320],
            margin=[0.7, 0.85, 1, 1.2, 1.4, 2],
            mechanism=["average_one_bit"],
            estimator=["seen_clustering"],
        ),
    ],
)
ONE_QUESTION = dict(
    grid=[
        dict(mechanism=["pairwise_preference"], Q=[1], U=[40_000, 50_000]),
        dict(mechanism=["noisy_co_occurrences"], Q=[1], U=[400, 500]),
    ],
)
FOUR_CLUSTERS = dict(
    grid=[
        dict(
            lean=[0],
            N=[52],
            margin=[4, 16],
            estimator=["spectral_clustering", "spectral_signs"],
        )
    ]
)
LEARNED = dict(grid=dict(w=[8, 16], margin=[2]))
SIZES = {
    "banerjee.recommendations": LEARNED,
    "banerjee.theorem_8.equal.breaks": FOUR_CLUSTERS,
    "banerjee.shapes.place": ONE_PART,
    "banerjee.average_bit": WITHOUT_MAXSENSE,
    "banerjee.persons.curator": ONE_QUESTION,
}
SIZES |= dict.fromkeys(INFORMATIONS - {"banerjee.theorem_14.order"}, FEW_RATINGS)
# The others take seconds to a minute: SIMULATIONS=full includes them.
SLOW = {
    "banerjee.theorem_14.order",
    "banerjee.recommendations.gain",
    "banerjee.recommendations.price",
    "banerjee.theorem_8.equal.turned",
}
FAST = QUICK - SLOW | {"banerjee.average_bit"}


@pytest.mark.parametrize("name", SIMULATED)
def test_a_claim_sees_its_wrong_world(name):
    if name not in FAST and os.environ.get("SIMULATIONS") != "full":
        pytest.skip("takes long: SIMULATIONS=full")
    size = "quick" if name in QUICK else "paper"
    claim = SIMULATED[name]
    check = judge_control(claim, **{"size": size, "seed": 11} | SIZES.get(name, {}))
    print(f"{claim.simulated.description}: {check.text}")
    assert check.verdict == claim.simulated.verdict


def test_every_world_is_the_control_of_a_claim():
    worlds = {
        name
        for name, one in vars(controls).items()
        if isinstance(one, (SimulatedControl, NotSimulated))
    }
    used = {
        name for name in worlds for claim in CLAIMS if claim.simulated is getattr(controls, name)
    }
    assert used == worlds - {"SimulatedControl", "NotSimulated"}
