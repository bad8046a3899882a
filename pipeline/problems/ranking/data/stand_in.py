"""Synthetic ratings for studies without a file: MovieLens's pattern, none of its content."""

from functools import lru_cache

import numpy as np

from pipeline.problems.common.rating_files import Ratings
from pipeline.study.arrays import Floats
from pipeline.study.frozen import read_only

USERS = 610
FILMS = 40


@lru_cache(maxsize=1)
@read_only
def ratings() -> Ratings:
    """610 users × 40 films; the same on every machine: sums of integers, no library function.

    Made to resemble the 40 most-rated films of ml-latest-small in how many
    rate a film (about 330 down to 160), how unequally active users are, and
    how often two ratings differ.
    """
    rng = np.random.Generator(np.random.Philox(20180926))
    rank = np.arange(FILMS)
    popularity = (140 + 190 / (1 + 0.17 * rank)) / USERS
    activity = rng.random(USERS)
    chance_rated = 2.6 * popularity * (activity * np.sqrt(activity))[:, None]
    is_rated = rng.random((USERS, FILMS)) < chance_rated
    quality = 3.9 + 0.7 * (popularity - 0.35) / 0.54 + 0.22 * _normal(rng, FILMS)
    liking = quality + 0.4 * _normal(rng, USERS)[:, None] + 0.8 * _normal(rng, USERS, FILMS)
    step = np.where(rng.random((USERS, FILMS)) < 0.65, 1.0, 0.5)  # most people give whole stars
    stars = np.clip(step * np.round(liking / step), 0.5, 5.0)
    user, film = np.nonzero(is_rated)
    names = tuple(f"{k:02d}" for k in range(FILMS))
    source = (
        f"Synthetic stand-in made by this program, {USERS} users × {FILMS} films, not MovieLens: "
        "give "
        "data.path=ratings.csv."
    )
    return Ratings(user, (film * 7) % FILMS, stars[user, film], USERS, names, source)


def _normal(rng: np.random.Generator, *shape: int) -> Floats:
    """Sums of twelve uniforms: standard normal but for their tails."""
    total: Floats = rng.integers(0, 1 << 16, (12, *shape)).sum(axis=0) / 65536 - 6
    return total
