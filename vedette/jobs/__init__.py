"""Scheduler and leases of background jobs."""
