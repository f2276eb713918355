"""Search of stored event records: API and console."""
