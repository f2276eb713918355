"""`vedette cluster`: commands for a ClickHouse cluster."""
