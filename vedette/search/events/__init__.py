"""Facets, preview and timeline of one process's events."""
