"""Independent random streams, keyed by what a number is for and never by when or where it is drawn.

A stream is Philox seeded by `SeedSequence(root, spawn_key)`. The key is a 128-bit digest of the
canonical text of (role, labels), then the block: labels, not positions, so adding levels to a grid
moves nothing.
"""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from pipeline.study.untyped import CellLabels


def canonical(labels: CellLabels) -> str:
    """Canonical text of labels: JSON with sorted names; equal labels give equal text."""
    return json.dumps(dict(labels), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(text: str, size: int = 16) -> bytes:
    """Stable hash of a text: BLAKE2b, `size` bytes."""
    return hashlib.blake2b(text.encode(), digest_size=size).digest()


@dataclass(frozen=True)
class Stream:
    """Address of one random stream; equal addresses give equal numbers.

    role: what the numbers are for (population, truth, data, noise, estimator). labels: canonical
    text of the labels that the role depends on. block: number of the block of replications, or -1
    where all blocks share the stream (a population fixed over replications).
    """

    root: int
    role: str
    labels: str
    block: int

    def generator(self) -> np.random.Generator:
        """Fresh generator at the start of this stream."""
        words = np.frombuffer(digest(f"{self.role}\n{self.labels}"), "<u4").tolist()
        block = self.block + 1
        key = (*words, block & 0xFFFFFFFF, block >> 32)
        return np.random.Generator(
            np.random.Philox(np.random.SeedSequence(self.root, spawn_key=key))
        )
