"""Search of stored event records."""
