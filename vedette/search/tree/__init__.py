"""The tree of a process: ancestors, descendants, what is missing and why."""
