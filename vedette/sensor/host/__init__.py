"""What the sensor needs of its host and of itself."""
