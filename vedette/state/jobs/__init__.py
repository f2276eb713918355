"""State of background jobs: leases, the outbox, forwarders, responses, and stream positions."""
