"""Files of programs: what is read from their bytes, in a process with limits."""
