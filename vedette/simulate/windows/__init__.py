"""Windows hosts, with Sysmon and event-log records."""
