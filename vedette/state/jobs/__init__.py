"""State of what runs by itself or across requests: leases, streams."""
