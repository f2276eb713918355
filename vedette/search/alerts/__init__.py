"""Alert search, alert groups, previews of suppressions, and the risk of hosts."""
