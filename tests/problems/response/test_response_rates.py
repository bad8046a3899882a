"""Rates, designs and coordinates of the Rasch paper, by hand."""

import numpy as np
import pytest

from pipeline.identity.registry import lookup
from pipeline.problems.response import derivations as rasch
from pipeline.problems.response.theory import rates
from pipeline.study.parameters import InvalidInput, outcome


def test_rates_and_coordinates_by_hand():
    assert (
        rates.linf_rate(400, np.e, 0.25) == pytest.approx(0.1)
        and rates.minimax_rate(400, 10, 0.25) == 0.1
    )
    assert rasch.observations(400, 0.25) == 100 and rasch.private_size(
        400, 10, 0.5, 2.0
    ) == pytest.approx(4)
    assert rasch.recovery_signal(400, np.e, 0.25, 0.1) == pytest.approx(1)
    assert (
        rasch.edge_probability("dense", 64) == 1 and rasch.edge_probability("sparse", 64) == 6 / 64
    )
    assert (rasch.conversion_of("paper"), rasch.conversion_of("tight")) == ("paper", "tight")


@pytest.mark.parametrize("m, p", [(10, 0.5), (40, 1.0)])
def test_persons_bring_what_was_asked_for(m, p):
    n = rasch.persons_from_recovery(2.0, m, p, 0.05)
    assert type(n) is int and rasch.recovery_signal(n, m, p, 0.05) == pytest.approx(2, rel=1 / n)
    n, epsilon = rasch.persons_from_item_size(30.0, 40.0, p), rasch.budget_from_item_noise(40.0, m)
    assert type(n) is int and n == round(1200 / p**2) and epsilon**2 == pytest.approx(m / 40)
    assert rasch.private_size(n, m, p, epsilon) == pytest.approx(30 / m, rel=1 / n)


@pytest.mark.parametrize("asked", [-1.0, 0.0, 1e-9, 1e12, np.inf, np.nan])
def test_designs_without_persons_are_refused(asked):
    with pytest.raises(InvalidInput, match="recovery=.*must ask for 1 to"):
        rasch.persons_from_recovery(asked, 10, 1.0, 0.1)
    with pytest.raises(InvalidInput, match="item_size=.*must ask for 1 to"):
        rasch.persons_from_item_size(asked, 10.0, 1.0)
    with pytest.raises(InvalidInput, match="item_noise=.*must be a number > 0"):
        rasch.budget_from_item_noise(-abs(asked) if asked else asked, 10)
    with pytest.raises(InvalidInput, match="graph=dens: did you mean 'dense'"):
        rasch.edge_probability("dens", 10)


@pytest.mark.parametrize("name", ["observations", "private_size", "recovery_signal"])
def test_coordinates_say_what_they_are(name):
    said = outcome(lookup("response", "derivation", name))
    assert said["long_name"] and said["units"]
