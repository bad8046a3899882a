"""Side-by-side benchmarks against peers: `python -m benchmarks [name ...]`."""

import pipeline  # noqa: F401  (before NumPy is loaded, so that kernels are those of the program)
