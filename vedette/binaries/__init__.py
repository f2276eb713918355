"""Facts about program files, read from their bytes in a process with limits."""
