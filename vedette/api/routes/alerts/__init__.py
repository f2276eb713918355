"""Routes of alerts: search, changes, suppressions."""
