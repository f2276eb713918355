"""Threat intelligence: reports and indicators of feeds, their columns and search fields."""
