"""Routes that search and read telemetry."""
