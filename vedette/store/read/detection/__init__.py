"""Reads of what detection follows, found and was told: commits, hits, tags, alerts, reports."""
