"""Figures, tables and pages."""

from pipeline.reporting import caches

caches.place()
