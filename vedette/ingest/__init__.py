"""Converts bytes to records, and records to events of processes."""
