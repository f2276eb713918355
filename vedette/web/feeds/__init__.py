"""Threat feeds and their reports."""
