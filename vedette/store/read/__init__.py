"""Reads of the telemetry store, one file a question."""
