"""ClickHouse, embedded or a cluster: clients, pools, capabilities, errors."""
