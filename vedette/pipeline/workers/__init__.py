"""Worker processes that prepare commits: pool, protocol, transport, sharding by host."""
