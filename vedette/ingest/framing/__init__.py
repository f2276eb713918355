"""Framing: splits the bytes of a request into single records."""
