"""Side-by-side benchmarks against peers: `python -m benchmarks [name ...]`."""
