"""What does privacy cost, and where does learning break down? Distributed Monte Carlo studies."""

__version__ = "0.1.0"
