"""`vedette cluster`: what is typed about a ClickHouse cluster."""
