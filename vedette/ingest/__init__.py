"""What a record means: bytes to records, records to events of processes."""
