"""Routes that telemetry comes in by."""
