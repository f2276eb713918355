"""Puts records into the order of their events: sorting on disk, and context first."""
