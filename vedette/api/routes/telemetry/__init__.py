"""Routes that receive telemetry."""
