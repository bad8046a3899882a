"""Mixed budgets: what they are worth, and the common budget that is worth as much; against many digits."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.privacy.budget_groups import groups_of
from pipeline.privacy.randomized_response_laws import information, mean_squared_amplification
from pipeline.problems.ranking import derivations
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.study.parameters import InvalidInput

PROFILES = [
    "1:1",
    "1:3",
    "0.5:1,0.5:2",
    "0.5:1,0.5:4",
    "0.9:1,0.1:8",
    "0.1:1,0.9:8",
    "0.2:0.5,0.3:1,0.5:20",
]
COMMON = [1e-8, 1e-3, 0.3, 1.0, 5.0, 40.0, 800.0]


def lost(matched, epsilon):
    """(G − 1)/4, or the share 1 − t² of the information that is lost, of one budget; many digits."""
    e = epsilon.exp()
    return e / (e - 1) ** 2 if matched == "G" else 4 * e / (e + 1) ** 2


def mixed(matched, epsilon, profile):
    groups = [[Decimal(x) for x in part.split(":")] for part in profile.split(",")]
    return sum(share * lost(matched, epsilon * multiple) for share, multiple in groups)


@pytest.mark.parametrize("matched", ["G", "information"])
@pytest.mark.parametrize("common", COMMON)
@pytest.mark.parametrize("profile", PROFILES)
def test_matched_budgets_enclose_the_root(matched, common, profile):
    found = derivations.matched_budget(profile, matched, common, 1000)
    assert isinstance(found, float)
    with localcontext() as context:
        context.prec = 60
        target, wide = lost(matched, Decimal(common)), Decimal("1e-12")
        below, above = (mixed(matched, Decimal(found) * (1 + s * wide), profile) for s in (-1, 1))
        assert (
            below > target > above
        )  # the loss falls with ε: the root is within 1e-12 of what was found
        off = [mixed(matched, Decimal(found) * (1 + s * 100 * wide), profile) for s in (1, 2)]
        assert not any(b > target for b in off)  # a root 1e-10 away is rejected


def test_matched_budgets_by_hand():
    assert derivations.matched_budget("1:1", "G", 0.7, 1) == pytest.approx(0.7, rel=1e-13)
    assert derivations.matched_budget("1:4", "information", 1.0, 1) == pytest.approx(
        0.25, rel=1e-13
    )
    # Small budgets: G ~ 4/ε², so 1/ε² is what is averaged; information ~ ε²/4.
    assert derivations.matched_budget("0.5:1,0.5:4", "G", 1e-6, 2) == pytest.approx(
        1e-6 * np.sqrt(17 / 32), rel=1e-9
    )
    assert derivations.matched_budget("0.5:1,0.5:4", "information", 1e-6, 2) == pytest.approx(
        1e-6 * np.sqrt(2 / 17), rel=1e-9
    )


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 20), st.floats(0.1, 10)), min_size=1, max_size=4),
    st.floats(1e-4, 20),
    st.sampled_from(["G", "information"]),
)
def test_matching_is_what_it_says(groups, common, matched):
    total = sum(share for share, _ in groups)
    profile = ",".join(f"{share / total!r}:{multiple!r}" for share, multiple in groups)
    found = derivations.matched_budget(profile, matched, common, total)
    worth = {"G": derivations.mean_gain, "information": derivations.information_share}[matched]
    assert worth(found, profile, total) == pytest.approx(worth(common, "1:1", total), rel=1e-10)
    multiples = [multiple for _, multiple in groups]
    assert common / max(multiples) * (1 - 1e-9) <= found <= common / min(multiples) * (1 + 1e-9)
    # Jensen: mixing costs. With one G mixed budgets hold more information; with one information they have more G.
    assert (
        derivations.mean_gain(found, profile, total)
        * derivations.information_share(found, profile, total)
        >= 1 - 1e-9
    )


@pytest.mark.parametrize("epsilon", [1e-8, 0.5, 3.0, 800.0])
@pytest.mark.parametrize("profile", PROFILES)
def test_worth_of_mixed_budgets(epsilon, profile):
    with localcontext() as context:
        context.prec = 400  # enough for e^800 beside 1; larger multiples are exact anyway
        gain = float(1 + 4 * mixed("G", Decimal(epsilon), profile))
        share = float(1 - mixed("information", Decimal(epsilon), profile))
    assert derivations.mean_gain(epsilon, profile, 1000) == pytest.approx(gain, rel=1e-12)
    assert derivations.information_share(epsilon, profile, 1000) == pytest.approx(
        share, rel=1e-12, abs=0
    )
    # The same users, counted.
    shares, multiples = np.transpose(groups_of(profile))
    users = np.round(shares * 1000)
    assert mean_squared_amplification(epsilon * multiples, users) == pytest.approx(gain, rel=1e-12)
    assert information(epsilon * multiples, users) == pytest.approx(1000 * share, rel=1e-12)


@pytest.mark.parametrize(
    "changed, message",
    [
        (
            dict(matched="informatoin"),
            "matched=informatoin: did you mean 'information'. allowed: G, information",
        ),
        (dict(matched="g"), "matched=g: did you mean 'G'. allowed: G, information"),
        (dict(common_epsilon=0.0), "common_epsilon=0.0"),
        (dict(common_epsilon=np.inf), "common_epsilon=inf"),
        (dict(common_epsilon=np.nan), "common_epsilon=nan"),
        (dict(profile="0.5:1"), "profile=0.5:1"),
        (dict(profile="0.999:1,0.001:4"), "a group has no user at L=100"),
    ],
)
def test_bad_input_is_one_line(changed, message):
    with pytest.raises(InvalidInput, match=message):
        derivations.matched_budget(
            **(dict(profile="1:1", matched="G", common_epsilon=1.0, L=100) | changed)
        )


@pytest.mark.parametrize("matched", ["G", "information"])
def test_users_are_whole_also_where_budgets_are_matched(matched):
    """A share of 1.5 users is one or two: what the mechanism's own users are worth. Control: shares not rounded."""
    values = dict(m=4, L=1500, profile="0.999:100,0.001:1")
    budgets = RandomizedResponse(
        epsilon=derivations.matched_budget(values["profile"], matched, 1.0, 1500), **values
    )
    assert budgets.users.tolist() in ([1498, 2], [1499, 1])
    worth = {"G": mean_squared_amplification, "information": information}[matched]
    assert worth(budgets.budgets, budgets.users / 1500) == pytest.approx(
        worth(np.ones(1), np.ones(1)), rel=1e-10
    )
    exact = derivations.matched_budget(values["profile"], matched, 1.0, 3000)
    off = worth(exact * np.array([100, 1]), budgets.users / 1500)
    assert off != pytest.approx(worth(np.ones(1), np.ones(1)), rel=1e-4)
