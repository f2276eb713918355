"""Binary search, summary, frequency."""
