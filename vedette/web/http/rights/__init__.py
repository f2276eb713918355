"""Access requirements of routes."""
