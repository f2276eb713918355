"""Reads of what detection follows, found and reported: commits, hits, tags, alerts, reports."""
