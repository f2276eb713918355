"""Forwarders of events and alerts."""
