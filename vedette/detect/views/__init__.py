"""What rules may ask of an event: its classes, and its values under the names that rules use."""
