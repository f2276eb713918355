"""Sending alerts and events on to object stores, files and other systems, with a checkpoint."""
