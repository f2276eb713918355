"""Control state: accounts and rights, hosts and sensors, policies and jobs, in SQLite or
PostgreSQL."""
