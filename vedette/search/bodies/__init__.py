"""JSON shapes of answers of the read path."""
