"""Accounts and attacks against dp-accounting and riskcal; `python -m benchmarks accounts` has 1,000
cases of each kind.
"""

import numpy as np
import pytest

from benchmarks import accounts

CASES = 12


@pytest.mark.parametrize("kind", accounts.KINDS)
def test_accounts_and_attacks_agree_with_others(kind):
    largest = max(accounts.differences(kind, CASES))
    print(f"n={CASES} statistic={largest:.1e} bound={accounts.BAR:g}")
    assert largest < accounts.BAR


def test_a_case_of_its_own_is_told_from_the_next(monkeypatch):
    """The control: where one more answer is counted than there is, the peer disagrees."""
    honest = accounts.composed_delta
    monkeypatch.setattr(
        accounts,
        "composed_delta",
        lambda person, answer, answers: honest(person, answer, answers + 1),
    )
    apart = np.array([*accounts.differences("composition", CASES)])
    assert (apart > accounts.BAR).sum() >= CASES // 2
