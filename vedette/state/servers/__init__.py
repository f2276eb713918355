"""State that the servers of a cluster share: slots of hosts, commit numbers, request counts."""
