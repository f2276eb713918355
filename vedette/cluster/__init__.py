"""Setup, growth, checks and migration of a ClickHouse cluster."""
