"""Processes that read for an import."""
