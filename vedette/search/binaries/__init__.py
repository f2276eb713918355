"""Binary search, summary and frequency."""
