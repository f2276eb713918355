"""Decodes logs of servers, daemons and applications, whose records describe no process."""
