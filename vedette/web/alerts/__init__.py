"""Alerts: search, triage, suppression and response policy."""
