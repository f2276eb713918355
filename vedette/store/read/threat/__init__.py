"""Reads threat reports and indicators of feeds, and what they match."""
