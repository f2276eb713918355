"""Watchlists: definition, preview and history."""
