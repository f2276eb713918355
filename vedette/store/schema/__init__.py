"""Creates and upgrades tables, columns and indexes of the telemetry store."""
