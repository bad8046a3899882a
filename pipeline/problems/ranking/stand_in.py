"""Synthetic ratings used when no file is given: MovieLens's pattern of ratings, none of its content."""

from functools import lru_cache

import numpy as np

from pipeline.problems.common.rating_files import Ratings
from pipeline.study.arrays import Floats
from pipeline.study.frozen import read_only

USERS, FILMS = 610, 40


@lru_cache(maxsize=1)
@read_only
def ratings() -> Ratings:
    """610 users × 40 films; the same on every machine: sums of integers, no library function.

    Made to resemble the 40 most-rated films of ml-latest-small in how many rate a film (about 330 down to 160),
    how unequally active users are, and how often two ratings differ.
    """
    rng = np.random.Generator(np.random.Philox(20180926))

    def normal(
        *shape: int,
    ) -> Floats:  # a sum of twelve uniforms: standard normal but for its tails
        total: Floats = rng.integers(0, 1 << 16, (12, *shape)).sum(axis=0) / 65536 - 6
        return total

    rank = np.arange(FILMS)
    popularity = (140 + 190 / (1 + 0.17 * rank)) / USERS
    activity = rng.random(USERS)
    rated = rng.random((USERS, FILMS)) < 2.6 * popularity * (activity * np.sqrt(activity))[:, None]
    quality = 3.9 + 0.7 * (popularity - 0.35) / 0.54 + 0.22 * normal(FILMS)
    liking = quality + 0.4 * normal(USERS)[:, None] + 0.8 * normal(USERS, FILMS)
    step = np.where(rng.random((USERS, FILMS)) < 0.65, 1.0, 0.5)  # most people give whole stars
    stars = np.clip(step * np.round(liking / step), 0.5, 5.0)
    user, film = np.nonzero(rated)
    names = tuple(f"{k:02d}" for k in range(FILMS))
    return Ratings(
        user,
        (film * 7) % FILMS,
        stars[user, film],
        USERS,
        names,
        f"Synthetic stand-in made by this program, {USERS} users × {FILMS} films, not MovieLens: give "
        "data.path=ratings.csv.",
    )
