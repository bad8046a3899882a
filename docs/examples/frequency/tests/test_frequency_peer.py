"""Against Multi-Freq-LDPy, which reports person by person.

Skipped where it is not installed (pip install .[test]).
"""

import math

import numpy as np
import pytest
from private_frequencies import PROBLEM
from private_frequencies.estimators import Normalised
from private_frequencies.releases import Supports
from private_frequencies.theory import risks
from scipy import stats

pytest.importorskip("multi_freq_ldpy")
xxhash = pytest.importorskip("xxhash")  # below 4: the peer hashes texts

from multi_freq_ldpy.estimators.Histogram_estimator import MI  # noqa: E402
from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE  # noqa: E402
from multi_freq_ldpy.pure_frequency_oracles.Variance_PURE import VAR_Pure  # noqa: E402

K, PEOPLE, ALPHA = 6, 4000, 1e-6
COUNTS = np.array([1600, 1200, 800, 400, 0, 0])


def bits(values):
    return np.isin(np.arange(K), values).astype(float)


def hashed(report, epsilon):
    value, seed = report
    g = int(round(np.exp(epsilon))) + 1
    return np.array(
        [value == xxhash.xxh32(str(v).encode(), seed=int(seed)).intdigest() % g for v in range(K)],
        float,
    )


PEERS = {
    "randomized_response": lambda x, e: bits(GRR.GRR_Client(x, K, e)),
    "symmetric_unary": lambda x, e: UE.UE_Client(x, K, e, False),
    "optimised_unary": lambda x, e: UE.UE_Client(x, K, e, True),
    "local_hashing": lambda x, e: hashed(LH.LH_Client(x, K, e), e),
    "subset_selection": lambda x, e: bits(SS.SS_Client(x, K, e)),
}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("epsilon", [1.0, math.log(3)])
def test_supports_of_the_peer_have_our_mean_and_variance(name, epsilon):
    """Its reports of 4,000 people against our probabilities.

    Z tests, and another budget as the negative control.
    """
    supports = sum(PEERS[name](int(x), epsilon) for x in np.repeat(np.arange(K), COUNTS))

    def agrees(epsilon):
        held, other = PROBLEM.part("mechanism", name)(k=K, epsilon=epsilon).support()
        mean = COUNTS * held + (PEOPLE - COUNTS) * other
        spread = COUNTS * held * (1 - held) + (PEOPLE - COUNTS) * other * (1 - other)
        statistic, bound = ((supports - mean) / np.sqrt(spread)), stats.norm.isf(ALPHA / 2 / K)
        print(
            f"{name}: n={PEOPLE} statistic={np.abs(statistic).max():.3g} bound={bound:.3g} "
            f"alpha={ALPHA:g}"
        )
        return np.abs(statistic).max() <= bound

    assert agrees(epsilon) and not agrees(2 * epsilon)


@pytest.mark.parametrize("name", PEERS)
def test_variances_and_normalised_estimates_are_the_peers(name):
    support = PROBLEM.part("mechanism", name)(k=K, epsilon=1.0).support()
    for frequency in (0.0, 0.3, 1.0):
        ours = risks.variance(support, PEOPLE, frequency)
        assert ours == pytest.approx(VAR_Pure(*support, PEOPLE, frequency))
    supports = np.random.default_rng(1).integers(0, PEOPLE, (20, K))
    fit = (
        Normalised(k=K)
        .fit(Supports(supports, PEOPLE, support), np.random.default_rng(0))
        .frequencies
    )
    for row, mine in zip(supports, fit, strict=True):
        theirs = MI(row, PEOPLE, *support)
        if theirs.sum() > 0:
            np.testing.assert_allclose(mine, theirs)
