"""Whether the wall clock can be trusted, and what is kept to tell after a restart."""
