"""Reads of the telemetry store, one file per question."""
