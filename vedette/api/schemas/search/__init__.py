"""Parameters and bodies of the routes that search and read telemetry."""
