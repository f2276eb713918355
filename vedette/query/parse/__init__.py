"""Parses text to a tree, and prints a tree as text."""
