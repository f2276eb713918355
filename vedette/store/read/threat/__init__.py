"""Reads threat reports and indicators of feeds, and their matches."""
