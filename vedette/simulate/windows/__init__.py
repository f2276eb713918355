"""Hosts with Windows: what happens there, as Sysmon and event-log records."""
