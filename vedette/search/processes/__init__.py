"""Process search; summaries, segments and events of one process."""
