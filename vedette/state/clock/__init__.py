"""Whether the wall clock can be trusted, and the record that decides it after a restart."""
