"""Linux and macOS hosts, with audit and Endpoint Security events."""
