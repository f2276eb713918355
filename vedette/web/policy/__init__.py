"""Banned hashes and ingress filters."""
