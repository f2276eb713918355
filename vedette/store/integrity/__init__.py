"""Integrity of the telemetry store: its identity, its directory, its damaged parts."""
