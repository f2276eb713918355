"""Server: division of hosts among servers, and leases."""

HOST_SLOTS = 128
"""Number of slots into which hosts are divided. Servers share out slots. With a dozen servers,
their loads differ by a tenth; after a restart, the keys of a slot are read back in a moment."""

SERVER_LEASE_S = 10
"""(setting) Time for which a server keeps its hosts after its last heartbeat. A shorter pause of
the database or the machine has no effect."""

SERVER_GRACE_S = 3
"""Time between the end of a lease and the takeover of its hosts. It covers the allowed clock
difference between ClickHouse and the state database, and the time that an accepted insert may
take."""
