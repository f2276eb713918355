"""Whether the telemetry store is whole: its identity, its directory, its damaged parts."""
