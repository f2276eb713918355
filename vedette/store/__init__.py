"""Storage of telemetry in ClickHouse: engine, tables, partitions, plans, reads and writes."""
