"""Reads for detection: commits, hits, tags, alerts, reports."""
