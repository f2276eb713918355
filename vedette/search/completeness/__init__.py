"""Whether all that was sent is stored."""
