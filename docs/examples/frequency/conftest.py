"""Beside the package, so that pytest finds it here before it is installed."""
