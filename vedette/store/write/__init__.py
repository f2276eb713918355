"""Writes commits to tables: inserts and merges."""
