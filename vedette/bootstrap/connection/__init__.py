"""Limits on the bytes of a client's connection, and the end of the connection."""
