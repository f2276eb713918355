"""Streams: cursors over one process's events."""
