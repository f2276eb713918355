"""Commits into tables: inserts and merges."""
