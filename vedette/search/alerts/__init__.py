"""Searches, groups and previews of alerts, and the risk of hosts."""
