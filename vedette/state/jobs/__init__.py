"""State of background jobs and of streams: leases, stream positions."""
