"""What can be typed: one module a group of commands."""
