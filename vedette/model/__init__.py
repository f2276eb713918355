"""Domain model: processes, segments, events and search fields as immutable values. No I/O."""
