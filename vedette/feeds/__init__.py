"""Threat intelligence: fetching feeds, parsing their formats, synchronization, and matching
indicators."""
