"""Searching binaries."""
