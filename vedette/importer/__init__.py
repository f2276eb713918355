"""Files into the server: what lies under a path, as records in the order of their events."""
