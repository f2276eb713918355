"""Converts observations of the sources to events in the queue."""
