"""How telemetry lies in ClickHouse: engine, tables, partitions, plans, reads and writes."""
