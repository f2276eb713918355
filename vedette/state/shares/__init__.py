"""Sharing among callers: transactions of group commits, and quotas of objects."""
