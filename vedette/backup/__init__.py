"""Backups of a running server, and restore."""
