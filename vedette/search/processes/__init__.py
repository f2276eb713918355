"""Searching processes, and what is known of one."""
