"""Streams: reading the events of a process step by step."""
