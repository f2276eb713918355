"""Commands: lifetime of tokens."""

TOKEN_EXPIRES_DAYS_MAX = 36_500
"""Longest lifetime of a token in days: a hundred years, so that dates stay valid."""
