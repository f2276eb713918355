"""Sigma rules, their placeholders and ATT&CK coverage."""
