"""Batch systems: one class in one file each, found by entry points, on one abstract base.

`base.Batch` says what a system has to tell, with defaults for the rest; `registry` finds all
systems.
"""
