"""Checks whether the store holds everything that was sent."""
