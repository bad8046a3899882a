"""Figures 1 to 3 of Banerjee, Hegde and Massoulié, word for word, dense and slow; and their laws by enumeration.

One class of users at a time: `likes` is P(rating = 1) by item, of these users.
"""

import itertools
from collections import Counter

import numpy as np


def ratings(users, w, likes, rng):
    """(users, N): R̂, the ratings of w items picked uniformly without replacement, 0 elsewhere; and who rated what."""
    items = len(likes)
    rated = np.zeros((users, items), bool)
    for u in range(users):
        rated[u, rng.choice(items, w, replace=False)] = True
    return np.where(rated, rng.random((users, items)) < likes, False), rated


def bit_release(sketch, epsilon, rng):
    """Proposition 4: S⁰ with probability e^ε/(1 + e^ε), else 1 − S⁰."""
    return np.where(
        rng.random(sketch.shape) < np.exp(epsilon) / (1 + np.exp(epsilon)), sketch, ~sketch
    )


def pairwise_preference(users, w, likes, epsilon, rng, reading="agree"):
    """Figure 1, stages 1 and 2: Â (N, N) and how often each pair was asked about."""
    items, (rating, rated) = len(likes), ratings(users, w, likes, rng)
    ones, asked = np.zeros((2, items, items), int)
    for u in range(users):
        i, j = rng.choice(items, 2, replace=False)
        sketch = {
            "agree": rated[u, i] and rated[u, j] and rating[u, i] == rating[u, j],
            "positive": rating[u, i] and rating[u, j],
            "equal": rating[u, i] == rating[u, j],
        }[reading]
        released = bit_release(np.array(sketch), epsilon, rng)
        for k, m in ((i, j), (j, i)):
            asked[k, m] += 1
            ones[k, m] += released
    return ones, asked


def max_sense(users, w, likes, epsilon, theta, rng):
    """Figure 2, stages 1 and 2, and B (N,); and how often each item was sensed."""
    rating, _ = ratings(users, w, likes, rng)
    sensed = rng.random(rating.shape) < theta / w
    sketch = (sensed & rating).max(axis=1)
    released = bit_release(sketch, epsilon, rng)
    return (sensed * released[:, None]).sum(axis=0), sensed.sum(axis=0)


def multi_max_sense(users, w, likes, epsilon, Q, size, rng):
    """Figure 3 with disjoint sets, stages 1 and 2, and B (N,); and how often each item was sensed."""
    items, (rating, _) = len(likes), ratings(users, w, likes, rng)
    scores, counts = np.zeros((2, items), int)
    for u in range(users):
        partition = rng.permutation(items)
        for q in range(Q):
            sensed = np.zeros(items, bool)
            sensed[partition[q * size : (q + 1) * size]] = True
            released = bit_release((sensed & rating[u]).max(), epsilon / Q, rng)
            scores += sensed * released
            counts += sensed
    return scores, counts


# Exactly: all records, all questions.


def records(items, w):
    """All records: ratings by item, −1 where there is none."""
    for rated in itertools.combinations(range(items), w):
        for given in itertools.product((0, 1), repeat=w):
            record = [-1] * items
            for i, rating in zip(rated, given, strict=True):
                record[i] = rating
            yield tuple(record)


def chance(record, likes):
    """P(record), all sets of w items being equally likely, up to their number."""
    return np.prod([1 if r < 0 else p if r else 1 - p for r, p in zip(record, likes, strict=True)])


def law_of_records(w, likes):
    """record -> probability."""
    weight = {record: chance(record, likes) for record in records(len(likes), w)}
    total = sum(weight.values())
    return {record: x / total for record, x in weight.items()}


def sketch_of_set(record, sensed):
    """MaxSense: is a sensed item rated positively?"""
    return int(any(r == 1 and h for r, h in zip(record, sensed, strict=True)))


def sketch_of_pair(record, pair, reading="agree"):
    """Pairwise-Preference in its three readings."""
    x, y = (record[i] for i in pair)
    if reading == "equal":
        return int(max(x, 0) == max(y, 0))
    return int(x == y == 1 or (reading == "agree" and x == y == 0))


def subsets(items, p):
    """All sensing vectors with their probabilities."""
    for sensed in itertools.product((0, 1), repeat=items):
        yield sensed, p ** sum(sensed) * (1 - p) ** (items - sum(sensed))


def partitions(items, Q, size):
    """All ordered tuples of Q disjoint sensing vectors of `size` items, equally likely."""
    found = set()
    for order in itertools.permutations(range(items)):
        found.add(
            tuple(
                tuple(int(i in order[q * size : (q + 1) * size]) for i in range(items))
                for q in range(Q)
            )
        )
    return sorted(found)


def law_of_scores(w, likes, keep, questions):
    """One user: (B, sensed) -> probability; questions: (tuple of sensing vectors, probability)."""
    law = Counter()
    known = law_of_records(w, likes)
    for sets, asked in questions:
        sensed = tuple(np.sum(sets, axis=0))
        for record, probability in known.items():
            sketches = [sketch_of_set(record, s) for s in sets]
            for bits in itertools.product((0, 1), repeat=len(sets)):
                released = np.prod(
                    [keep if b == s else 1 - keep for b, s in zip(bits, sketches, strict=True)]
                )
                scores = tuple(np.dot(bits, sets))
                law[scores, sensed] += asked * probability * released
    return law


def together(*laws):
    """Law of the sum over independent users of the given laws of tuples of vectors."""
    whole = Counter({None: 1.0})
    for law in laws:
        grown = Counter()
        for (a, p), (b, q) in itertools.product(whole.items(), law.items()):
            total = (
                b if a is None else tuple(tuple(np.add(x, y)) for x, y in zip(a, b, strict=True))
            )
            grown[total] += p * q
        whole = grown
    return whole
