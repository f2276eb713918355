"""Bytes of a request to single records."""
