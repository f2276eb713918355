"""Process search; summary, segments and events of one process."""
