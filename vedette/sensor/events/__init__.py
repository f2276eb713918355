"""What was seen, as events."""
