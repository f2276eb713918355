"""Sends alerts and events to object stores, files and other systems, and keeps a checkpoint of what
was sent."""
