"""Some answers of each person: every subset of what a person answered is equally likely."""

import itertools
from collections import Counter

import numpy as np
from scipy.stats import chisquare

from pipeline.problems.common.some_answers import places_of_each

ALPHA = 1e-6


def test_every_subset_is_equally_likely():
    people = 40_000
    places = places_of_each(np.random.default_rng(2), np.full(people, 5), 2)
    drawn = Counter(map(tuple, np.sort(places, axis=1).tolist()))
    counts = [drawn[subset] for subset in itertools.combinations(range(5), 2)]
    assert sum(counts) == people
    p = chisquare(counts).pvalue
    # The control: two draws of which the second avoids the first by going one further.
    first = np.random.default_rng(3).integers(0, 5, people)
    second = np.random.default_rng(4).integers(0, 5, people)
    second = np.where(second == first, (second + 1) % 5, second)
    biased = Counter(map(tuple, np.sort(np.stack([first, second], axis=1)).tolist()))
    control = chisquare([biased[subset] for subset in itertools.combinations(range(5), 2)]).pvalue
    print(f"n={people}, p={p:.3g}, of the control {control:.3g}, bound {ALPHA}")
    assert p > ALPHA > control


def test_of_people_with_few_answers_all_are_drawn():
    places = places_of_each(np.random.default_rng(1), np.array([0, 1, 3, 4]), 3)
    assert places[:3].tolist() == [[-1, -1, -1], [0, -1, -1], [0, 1, 2]]
    assert len(set(places[3].tolist())) == 3
