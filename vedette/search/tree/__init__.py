"""The tree of a process: ancestors and descendants."""
